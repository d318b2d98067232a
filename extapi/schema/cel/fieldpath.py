"""The ``fieldPath`` of a rule: a path to a field below the value, such as ``.spec.names['a.b']``.

Source: ``apiextensions-apiserver/pkg/apiserver/schema/cel`` ValidFieldPath.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from extapi.schema.structural import Structural

_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}
_DELIMITERS: Final = ".[]"


def normalize_field_path(path: str, structural: Structural) -> str | None:
    """The path as errors print it, without its first dot; None if it is wrong, or the schema has no such field."""
    node: Structural | None = structural
    written = ""
    tokens = _tokens(path)
    for each in tokens:
        if each == ".":
            name = next(tokens, None)
        elif each == "[":
            name = _unquoted(next(tokens, ""))
            if next(tokens, "") != "]":
                return None
        else:
            return None
        if name is None or node is None:
            return None
        if node.properties:
            written += f".{name}" if written else name
            node = node.properties.get(name)
            if node is None:
                return None
        elif node.additional_properties is not None:
            written += f"[{name}]"
            node = node.additional
        else:
            return None
    return written


def _tokens(path: str) -> Iterator[str]:
    """Delimiters, one character each, and what stands between them; a quoted string is one token with its quotes."""
    start = 0
    while start < len(path):
        if path[start] in _DELIMITERS:
            end = start + 1
        elif path[start] == "'":
            end = _closing(path, start)
        else:
            end = start + 1
            while end < len(path) and path[end] not in _DELIMITERS:
                end += 1
        yield path[start:end]
        start = end


def _closing(path: str, start: int) -> int:
    """Where a quoted string ends: after the next quote without a backslash before it, or with the path."""
    end = path.find("'", start + 1)
    while end > 0 and path[end - 1] == "\\":
        end = path.find("'", end + 1)
    return end + 1 if end > 0 else len(path)


def _unquoted(token: str) -> str | None:
    """The contents of a quoted string; None if it is none, or has an unknown escape."""
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        return None
    text = ""
    characters = iter(token[1:-1])
    for char in characters:
        # A backslash before a line break, or at the end, stands for itself.
        following = next(characters, "") if char == "\\" else ""
        if char != "\\" or following in ("", "\n"):
            text += char + following
        elif following in _ESCAPES:
            text += _ESCAPES[following]
        else:
            return None
    return text
