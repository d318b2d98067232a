"""``MODULE:NAME`` on a command line: the API that an author wrote, and what is wrong with it.

All commands load it here, so that a mistake is told in the same words by each.
"""

from __future__ import annotations

import builtins
import difflib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType

import click

from extapi.api.declaration import DeclarationError
from extapi.api.definition import Api
from extapi.server.sources import Line, line_of, lines_of


class LoadingError(Exception):
    """There is no API at ``MODULE:NAME`` that could be served; ``problems`` say why, with file and line where there is one."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems

    def show(self) -> None:
        """On standard error, as every command does."""
        for problem in self.problems:
            click.echo(f"Error: {problem}", err=True)


def load_api(target: str) -> Api:
    """The :class:`Api` that ``MODULE:NAME`` names, checked as a server does; modules in the working directory are found.

    :raises LoadingError: there is no such API, or it cannot be served.
    """
    module_name, colon, name = target.partition(":")
    if not (colon and module_name and name):
        raise LoadingError(f"{target!r} is not of the form MODULE:NAME, such as extapi.pizza:api")
    if "" not in sys.path:
        sys.path.insert(0, "")
    module = _module(module_name)
    if not hasattr(module, name):
        raise LoadingError(f"module {module_name} has no {name!r}{_instead(module, name)}")
    api = getattr(module, name)
    if not isinstance(api, Api):
        raise LoadingError(f"{target} is {type(api).__name__}, not an extapi.Api{_instead(module, name)}")
    _check(api)
    return api


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except DeclarationError as error:
        lines = lines_of(error)
        raise LoadingError(*(_declared(problem, lines) for problem in error.problems)) from error
    except Exception as error:  # whatever an author's module raises
        lines = lines_of(error)
        if isinstance(error, ModuleNotFoundError) and not lines:
            raise LoadingError(
                f"cannot import {name}: {error}; it is looked for in {Path.cwd()} and on Python's path"
            ) from error
        raise LoadingError(_failed(name, error, lines)) from error


def _check(api: Api) -> None:
    """Compile all kinds, which finds what no import does."""
    from extapi.registry.kinds import serve_kinds  # noqa: PLC0415 - mistakes on the command line answer at once

    try:
        serve_kinds(api)
    except DeclarationError as error:
        raise LoadingError(*(_declared(problem, ()) for problem in error.problems)) from error


def _declared(problem: str, lines: Sequence[Line]) -> str:
    """A problem of a declaration: after its line, and after class and field if it was raised in the body of a class."""
    line = line_of(problem)
    if line is not None:
        return f"{line}: {problem}"
    return f"{lines[-1]}: {_field(lines)}{problem}" if lines else problem


def _failed(module: str, error: Exception, lines: Sequence[Line]) -> str:
    """Any other error of an author's module: where and what in the first line, the author's frames below."""
    what = " ".join(f"{type(error).__name__}: {_message(error)}".split()) + _hidden(error)
    if not lines:
        return f"cannot import {module}: {what}"
    frames = [f"  {line}{f' in {line.within}' if line.within else ''}\n    {line.text}" for line in lines]
    return "\n".join([f"cannot import {module}: {lines[-1]}: {_field(lines)}{what}", *frames])


def _field(lines: Sequence[Line]) -> str:
    """The field that was being made, as the beginning of a message; the empty string if none was."""
    field = next((line.field for line in reversed(lines) if line.field), "")
    return f"{field}: " if field else ""


def _message(error: Exception) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)


def _hidden(error: Exception) -> str:
    """A field called ``float`` hides the builtin in the rest of its class, where annotations are read at once."""
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    names = {} if traceback is None else traceback.tb_frame.f_locals
    hidden = [name for name in names.get("__annotations__", ()) if hasattr(builtins, name) and name in names]
    if not (isinstance(error, TypeError) and "__qualname__" in names and hidden):
        return ""
    return f"; {hidden[0]} is a field here and no type: write 'from __future__ import annotations' at the top of the module"


def _instead(module: ModuleType, name: str) -> str:
    """The names of the module that are an Api, the likeliest first."""
    names = [key for key, value in vars(module).items() if isinstance(value, Api) and key != name]
    near = difflib.get_close_matches(name, names, 1)
    return f"; write {module.__name__}:{(near or names)[0]}" if names else ""
