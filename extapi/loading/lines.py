"""Lines of an author's code: where a field is declared, and which frames an error came through.

Reads source files only for messages about mistakes at start.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from extapi.api.declaration import Problem
from extapi.loading.authorscode import library, short


@dataclass(frozen=True)
class SourceLine:
    """A line of an author's code."""

    path: str
    number: int
    within: str = ""
    """The function or class body that was executed."""

    @property
    def text(self) -> str:
        """The text of the line."""
        return linecache.getline(self.path, self.number).strip()

    @property
    def field(self) -> str:
        """``Class.field`` if the line is part of a field's declaration, otherwise the empty string."""
        return next((name for name, first, last in _fields(self.path) if first <= self.number <= last), "")

    def __str__(self) -> str:
        """``file:line``, relative to the working directory if it is below."""
        return f"{short(self.path)}:{self.number}"


def line_of(problem: str) -> SourceLine | None:
    """The line that declares the field of a problem; None if it is not known."""
    owner = getattr(problem, "owner", None)
    if not isinstance(problem, Problem) or owner is None:
        return None
    bases = [base for base in owner.__mro__ if problem.field in inspect.get_annotations(base)]
    base = bases[0] if bases else owner
    path = getattr(sys.modules.get(base.__module__), "__file__", None)
    wanted = f"{base.__qualname__}.{problem.field}".rpartition("<locals>.")[2]
    found = [first for name, first, _ in _fields(path or "") if name == wanted]
    return SourceLine(str(path), found[-1]) if found else None


def lines_of(error: BaseException) -> list[SourceLine]:
    """The author's frames in the traceback of ``error``, the innermost last; for a syntax error also its line."""
    frames = [(frame, library(os.path.abspath(frame.filename))) for frame in traceback.extract_tb(error.__traceback__)]  # noqa: PTH100 - as it is named
    frames = [(frame, owner) for frame, owner in frames if not frame.filename.startswith("<")]
    # An author's package may be installed beside the libraries; then frames of libraries have to do.
    used = [frame for frame, owner in frames if owner is None] or [
        frame for frame, owner in frames if owner not in {"extapi", "Python"}
    ]
    lines = [SourceLine(os.path.abspath(frame.filename), frame.lineno or 0, frame.name) for frame in used]  # noqa: PTH100 - likewise
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        lines.append(SourceLine(os.path.abspath(error.filename), error.lineno or 0))  # noqa: PTH100 - likewise
    return lines


def _fields(path: str) -> Iterator[tuple[str, int, int]]:
    """The annotated fields in a file: ``Class.field``, first and last line. None if the file cannot be read."""
    source = "".join(linecache.getlines(path))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    yield from _fields_in(tree.body, "")


def _fields_in(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[str, int, int]]:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield from _fields_in(statement.body, f"{prefix}{statement.name}.")
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and prefix:
            yield prefix + statement.target.id, statement.lineno, statement.end_lineno or statement.lineno
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _fields_in(statement.body, "")
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _fields_in(statement.body, prefix)
