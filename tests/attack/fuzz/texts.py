"""Values as JSON and YAML text, with what no encoder would write: keys twice, raw text, tags, anchors, broken bytes."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.attack.fuzz.values import Pairs, Raw


def to_json(value: Any) -> bytes:
    """JSON text; :class:`Raw` as it is, lone surrogates as escapes."""
    return _json(value).encode("utf-8", "surrogatepass")


def _json(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{json.dumps(key)}:{_json(item)}" for key, item in value) + "}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return json.dumps(value)


_BROKEN = (
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
    b"\x80",
    b"\x00",
    b"\x1f",
    b"\xef\xbb\xbf",
    b"\xfe\xff",
)


def damaged(dice: Random, data: bytes) -> bytes:
    """The same bytes with a few of them changed, gone, doubled, or cut off."""
    found = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5))):
        at = dice.randrange(len(found) + 1)
        kind = dice.randrange(7)
        if kind == 0:
            found[at:at] = dice.choice(_BROKEN)
        elif kind == 1:
            del found[at : at + dice.choice((1, 2, 10))]
        elif kind == 2 and at < len(found):
            found[at] ^= 1 << dice.randrange(8)
        elif kind == 3:
            found[at:at] = found[at : at + dice.choice((1, 5, 40))]
        elif kind == 4:
            found[at:at] = dice.choice(
                (b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud800", b"//", b"/**/", b"\n\n")
            )
        elif kind == 5:
            del found[at:]
        else:
            found += dice.choice((b"{}", b"\x00", b" ", b"\n---\n", b"x", b"]"))
    return bytes(found)


def encoded_otherwise(dice: Random, data: bytes) -> bytes:
    """The text in another encoding than UTF-8."""
    text = data.decode("utf-8", "replace")
    return text.encode(dice.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7", "latin-1")), "replace")


_SCALARS = (
    "0x" + "f" * 300, "0b" + "1" * 400, "0o777", "0777", "190:20:30", ".inf", "-.inf", ".nan", "1e400", "1" + "0" * 400, "1_000",
    "2001-12-14t21:59:43.10-05:00", "2001-12-14", "yes", "no", "on", "off", "y", "n", "~", "null", "=", "<<", "!!binary R0lGODlh",
    "!!binary !", "!!python/object/apply:os.system [echo]", "!!set {a, b}", "!!omap [a: 1]", "!!timestamp 2001-01-01", "!!int '12'",
    "!!float 1", "!!str 1", "!!null x", "!!bool maybe", "!local x", "!<tag:yaml.org,2002:int> 3", "!!int x", "!!float .nan",
    '"\\U0010FFFF"', '"\\ud800"', '"\\x00"', '"\\e"', "'it''s'", "|\n  a\n  b", ">-\n  a\n\n  b", "@x", "`x`", "%x", "*nowhere", "&a",
    "&a *a", "&a [*a]", "&a {x: *a}", "? a", "- a", "[a, b", "{a: b", "[a]: b", "{{a: b}: c}", "1.", "+.5", "-0", "0.0e0", "1e3", "1E+",
    "0x", "0_", "1__0", "\t", "#", "'", '"', "a: b", "a\u2028b", "\u0085", "a\x07b", "12e03", "0o8", "09", "+12", "685_230.15", "190:20:30.15",
)  # fmt: skip


def to_yaml(dice: Random, value: Any) -> bytes:
    """YAML that means ``value``, or nearly, or something nasty."""
    kind = dice.randrange(10)
    text = _json(value)
    if kind < 3:
        return text.encode("utf-8", "surrogatepass")  # JSON is YAML, nearly
    lines = [f"{json.dumps(key) if dice.random() < 0.3 else key}: {_json(item)}" for key, item in _items(value)]
    if kind < 6:
        pass
    elif kind == 6:
        lines.append(f"spec: {dice.choice(_SCALARS)}")
    elif kind == 7:
        at = dice.randrange(len(lines) + 1)
        lines.insert(
            at,
            dice.choice(
                ("---", "...", "%YAML 1.1", "%TAG ! tag:x,2000:", "\t", "# a comment", "- a", "? x", ": y", "\ufeff")
            ),
        )
    elif kind == 8:
        lines.append("x: " + dice.choice(_SCALARS))
        lines.append("y: {<<: {apiVersion: 1}, <<: [{a: 1}, {b: 2}], <<: 3}")
    else:
        lines += _laughs(dice)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _items(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Pairs):
        return list(value)
    return list(value.items()) if isinstance(value, dict) else [("spec", value)]


def _laughs(dice: Random) -> list[str]:
    """Aliases of aliases."""
    depth, each = dice.choice(((3, 3), (6, 9), (9, 9), (20, 2), (200, 1)))
    lines = ["l0: &l0 [lol]"]
    lines += [f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * each)}]" for level in range(1, depth)]
    return lines
