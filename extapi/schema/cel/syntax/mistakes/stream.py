"""The tokens as the automaton sees them: one is the current one, and those after it are read when it looks at them."""

from __future__ import annotations

from collections.abc import Callable

from extapi.schema.cel.syntax.mistakes.scanner import Token, scan
from extapi.schema.cel.syntax.mistakes.vocabulary import EOF


class TokenStream:
    """A stream of tokens.

    Source: ``antlr4-go/antlr`` CommonTokenStream.
    """

    __slots__ = ("_dropped", "_report", "_scanned", "_text", "_tokens", "index")

    def __init__(self, text: str, report: Callable[[int, str], None]) -> None:
        self._text = text
        self._report = report
        self._dropped: list[tuple[int, int]] = []
        self._scanned = scan(text, self._drop)
        self._tokens = [next(self._scanned)]
        self.index = 0

    def _drop(self, offset: int, text: str) -> None:
        self._dropped.append((offset, offset + len(text)))
        self._report(offset, f"token recognition error at: '{text}'")

    def token(self, ahead: int = 1) -> Token:
        """The current token, or one ahead; the end follows itself."""
        tokens = self._tokens
        wanted = self.index + ahead
        while len(tokens) < wanted and tokens[-1].type != EOF:
            tokens.append(next(self._scanned))
        return tokens[min(wanted, len(tokens)) - 1]

    def type(self, ahead: int = 1) -> int:
        """The type of the current token, or of one ahead."""
        return self.token(ahead).type

    def before(self) -> Token | None:
        """The last token before the current one."""
        return self._tokens[self.index - 1] if self.index else None

    def consume(self) -> None:
        """Go on to the next token, which is read at once."""
        if self.token().type != EOF:
            self.token(2)
            self.index += 1

    def text(self, first: Token, last: Token) -> str:
        """The text of two tokens and of what stands between them, but for what is no token."""
        start = first.offset
        end = last.end
        parts: list[str] = []
        for dropped, after in self._dropped:
            if start <= dropped < end:
                parts.append(self._text[start:dropped])
                start = after
        parts.append(self._text[start:end])
        return "".join(parts)
