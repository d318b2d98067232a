"""The new lines of a log that another process writes, in pieces of bounded size.

The file is the buffer between writer and reader: a terminal never holds up a server, and what was not shown is still in
the file. Knows bytes, not their meaning.
"""

from __future__ import annotations

import os
from pathlib import Path

PIECE = 1024 * 1024
"""Bytes per read."""
FAR = 8 * PIECE
"""A reader that is further behind than this continues near the end."""
LONGEST = 128 * 1024
"""Bytes per line; the rest of a longer line is left out. Our JSON lines hold at most two texts of 16,384 characters."""


class FileTail:
    """``position`` is the offset in the file; ``skipped`` counts the bytes that were passed over."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            OSError: The file cannot be read.
        """
        self._file = path.open("rb", buffering=0)
        self.position = 0
        self._partial = b""
        self._dropping = False  # up to the next line break
        self.skipped = 0

    def read(self) -> list[bytes]:
        """The lines completed since the last read, without their line breaks."""
        size = os.fstat(self._file.fileno()).st_size
        if size < self.position:  # the file was truncated
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
        """The incomplete last line; what follows in it counts as another line."""
        found, self._partial = self._partial, b""
        return found

    def close(self) -> None:
        """Read no more."""
        self._file.close()

    def _keep(self, beginning: bytes) -> None:
        if not self._dropping:
            self._partial = (self._partial + beginning)[:LONGEST]
