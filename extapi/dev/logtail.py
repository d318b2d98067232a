"""The end of a log that somebody else is writing: its new lines, as they come, in pieces of a bounded size.

The file is the buffer between who writes and who shows: a server is never held up by a terminal, and what nobody had time
to show is in the file. Knows bytes, and nothing of what they say.
"""

from __future__ import annotations

import os
from pathlib import Path

PIECE = 1024 * 1024
"""Bytes that are read at a time."""
FAR = 8 * PIECE
"""Who is further behind than this goes on near the end."""
LONGEST = 128 * 1024
"""Bytes of a line; what follows in it is left out. A JSON line of ours has two texts of 16,384 characters at most."""


class LogTail:
    """``position`` is where in the file it is; ``skipped`` counts the bytes that were passed over, there being too many."""

    def __init__(self, path: Path) -> None:
        """:raises OSError: the file cannot be read."""
        self._file = path.open("rb", buffering=0)
        self.position = 0
        self._partial = b""
        self._dropping = False  # up to the next line break
        self.skipped = 0

    def read(self) -> list[bytes]:
        """The lines that have been completed since, without their line breaks."""
        size = os.fstat(self._file.fileno()).st_size
        if size < self.position:  # somebody has emptied the file
            self.position, self._partial, self._dropping = 0, b"", False
        if size - self.position > FAR:
            self.skipped += len(self._partial) + size - PIECE - self.position
            self.position, self._partial, self._dropping = size - PIECE, b"", True
        data = os.pread(self._file.fileno(), PIECE, self.position)
        self.position += len(data)
        first, *rest = data.split(b"\n")
        if not rest:
            self._keep(first)
            return []
        *whole, last = rest
        lines = [] if self._dropping else [(self._partial + first)[:LONGEST]]
        self._partial, self._dropping = b"", False
        self._keep(last)
        return [*lines, *whole]

    def partial(self) -> bytes:
        """The line that has begun and is not complete; what follows in it counts as another."""
        found, self._partial = self._partial, b""
        return found

    def close(self) -> None:
        """Read no more."""
        self._file.close()

    def _keep(self, beginning: bytes) -> None:
        if not self._dropping:
            self._partial = (self._partial + beginning)[:LONGEST]
