"""What is special about the store in memory; what it has in common with others is in tests/conformance."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from twisted.internet.task import Clock

from extapi.storage.base import Batch, Compacted
from extapi.storage.memory import PART, MemoryBackend

T = TypeVar("T")


def now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise AssertionError("it suspended")


def at(seconds: float) -> Clock:
    clock = Clock()
    clock.advance(seconds)
    return clock


def test_revisions_start_from_the_clock_so_that_they_go_on_after_a_restart() -> None:
    first = MemoryBackend(at(1_700_000_000))
    assert now(first.revision()) == 1_700_000_000_000_000
    for number in range(1000):
        last = now(first.commit(b"/%d" % number, b"x", expected=0))
    # A thousand writes and a restart within the same hundredth of a second.
    second = MemoryBackend(at(1_700_000_000.01))
    assert now(second.revision()) > last
    with pytest.raises(Compacted):
        now(second.tail(last).__anext__())


def test_a_clock_at_zero_still_gives_a_revision() -> None:
    assert now(MemoryBackend(Clock()).revision()) == 1


def test_the_past_comes_in_parts() -> None:
    store = MemoryBackend(Clock())
    for number in range(PART + 1):
        now(store.commit(b"/%d" % number, b"x", expected=0))
    tail = store.tail(1)
    first: Batch = now(tail.__anext__())
    second: Batch = now(tail.__anext__())
    assert (len(first.changes), first.progress) == (PART, PART + 1)
    assert (len(second.changes), second.progress) == (1, PART + 2)


def test_compaction_keeps_no_trace_of_what_is_gone() -> None:
    store = MemoryBackend(Clock())
    for number in range(100):
        made = now(store.commit(b"/%d" % number, b"x", expected=0))
        now(store.commit(b"/%d" % number, None, expected=made))
    revision = now(store.commit(b"/kept", b"0", expected=0))
    for number in range(100):
        revision = now(store.commit(b"/kept", b"%d" % number, expected=revision))
    now(store.compact(revision, expected=1))
    assert list(store._keys) == [b"/kept"]
    assert store._keys[b"/kept"].values == [b"99"]
    assert store._log == []
