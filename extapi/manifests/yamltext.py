"""Data as YAML that a person would write: block style, keys in order, comments that say why.

Knows YAML, not Kubernetes. PyYAML writes no comments, and the little that is needed here is written by hand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Self

import yaml

_PLAIN = re.compile(r"(?:--)?[A-Za-z/][A-Za-z0-9_./@=:-]*(?<!:)|[1-9][0-9]*(?:m|h|Mi|Gi)")
"""Strings that need no quotes in any YAML, including quantities: no reader takes them for a number or for syntax."""
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"})
"""Exceptions, in any case: YAML 1.1 has several names for some values."""


class Noted(str):
    """A key with a comment above it."""

    __slots__ = ("why",)
    why: tuple[str, ...]

    def __new__(cls, key: str, *why: str) -> Self:
        """``why``: the lines of the comment."""
        made = super().__new__(cls, key)
        made.why = why
        return made


def to_yaml(value: Mapping[str, Any]) -> str:
    """The text of a mapping of mappings, lists, tuples, strings, whole numbers and booleans.

    A list is written with one item per line, a tuple of scalars in one line.

    Raises:
        TypeError: The data holds another type.
    """
    return "\n".join(_mapping(value)) + "\n"


def comment(text: str) -> str:
    """``text`` as comment lines, with a line break at the end of each."""
    return "".join(f"# {line}\n" if line else "#\n" for line in text.splitlines())


def _mapping(value: Mapping[str, Any]) -> Iterator[str]:
    for key, member in value.items():
        if isinstance(key, Noted):
            yield from (f"# {line}" for line in key.why)
        name = _scalar(str(key))
        if isinstance(member, Mapping) and member:
            yield f"{name}:"
            yield from (f"  {line}" for line in _mapping(member))
        elif isinstance(member, list) and member:
            yield f"{name}:"
            yield from (f"  {line}" for line in _items(member))
        else:
            yield f"{name}: {_inline(member)}"


def _items(values: list[Any]) -> Iterator[str]:
    for value in values:
        lines = _block(value)
        yield f"- {next(lines)}"
        yield from (f"  {line}" for line in lines)


def _block(value: Any) -> Iterator[str]:
    """The lines of one item."""
    if isinstance(value, Mapping) and value:
        return _mapping(value)
    if isinstance(value, list) and value:
        return _items(value)
    return iter([_inline(value)])


def _inline(value: Any) -> str:
    """The text of a value that fits in one line: a scalar, a tuple of scalars, an empty list or mapping."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_scalar, value))}]"
    if isinstance(value, list | Mapping) and not value:
        return "{}" if isinstance(value, Mapping) else "[]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} cannot be written: {value!r}")
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return str(value)
    quoted: str = yaml.safe_dump(str(value), default_style='"', width=math.inf)
    return quoted.removesuffix("\n")
