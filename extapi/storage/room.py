"""Room in a directory: whether its file system, and a quota of the user, take another file. Must not know what for."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from io import FileIO
from pathlib import Path
from typing import Final

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The numbers of errors that say so."""
_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
"""What musl passes on of file systems that reserve nothing; glibc writes instead (posix_fallocate(3))."""
_PIECE: Final = 64 * 1024


def lacking(directory: Path, size: int) -> str:
    """Why no new file of ``size`` bytes fits into a directory; empty: one does, or something else is wrong.

    It is tried, since no call tells what a quota leaves.
    """
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            _fill(file, size)
    except OSError as error:
        return full(directory, error)
    return ""


def _fill(file: FileIO, size: int) -> None:
    with contextlib.suppress(AttributeError):  # macOS has no such call
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
        else:
            return
    left = size
    while left > 0:
        left -= file.write(bytes(min(left, _PIECE)))


def full(directory: Path, error: OSError) -> str:
    """What a full file system or quota said of a file in ``directory``; empty: the error is another one."""
    if error.errno not in FULL:
        return ""
    said = error.strerror or os.strerror(errno.ENOSPC)
    return f"{said} (all inodes are in use)" if _without_inodes(directory) else said


def _without_inodes(directory: Path) -> bool:
    """Whether files are what is missing, while there may be room for bytes."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return False
    return found.f_files > 0 and found.f_favail == 0  # some file systems make inodes as they are needed, and say 0
