"""``MODULE:NAME`` on a command line: loads an author's API, and says what is wrong with it.

All commands load APIs here, so that they report mistakes in the same words.
"""

from __future__ import annotations

import builtins
import difflib
import functools
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType

import click

from extapi.api.declaration import DeclarationError
from extapi.api.definition import Api
from extapi.loading.greenlets import replaced_by
from extapi.loading.lines import SourceLine, line_of, lines_of

_CALLS = {"eventlet": "eventlet.monkey_patch()", "gevent": "gevent.monkey.patch_all()"}


class LoadingError(Exception):
    """There is no API at ``MODULE:NAME`` that can be served.

    Args:
        problems: The reasons, with file and line if known.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems

    def show(self) -> None:
        """Print the problems on standard error."""
        for problem in self.problems:
            click.echo(f"Error: {problem}", err=True)


def load_api(target: str) -> Api:
    """The :class:`Api` at ``MODULE:NAME``, checked as a server checks it. Finds modules in the working directory.

    Raises:
        LoadingError: There is no such API, or it cannot be served.
    """
    module_name, colon, name = target.partition(":")
    if not (colon and module_name and name):
        raise LoadingError(f"{target!r} is not of the form MODULE:NAME, such as extapi.pizza:api")
    if "" not in sys.path:
        sys.path.insert(0, "")
    _tell_lost_docstrings()
    module = _module(module_name)
    _check_threads(module_name)
    if not hasattr(module, name):
        raise LoadingError(f"module {module_name} has no {name!r}{_instead(module, name)}")
    api = getattr(module, name)
    if not isinstance(api, Api):
        raise LoadingError(f"{target} is {type(api).__name__}, not an extapi.Api{_instead(module, name)}")
    if not api.groups:
        raise LoadingError(f"{target} has no groups: an Api needs at least one extapi.Group")
    _check(api)
    return api


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except DeclarationError as error:
        lines = lines_of(error)
        raise LoadingError(*(declared(problem, lines) for problem in error.problems)) from error
    except SystemExit as error:
        lines = lines_of(error)
        where = f"{lines[-1]}: " if lines else ""
        raise LoadingError(
            f"cannot import {name}: {where}the module ends the process when it is imported: {_exit(error)}; put what only a "
            'program should do under if __name__ == "__main__":'
        ) from error
    except Exception as error:  # whatever an author's module raises
        lines = lines_of(error)
        if isinstance(error, ModuleNotFoundError) and not lines:
            raise LoadingError(
                f"cannot import {name}: {error}; searched in {Path.cwd()} and on Python's path"
            ) from error
        raise LoadingError(_failed(name, error, lines)) from error


def _exit(error: SystemExit) -> str:
    return "sys.exit()" if error.code is None else f"sys.exit({error.code!r})"


def _check_threads(name: str) -> None:
    """The standard library has to be as it is: the reason would be far from what goes wrong in a server without it."""
    replaced = replaced_by()
    if replaced is not None:
        library, parts = replaced
        raise LoadingError(
            f"{name} cannot be served: {library} has replaced parts of the standard library ({', '.join(parts)}), and extapi needs "
            f"them as they are; remove the call of {_CALLS[library]}, or let what needs it run in another process"
        )


@functools.cache
def _tell_lost_docstrings() -> None:
    """Once per process, and not again in its forks."""
    if sys.flags.optimize > 1:
        click.echo(
            "Warning: Python runs with -OO or PYTHONOPTIMIZE=2, which drops docstrings: OpenAPI, definitions and kubectl explain "
            "have no descriptions",
            err=True,
        )


def _check(api: Api) -> None:
    """Compile all kinds, which finds mistakes that importing does not find."""
    from extapi.registry.kinds import serve_kinds  # noqa: PLC0415 - mistakes on the command line are reported at once

    try:
        serve_kinds(api)
    except DeclarationError as error:
        raise LoadingError(*(declared(problem, ()) for problem in error.problems)) from error


def declared(problem: str, lines: Sequence[SourceLine]) -> str:
    """A problem of a declaration, after its file and line; also after class and field if a class body raised it."""
    line = line_of(problem)
    if line is not None:
        return f"{line}: {problem}"
    return f"{lines[-1]}: {_field(lines)}{problem}" if lines else problem


def _failed(module: str, error: Exception, lines: Sequence[SourceLine]) -> str:
    """Any other error of an author's module: line and error first, the author's frames below."""
    what = " ".join(f"{type(error).__name__}: {_message(error)}".split()) + _hidden(error)
    if not lines:
        return f"cannot import {module}: {what}"
    frames = [f"  {line}{f' in {line.within}' if line.within else ''}\n    {line.text}" for line in lines]
    return "\n".join([f"cannot import {module}: {lines[-1]}: {_field(lines)}{what}", *frames])


def _field(lines: Sequence[SourceLine]) -> str:
    """``Class.field:`` of the field whose definition raised the error, or the empty string."""
    field = next((line.field for line in reversed(lines) if line.field), "")
    return f"{field}: " if field else ""


def _message(error: Exception) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)


def _hidden(error: Exception) -> str:
    """A hint if a field named like a builtin, such as ``float``, hides it from the annotations below in its class."""
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    names = {} if traceback is None else traceback.tb_frame.f_locals
    hidden = [name for name in names.get("__annotations__", ()) if hasattr(builtins, name) and name in names]
    if not (isinstance(error, TypeError) and "__qualname__" in names and hidden):
        return ""
    return f"; {hidden[0]} is a field here and no type: write 'from __future__ import annotations' at the top of the module"


def _instead(module: ModuleType, name: str) -> str:
    """A hint to write the most similar name in the module that is an Api."""
    names = [key for key, value in vars(module).items() if isinstance(value, Api) and key != name]
    near = difflib.get_close_matches(name, names, 1)
    return f"; write {module.__name__}:{(near or names)[0]}" if names else ""
