"""Several kinds in one store: copied, followed, held, and complete."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi.clock import sleep
from extapi.storage.file import UnusableFile
from extapi.takeover.copying import Copies
from extapi.takeover.record import peek_record
from tests.unit.takeover.world import World


def opened(world: World) -> Copies:
    return Copies(world.cluster, [world.kind], world.reactor, world.path)


def test_a_copy_follows_is_held_and_is_complete(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.create("one")
    copies = opened(world)
    world.run(copies.copy())
    copies.follow()
    world.create("two")
    world.run(copies.hold())
    world.create("three")
    assert world.run(copies.complete(["token"])) == 3
    world.run(copies.close())
    assert world.copied_bytes() == world.live_bytes()
    record = peek_record(world.path, world.kind)
    assert record is not None
    assert (record.freeze, record.count, record.definition) == ("token", 3, "definition-1")
    said = capsys.readouterr().err
    assert "copied crates.moving.example.com: 1 objects at resourceVersion" in said


def test_a_store_that_a_server_has_is_refused(world: World) -> None:
    world.run(world.store.revision())
    with pytest.raises(UnusableFile, match="another process has it open"):
        opened(world)


def test_following_that_fails_is_told(world: World) -> None:
    world.create("one")
    copies = opened(world)
    world.run(copies.copy())
    copies.follow()
    failures: list[Any] = []
    Deferred.fromCoroutine(copies.followed()).addErrback(failures.append)
    world.run(copies.replicas[0].backend.close())
    world.create("two")

    async def failed() -> None:
        while not failures:
            await sleep(world.reactor, 0.02)

    world.run(failed())
    assert str(failures[0].value) == "the store is closed"
