"""Protocol buffers' text format, as far as cel-spec's files use it.

A message becomes a dictionary with a list per field; strings become bytes, everything else stays the word that was written.
"""

from __future__ import annotations

import re
from typing import Any, Final

_TOKEN: Final = re.compile(
    r"""\s+|\#[^\n]*|(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<mark>[{}<>\[\]:,;])|(?P<word>[^\s{}<>\[\]:,;"'\#]+)"""
)
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|([^\\]+)"
)
_LETTERS: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "a": b"\a", "b": b"\b", "f": b"\f", "v": b"\v"}
_CLOSING: Final = {"{": "}", "<": ">"}

Message = dict[str, list[Any]]


def parse(text: str) -> Message:
    """The message that is the whole text.

    Raises:
        ValueError: It cannot be read.
    """
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"cannot read {text[at : at + 20]!r}")
        if match.lastgroup:
            tokens.append((match.lastgroup, match[0]))
        at = match.end()
    return _Reader(tokens).message("")


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = [*tokens, ("end", "")]
        self._at = 0

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _taken(self, mark: str) -> bool:
        found = self._tokens[self._at] == ("mark", mark)
        self._at += found
        return found

    def message(self, closing: str) -> Message:
        found: Message = {}
        while self._tokens[self._at][1] != closing:
            name = self._name()
            self._taken(":")
            values = found.setdefault(name, [])
            if self._taken("["):
                while not self._taken("]"):
                    values.append(self._value())
                    self._taken(",")
            else:
                values.append(self._value())
            if not self._taken(","):
                self._taken(";")
        self._at += 1
        return found

    def _name(self) -> str:
        if not self._taken("["):
            return self._next()
        name = ""
        while not self._taken("]"):
            name += self._next()
        return name

    def _value(self) -> Any:
        kind, text = self._tokens[self._at]
        if kind == "string":
            found = b""
            while self._tokens[self._at][0] == "string":
                found += _unquoted(self._next())
            return found
        self._at += 1
        if kind == "mark" and text in _CLOSING:
            return self.message(_CLOSING[text])
        if kind != "word":
            raise ValueError(f"not a value: {text!r}")
        return text


def _unquoted(text: str) -> bytes:
    parts = []
    for match in _ESCAPE.finditer(text[1:-1]):
        octal, hexadecimal, short, long, letter, plain = match.groups()
        if plain is not None:
            parts.append(plain.encode())
        elif octal is not None:
            parts.append(bytes([int(octal, 8) & 255]))
        elif hexadecimal is not None:
            parts.append(bytes([int(hexadecimal, 16)]))
        elif letter is not None:
            parts.append(_LETTERS.get(letter) or letter.encode())
        else:
            parts.append(chr(int(short or long, 16)).encode())
    return b"".join(parts)
