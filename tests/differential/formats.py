"""Strings made to be nearly of a format, judged here and by kube-apiserver's own code: no verdict may differ.

The long form: ``.venv/bin/python -m tests.differential.formats --strings 100000``. It takes some ten minutes, asks of each
code point of Unicode as well, prints a line a format, and ends with status 1 if a verdict differs. ``--seed`` repeats a run.
The short form is ``test_formats.py``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

from extapi.schema.formats import enforced, string_format
from tests.kubernetes import golang

SEEDS: dict[str, Sequence[str]] = {
    "bsonobjectid": ("507f1f77bcf86cd799439011",),
    "uri": (
        "http://user:pa%20ss@example.com:8080/a/b;c?q=1&r#f", "https://example.com#frag", "http://h:65536", "http://a/ b", "/ b", "*",
        "http://[fe80::1%25en0]:80/", "http://[fe80::1%en0]/", "http://[::1]a/", "http://[::ffff:1.2.3.4]/", "mailto:a@b", "urn:a:b",
        "http://a%41", "http://%20/", "http://h\\x/", "http://a|b^c/", "http://`{}/", "//h/x", "///", "a://b@c@d:1:2/", "x+y-z.1://é/", "?a",
        "http://%E4%B8%AD/", "postgres://a:b/c", "http:///x", "http://:80/", "http://a:/", "1a://b", ":a", "http:a", "/%zz", "/%2f%",
    ),
    "email": (
        "a@b", "Bob <a@b.c>", '"q \\"q" <a@[1.2.3.4]>', "=?utf-8?q?B=C3=B6b?= <a@b>", "=?iso-8859-1?B?Qg==?= x <a@b>", "=?us-ascii?q??= (c) =?utf-8?b?YWJj?= (d) x (e) <a@b>", "=?x?q?=3D?= <a@b> (=?x?b?YQ==?=)", "(c(d)) a@b (e)",
        "a.b+c@d-e.f", "a..b@c", '"a b"@c', "A, B <a@b>", "a@b, c@d", "<a@b>", "g: a@b;", "é@ü.de", "Bob\t<a@b>", "a@[x]", '""@a', "\\@b",
    ),
    "hostname": ("example.com", "a-", "-a", "a-b", "a.b-c.de", "1.2.3.4x.com", "☃.net", "münchen.de", f"{'x' * 63}.com", f"{'ab.' * 84}com", "a_b"),
    "ipv4": ("1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4", "255.255.255.255", "256.1.1.1", "0.0.0.0", "1.2.3"),  # noqa: S104 - read, not bound to
    "ipv6": ("::1", "2001:db8::1", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8", "1::8", "fe80::1%eth0", "::", "1:2:3:4:5:6:1.2.3.4", "::01.2.3.4"),
    "cidr": ("1.2.3.4/8", "01.2.3.4/32", "::/0", "2001:db8::/128", "::ffff:1.2.3.4/96", "1.2.3.4/033", "1.2.3.0/+8"),
    "mac": ("00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455", "00:11:22:33:44:55:66:77", "aA" + ":00" * 19, "001122334455"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"),
    "uuid3": ("123e4567-e89b-32d3-1456-426614174000", "123e4567e89b32d31456426614174000"),
    "uuid4": ("123e4567-e89b-42d3-a456-426614174000", "123e4567e89b42d3B456426614174000"),
    "uuid5": ("123e4567-e89b-52d3-a456-426614174000", "123e4567e89b52d38456426614174000"),
    "isbn": ("0321751043", "978-0321751041", "080442957X", "0-8044-2957-X", "9780321751041", "978 0 321 75104 1"),
    "isbn10": ("0321751043", "080442957X", "0-8044-2957-X"),
    "isbn13": ("978-0321751041", "9780321751041", "978 0 321 75104 1"),
    "creditcard": ("4111111111111111", "4111-1111-1111-1111", "5500000000000004", "340000000000009", "6011000000000004", "30000000000004"),
    "ssn": ("123-45-6789", "123 45 6789", "123-45 6789"),
    "hexcolor": ("#FFFFFF", "fff", "#a1B2c3"),
    "rgbcolor": ("rgb(1,2,3)", "rgb( 255 , 0 , 99 )", "rgb(256,1,1)", "rgb(01,2,3)", "rgb(1,\n2,\t3)"),
    "byte": ("YQ==", "YWI=", "YWJj", "+/+/", "-_-_", "YWJjZA=="),
    "password": ("", "anything"),
    "date": ("2020-02-29", "2019-02-29", "0000-01-01", "9999-12-31", "2020-04-31"),
    "duration": ("1h30m", "-1.5h", "22 ns", "2d", "1 hour", "3 weeks", "0", "1\u00b5s", "1\u03bcs", "9223372036854775807ns", ".5s", "+1.h", "1 w", "x 2 d y"),
    "date-time": ("2014-12-15T19:30:20.000Z", "2020-01-01t23:59:59+01:00", "2020-02-30T00:00:00Z", "0000-01-01T00:00:00-23:59"),
    "k8s-short-name": ("a", "a-1", "x" * 63, "a-b-c"),
    "k8s-long-name": ("a.b-c", "x" * 253, "a.b.c", f"{'ab.' * 84}a"),
}  # fmt: skip
"""Of each format some strings that are of it, and some that are nearly."""
NOT_ENFORCED = ("idn-email", "iri", "json-pointer", "regex", "time", "ulid", "uri-reference", "int32", "x")
COMMON = "0123456789aAbBfFgGxXzZ .-_:/@%#?&=+[](){}<>\"'\\,;*!$^`|~\t\n\r\0\x7f"
ODD = "\u00b5\u03bc\u00e4\u00df\u0130\u212a\u0663\u06dd\u2028\u2603\u3002\uff0e\ufeff\ufffd\U0001f600\U00031350\u00a0\u0301"


def strings(name: str, count: int, random: Random) -> Iterator[str]:
    """So many different strings, each one of the seeds, or parts of two, changed a little."""
    seeds = SEEDS[name]
    own = "".join(sorted({char for seed in seeds for char in seed}))
    known: set[str] = set()
    while len(known) < count:
        text = random.choice(seeds)
        if random.random() < 0.3:
            other = random.choice(seeds)
            text = text[: random.randint(0, len(text))] + other[random.randint(0, len(other)) :]
        for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3, 5))):
            text = _changed(text, own, random)
        if text not in known:
            known.add(text)
            yield text


def _changed(text: str, own: str, random: Random) -> str:
    start, end = sorted((random.randint(0, len(text)), random.randint(0, len(text))))
    alphabet = random.choice((own, own, COMMON, ODD))
    match random.randrange(7):
        case 0:  # another character
            return text[:start] + random.choice(alphabet) + text[start + 1 :]
        case 1:
            return text[:start] + random.choice(alphabet) + text[start:]
        case 2:
            return text[:start] + text[start + 1 :]
        case 3:  # a part twice, or more often: up to the bounds that there are
            return text[:end] + text[start:end] * random.choice((1, 1, 1, 2, 9)) + text[end:]
        case 4:
            return text[:start] + text[end:]
        case 5:  # parts in another order
            return text[end:] + text[start:end] + text[:start]
    return (
        text[:start]
        + (text[start:end].swapcase() if random.random() < 0.5 else "".join(random.choices(own, k=4)))
        + text[end:]
    )


def each_character(name: str) -> Iterator[str]:
    """Every code point within a string of the format."""
    seed = SEEDS[name][0]
    middle = len(seed) // 2
    for number in range(0x110000):
        if not 0xD800 <= number < 0xE000:  # no JSON text holds half of a pair
            yield seed[:middle] + chr(number) + seed[middle:]


def verdict(name: str, text: str) -> str:
    """What this project says: y, n, or - for a format that is not enforced."""
    check = string_format(name)
    if check is None or not enforced(("string",), name):
        return "-"
    return "y" if check(text) else "n"


def verdicts(program: Path, asked: Iterable[tuple[str, str]]) -> str:
    """What kube-apiserver's code says, a letter a string."""
    lines = "".join(f"{json.dumps(pair)}\n" for pair in asked)
    return subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout


def different(program: Path, name: str, texts: Sequence[str]) -> list[str]:
    """The strings on which the two disagree."""
    theirs = verdicts(program, ((name, text) for text in texts))
    return [text for text, said in zip(texts, theirs, strict=True) if verdict(name, text) != said]


def main(arguments: Sequence[str]) -> int:
    """The long form."""
    parser = argparse.ArgumentParser(description="Compare the formats with kube-apiserver's.")
    parser.add_argument("--strings", type=int, default=100_000, help="of each format")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    program = golang.formats()
    found = 0
    for name in SEEDS:
        texts = list(strings(name, chosen.strings, Random(f"{chosen.seed} {name}")))  # noqa: S311 - the same each time
        wrong = different(program, name, texts) + different(program, name, list(each_character(name)))
        accepted = sum(verdict(name, text) == "y" for text in texts)
        print(  # noqa: T201 - a command's output
            f"{name}: {len(texts)} strings, {accepted} accepted, {len(wrong)} different",
            *map(ascii, wrong[:9]),
            flush=True,
        )
        found += len(wrong)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
