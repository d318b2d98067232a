"""The end of a process in which an author's code has left threads running: Python would wait for them, for ever.

Importing a module is enough to start some, and the command imports the author's. Must not know what they do.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

import click

_SHOWN = 5


@contextlib.contextmanager
def threads_left() -> Iterator[None]:
    """Run what a command does; afterwards end the process at once if threads are left that Python would wait for.

    They are named on stderr. The exit status is what it would have been.
    """
    status = 0
    try:
        yield
    except click.ClickException as error:
        if not _left():
            raise
        error.show()
        status = error.exit_code
    except BrokenPipeError:
        if not _left():
            raise
        os._exit(1)  # as click ends, and nobody would read the names
    except SystemExit as end:
        if not _left():
            raise
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            click.echo(end.code, err=True)
    left = _left()
    if left:
        names = ", ".join(left[:_SHOWN]) + (f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else "")
        click.echo(
            f"not waiting for threads that the API's code has started, and that are not daemons: {names}", err=True
        )
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _left() -> list[str]:
    """The names of threads that Python waits for before a process ends."""
    return [
        f"{thread.name} ({_code(thread)})"
        for thread in threading.enumerate()
        if not thread.daemon and thread is not threading.main_thread()
    ]


def _code(thread: threading.Thread) -> str:
    """Where the thread is, for its author."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - documented so
    last = ""
    while frame is not None:  # the outermost frame that is no part of the standard library's threads
        if frame.f_code.co_filename != threading.__file__:
            last = f"{frame.f_code.co_qualname} in {frame.f_code.co_filename}"
        frame = frame.f_back
    return last or "ending"
