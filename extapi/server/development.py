"""``--development``: what a server tells the author of its code, and nobody else.

Which frames of a traceback are the author's and which are those of the libraries around them, and what becomes of a
``breakpoint()`` where nobody can type. Knows paths and frames, and nothing of the API.
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
    """``places``: files, and directories that end in a separator, that are an author's wherever they lie."""

    places: tuple[str, ...] = ()

    @classmethod
    def of(cls, target: str) -> AuthorsCode:
        """The code behind ``MODULE:NAME``, which has been imported: its package may be installed beside the libraries."""
        module = target.partition(":")[0]
        top = module.partition(".")[0]
        # What we bring along as an example is to be shown as an author's code is, and the rest of us is not.
        return cls(tuple(_places(sys.modules.get(module if top == "extapi" else top))))

    def owns(self, path: str) -> bool:
        """Whether a file is an author's: in one of the places, or in none that belongs to a library."""
        if any(path == place or (place.endswith(os.sep) and path.startswith(place)) for place in self.places):
            return True
        return Path(path).is_absolute() and library(path) is None

    def describe(self, error: BaseException) -> str:
        """The error in one line, with the last of the author's frames that it came through."""
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
    """The library that a file belongs to: ``extapi``, ``twisted``, ``Python`` and so on; None for any other file."""
    if path.startswith("<"):
        return "Python"  # a module that is frozen into the interpreter, or made at run time
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
    """A path as it is best read: relative to the working directory if it is below."""
    here = str(Path.cwd()) + os.sep
    return path.removeprefix(here) if here != os.sep * 2 else path


def _places(module: Any) -> Iterable[str]:
    """A package is a directory, a module a file."""
    packages = getattr(module, "__path__", None)
    if packages is not None:
        return [str(Path(path).absolute()) + os.sep for path in packages]
    file = getattr(module, "__file__", None)
    return [] if file is None else [str(Path(file).absolute())]


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def pass_over_breakpoints() -> None:
    """Have ``breakpoint()`` log where it stands and go on, if standard input is ``/dev/null``: a debugger would fail there.

    ``PYTHONBREAKPOINT`` counts as ever: whoever sets it has another debugger, which may need no terminal.
    """
    nowhere = Path(os.devnull).stat()
    try:
        given = os.fstat(0)
    except OSError:
        return
    if (given.st_dev, given.st_ino) == (nowhere.st_dev, nowhere.st_ino) and "PYTHONBREAKPOINT" not in os.environ:
        sys.breakpointhook = _pass_over


def _pass_over(*_arguments: Any, **_keywords: Any) -> None:
    frame = sys._getframe(1)  # noqa: SLF001 - as breakpoint() itself finds its caller
    _log.warn(
        "breakpoint() in {file}, line {line}, is passed over, since nobody can type here: debug with extapi dev --foreground",
        file=short(frame.f_code.co_filename),
        line=frame.f_lineno,
    )
