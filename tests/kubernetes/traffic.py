"""Requests without a pause, in a thread, while a test changes something that none of them may notice."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tests.kubernetes.calling import Answer
from tests.waiting import until


class Traffic:
    """Calls ``ask(number)`` again and again as long as the block lasts; each answer has to be a success.

    What failed is what the block fails with at its end.
    """

    def __init__(self, ask: Callable[[int], Answer]) -> None:
        self._ask = ask
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._over = threading.Event()
        self.count = 0
        """Requests that were answered."""
        self.failures: list[str] = []

    def further(self, requests: int = 30) -> None:
        """Return when so many more have been answered."""
        wanted = self.count + requests

        def answered() -> bool:
            assert not self.failures, self.failures
            return self.count >= wanted

        until(answered, 60)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(60)
        if kind is None:
            assert not self.failures, self.failures

    def _run(self) -> None:
        number = 0
        while not self._over.is_set():
            try:
                answer = self._ask(number)
            except Exception:  # noqa: BLE001 - whatever it is, the test has to know
                self.failures.append(f"after {self.count}: {traceback.format_exc()}")
                return
            if answer.status not in (200, 201):
                self.failures.append(f"after {self.count}: {answer.status} {answer.body[:300]!r}")
                return
            self.count += 1
            number += 1
