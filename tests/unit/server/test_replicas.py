"""Servers on one store, each with the versions that it reads and stores; time is passed by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.registry.replicarecord import PREFIX
from extapi.registry.served import ServedKind
from extapi.server.replicas import FRESH, INTERVAL, LIFE, RETRY, Replicas
from extapi.storage.base import Backend, Unavailable, Uncertain
from extapi.storage.memory import MemoryBackend
from tests.unit.registry.test_replicarecord import NAME, things

OLD, BOTH, NEW = things("v1", "v1"), things("v1", "v1", "v2"), things("v2", "v1", "v2")
WAITS = RETRY * 2
"""Longer than the pause between two attempts."""


class Flaky:
    """A store that loses the answers of commits, or is away. Between this and the real one stands only the network."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.uncertain = False
        self.away = False

    def __getattr__(self, name: str) -> Any:
        if self.away:
            raise Unavailable("away")
        return getattr(self._backend, name)

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        if self.away:
            raise Unavailable("away")
        revision = await self._backend.commit(key, value, expected=expected)
        if self.uncertain:
            raise Uncertain("no answer")
        return revision


class Fleet:
    """A store with servers."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = MemoryBackend(self.clock)
        self.random = Random(3)  # noqa: S311 - a test's

    def server(self, name: str, kinds: list[ServedKind], store: Any = None) -> Server:
        return Server(self, name, kinds, store or self.store)

    def names(self) -> set[str]:
        page = done(self.store.page(PREFIX, at=None, after=b"", limit=0))
        return {entry.key.removeprefix(PREFIX).decode() for entry in page.entries}

    def pass_time(self, seconds: float) -> None:
        self.clock.pump([0.5] * int(seconds * 2))


class Server:
    """One of them, which begins at once."""

    def __init__(self, fleet: Fleet, name: str, kinds: list[ServedKind], store: Any) -> None:
        self.kinds = kinds
        self.replicas = Replicas(
            store,
            fleet.clock,
            name=name,
            kinds=lambda: self.kinds,
            random=fleet.random,
            timer=fleet.clock.seconds,
        )
        self.admitted: list[None] = []
        admitting = Deferred.fromCoroutine(self.replicas.admit())
        admitting.addCallback(self.admitted.append)

    def may_store(self) -> bool:
        try:
            done(self.replicas.confirm())
        except Unavailable:
            return False
        return True

    def crash(self, fleet: Fleet) -> None:
        """It does nothing any more."""
        self.replicas._running.cancel()  # type: ignore[union-attr]  # the end of a process has no interface


def done(coroutine: Any) -> Any:
    """What comes of it at once."""
    results: list[Any] = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    (result,) = results
    if hasattr(result, "raiseException"):
        result.raiseException()
    return result


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    made = Fleet()
    yield made
    done(made.store.close())


def test_servers_that_go_together_are_ready_at_once(fleet: Fleet) -> None:
    servers = [fleet.server(name, kinds) for name, kinds in (("a", OLD), ("b", BOTH), ("c", BOTH))]
    assert [bool(each.admitted) for each in servers] == [True, True, True]
    assert [each.replicas.check() for each in servers] == [None, None, None]
    assert all(each.may_store() for each in servers)
    assert servers[2].replicas.note() == "one of 3 on this store"
    fleet.pass_time(LIFE * 3)
    assert [each.replicas.check() for each in servers] == [None, None, None]
    assert fleet.names() == {"a", "b", "c"}


def test_who_would_store_what_another_cannot_read_waits_until_that_has_ended(fleet: Fleet) -> None:
    old, new = fleet.server("old-7f", OLD), fleet.server("new-9a", NEW)
    assert not new.admitted
    why = f"this server stores {NAME} in v2, which old-7f cannot read"
    assert (new.replicas.check() or "").startswith(why)
    assert new.replicas.told().startswith(why)
    assert (old.may_store(), new.may_store()) == (True, False)
    fleet.pass_time(LIFE * 3)
    assert (old.replicas.check(), bool(new.admitted)) == (None, False)
    done(old.replicas.stop())
    assert fleet.names() == set()
    fleet.pass_time(WAITS)
    assert (bool(new.admitted), new.replicas.check(), new.may_store()) == (True, None, True)


def test_who_cannot_read_what_another_stores_waits(fleet: Fleet) -> None:
    """A rollout that is undone: the old release must not meet what the new one has written."""
    new, old = fleet.server("new-9a", NEW), fleet.server("old-7f", OLD)
    assert (bool(new.admitted), bool(old.admitted)) == (True, False)
    assert (old.replicas.check() or "").startswith(f"new-9a stores {NAME} in v2, which this server cannot read")


def test_of_two_that_begin_at_once_one_waits(fleet: Fleet) -> None:
    """Whatever the order in which the store sees their steps."""
    for first, second in ((OLD, NEW), (NEW, OLD)):
        there = Fleet()
        gates = [Gated(there.store), Gated(there.store)]
        one, two = there.server("one", first, gates[0]), there.server("two", second, gates[1])
        for turn in range(400):
            gates[turn % 2].step()
            there.clock.advance(0.25)
            assert not (one.may_store() and two.may_store())
        assert one.may_store() != two.may_store()
        done(there.store.close())


class Gated:
    """A store that does one thing per step."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._waiting: list[Deferred[None]] = []

    def step(self) -> None:
        if self._waiting:
            self._waiting.pop(0).callback(None)

    async def _turn(self) -> None:
        gate: Deferred[None] = Deferred()
        self._waiting.append(gate)
        await gate

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        await self._turn()
        return await self._backend.commit(key, value, expected=expected)

    async def page(self, prefix: bytes, **rest: Any) -> Any:
        await self._turn()
        return await self._backend.page(prefix, **rest)


def test_the_record_of_a_server_that_has_died_goes(fleet: Fleet) -> None:
    """Its clock is not asked: that its record has not changed is enough, from the moment at which that was seen."""
    old = fleet.server("old", OLD)
    fleet.pass_time(100)
    old.crash(fleet)
    new = fleet.server("new", NEW)
    fleet.pass_time(LIFE - RETRY)
    assert (bool(new.admitted), fleet.names() & {"old"}) == (False, {"old"})
    fleet.pass_time(RETRY + WAITS)
    assert (bool(new.admitted), fleet.names()) == (True, {"new"})


def test_a_server_that_was_paused_is_a_newcomer_again(fleet: Fleet) -> None:
    """What it would have stored meanwhile, nobody may have to read any more: or the other way round."""
    paused = fleet.server("paused", NEW)
    paused.crash(fleet)
    fleet.pass_time(FRESH - 1)
    assert paused.may_store()
    other = fleet.server("other", OLD)
    fleet.pass_time(LIFE + WAITS)
    assert other.admitted
    assert (paused.replicas.check() or "").startswith("the record of this server has not been renewed")
    # It goes on, with a write that a client waits for.
    assert not paused.may_store()
    assert (paused.replicas.check() or "").startswith(f"this server stores {NAME} in v2, which other cannot read")
    assert other.may_store()


def test_a_pause_in_which_nothing_has_changed_costs_nothing(fleet: Fleet) -> None:
    paused = fleet.server("paused", NEW)
    paused.crash(fleet)
    fleet.pass_time(1000)
    assert (paused.may_store(), paused.replicas.check()) == (True, None)


def test_a_store_that_is_away(fleet: Fleet) -> None:
    store = Flaky(fleet.store)
    server = fleet.server("a", BOTH, store)
    store.away = True
    fleet.pass_time(FRESH - INTERVAL)
    assert server.may_store()  # as far as this is concerned
    fleet.pass_time(FRESH + INTERVAL)
    assert not server.may_store()
    store.away = False
    fleet.pass_time(WAITS)
    assert (server.may_store(), server.replicas.check()) == (True, None)


def test_answers_that_are_lost(fleet: Fleet) -> None:
    """An uncertain write is found again, since nobody else writes this key."""
    store = Flaky(fleet.store)
    store.uncertain = True
    server = fleet.server("a", BOTH, store)
    assert not server.admitted
    store.uncertain = False
    fleet.pass_time(WAITS)
    assert server.admitted
    store.uncertain = True
    fleet.pass_time(INTERVAL)
    store.uncertain = False
    done(server.replicas.stop())
    assert fleet.names() == set()


def test_kinds_are_replaced_only_if_all_can_read_them(fleet: Fleet) -> None:
    one, two = fleet.server("one", BOTH), fleet.server("two", OLD)
    with pytest.raises(Unavailable, match=r"stores things\.example\.com in v2, which two cannot read"):
        done(one.replicas.allow(NEW))
    assert (one.may_store(), one.replicas.check()) == (True, None)
    two.kinds = BOTH
    fleet.pass_time(INTERVAL)
    done(one.replicas.allow(NEW))
    # From now on nobody may come who cannot read them, although they are not served yet.
    late = fleet.server("late", OLD)
    assert not late.admitted
    one.kinds = NEW
    one.replicas.settle()
    fleet.pass_time(LIFE)
    assert (one.replicas.check(), two.replicas.check(), bool(late.admitted)) == (None, None, False)


def test_a_record_that_nobody_understands_holds_up_nobody(fleet: Fleet) -> None:
    done(fleet.store.commit(PREFIX + b"strange", b"?", expected=0))
    assert fleet.server("a", NEW).admitted


@contextmanager
def counted(fleet: Fleet) -> Iterator[list[int]]:
    before = done(fleet.store.revision())
    found: list[int] = []
    yield found
    found.append(done(fleet.store.revision()) - before)


def test_a_renewal_is_one_small_write(fleet: Fleet) -> None:
    fleet.server("a", BOTH)
    with counted(fleet) as writes:
        fleet.pass_time(INTERVAL * 10)
    assert writes == [10]
    (entry,) = done(fleet.store.page(PREFIX, at=None, after=b"", limit=0)).entries
    assert len(entry.value) < 200
