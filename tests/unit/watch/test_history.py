from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from extapi.errors import Expired
from extapi.watch.cachedobject import CachedObject, CacheSource
from extapi.watch.history import EventHistory, HistorySettings
from tests.unit.watch.store import LAYOUT, PREFIX, Pizzas, pizza


def cached(revision: int, size: int = 0) -> CachedObject:
    return CachedObject(PREFIX + b"a/one", revision, pizza("one") + b" " * size, {}, CacheSource(LAYOUT, Pizzas()))


def filled(clock: Clock, settings: HistorySettings, count: int, *, every: float = 0) -> EventHistory:
    history = EventHistory(clock, settings)
    history.start(0)
    for revision in range(1, count + 1):
        history.add(revision, cached(revision), cached(revision - 1) if revision > 1 else None)
        clock.advance(every)
    return history


def revisions(history: EventHistory, after: int) -> list[int]:
    return [event.revision for event in history.after(after)]


def test_events_after_a_revision_in_order() -> None:
    history = filled(Clock(), HistorySettings(), 5)
    assert revisions(history, 0) == [1, 2, 3, 4, 5]
    assert revisions(history, 3) == [4, 5]
    assert revisions(history, 5) == []
    assert revisions(history, 9) == []


def test_young_events_are_kept_beyond_the_fewest() -> None:
    history = filled(Clock(), HistorySettings(seconds=75, min_events=10), 60, every=1)
    assert history.since == 0


def test_old_events_are_forgotten_down_to_the_fewest() -> None:
    clock = Clock()
    history = filled(clock, HistorySettings(seconds=75, min_events=10), 50)
    clock.advance(76)
    history.add(51, cached(51), None)
    assert history.since == 41
    assert revisions(history, 41) == list(range(42, 52))
    with pytest.raises(Expired) as raised:
        history.after(40)
    assert raised.value.message == "too old resource version: 40 (41)"
    assert raised.value.status()["code"] == 410
    assert raised.value.status()["reason"] == "Expired"


def test_there_are_never_more_than_the_most() -> None:
    history = filled(Clock(), HistorySettings(min_events=2, max_events=20), 100)
    assert revisions(history, history.since) == list(range(81, 101))


def test_large_objects_shorten_the_history() -> None:
    history = EventHistory(Clock(), HistorySettings(min_events=2, max_bytes=10_000))
    history.start(0)
    for revision in range(1, 21):
        history.add(revision, None, cached(revision, 2000))
    assert len(history.after(history.since)) == 4


def test_what_is_kept_by_default_is_what_kube_apiserver_keeps() -> None:
    settings = HistorySettings()
    assert (settings.seconds, settings.min_events, settings.max_events) == (75, 100, 102_400)


def test_a_new_start_knows_nothing_of_before() -> None:
    history = filled(Clock(), HistorySettings(), 5)
    history.start(9)
    assert (history.since, history.changed) == (9, 9)
    with pytest.raises(Expired, match=r"too old resource version: 5 \(9\)"):
        history.after(5)
