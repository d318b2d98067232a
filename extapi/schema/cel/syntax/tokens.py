"""The words of an expression: one pass over the text, linear whatever it is.

A text that is not made of tokens alone is refused here without further words: :mod:`extapi.schema.cel.syntax.mistakes`
reads it again as cel-go does, and says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from extapi.schema.cel.syntax.source import MistakeError

IDENTIFIER: Final = "identifier"
INT: Final = "int"
UINT: Final = "uint"
DOUBLE: Final = "double"
STRING: Final = "string"
BYTES: Final = "bytes"
END: Final = "end"

OPERATORS: Final = (
    "==",
    "!=",
    "in",
    "<",
    "<=",
    ">=",
    ">",
    "&&",
    "||",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ".",
    ",",
    "-",
    "!",
    "?",
    ":",
    "+",
    "*",
    "/",
    "%",
    "true",
    "false",
    "null",
)
_SPACE: Final = "space"
_FIXED: Final[Mapping[str, str]] = {" ": _SPACE} | {each: each for each in OPERATORS}

_ESCAPE: Final = r"""\\(?:[abfnrtv"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
_STRING: Final = rf"""
    [bB]?+(?:
        "{{3}}(?>(?:[^\\"]++|{_ESCAPE}|"(?!""))*)"{{3}} | '{{3}}(?>(?:[^\\']++|{_ESCAPE}|'(?!''))*)'{{3}}
      | "(?!"")(?>(?:[^\\"\n\r]++|{_ESCAPE})*)" | '(?!'')(?>(?:[^\\'\n\r]++|{_ESCAPE})*)'
      | [rR](?:"{{3}}(?>(?:[^"]++|"(?!""))*)"{{3}} | '{{3}}(?>(?:[^']++|'(?!''))*)'{{3}}
        | "(?!"")[^"\n\r]*+" | '(?!'')[^'\n\r]*+'))
"""
# A piece is a space, a token, or all that is left if there is none. Possessive and atomic: nothing is tried twice.
_PIECES: Final = re.compile(
    rf"""
      [A-Za-z_][A-Za-z0-9_]*+(?!["'])
    | [\t\ \r\n\f]++ | //[^\n]*+
    | {_STRING}
    | [A-Za-z_][A-Za-z0-9_]*+
    | 0x[0-9a-fA-F]++[uU]?+
    | [0-9]++[uU]
    | (?:[0-9]++\.[0-9]++|\.[0-9]++)(?>(?:[eE][+-]?+[0-9]++)?)
    | [0-9]++(?>(?:[eE][+-]?+[0-9]++)?)
    | [=!<>]= | && | \|\| | [\[\]{{}}().,\-!?:+*/%<>]
    | .++
    """,
    re.VERBOSE | re.DOTALL,
)
_WHOLE_STRING: Final = re.compile(_STRING, re.VERBOSE)


class TokenTable(NamedTuple):
    """The tokens of a text, the last being its end.

    The kind of an operator or keyword is its text. Offsets are in code points.
    """

    kinds: list[str]
    texts: list[str]
    offsets: list[int]


def tokenize(text: str) -> TokenTable:
    """The tokens of a text.

    Raises:
        MistakeError: Something in it is no token.

    Source: ``cel-go/parser/gen`` CEL.g4, lexer rules.
    """
    kinds: list[str] = []
    texts: list[str] = []
    offsets: list[int] = []
    offset = 0
    for piece in _PIECES.findall(text):
        kind = _FIXED.get(piece)
        if kind is None:
            kind = IDENTIFIER if piece.isidentifier() and piece.isascii() else _classify(piece, offset)
        if kind is not _SPACE:
            kinds.append(kind)
            texts.append(piece)
            offsets.append(offset)
        offset += len(piece)
    if kinds and kinds[-1] in {STRING, BYTES} and _WHOLE_STRING.fullmatch(texts[-1]) is None:
        # All that was left, which only begins and ends with quotes.
        raise _no_token(texts[-1], offsets[-1])
    kinds.append(END)
    texts.append("<EOF>")
    offsets.append(offset)
    return TokenTable(kinds, texts, offsets)


def _classify(piece: str, offset: int) -> str:
    first = piece[0]
    if first in " \t\r\n\f/":
        return _SPACE
    if first in "\"'bBrR" and piece[-1] in "\"'" and len(piece) > 1:
        return BYTES if first in "bB" else STRING
    if first not in ".0123456789":
        raise _no_token(piece, offset)
    if piece[-1] in "uU":
        return UINT
    if piece.startswith("0x") or piece.isdecimal():
        return INT
    return DOUBLE


def _no_token(piece: str, offset: int) -> MistakeError:
    return MistakeError(offset, f"Syntax error: token recognition error at: '{piece[0]}'")
