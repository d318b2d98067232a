"""A version that nobody reads any more costs no memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from extapi.watch.encoding import ObjectEncoder
from extapi.watch.selection import Selection
from tests.unit.watch.store import Kitchen, now

V2 = ObjectEncoder("v2", "food.example/v2", "Pizza")
PERIOD = 300


@pytest.fixture
def kitchen() -> Iterator[Kitchen]:
    kitchen = Kitchen()
    for name in ("one", "two"):
        kitchen.put(name)
    yield kitchen
    now(kitchen.cacher.stop())
    assert kitchen.clock.getDelayedCalls() == []


def read(kitchen: Kitchen, version: str = "v2") -> None:
    """A list in a version."""
    for cached in kitchen.cache.page("", b"", 0, replace(Selection(), version=version)).objects:
        cached.serialized(version).with_revision(cached.revision)


def kept(kitchen: Kitchen) -> list[list[str]]:
    """The versions in which each object has bytes."""
    found = []
    for name in ("one", "two"):
        cached = kitchen.cache.get("a", name)
        assert cached is not None
        found.append([version for version in ("v1", "v2", "v3") if cached.find(version) is not None])
    return found


def test_a_version_that_was_listed_once_is_let_go(kitchen: Kitchen) -> None:
    read(kitchen)
    read(kitchen, "v3")
    kitchen.tick(PERIOD)
    assert kept(kitchen) == [["v2", "v3"]] * 2
    read(kitchen, "v3")
    kitchen.tick(PERIOD)
    assert kept(kitchen) == [["v3"]] * 2
    read(kitchen)
    assert kept(kitchen) == [["v2", "v3"]] * 2
    assert kitchen.projector.projected.count("v2") == 4


def test_the_stored_bytes_stay_whoever_holds_them(kitchen: Kitchen) -> None:
    read(kitchen, "v1")
    read(kitchen, "v2")
    kitchen.tick(PERIOD)
    kitchen.tick(PERIOD)
    assert kept(kitchen) == [["v1"]] * 2
    cached = kitchen.cache.get("a", "one")
    assert cached is not None
    assert b'"one"' in cached.value


def test_a_version_that_is_watched_stays(kitchen: Kitchen) -> None:
    read(kitchen)
    sink, _ = kitchen.watch(replace(Selection(), version="v2"), key="v2", encoder=V2)
    for _ in range(5):
        kitchen.tick(PERIOD)
    assert kept(kitchen) == [["v2"]] * 2
    sink.close()
    kitchen.tick(PERIOD)
    assert kept(kitchen) == [[], []]


def test_nothing_is_left_to_do_when_nothing_is_read(kitchen: Kitchen) -> None:
    (questions,) = kitchen.clock.getDelayedCalls()  # of the log
    read(kitchen)
    assert kitchen.clock.getDelayedCalls() != [questions]
    kitchen.tick(PERIOD)
    kitchen.tick(PERIOD)
    (left,) = kitchen.clock.getDelayedCalls()
    assert left.func == questions.func


def test_what_is_read_while_it_is_let_go_stays() -> None:
    kitchen = Kitchen()
    for number in range(10_001):
        kitchen.put(f"p{number:05}")
    read(kitchen)
    kitchen.tick(PERIOD)
    kitchen.clock.callLater(PERIOD, read, kitchen)  # between the two turns that it takes
    kitchen.tick(PERIOD)
    assert kitchen.projector.projected.count("v2") == 20_001
    assert all(kitchen.cache.page("", b"", 0, Selection()).objects[at].find("v2") for at in (0, 10_000))
    kitchen.tick(PERIOD)
    kitchen.tick(PERIOD)
    now(kitchen.cacher.stop())
    kitchen.tick()
    assert kitchen.clock.getDelayedCalls() == []
