"""The text of an expression, and how its mistakes are shown: with line, column, the line itself, and a caret."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import islice
from typing import Final

from extapi.schema.cel.errors import CompileError, Issue

NOWHERE: Final = -1
"""The offset of a mistake that is at no place in particular."""
BEFORE: Final = -2
"""The offset of one before the first character: cel-go has it there if it is about something that could not be read."""
SHOWN_LIMIT: Final = 100
"""How many mistakes are shown. Source: ``cel-go/common`` NewErrors."""
_SNIPPET_LIMIT: Final = 16_384
"""How many bytes of UTF-8 a line may have to be shown. Source: ``cel-go/common`` maxSnippetLength."""


class MistakeError(Exception):
    """The first mistake that the parser met. One of syntax is in fewer words than cel-go's."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.issue = Issue(offset, message)


def failure(text: str, issues: Iterable[Issue]) -> CompileError:
    """The error with these issues, of which it prints the first hundred, in the order of their places.

    Source: ``cel-go/common`` Errors and Error.ToDisplayString.
    """
    issues = iter(issues)
    ordered = sorted(islice(issues, SHOWN_LIMIT), key=lambda issue: (issue.offset != NOWHERE, issue.offset))
    lines = _Lines(text)
    shown = [lines.shown(issue) for issue in ordered]
    truncated = sum(1 for _ in issues)
    if truncated:
        shown.append(f"{truncated} more errors were truncated")
    return CompileError("\n".join(shown), tuple(ordered))


class _Lines:
    """The lines of a text."""

    __slots__ = ("starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0]
        if "\n" in text:
            self.starts += [index + 1 for index, char in enumerate(text) if char == "\n"]

    def shown(self, issue: Issue) -> str:
        offset, message = issue
        if offset == NOWHERE:
            return f"ERROR: <input>:-1:0: {message}"
        line = 1 if offset == BEFORE else bisect_right(self.starts, offset)
        start = self.starts[line - 1]
        column = -1 if offset == BEFORE else offset - start
        head = f"ERROR: <input>:{line}:{column + 1}: {message}"
        end = self.starts[line] - 1 if line < len(self.starts) else len(self.text)
        quoted = self.text[start:end]
        if not self.text or (
            len(quoted) > _SNIPPET_LIMIT // 4 and len(quoted.encode("utf-8", "replace")) > _SNIPPET_LIMIT
        ):
            return head
        quoted = quoted.replace("\t", " ")
        return f"{head}\n | {quoted}\n | {_pointer(quoted, max(column, 0))}"


def _pointer(quoted: str, column: int) -> str:
    """Dots up to the column and a caret below it, wide below all characters but ASCII's."""
    before = quoted[:column]
    dots = "." * len(before) if before.isascii() else "".join("." if char.isascii() else "\uff0e" for char in before)
    wide = column < len(quoted) and not quoted[column].isascii()
    return dots + ("\uff3e" if wide else "^")
