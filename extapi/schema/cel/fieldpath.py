"""The ``fieldPath`` of a rule: a path to a field below the value, such as ``.spec.names['a.b']``.

Source: ``apiextensions-apiserver/pkg/apiserver/schema/cel`` ValidFieldPath.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

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
_NOWHERE: Final = "does not refer to a valid field"


class SchemaField(NamedTuple):
    """A field that a path leads to."""

    names: tuple[str, ...]
    """The names on the way."""
    written: str
    """The path as errors print it, without its first dot."""
    schema: Structural | None
    """The field's schema; None if it has none."""


def normalize_field_path(path: str, structural: Structural) -> str | None:
    """The path as errors print it, without its first dot; None if it is wrong, or the schema has no such field."""
    try:
        return find_field(path, structural).written
    except ValueError:
        return None


def find_field(path: str, structural: Structural, *, brackets: bool = True) -> SchemaField:
    """Follow a path.

    Args:
        path: The path.
        structural: The schema where it starts.
        brackets: Whether it may have names in brackets.

    Raises:
        ValueError: The path is wrong, or leads nowhere, in kube-apiserver's words.
    """
    node: Structural | None = structural
    written, names = "", list[str]()
    tokens = _tokens(path)
    for each in tokens:
        if each == ".":
            name = next(tokens, None)
        elif each == "[":
            if not brackets:
                raise ValueError("array notation is not allowed")
            name = _bracketed(tokens)
        else:
            raise ValueError(f"expected [ or . but got: {each}")
        if name is None:
            raise ValueError("unexpected end of JSON path")
        if node is None or not (node.properties or node.additional_properties is not None):
            raise ValueError(_NOWHERE)
        names.append(name)
        if node.properties:
            written += f".{name}" if written else name
            node = node.properties.get(name)
            if node is None:
                raise ValueError(_NOWHERE)
        else:
            written += f"[{name}]"
            node = node.additional
    return SchemaField(tuple(names), written, node)


def _bracketed(tokens: Iterator[str]) -> str | None:
    """The name in brackets, after the first of them; None if the path ends there.

    Raises:
        ValueError: There is none.
    """
    token = next(tokens, None)
    if token is None:
        return None
    name = _unquoted(token)
    if name is None:
        quoted = len(token) > 1 and token[0] == token[-1] == "'"
        raise ValueError("invalid string literal" if quoted else f"expected single quoted string but got {token}")
    closing = next(tokens, None)
    if closing not in (None, "]"):
        raise ValueError(f"expected ] but got {closing}")
    return None if closing is None else name


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
