"""Syntax errors of JSON in the words of Go's ``encoding/json``, which clients and their tests know.

It runs only on input that a fast decoder has refused, so it may be slow; but it takes linear time and does not recurse.
Knows nothing of objects or requests.

Source: ``encoding/json/scanner.go``.
"""

from __future__ import annotations

__all__ = ["END", "TOO_DEEP", "syntax_error"]

END = "unexpected end of JSON input"
TOO_DEEP = "exceeded max depth"

_SPACE = frozenset(b" \t\r\n")
_IN_STRING = frozenset(range(0x20, 0x100)) - frozenset(b'"\\')
_DIGITS = frozenset(b"0123456789")
_HEX = b"0123456789abcdefABCDEF"
_ESCAPES = b'"\\/bfnrt'
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}

_Step = tuple[int, str]
"""The position of the scan, and the error found there ("" if there is none)."""


def syntax_error(data: bytes, *, max_depth: int) -> str:
    """The error of ``data`` in Go's words, or "" if it is well-formed JSON no deeper than ``max_depth``."""
    closers: list[int] = []
    at, error = _value(data, _skip(data, 0), closers)
    while not error:
        if len(closers) > max_depth:
            return TOO_DEEP
        fresh = data[at - 1] in b"[{"  # the step before opened a bracket; a string's last byte is its quote
        at = _skip(data, at)
        if not closers:
            return "" if at == len(data) else _unexpected(data, at, "after top-level value")
        at, error = _next(data, at, closers, fresh=fresh)
    return error


def _next(data: bytes, at: int, closers: list[int], *, fresh: bool) -> _Step:
    """Read one step inside the innermost open array or object: its end, or its next item (the first if ``fresh``)."""
    in_object = closers[-1] == ord("}")
    if at < len(data) and data[at] == closers[-1]:
        closers.pop()
        return at + 1, ""
    if not fresh:
        if at >= len(data) or data[at] != ord(","):
            return at, _unexpected(data, at, "after object key:value pair" if in_object else "after array element")
        at = _skip(data, at + 1)
    if in_object:
        at, error = _key(data, at)
        if error:
            return at, error
    return _value(data, _skip(data, at), closers)


def _key(data: bytes, at: int) -> _Step:
    if at >= len(data) or data[at] != ord('"'):
        return at, _unexpected(data, at, "looking for beginning of object key string")
    at, error = _string(data, at + 1)
    if error:
        return at, error
    at = _skip(data, at)
    if at >= len(data) or data[at] != ord(":"):
        return at, _unexpected(data, at, "after object key")
    return at + 1, ""


def _value(data: bytes, at: int, closers: list[int]) -> _Step:
    """Read the start of a value: a whole scalar, or the opening bracket of an array or object."""
    first = data[at] if at < len(data) else -1
    if first in (ord("["), ord("{")):
        closers.append(ord("]") if first == ord("[") else ord("}"))
        return at + 1, ""
    if first == ord('"'):
        return _string(data, at + 1)
    if first in _LITERALS:
        return _literal(data, at, _LITERALS[first])
    if first == ord("-") or ord("0") <= first <= ord("9"):
        return _number(data, at)
    return at, _unexpected(data, at, "looking for beginning of value")


def _string(data: bytes, at: int) -> _Step:
    while True:
        at = _end(_IN_STRING, data, at)
        if at >= len(data):
            return at, END
        if data[at] == ord('"'):
            return at + 1, ""
        if data[at] != ord("\\"):
            return at, _unexpected(data, at, "in string literal")
        at += 1
        if at < len(data) and data[at] == ord("u"):
            for offset in range(1, 5):
                if at + offset >= len(data) or data[at + offset] not in _HEX:
                    return at, _unexpected(data, at + offset, r"in \u hexadecimal character escape")
            at += 5
        elif at < len(data) and data[at] in _ESCAPES:
            at += 1
        else:
            return at, _unexpected(data, at, "in string escape code")


def _literal(data: bytes, at: int, word: bytes) -> _Step:
    for offset in range(1, len(word)):
        if at + offset >= len(data) or data[at + offset] != word[offset]:
            where = f"in literal {word.decode()} (expecting '{chr(word[offset])}')"
            return at, _unexpected(data, at + offset, where)
    return at + len(word), ""


def _number(data: bytes, at: int) -> _Step:
    if data[at] == ord("-"):
        at += 1
        if _end(_DIGITS, data, at) == at:
            return at, _unexpected(data, at, "in numeric literal")
    at = at + 1 if data[at] == ord("0") else _end(_DIGITS, data, at)
    if data[at : at + 1] == b".":
        start = at + 1
        at = _end(_DIGITS, data, start)
        if at == start:
            return at, _unexpected(data, at, "after decimal point in numeric literal")
    if data[at : at + 1] in (b"e", b"E"):
        start = at + (2 if data[at + 1 : at + 2] in (b"+", b"-") else 1)
        at = _end(_DIGITS, data, start)
        if at == start:
            return at, _unexpected(data, at, "in exponent of numeric literal")
    return at, ""


def _skip(data: bytes, at: int) -> int:
    return _end(_SPACE, data, at)


def _end(run: frozenset[int], data: bytes, at: int) -> int:
    """Where the run of these bytes at ``at`` ends; it may be empty."""
    while at < len(data) and data[at] in run:
        at += 1
    return at


def _unexpected(data: bytes, at: int, where: str) -> str:
    if at >= len(data):
        return END
    return f"invalid character {_quoted(data[at])} {where}"


def _quoted(byte: int) -> str:
    """A byte as Go's ``quoteChar`` prints it: as the code point with its number."""
    named = {ord("'"): r"'\''", ord('"'): "'\"'", ord("\\"): r"'\\'"}
    escapes = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r"}
    if byte in named:
        return named[byte]
    if byte in escapes:
        return f"'\\{escapes[byte]}'"
    if byte < 0x20 or byte == 0x7F:
        return f"'\\x{byte:02x}'"
    char = chr(byte)
    return f"'{char}'" if char.isprintable() else f"'\\u{byte:04x}'"
