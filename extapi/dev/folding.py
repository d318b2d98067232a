"""Tracebacks as an author reads them: their own frames and the error, all other frames counted in one line.

Works on text, since a log holds text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from extapi.loading.authorscode import AuthorsCode, library, short

TRACEBACK = "Traceback (most recent call last):"
MOST_LINES = 40
"""Lines of one traceback: the first and the last half of them if there are more."""
_FILE = '  File "'


class _Frames:
    """The frames of one traceback."""

    def __init__(self, authors: AuthorsCode) -> None:
        self._authors = authors
        self._frames: list[tuple[bool, str, list[str]]] = []

    def add(self, line: str) -> None:
        path, found, rest = line.removeprefix(_FILE).partition('", line ')
        if line.startswith(_FILE) and found:
            self._frames.append((self._authors.owns(path), path, [f'  File "{short(path)}", line {rest}']))
        elif self._frames:
            self._frames[-1][2].append(line)

    def shown(self) -> list[str]:
        """The author's frames; if there are none, the last frame, which raised the error."""
        own = [lines for own, _, lines in self._frames if own]
        return [line for lines in own or [frame[2] for frame in self._frames[-1:]] for line in lines]

    def folded(self) -> list[str]:
        """The libraries of all other frames, in order."""
        own = any(own for own, _, _ in self._frames)
        others = [path for own, path, _ in self._frames if not own]
        return [library(path) or "others" for path in (others if own else others[:-1])]


def fold(lines: Iterable[str], authors: AuthorsCode) -> list[str]:
    """The lines of a traceback and its causes; the last line counts what is left out."""
    result: list[str] = []
    folded: list[str] = []
    frames: _Frames | None = None
    for line in lines:
        if line == TRACEBACK:
            frames = _Frames(authors)
        elif frames is not None and line.startswith("  "):
            frames.add(line)
        else:
            if frames is not None:
                result += frames.shown()
                folded += frames.folded()
                frames = None
            if line.strip():
                result.append(line)
    if frames is not None:
        result += frames.shown()
        folded += frames.folded()
    if len(result) > MOST_LINES:
        half = MOST_LINES // 2
        result[half:-half] = [f"  ... {len(result) - MOST_LINES} more lines"]
    if folded:
        result.append(f"  ({len(folded)} {'frame' if len(folded) == 1 else 'frames'} of {_list(folded)}: see the log)")
    return result


def _list(names: Sequence[str]) -> str:
    """Each name once, joined for a sentence."""
    *first, last = dict.fromkeys(names)
    return f"{', '.join(first)} and {last}" if first else last
