"""The check ``etcd`` of /readyz (behaviour K19)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.storage.base import Unavailable
from extapi.storage.etcd.health import EtcdHealth


class Bench:
    def __init__(self) -> None:
        self.clock = Clock()
        self.clock.advance(100)
        self.asked: list[Deferred[None]] = []
        self.health = EtcdHealth(self.ask, self.clock, 2.0)

    async def ask(self, seconds: float) -> None:
        assert seconds == 2.0
        waiting: Deferred[None] = Deferred()
        self.asked.append(waiting)
        await waiting
        self.health.answered()


def test_until_the_first_answer_it_fails() -> None:
    bench = Bench()
    bench.health.start()
    assert bench.health.check() == "etcd client connection not yet established"
    bench.asked[0].callback(None)
    assert bench.health.check() is None


def test_it_fails_while_etcd_does_not_answer_and_heals() -> None:
    bench = Bench()
    bench.health.start()
    bench.asked[0].callback(None)
    bench.clock.advance(2)
    bench.asked[1].errback(Unavailable("no leader"))
    assert bench.health.check() == "etcd failed"
    bench.clock.advance(1)
    bench.health.answered()  # somebody else
    assert bench.health.check() is None
    bench.clock.advance(1)
    assert len(bench.asked) == 2
    bench.clock.advance(2)
    assert len(bench.asked) == 3
    bench.health.stop()
    assert bench.clock.getDelayedCalls() == []


def test_one_question_at_a_time_and_none_after_the_end() -> None:
    bench = Bench()
    bench.health.start()
    bench.clock.advance(60)
    assert len(bench.asked) == 1
    bench.health.stop()
    bench.clock.advance(60)
    assert len(bench.asked) == 1
    assert bench.clock.getDelayedCalls() == []
