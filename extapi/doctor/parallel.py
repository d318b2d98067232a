"""Blocking calls in parallel, in daemon threads: Ctrl-C ends the process at once.

:class:`concurrent.futures.ThreadPoolExecutor` would wait at exit for every call, such as one whose answer never comes.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TypeVar

Key = TypeVar("Key")
Question = TypeVar("Question")
Answer = TypeVar("Answer")


def in_parallel(
    questions: Mapping[Key, Question], ask: Callable[[Question], Answer], *, workers: int
) -> dict[Key, Answer]:
    """What ``ask`` returns for each, ``workers`` at a time, in the order of ``questions``; the first error is raised again."""
    answers: dict[Key, Future[Answer]] = {key: Future() for key in questions}
    waiting: queue.SimpleQueue[tuple[Future[Answer], Question]] = queue.SimpleQueue()
    for key, each in questions.items():
        waiting.put((answers[key], each))

    def work() -> None:
        while True:
            try:
                answer, each = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                answer.set_result(ask(each))
            # The caller that waits for it gets it.
            except BaseException as error:  # noqa: BLE001 - as said
                answer.set_exception(error)

    for _ in range(min(workers, len(questions))):
        threading.Thread(target=work, name="ask", daemon=True).start()
    return {key: answer.result() for key, answer in answers.items()}
