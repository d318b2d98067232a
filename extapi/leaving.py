"""The end of a process in which an author's code has left threads running: Python would wait for them, for ever.

Importing a module is enough to start some, and commands import the author's. Must not know what they do.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Collection, Iterator

import click

_SHOWN = 5
_IN_EVERY = frozenset({"Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run"})
"""Functions of :mod:`threading` that call what a thread does."""


@contextlib.contextmanager
def threads_left() -> Iterator[None]:
    """Run what a command does; afterwards end the process at once if it has left threads that Python would wait for.

    They are named on stderr. The exit status is what it would have been.
    """
    before = threading.enumerate()
    status = 0
    try:
        yield
    except click.ClickException as error:
        if not _left(before):
            raise
        error.show()
        status = error.exit_code
    except BrokenPipeError:
        if not _left(before):
            raise
        os._exit(1)  # as click ends, and nobody would read the names
    except SystemExit as end:
        if not _left(before):
            raise
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            click.echo(end.code, err=True)
    except Exception:
        if not _left(before):
            raise
        traceback.print_exc()
        status = 1
    left = _left(before)
    if left:
        names = ", ".join(left[:_SHOWN]) + (f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else "")
        click.echo(
            f"not waiting for threads that the API's code has started, and that are not daemons: {names}", err=True
        )
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _left(before: Collection[threading.Thread]) -> list[str]:
    """The names of threads that Python waits for before a process ends, without those that were there ``before``."""
    return [
        f"{thread.name} ({_code(thread)})"
        for thread in threading.enumerate()
        if not thread.daemon
        and thread not in before
        and type(thread).__name__ != "_MainThread"  # eventlet makes another one
    ]


def _code(thread: threading.Thread) -> str:
    """Where the thread is, for its author."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - documented so
    last = ""
    while frame is not None:  # the outermost frame that is not in every thread
        if frame.f_code.co_filename != threading.__file__ or frame.f_code.co_qualname not in _IN_EVERY:
            last = f"{frame.f_code.co_qualname} in {frame.f_code.co_filename}"
        frame = frame.f_back
    return last or "ending"
