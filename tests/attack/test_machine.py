"""The short form of :mod:`tests.attack.machine`, and faults that it has to see."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Any

import pytest

from extapi.http.response import Chunk
from extapi.managedfields import fieldmanager
from extapi.managedfields.updater import applied, updated
from extapi.storage.memory import MemoryBackend
from extapi.watch.broadcaster import EventStream
from extapi.watch.cachewatcher import CacheWatcher
from tests.attack.machine import killing
from tests.attack.machine.calls import Call, Key, Request
from tests.attack.machine.fleet import Answer, ProcessFleet
from tests.attack.machine.killing import in_memory, in_processes
from tests.attack.machine.model import Manager, State, outcome

IN_MEMORY = 4_000
IN_PROCESSES = 1_500
KILLS = 2

SUCCEEDED = ("create 201", "update 200", "merge 200", "json 200", "apply 200", "apply 201", "status 200", "scale 200",
             "rescale 200", "delete 200")  # fmt: skip
REFUSED = ("create 409", "update 409", "update 422", "merge 409", "json 422", "apply 409", "delete 409", "merge 404")


def test_clients_of_a_store_in_memory() -> None:
    seed = random.SystemRandom().randrange(10**6)
    counts = in_memory(IN_MEMORY, seed).counts
    assert counts["steps"] >= IN_MEMORY, seed
    assert all(counts[each] for each in (*SUCCEEDED, *REFUSED, "relists")), f"seed {seed}: {counts}"
    assert counts["events"] > IN_MEMORY / 2, f"seed {seed}: {counts}"


def test_clients_of_processes_that_are_killed() -> None:
    seed = random.SystemRandom().randrange(10**6)
    report = in_processes(IN_PROCESSES, KILLS, seed)
    assert report.counts["steps"] >= IN_PROCESSES, seed
    assert report.kills == KILLS, seed
    assert report.restarts, seed
    assert all(report.counts[each] for each in SUCCEEDED), f"seed {seed}: {report.counts}"


# -- faults


async def _lose_an_update(self: MemoryBackend, key: bytes, value: bytes | None, *, expected: int) -> int:
    live = await self.get(key)
    if live is not None and value is not None and not self.current % 20:
        value = live.value
    return await _COMMIT(self, key, value, expected=expected)


def _chosen(chunk: Chunk) -> bool:
    return re.search(rb'"resourceVersion":"[0-9]*7"', chunk.data) is not None


def _double_an_event(self: CacheWatcher, chunks: Sequence[Chunk]) -> None:
    _DELIVER(self, [each for chunk in chunks for each in [chunk] * (1 + _chosen(chunk))])


def _lose_an_event(self: CacheWatcher, chunks: Sequence[Chunk]) -> None:
    _DELIVER(self, [chunk for chunk in chunks if not _chosen(chunk)])


def _swap_events(self: EventStream, changes: Sequence[Any]) -> None:
    _BROADCAST(self, changes[::-1])


async def _skip_when_resuming(self: CacheWatcher, initial: Iterable[Chunk]) -> None:
    found = list(initial)
    await _SEND_INITIAL(self, chain(islice(found, 1, None)) if len(found) > 1 else found)


async def _keep_all_managers(types: Any, live: Any, new: Any, sets: Any, manager: Any, never: Any) -> Any:
    after, written = await updated(types, live, new, sets, manager, never)
    return {**sets, **after, **{each: sets[each] for each in sets if each != manager}}, written


async def _always_force(types: Any, live: Any, config: Any, sets: Any, manager: Any, never: Any, *, force: bool) -> Any:
    return await applied(types, live, config, sets, manager, never, force=True)


_COMMIT, _DELIVER, _SEND_INITIAL = MemoryBackend.commit, CacheWatcher.deliver, CacheWatcher.send_initial
_BROADCAST = EventStream.deliver


@pytest.mark.parametrize(
    ("where", "name", "broken", "seen"),
    [
        (MemoryBackend, "commit", _lose_an_update, "instead of|comes from|lost"),
        (CacheWatcher, "deliver", _double_an_event, "after 1[0-9]+"),
        (CacheWatcher, "deliver", _lose_an_event, "instead of|never told|lost|recorder"),
        (EventStream, "deliver", _swap_events, "after 1[0-9]+"),
        (CacheWatcher, "send_initial", _skip_when_resuming, "instead of|never told"),
        (fieldmanager, "updated", _keep_all_managers, "instead of"),
        (fieldmanager, "applied", _always_force, "instead of 409|must get 409"),
    ],
    ids=[
        "an update lost",
        "an event doubled",
        "an event lost",
        "events swapped",
        "an event skipped",
        "managers",
        "force",
    ],
)
def test_a_fault_is_seen(
    where: Any, name: str, broken: Callable[..., Any], seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, broken)
    with pytest.raises(AssertionError, match=seen):
        in_memory(1_000, seed=1)


_FILES = ("store.db", "store.db-wal", "store.db-shm")


class _Forgetful(ProcessFleet):
    """The disk has nothing of what came just before the end, acknowledged or not."""

    def kill(self, requests: Sequence[Request], answers: int, delay: float) -> list[Answer]:
        """See :class:`tests.attack.machine.fleet.Fleet`."""
        place = self.serving.store.parent
        (place / "kept").mkdir()
        for name in _FILES:
            shutil.copy(place / name, place / "kept")
        return super().kill(requests, len(requests), delay)

    def _start(self) -> None:
        place = self.serving.store.parent
        if self.kills:
            shutil.copytree(place / "kept", place, dirs_exist_ok=True)
        super()._start()


def test_a_write_that_does_not_last_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(killing, "ProcessFleet", _Forgetful)
    with pytest.raises(AssertionError, match="was acknowledged"):
        in_processes(100, 1, seed=1)


# -- the model itself: examples from https://kubernetes.io/docs/reference/using-api/server-side-apply/

KEY = Key("a", "r1")


def applying(client: str, spec: dict[str, Any], *, force: bool = False) -> Call:
    return Call("apply", client, KEY, 1, {"metadata": {}, "spec": spec}, force=force)


def after(call: Call, state: State | None) -> State:
    found = outcome(call, state).after
    assert found is not None
    return found


def test_an_apply_that_changes_a_field_of_another_manager_conflicts() -> None:
    first = after(applying("alice", {"color": "green"}), None)
    assert outcome(applying("bob", {"color": "gray"}), first).status == 409
    taken = after(applying("bob", {"color": "gray"}, force=True), first)
    assert taken.owners == {Manager("bob", "Apply"): frozenset({("f:spec", "f:color")})}


def test_equal_values_are_shared_and_stay_until_the_last_manager_gives_them_up() -> None:
    shared = after(applying("bob", {"color": "green"}), after(applying("alice", {"color": "green"}), None))
    assert {manager.name for manager in shared.owners} == {"alice", "bob"}
    left = after(applying("alice", {"step": 1}), shared)
    assert left.content["spec"]["color"] == "green"
    assert "color" not in after(applying("bob", {"step": 1}), left).content["spec"]
