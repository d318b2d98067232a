"""Tokens of a text in which something may be none, read one after another as the automaton asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from extapi.schema.cel.syntax.mistakes.vocabulary import EOF, TYPES

_HEX: Final = "[0-9a-fA-F]"
_ESCAPE: Final = rf"""\\(?:[abfnrtv"'\\?`]|[xX]{_HEX}{{2}}|u{_HEX}{{4}}|U{_HEX}{{8}}|[0-3][0-7]{{2}})"""
_PLAIN: Final = re.compile(
    rf"""
      (?P<space>[\t\ \r\n\f]++ | //[^\n]*+)
    | (?P<NUM_UINT>0x{_HEX}++[uU] | [0-9]++[uU])
    | (?P<NUM_FLOAT>(?:[0-9]++\.[0-9]++|\.[0-9]++)(?>(?:[eE][+-]?+[0-9]++)?) | [0-9]++[eE][+-]?+[0-9]++)
    | (?P<NUM_INT>0x{_HEX}++ | [0-9]++)
    | (?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/\ ]++`)
    | (?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*+)
    | (?P<operator>[=!<>]=|&&|\|\||[\[\]{{}}().,\-!?:+*/%<>])
    """,
    re.VERBOSE,
)
_OPENING: Final = re.compile(r"""([bB]?+)([rR]?+)("{3}|'{3}|"|')""")
_INSIDE: Final = {
    quote: re.compile(
        rf"""(?>(?:[^\\{quote[0]}{"" if len(quote) > 1 else chr(92) + "n" + chr(92) + "r"}]++|{_ESCAPE}{more})*)"""
    )
    for quote, more in {'"': "", "'": "", '"""': '|"(?!"")', "'''": "|'(?!'')"}.items()
}
"""What may stand between quotes, as far as it goes."""
_RAW_INSIDE: Final = {'"': re.compile(r'[^"\n\r]*+'), "'": re.compile(r"[^'\n\r]*+")}
_PARTIAL_ESCAPE: Final = re.compile(rf"\\(?:[xX]{_HEX}?|u{_HEX}{{0,3}}|U{_HEX}{{0,7}}|[0-3][0-7]?)?")
"""The beginning of an escape."""
_PARTIAL_NAME: Final = re.compile(r"`[A-Za-z0-9_.\-/ ]*+")


class Token(NamedTuple):
    """A token."""

    type: int
    text: str
    offset: int
    end: int
    """Where it ends; -1 if it does not stand in the text, but was missing."""


def scan(text: str, report: Callable[[int, str], None]) -> Iterator[Token]:
    """The tokens of a text, the end last, in linear time.

    Args:
        text: The text.
        report: Told of what is no token: its offset, and the text that is dropped.

    Source: ``cel-go/parser/gen`` CEL.g4, lexer rules; ``antlr4-go/antlr`` BaseLexer.NextToken.
    """
    strings = _Strings(text)
    offset = 0
    while offset < len(text):
        type_, end = strings.match(offset)
        if type_ is None and end < 0:
            match = _PLAIN.match(text, offset)
            if match is not None:
                end = match.end()
                group = match.lastgroup or ""
                if group == "space":
                    offset = end
                    continue
                found = match.group()
                default = TYPES["IDENTIFIER"] if group == "operator" else TYPES[group]
                type_ = TYPES.get(found, default) if group in {"operator", "IDENTIFIER"} else default
        if type_ is not None:
            yield Token(type_, text[offset:end], offset, end)
            offset = end
            continue
        # What the automaton has read, and the character that it could not read: both are dropped.
        stopped = end if end >= 0 else _stopped(text, offset)
        report(offset, text[offset : stopped + 1])
        offset = stopped + 1
    yield Token(EOF, "<EOF>", len(text), len(text))


def _stopped(text: str, offset: int) -> int:
    """Where the reading of a token that is no string stops."""
    char = text[offset]
    if char in "&|=":
        return offset + 1
    partial = _PARTIAL_NAME.match(text, offset)
    return offset if partial is None else partial.end()


class _Strings:
    """Finds string literals, and remembers where those with three quotes cannot end: each part of the text is read once."""

    __slots__ = ("dead", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.dead: dict[str, int] = {}
        """For three quotes, raw or not: up to where the text has been read without finding them."""

    def match(self, offset: int) -> tuple[int | None, int]:
        """The type of the literal that begins there, and its end.

        Without a type, where the reading stopped. That is -1 if no literal begins there, or something else does as well.
        """
        opening = _OPENING.match(self.text, offset)
        if opening is None:
            return None, -1
        binary, raw, quote = opening.groups()
        type_ = TYPES["BYTES" if binary else "STRING"]
        if len(quote) == 3:
            end = self._long(opening.end(), raw, quote)
            # Two of three quotes are an empty string, if the third one opens nothing.
            return type_, end if end >= 0 else opening.end() - 1
        end = (_RAW_INSIDE if raw else _INSIDE)[quote].match(self.text, opening.end()).end()  # type: ignore[union-attr]  # an empty match is one
        if self.text.startswith(quote, end):
            return type_, end + 1
        if binary or raw:
            return None, -1
        partial = _PARTIAL_ESCAPE.match(self.text, end)
        return None, end if partial is None else partial.end()

    def _long(self, start: int, raw: str, quote: str) -> int:
        """The end of a literal with three quotes, or -1."""
        if start < self.dead.get(raw.lower() + quote, 0):
            return -1
        if raw:
            end = self.text.find(quote, start)
            stopped = len(self.text)
        else:
            stopped = _INSIDE[quote].match(self.text, start).end()  # type: ignore[union-attr]  # an empty match is one
            end = stopped if self.text.startswith(quote, stopped) else -1
        if end < 0:
            self.dead[raw.lower() + quote] = stopped
            return -1
        return end + len(quote)
