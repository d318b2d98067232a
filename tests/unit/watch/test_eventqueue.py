"""What waits in a queue of events keeps its order, whatever else is put between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.logger import capturedLogs

from extapi.watch.conversioncalls import ConversionLimits
from extapi.watch.eventqueue import EventQueue
from extapi.watch.events import CacheEvent
from tests.unit.watch.bakery import Bakery


class Queue:
    """A queue before a real preparation, and what comes out of it."""

    def __init__(self, **limits: Any) -> None:
        self.bakery = Bakery()
        self.out: list[str] = []
        self.overflowed = 0
        self.hook: Callable[[], None] = lambda: None
        self.queue = EventQueue(
            self.bakery.cache._preparation,
            "v2",
            ConversionLimits(**limits),
            reads=lambda event: event.objects(),
            deliver=self.deliver,
            overflow=self.overflow,
        )

    def put(self, *names: str) -> None:
        for name in names:
            self.bakery.put(name)
        self.queue.put([CacheEvent(cached.revision, cached, None, 0) for cached in self.bakery.cached(*names)])

    def mark(self, text: str) -> None:
        self.queue.then(lambda: self.out.append(text))

    def deliver(self, events: Sequence[CacheEvent], failures: Any) -> None:
        self.out += [event.object.name for event in events if event.object is not None]
        self.out += [f"{len(failures)} failed"] if failures else []
        self.hook()

    def overflow(self) -> None:
        self.overflowed += 1


def test_what_stands_between_events_keeps_its_place() -> None:
    queue = Queue()
    queue.mark("begin")
    queue.put("a", "b")
    queue.mark("middle")
    queue.put("c")
    queue.mark("end")
    assert queue.out == ["begin"]
    queue.bakery.answer()
    assert queue.out == ["begin", "a", "b", "middle", "c", "end"]
    assert len(queue.queue) == 0


def test_what_is_prepared_does_not_wait_for_what_follows() -> None:
    queue = Queue()
    queue.bakery.put("a")
    queue.bakery.ask("a")
    queue.bakery.answer()
    queue.queue.put([CacheEvent(cached.revision, cached, None, 0) for cached in queue.bakery.cached("a")])
    queue.put("b")
    assert queue.out == ["a"]
    queue.bakery.answer()
    assert queue.out == ["a", "b"]


def test_what_is_put_during_a_delivery_comes_after_it() -> None:
    queue = Queue()

    def again() -> None:
        queue.hook = lambda: None
        queue.mark("again")

    queue.hook = again
    queue.put("a", "b")
    queue.bakery.answer()
    assert queue.out == ["a", "b", "again"]


def test_a_small_bound_on_calls_still_lets_everything_through() -> None:
    queue = Queue(objects=1)
    queue.put("a", "b", "c")
    for call in ("a", "b", "c"):
        (waiting,) = queue.bakery.projector.open
        assert waiting.names == [call]
        waiting.finish()
    assert queue.out == ["a", "b", "c"]


def test_a_failure_is_delivered_with_its_events() -> None:
    queue = Queue()
    queue.put("a")
    queue.bakery.projector.calls[0].fail(ZeroDivisionError("secret"))
    assert queue.out == ["a", "1 failed"]


def test_a_closed_queue_delivers_nothing_and_waits_for_nothing() -> None:
    queue = Queue()
    queue.put("a")
    queue.queue.close()
    queue.put("b")
    queue.mark("never")
    assert queue.out == []
    assert queue.bakery.projector.calls[0].cancelled
    assert len(queue.queue) == 0
    queue.bakery.close()


def test_closing_during_a_delivery_is_the_end() -> None:
    queue = Queue()
    queue.put("a")
    queue.mark("never")
    queue.hook = queue.queue.close
    queue.bakery.answer()
    assert queue.out == ["a"]


def test_one_too_many_is_the_end() -> None:
    queue = Queue(events=2)
    queue.put("a", "b")
    assert queue.overflowed == 0
    queue.put("c")
    assert queue.overflowed == 1
    queue.put("d")
    assert (queue.overflowed, queue.out) == (1, [])


def test_what_was_delivered_no_longer_counts() -> None:
    queue = Queue(events=2, events_size=400)
    for name in "abcdefgh":
        queue.put(name)
        queue.bakery.answer()
    assert (queue.overflowed, queue.queue._events, queue.queue._size) == (0, 0, 0)


def test_a_mistake_in_a_delivery_is_logged() -> None:
    queue = Queue()

    def broken() -> None:
        raise ZeroDivisionError

    queue.hook = broken
    with capturedLogs() as logs:
        queue.put("a")
        queue.bakery.answer()
    assert [log for log in logs if "log_failure" in log]
