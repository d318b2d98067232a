"""Expressions that nest deeply, and such that are very long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

LONG: Final = 100_000
"""Characters of the longest expression that kube-apiserver reads."""


def nested(depth: int) -> Iterator[tuple[str, str]]:
    """Expressions that nest about so deeply, each in its own way, by name."""
    yield "parentheses", "(" * depth + "1" + ")" * depth
    yield "lists", "[" * depth + "]" * depth
    yield "maps", "{'a': " * depth + "1" + "}" * depth
    yield "negations", "!" * depth + "true"
    yield "signs", "-(" * depth + "1" + ")" * depth
    yield "conditions", "(true ? " * depth + "1" + " : 2)" * depth
    yield "calls", "dyn(" * depth + "1" + ")" * depth
    yield "indices", "[0][" * depth + "0" + "]" * depth
    yield "sums", "+".join(["1"] * depth)
    yield "conjunctions", " && ".join(["true"] * depth)
    yield "disjunctions of conjunctions", "(true && (false || " * (depth // 2) + "true" + "))" * (depth // 2)
    yield "members", "{'a': 1}" + ".a" * depth
    yield "methods", "'a'" + ".trim()" * depth
    yield "right conditions", "true ? 1 : " * depth + "1"


LONG_TEXTS: Final[Mapping[str, Callable[[int], str]]] = {
    "sum": lambda size: "1+" * (size // 2) + "1",
    "conjunction": lambda size: "true&&" * (size // 6) + "true",
    "open parentheses": lambda size: "(" * size,
    "open brackets": lambda size: "[" * size,
    "list": lambda size: "[" + "1," * (size // 2) + "1]",
    "map": lambda size: "{" + "1:1," * (size // 4) + "1:1}",
    "string": lambda size: "'" + "a" * size + "'",
    "open string": lambda size: "'" + "a" * size,
    "open string with escapes": lambda size: "'" + "\\n" * (size // 2),
    "quotes": lambda size: "'" * size,
    "triple quotes": lambda size: "'''" + "'a" * (size // 2),
    "wrong escapes": lambda size: "'" + "\\q" * (size // 2) + "'",
    "members": lambda size: "a" + ".a" * (size // 2),
    "calls": lambda size: "a(" * (size // 2),
    "negations": lambda size: "!" * size,
    "signs": lambda size: "-" * size,
    "escapes": lambda size: "\\" * size,
    "hashes": lambda size: "#" * size,
    "back quotes": lambda size: "`" * size,
    "unknown characters": lambda size: "é" * size,
    "name": lambda size: "a" * size,
    "digits": lambda size: "1" * size,
    "hexadecimal digits": lambda size: "0x" + "f" * size,
    "exponent": lambda size: "1e" + "9" * size,
    "fraction": lambda size: "0." + "9" * size,
    "spaces": lambda size: " " * size,
    "lines": lambda size: "\n" * size + "1",
    "comment": lambda size: "//" + "a" * size,
    "comments": lambda size: "//\n" * (size // 3) + "1",
    "unknown names": lambda size: "a+" * (size // 2) + "a",
    "unknown names in lines": lambda size: "a+\n" * (size // 3) + "a",
    "conditions": lambda size: "true?" * (size // 5) + "1",
    "commas": lambda size: "," * size,
    "dots": lambda size: "." * size,
    "macros": lambda size: "has(a)||" * (size // 8) + "true",
    "wrong macros": lambda size: "has(1)||" * (size // 8) + "true",
    "loops": lambda size: "[1].all(x,true)&&" * (size // 17) + "true",
    "format": lambda size: "'" + "%s" * (size // 2) + "'.format([1])",
    "pattern": lambda size: "'a'.matches('" + "(a*" * (size // 4) + "')",
    "duration": lambda size: "duration('" + "1h" * (size // 2) + "')",
    "timestamp": lambda size: "timestamp('" + "1" * size + "')",
}
"""By name: expressions of about so many characters."""


def loops(depth: int) -> str:
    """Macros within macros."""
    text = "true"
    for level in range(depth):
        text = f"[{level}].all(v{level}, {text} && v{level} == {level})"
    return text


def cases(depths: tuple[int, ...] = (10, 100, 240, 249, 250, 251, 252, 300, 1000)) -> Iterator[tuple[str, str]]:
    """Those that are compared with the original, by name."""
    for depth in depths:
        for name, text in nested(depth):
            yield f"{name} {depth}", text
    for depth in (5, 8, 15, 20):
        yield f"loops {depth}", loops(depth)
    for name, make in LONG_TEXTS.items():
        for size in (50, 2_000):
            yield f"{name} {size}", make(size)
    for size in (LONG - 1, LONG, LONG + 1, 3_000_000):
        yield f"spaces {size}", "1" + " " * (size - 1)
        yield f"characters {size}", "'" + "é" * (size - 2) + "'"
