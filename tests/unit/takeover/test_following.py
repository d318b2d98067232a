"""A replica follows what changes: by watch, and by a new list where the watch was too late."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.takeover.following import DefinitionFollower
from extapi.takeover.replica import Replica
from tests.unit.takeover.world import World


class Following:
    """A follower at work, and what it said."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.said: list[str] = []
        self.replica = Replica(world.store, world.kind)
        world.run(self.replica.prepare(1000))
        self.follower = DefinitionFollower(world.cluster, self.replica, jitter=lambda: 0.0, problem=self.said.append)
        self.running: Deferred[None] | None = None

    def start(self) -> None:
        self.running = Deferred.fromCoroutine(self.follower.follow())

    def stop(self) -> None:
        if self.running is not None:
            self.running.cancel()
            with contextlib.suppress(CancelledError):
                self.world.run(self.ended(self.running))
            self.running = None
            self.world.run(self.follower.written())

    async def ended(self, running: Deferred[None]) -> None:
        await running

    def until_same(self) -> None:
        """Until the store has what the live server has."""
        self.world.run(self.world.same())


@pytest.fixture
def following(world: World) -> Iterator[Following]:
    made = Following(world)
    yield made
    made.stop()


def test_a_list_is_copied_page_by_page(following: Following, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.takeover.cluster.PAGE", 2)
    for number in range(5):
        following.world.create(f"crate-{number}")
    reported: list[tuple[int, int]] = []
    following.world.run(following.follower.copy(lambda done, total: reported.append((done, total))))
    assert reported == [(2, 5), (4, 5), (5, 5)]
    assert following.world.copied_bytes() == following.world.live_bytes()
    assert following.follower.count == 5
    following.world.delete("crate-3")
    following.world.patch("crate-1", {"spec": {"step": 9}})
    following.world.run(following.follower.copy())
    assert following.world.copied_bytes() == following.world.live_bytes()
    assert following.replica.written == 5 + 2


def test_changes_are_followed(following: Following) -> None:
    world = following.world
    world.create("before")
    world.run(following.follower.copy())
    following.start()
    world.create("new")
    world.patch("before", {"spec": {"step": 2}})
    following.until_same()
    world.delete("before")
    for step in range(20):
        world.patch("new", {"spec": {"step": step}})
    following.until_same()
    assert following.follower.lists == 1
    assert following.said == []


def test_a_watch_that_is_too_late_leads_to_a_new_list(following: Following) -> None:
    world = following.world
    world.create("one")
    world.run(following.follower.copy())
    world.delete("one")
    world.create("two")
    following.follower.version = "1"
    following.start()
    following.until_same()
    world.create("three")
    following.until_same()
    assert following.follower.lists == 2
    assert "again after: too old resource version" in following.said[0]
