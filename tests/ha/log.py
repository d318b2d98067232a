"""What a store has done, read past the server under test while the run goes on, since what is old is forgotten."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from tests.ha.judging.history import Content, Version

_LONGEST = 10.0


def content_of(obj: Mapping[str, Any]) -> Content:
    """What the checker has put into an object."""
    metadata = obj["metadata"]
    return {**metadata.get("annotations", {}), **metadata.get("labels", {})}


class Log(ABC):
    """The changes of the objects under test up to ``position``, from the first revision on."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._lock = threading.Lock()
        self.position = 0
        self.versions: list[Version] = []
        self.failure: Exception | None = None

    def start(self) -> None:
        """Begin to follow, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_LONGEST * 2)

    def _follow(self) -> None:
        while not self._stop.wait(1):
            try:
                self.pull()
            except AssertionError as error:
                self.failure = error
                return

    @abstractmethod
    def pull(self) -> bool:
        """Read up to the revision that is current now; whether that worked.

        Raises:
            AssertionError: The log has a hole.
        """

    @abstractmethod
    def compact(self) -> None:
        """What somebody else does who shares the store: forget what was, as far as it has been read here."""
