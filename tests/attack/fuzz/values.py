"""Values that parsers and patterns like least: numbers, strings, worst cases of each format, shapes.

Knows JSON and the names of formats, and nothing of requests. All choices come from the dice that are handed in.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any


class Raw(str):
    """Text that stands in JSON as it is, whether it is JSON or not."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """A JSON object whose keys may occur twice."""


NUMBERS = (
    "0", "-0", "-0.0", "1", "-1", "1.0", "1.5", "1e0", "1E+2", "1e-400", "0.1e400", "1e308", "1e309", "-1e309", "1e400",
    "1e1000000000", "1e-1000000000", "2147483647", "2147483648", "-2147483649", "9007199254740993",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551616", "123456789012345678901234567890", "1.7976931348623157e308", "1.7976931348623159e308",
    "4.9e-324", "0.1", "3.0000000000000000000000000000000000001", "1e21", "1e22", "999999999999999999999.0",
)  # fmt: skip
NO_NUMBERS = (
    "NaN", "Infinity", "-Infinity", "nan", "inf", "+1", "01", "00", "-01", ".5", "5.", "1e", "1e+", "--1", "1_000", "0x10",
    "0b1", "0o7", "1,5", "\u0661\u0662", "\uff11", "1e1e1", "1f", "1n", "- 1", "-",
)  # fmt: skip


def number(dice: Random) -> Raw:
    """The text of a number, or of something that some parser takes for one."""
    kind = dice.randrange(12)
    if kind < 7:
        return Raw(dice.choice(NUMBERS))
    if kind == 7:
        return Raw(dice.choice(NO_NUMBERS))
    digits = dice.choice((17, 20, 39, 310, 400, 401, 4299, 4300, 4301, 20_000))
    if kind == 8:
        return Raw(dice.choice(("", "-", "")) + dice.choice(("1", "1", "0", "9")) + "0" * digits)
    if kind == 9:
        return Raw("0." + "0" * digits + "1")
    if kind == 10:
        return Raw("1" * digits + ".5e-" + str(digits))
    return Raw(str(dice.randrange(-(1 << 70), 1 << 70)))


@cache
def _categories() -> dict[str, str]:
    """Characters of every general category of Unicode, some hundred at most of each."""
    found: dict[str, list[str]] = {}
    for code in range(sys.maxunicode + 1):
        kept = found.setdefault(unicodedata.category(chr(code)), [])
        # The first ones, and then one out of 997, so that all planes are there.
        if len(kept) < 40 or code % 997 == 0:
            kept.append(chr(code))
    return {name: "".join(chars) for name, chars in sorted(found.items())}


SPECIAL = (
    "", " ", "\t", "\n", "\r\n", "\x00", "a\x00b", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", "\U0010ffff",
    "\U0001fffe", "\u202e\u0041", "\u2066", "e\u0301", "\u0301", "\u200d\u200b", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\ud800", "\udfff", "\udc80", "\udbff\udc00", "\u0130", "\u1e9e", "\ufb03", "\u0fd5", "\u2126", "\u00b5s", "\uff0e", "\u3002",
    "null", "true", "~", "yes", "0", "-", "..", ".", "/", "\\", "'", '"', "`", "<script>", "&amp;", "%s%n", "{{.}}", "${x}", "$(x)",
    "\x1b[31m", "__proto__", "constructor", "a" * 63, "a" * 64, "a" * 253, "a" * 254, "A" * 1000, "\u00e9" * 128, "\U0001f355" * 63,
)  # fmt: skip


def text(dice: Random) -> str:
    """A string, mostly short."""
    kind = dice.randrange(8)
    if kind < 3:
        return dice.choice(SPECIAL)
    if kind < 6:
        chars = dice.choice(list(_categories().values()))
        return "".join(dice.choice(chars) for _ in range(dice.choice((1, 2, 3, 8, 40))))
    if kind == 6:
        sets = list(_categories().values())
        return "".join(dice.choice(dice.choice(sets)) for _ in range(dice.choice((2, 5, 20, 100))))
    return worst(dice, dice.choice(list(WORST)))


Maker = Callable[[int], str]

WORST: dict[str, tuple[Maker, ...]] = {
    "email": (
        lambda n: "a" * n + "\x01 <a@b.c>", lambda n: "a." * n + "@", lambda n: '"' + "\\a" * n + "@b.c",
        lambda n: "a@" * n, lambda n: "a " * n + "<", lambda n: '"a" ' * n + "<a@b.c", lambda n: " \t" * n + "a@b.c",
        lambda n: "a@[" + ":" * n + "]", lambda n: "a@" + "b." * n, lambda n: ". " * n + "\x01 <a@b.c>",
    ),
    "uri": (
        lambda n: "http://" + "[" * n, lambda n: "http://" + "a@" * n, lambda n: "/" + "%4" * n, lambda n: "a+" * n + ":",
        lambda n: "http://a:" + "9" * n, lambda n: "/" * n, lambda n: "http://[::1" + "%" * n + "]", lambda n: "a:" + "?" * n,
        lambda n: "http://" + "\u3002" * n, lambda n: "http://[v1." + "a" * n + "]:x",
    ),
    "hostname": (
        lambda n: "a." * n, lambda n: "a-" * n, lambda n: "-" * n, lambda n: "." * n, lambda n: "\u00e9." * n + "com",
        lambda n: "a" * n + ".com",
    ),
    "ipv4": (lambda n: "1." * n, lambda n: "0" * n + ".0.0.1", lambda n: "1.2.3." + "0" * n + "4", lambda n: "9" * n + ".1.1.1"),
    "ipv6": (lambda n: ":" * n, lambda n: "1:" * n, lambda n: "::" + "f" * n, lambda n: "::ffff:1.2.3." + "0" * n, lambda n: "::%" + "1" * n),
    "cidr": (lambda n: "1.2.3.4/" + "0" * n, lambda n: "::/" * n, lambda n: "1." * n + "/8", lambda n: "/" * n),
    "mac": (lambda n: "00:" * n, lambda n: "0" * n, lambda n: "00-00:" * n, lambda n: "0000." * n),
    "uuid": (lambda n: "0" * n, lambda n: "-" * n, lambda n: "00000000-" * n, lambda n: "0" * 31 + "x" * n),
    "isbn": (lambda n: " -" * n, lambda n: "1" * n, lambda n: "1 " * n + "X", lambda n: "\u0661" * n, lambda n: "\u2007" * n),
    "creditcard": (lambda n: "4" * n, lambda n: "4 " * n, lambda n: "x" * n, lambda n: "5" + "\u0665" * n),
    "ssn": (lambda n: "1" * n, lambda n: "111-11-" * n),
    "hexcolor": (lambda n: "#" * n, lambda n: "#" + "f" * n),
    "rgbcolor": (lambda n: "rgb(" + " " * n + "1,1,1)", lambda n: "rgb(" + "1," * n, lambda n: "rgb(1" + " " * n + "," + " " * n),
    "byte": (lambda n: "A" * n + "=", lambda n: "=" * n, lambda n: "A\n" * n, lambda n: "AAA=" * n, lambda n: "\u00e9" * n),
    "date": (lambda n: "9" * n, lambda n: "0000-02-29", lambda n: "2023-02-29" + " " * n, lambda n: "-" * n),
    "date-time": (
        lambda n: "2020-01-01T00:00:00." + "0" * n + "Z", lambda n: "2020-01-01" + "T" * n, lambda n: "2020-01-01T23:59:60Z",
        lambda n: "2020-01-01T00:00:00." + "9" * n + "+99:99", lambda n: "0000-00-00T00:00:00Z", lambda n: "9999-12-31T23:59:59.9-23:59",
        lambda n: "\u0662020-01-01T00:00:00Z" + "z" * n,
    ),
    "duration": (
        lambda n: "1" * n, lambda n: "1h" * n + "!", lambda n: "1.1" * n + "h", lambda n: "." * n + "h", lambda n: "1 " * n,
        lambda n: "1 a" * n, lambda n: "9" * n + "h", lambda n: "1" + " " * n + "!", lambda n: "\u00b5" * n, lambda n: "1" * n + " " * n,
        lambda n: "0." + "0" * n + "1ns", lambda n: "-" + "1h" * n,
    ),
    "quantity": (
        lambda n: "1" * n + "x", lambda n: "1e" + "9" * n, lambda n: "0." + "0" * n + "1", lambda n: "." * n, lambda n: "1" * n + "." * n,
        lambda n: "-" * n + "1", lambda n: "1e-" + "9" * n, lambda n: "0" * n + "E", lambda n: "1" * n + "Ei", lambda n: "9" * n + "e18",
        lambda n: "1" * n + "." + "1" * n + "k", lambda n: "+" + "0" * n,
    ),
    "k8s-long-name": (lambda n: "a." * n + "!", lambda n: "a-" * n + ".", lambda n: "a" * n, lambda n: "a" + "-" * n),
    "bsonobjectid": (lambda n: "a" * n, lambda n: "0" * 24 + "\n"),
    "pattern": (
        lambda n: "a" * n + "!", lambda n: "ab" * n, lambda n: "a" * n + "b" * n + "c", lambda n: "\n" * n, lambda n: "a\n" * n + "b",
    ),
    "int-or-string": (lambda n: "9" * n, lambda n: "9" * n + "%", lambda n: "-" + "0" * n + "%"),
    "label": (
        lambda n: "a" * n, lambda n: "a/" * n, lambda n: "a." * n + "/a", lambda n: "-" * n, lambda n: "a-" * n + "_", lambda n: "a" * 63 + "\n",
    ),
}  # fmt: skip
"""For each format, strings of about ``n`` characters on which a matcher that goes back goes back most."""


def worst(dice: Random, form: str) -> str:
    """A worst case of a format; short enough, mostly, that the bounds on lengths let it through."""
    size = dice.choice((1, 5, 20, 20, 60, 60, 250, 500, 2000, 20_000))
    return dice.choice(WORST.get(form, WORST["pattern"]))(size)


def nested(dice: Random) -> Any:
    """A deep shape, around the bound of 200 levels and far beyond it."""
    depth = dice.choice((10, 95, 100, 190, 196, 199, 200, 201, 250, 1000, 20_000))
    opening, closing = dice.choice((("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")))
    inside = dice.choice(("1", "null", "{}", "[]", "", '"x"'))
    cut = dice.choice((0, 0, 0, 1, depth))
    return Raw(opening * depth + inside + closing * (depth - cut))


def wide(dice: Random) -> Any:
    """A flat shape with many members."""
    size = dice.choice((3, 17, 100, 100, 501, 1001, 5000))
    kind = dice.randrange(5)
    if kind == 0:
        return list(range(size))
    if kind == 1:
        return {f"k{index}": "v" for index in range(size)}
    if kind == 2:
        return Pairs([("same", index) for index in range(min(size, 1001))])
    if kind == 3:
        return [{}] * size
    return ["same"] * size


def scalar(dice: Random) -> Any:
    """Any JSON value that is neither list nor object, or text that claims to be one."""
    kind = dice.randrange(10)
    if kind < 4:
        return number(dice)
    if kind < 8:
        return text(dice)
    return dice.choice((None, True, False))


def anything(dice: Random) -> Any:
    """Any value at all."""
    kind = dice.randrange(20)
    if kind < 14:
        return scalar(dice)
    if kind < 16:
        return dice.choice(([], {}, [None], {"": None}, [[]], [{}], {"a": {}}, [1, "a", None, {}]))
    if kind == 16:
        return nested(dice)
    if kind == 17:
        return wide(dice)
    if kind == 18:
        return {text(dice): scalar(dice) for _ in range(3)}
    return [scalar(dice) for _ in range(3)]
