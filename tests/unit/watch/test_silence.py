"""How long a log may be silent, with a clock that is moved by hand."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.storage.base import Unavailable
from extapi.watch.silence import BOUND, LogSilence


class Asked:
    """What is asked, and answers when it is told to."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.waiting: list[Deferred[None]] = []
        self.questions = 0
        self.silence = LogSilence(self.clock, self.ask)
        self.silence.start()

    async def ask(self) -> None:
        self.questions += 1
        sign: Deferred[None] = Deferred(self.waiting.remove)
        self.waiting.append(sign)
        await sign

    def answer(self, error: Exception | None = None) -> None:
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            each.callback(None) if error is None else each.errback(error)

    def pass_time(self, seconds: int, *, answered: bool = False) -> None:
        for _ in range(seconds):
            self.clock.advance(1)
            if answered:
                self.answer()


def test_an_idle_log_that_answers_is_not_silent() -> None:
    log = Asked()
    for _ in range(20):
        log.pass_time(5, answered=True)
        assert log.silence.check() is None


def test_a_silent_log_is_told_after_its_bound() -> None:
    log = Asked()
    log.pass_time(int(BOUND))
    assert log.silence.check() is None
    log.pass_time(1)
    assert log.silence.check() == "the log of the store has been silent for 31 s"
    assert (log.questions, len(log.waiting)) == (3, 1)  # a question may have been lost
    log.answer()
    assert log.silence.check() is None


def test_an_answer_that_is_none_is_no_sign() -> None:
    log = Asked()
    for _ in range(40):
        log.pass_time(1)
        log.answer(Unavailable("the watch has ended"))
    assert log.silence.check() is not None


def test_a_log_that_brings_something_is_not_asked() -> None:
    log = Asked()
    for _ in range(60):
        log.pass_time(1)
        log.silence.hear()
    assert (log.waiting, log.silence.check()) == ([], None)


def test_nothing_is_left_when_it_stops() -> None:
    log = Asked()
    log.pass_time(15)
    log.silence.stop()
    assert log.clock.getDelayedCalls() == []
