"""The text of an expression, and how its mistakes are shown: with line, column, the line itself, and a caret."""

from __future__ import annotations

from collections.abc import Iterable

from extapi.schema.cel.errors import CompileError, Issue


def failure(text: str, issues: Iterable[Issue]) -> CompileError:
    """The error with these issues, which it prints in the order of their places.

    Source: ``cel-go/common`` Errors and Error.ToDisplayString.
    """
    ordered = tuple(sorted(issues, key=lambda issue: issue.offset))
    return CompileError("\n".join(_shown(text, issue) for issue in ordered), ordered)


def _shown(text: str, issue: Issue) -> str:
    offset, message = issue
    if offset < 0:
        return f"ERROR: <input>:-1:0: {message}"
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text.count("\n", 0, offset) + 1
    column = offset - start
    quoted = (text[start:] if end < 0 else text[start:end]).replace("\t", " ")
    return f"ERROR: <input>:{line}:{column + 1}: {message}\n | {quoted}\n | {'.' * column}^"
