"""``--development``: what a server tells the author of the code that it runs.

Tells an author's frames of a traceback from those of libraries, and handles ``breakpoint()`` without a terminal. Knows
paths and frames, not the API.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from twisted.logger import Logger

LONGEST = 500
"""Characters of an error's description; its text may be as long as an object."""
_OURS = str(Path(__file__).parents[1])
_LIBRARIES = ("site-packages", "dist-packages")
_log = Logger()


@dataclass(frozen=True)
class AuthorsCode:
    """Which files are an author's."""

    paths: tuple[str, ...] = ()
    """Files and directories (with a separator at the end) that are an author's even if they lie among the libraries."""

    @classmethod
    def of(cls, target: str) -> AuthorsCode:
        """The code of ``MODULE:NAME``, which has been imported; its package may be installed beside the libraries."""
        module = target.partition(":")[0]
        top = module.partition(".")[0]
        # The examples within extapi are shown as an author's code; the rest of extapi is not.
        return cls(tuple(_paths(sys.modules.get(module if top == "extapi" else top))))

    def owns(self, path: str) -> bool:
        """Whether a file is an author's: below :attr:`paths`, or outside of all libraries."""
        if any(path == own or (own.endswith(os.sep) and path.startswith(own)) for own in self.paths):
            return True
        return Path(path).is_absolute() and library(path) is None

    def describe(self, error: BaseException) -> str:
        """The error in one line, with the innermost of the author's frames in its traceback."""
        text = " ".join(f"{type(error).__name__}: {error}".split())
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}..."
        frames = list(_frames(error.__traceback__))
        owned = [(frame, line) for frame, line in frames if self.owns(frame.f_code.co_filename)]
        if not frames:
            return text
        frame, line = (owned or frames)[-1]
        return f"{text} (File {short(frame.f_code.co_filename)!r}, line {line}, in {frame.f_code.co_qualname})"


def library(path: str) -> str | None:
    """The library that a file belongs to, such as ``extapi``, ``twisted`` or ``Python``; None if it belongs to none."""
    if path.startswith("<"):
        return "Python"  # a frozen module, or one made at run time
    if path.startswith(_OURS + os.sep):
        return "extapi"
    for part in _LIBRARIES:
        _, found, inside = path.partition(f"{os.sep}{part}{os.sep}")
        if found:
            return inside.partition(os.sep)[0].removesuffix(".py")
    if any(path.startswith(sysconfig.get_path(each) + os.sep) for each in ("stdlib", "platstdlib")):
        return "Python"
    return None


def short(path: str) -> str:
    """A path as people read it: relative to the working directory if it is below."""
    here = str(Path.cwd()) + os.sep
    return path.removeprefix(here) if here != os.sep * 2 else path


def _paths(module: Any) -> Iterable[str]:
    """The directories of a package, or the file of a module."""
    packages = getattr(module, "__path__", None)
    if packages is not None:
        return [str(Path(path).absolute()) + os.sep for path in packages]
    file = getattr(module, "__file__", None)
    return [] if file is None else [str(Path(file).absolute())]


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def skip_breakpoints() -> None:
    """Make ``breakpoint()`` log its line and continue if standard input is ``/dev/null``, where a debugger would fail.

    Changes nothing if ``PYTHONBREAKPOINT`` is set: that debugger may need no terminal.
    """
    nowhere = Path(os.devnull).stat()
    try:
        given = os.fstat(0)
    except OSError:
        return
    if (given.st_dev, given.st_ino) == (nowhere.st_dev, nowhere.st_ino) and "PYTHONBREAKPOINT" not in os.environ:
        sys.breakpointhook = _skip


def _skip(*_arguments: Any, **_keywords: Any) -> None:
    frame = sys._getframe(1)  # noqa: SLF001 - as breakpoint() itself finds its caller
    _log.warn(
        "breakpoint() in {file}, line {line}, is skipped, as there is no terminal: debug with extapi dev --foreground",
        file=short(frame.f_code.co_filename),
        line=frame.f_lineno,
    )
