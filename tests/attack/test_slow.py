"""The short form of :mod:`tests.attack.slow`: whoever behaves is served beside each kind of peer that does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attack.cluster import Cluster
from tests.attack.slow import KINDS, Room, deaf_watches


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def open_room(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> Iterator[Room]:
    made = Room(tmp_path_factory.mktemp("slow"), cluster)
    yield made
    made.close()


@pytest.fixture
def room(open_room: Room) -> Iterator[Room]:
    open_room.problems.clear()
    yield open_room
    open_room.leave()
    open_room.back()


@pytest.mark.parametrize("name", KINDS)
def test_others_are_served(room: Room, name: str) -> None:
    attack, count, _ = KINDS[name]
    attack(room, count)
    room.others(20)
    room.leave()
    room.back()
    assert not room.problems
    assert "Traceback" not in room.serving.log.read_text()


def test_writes_go_on_beside_bodies_that_do_not_come(room: Room) -> None:
    attack, count, _ = KINDS["bodies that do not come"]
    attack(room, count)
    room.others(20)
    assert not room.problems


def test_who_never_reads_a_watch_is_ended(room: Room) -> None:
    deaf_watches(room, 10)
    room.back()  # although the peers are still there
    assert not room.problems
