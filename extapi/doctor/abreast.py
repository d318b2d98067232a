"""Blocking calls side by side, in threads that keep nobody from leaving: Ctrl-C ends the process at once.

:class:`concurrent.futures.ThreadPoolExecutor` waits at exit for whatever is under way, such as an answer that does not come.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TypeVar

Key = TypeVar("Key")
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


def abreast(asked: Mapping[Key, Asked], ask: Callable[[Asked], Answer], *, workers: int) -> dict[Key, Answer]:
    """What ``ask`` returns for each, ``workers`` at a time, in the order of ``asked``. Raises what the first of them raises."""
    answers: dict[Key, Future[Answer]] = {key: Future() for key in asked}
    waiting: queue.SimpleQueue[tuple[Future[Answer], Asked]] = queue.SimpleQueue()
    for key, each in asked.items():
        waiting.put((answers[key], each))

    def work() -> None:
        while True:
            try:
                answer, each = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                answer.set_result(ask(each))
            # Whoever waits for it gets it.
            except BaseException as error:  # noqa: BLE001 - as said
                answer.set_exception(error)

    for _ in range(min(workers, len(asked))):
        threading.Thread(target=work, name="ask", daemon=True).start()
    return {key: answer.result() for key, answer in answers.items()}
