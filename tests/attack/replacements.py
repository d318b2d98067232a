"""Replaces what a server serves, under load, and compares every response with a model.

``python -m tests.attack.replacements --steps 100000``: kinds come, change and go in any order, while requests wait in a
plugin or for the store, while the store fails, and while the log breaks off; in memory and in SQLite. Every declaration of a
kind has a generation of its own, which its objects, columns and documents show; so a mixture of two cannot go unseen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from twisted.python.failure import Failure

from extapi.registry.storedversions import UnknownStoredVersion
from extapi.storage.base import Backend, Unavailable
from extapi.storage.sqlite import SqliteBackend
from extapi.testing import ServerResponse, Stream
from tests.attack.diskclock import DiskClock
from tests.attack.replaceddocuments import check_documents
from tests.attack.replacedkinds import (
    SLOTS,
    STORED,
    VERSIONS,
    Catalog,
    Declared,
    declare,
    group_versions,
    groups_of,
    shown,
    storage_of,
    together,
)
from tests.unit.server.generations import Place, new

NAMES = ("a", "b", "c")
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
MERGE = {"Content-Type": "application/merge-patch+json"}
CHANGES = ("put", "put", "put", "put", "drop", "drop", "reorder", "fail")
USES = (
    "write",
    "write",
    "write",
    "held write",
    "held write",
    "watch",
    "table watch",
    "read",
    "table",
    "documents",
    "past",
)
TURNS = 30
"""Steps of the clock in which everything that need not be let go by a test is over."""


@dataclass
class Replacement:
    """A replacement that was asked for, and what came of it."""

    served: Catalog
    outcome: list[Any] = field(default_factory=list)


@dataclass
class Held:
    """A request that has begun on a catalogue, and is not over."""

    slot: str
    served: Catalog
    method: str
    name: str
    size: int
    got: list[ServerResponse]
    listed: dict[str, int] = field(default_factory=dict)


@dataclass
class Watched:
    """A watch, and the events that it must have had."""

    slot: str
    served: Catalog
    stream: Stream
    table: bool
    expected: list[tuple[str, str, int]]
    over: bool = False


class Replacements(RuleBasedStateMachine):
    """One server from its start to its end."""

    steps: ClassVar[Counter[str]] = Counter()
    sqlite: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.clock = DiskClock()
        self.directory = tempfile.TemporaryDirectory()
        self.number = 0
        self.served: Catalog = {}
        self.wanted: Catalog = {}
        """What the last replacement that was asked for is to lead to."""
        self.asked: list[Replacement] = []
        self.objects: dict[str, dict[str, int]] = {name: {} for name in STORED}
        self.stored_in: dict[str, dict[str, str]] = {name: {} for name in STORED}
        self.ever_second: set[str] = set()
        self.watches: list[Watched] = []
        self.writes: list[Held] = []
        self.lists: list[Held] = []
        self.documents_now: Mapping[str, Any] = {}
        self.made: list[Mapping[str, Any]] = []
        """The documents of each catalogue that was not looked at yet."""

    @initialize(first=st.sampled_from(["alpha", "gamma", "delta"]))
    def start(self, first: str) -> None:
        """Start with one kind."""
        backend: Backend | None = None
        if self.sqlite:
            backend = SqliteBackend(self.clock, Path(self.directory.name) / "store.db")
        self.served = self.wanted = {first: declare(first, self._next(), "v1")}
        self.place = Place(*groups_of(self.served), clock=self.clock, backend=backend)
        catalogue = self.place.server.server._served
        self.documents_now = catalogue.catalogue.documents
        self.place.server.server.observers.append(lambda: self.made.append(catalogue.catalogue.documents))

    def teardown(self) -> None:
        """Let everything end, look once more, and stop."""
        if hasattr(self, "place"):
            self._resume()
            while self.writes:
                self._let_write(0)
            self.everything()
            self._documents()
            self.watches_are_right()
            self.place.stop()
        self.directory.cleanup()

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _count(self, what: str) -> None:
        type(self).steps[what] += 1

    # -- replacements

    @rule(how=st.sampled_from(CHANGES), name=st.sampled_from(list(SLOTS)), versions=st.sampled_from(list(VERSIONS)))
    def change(self, how: str, name: str, versions: str) -> None:
        """A kind comes, changes or goes, or nothing does; perhaps the store fails meanwhile."""
        if how == "drop":  # and with it those that are stored as it
            wanted = {each: kind for each, kind in self.wanted.items() if name not in (each, SLOTS[each].base)}
        elif how == "reorder":  # no cache and no watch is concerned
            wanted = dict(list(self.wanted.items())[::-1])
        else:
            wanted = {**self.wanted, name: declare(name, self._next(), versions)}
            base = SLOTS[name].base
            if base and base not in wanted:
                wanted[base] = declare(base, self._next(), "v1")
        if not wanted:
            return
        if how == "fail" and not self.place.backend.paused:
            self.place.backend.broken = Unavailable("disk full")
        self._replace(wanted)
        self.place.backend.broken = None

    @precondition(lambda self: not self.place.backend.paused)
    @rule(
        name=st.sampled_from(STORED), versions=st.sampled_from(list(VERSIONS)), objects=st.lists(st.sampled_from(NAMES))
    )
    def change_while_it_is_written(self, name: str, versions: str, objects: list[str]) -> None:
        """A kind changes, or comes, while its objects are written."""
        self.place.backend.paused = True
        self.change("put", name, versions)
        for each in objects if name in self.served else ():
            exists = each in self.objects[storage_of(name)]
            self._write(name, each, "POST" if not exists else "DELETE" if len(objects) % 2 else "PATCH")
        self._resume()
        if name in self.served:
            self._read(name, "v1", table=False)

    def _replace(self, wanted: Catalog) -> None:
        self._count("replacement")
        self.wanted = wanted
        asked = Replacement(wanted)
        self.asked.append(asked)
        self.place.begin(*groups_of(wanted)).addBoth(asked.outcome.append)
        self._settle()

    def _settle(self) -> None:
        """Let happen what can, and note what is served then."""
        for _ in range(TURNS):
            self.clock.advance(0.001)
            while self.asked and self.asked[0].outcome:
                self._over(self.asked.pop(0))

    def _over(self, asked: Replacement) -> None:
        (outcome,) = asked.outcome
        if isinstance(outcome, Failure):
            self._count(f"replacement refused: {type(outcome.value).__name__}")
            if isinstance(outcome.value, UnknownStoredVersion):
                assert any(
                    name in self.ever_second and "v2" not in kind.versions for name, kind in asked.served.items()
                ), outcome
            else:
                assert isinstance(outcome.value, Unavailable), outcome
            if not self.asked:
                self.wanted = self.served
            return
        before, self.served = self.served, asked.served
        self._same_documents(before, self.made.pop(0))
        self.ever_second |= {name for name, kind in self.served.items() if kind.storage == "v2"}
        for watch in self.watches:
            watch.over = watch.over or together(watch.slot, watch.served) != together(watch.slot, self.served)

    # -- pauses

    @rule()
    def pause(self) -> None:
        """From now on whoever reads the store waits: replacements, and lists of the past."""
        self.place.backend.paused = True

    @rule()
    def resume(self) -> None:
        """The store answers again."""
        self._resume()

    def _resume(self) -> None:
        self.place.backend.paused = False
        while self.place.backend.waiting:
            self.place.backend.release()
            self._settle()
        assert not self.asked
        for held in self.lists:
            self._check_list(held)
        self.lists.clear()

    @precondition(lambda self: not self.place.backend.paused)
    @rule(often=st.integers(0, 3))
    def break_off(self, often: int) -> None:
        """The log of the store breaks off, now and then: all watches end, and reads are refused for a moment."""
        if often < 3:
            return
        self._count("break")
        self.place.backend.tails[-1].close()
        for watch in self.watches:
            watch.over = True
        self.clock.advance(1)
        self._settle()

    # -- writes

    @rule(
        what=st.sampled_from(USES),
        slot=st.sampled_from(STORED),
        name=st.sampled_from(NAMES),
        version=st.sampled_from(["v1", "v2"]),
        delete=st.booleans(),
    )
    def use(self, what: str, slot: str, name: str, version: str, delete: bool) -> None:
        """A client does something."""
        declared = self.served.get(slot)
        if declared and version not in declared.versions:
            version = "v1"
        if "write" in what:
            exists = name in self.objects[storage_of(slot)]
            method = "POST" if not exists else "DELETE" if delete else "PATCH"
            self._write(slot, name, method, version, hold=what == "held write")
        elif "watch" in what:
            self._watch(slot, version, table=what == "table watch")
        elif what == "documents":
            self._documents()
        elif what == "past":
            self._read_past(slot, name)
        else:
            self._read(slot, version, table=what == "table")

    def _write(self, slot: str, name: str, method: str, version: str = "v1", *, hold: bool = False) -> None:
        path, size = SLOTS[slot].path(version), self._next()
        where = path if method == "POST" else f"{path}/{name}"
        body = {"POST": new(path, name, size), "PATCH": {"spec": {"size": size}}}.get(method)
        self.place.plugin.hold = hold
        got = self.place.send(method, where, {}, MERGE if method == "PATCH" else {}, body)
        held = Held(slot, self.served, method, name, size, got)
        self.place.plugin.hold = False
        if len(self.place.plugin.held) > len(self.writes):
            self.writes.append(held)
            self._count("write held")
        else:
            self._settle()
            self._check_write(held)
            self._count("write")

    @precondition(lambda self: self.writes)
    @rule(data=st.data())
    def let_write(self, data: st.DataObject) -> None:
        """A write that waits goes on, on the catalogue with which it began."""
        self._let_write(data.draw(st.integers(0, len(self.writes) - 1)))

    def _let_write(self, at: int) -> None:
        held = self.writes.pop(at)
        self.place.plugin.held.pop(at).callback(None)
        self._settle()
        self._count("write of a former catalogue" if held.served is not self.served else "write let go")
        self._check_write(held)

    def _check_write(self, held: Held) -> None:
        """Compare the response of a write with the model, and note what it has done."""
        (answer,) = held.got
        declared = held.served.get(held.slot)
        if declared is None:
            assert answer.status == 404, answer
            return
        storage = storage_of(held.slot)
        objects, stored_in = self.objects[storage], self.stored_in[storage]
        base = held.served[storage]
        if held.method == "POST":
            assert answer.status == (409 if held.name in objects else 201), answer
        elif held.name not in objects:
            assert answer.status == 404, answer
        elif stored_in[held.name] not in base.versions:
            assert answer.status == 500, answer  # it has been stored in a version that came after the request
        else:
            assert answer.status == 200, answer
        if answer.status in (200, 201):
            self._written(held, declared, answer)

    def _written(self, held: Held, declared: Declared, answer: ServerResponse) -> None:
        storage = storage_of(held.slot)
        objects = self.objects[storage]
        event, size = {"POST": "ADDED", "PATCH": "MODIFIED", "DELETE": "DELETED"}[held.method], held.size
        if held.method == "DELETE":
            size = objects.pop(held.name)
        else:
            objects[held.name] = size
            self.stored_in[storage][held.name] = held.served[storage].storage
            assert answer.json()["spec"] == shown(declared, size)
        for watch in self.watches:
            if not watch.over and storage_of(watch.slot) == storage:
                watch.expected.append((event, held.name, size))

    # -- reads

    def _read(self, slot: str, version: str, *, table: bool) -> None:
        """An object, and a list of all."""
        self._count("read")
        self._create_virtual()
        declared, path = self.served.get(slot), SLOTS[slot].path(version)
        if declared is None:
            assert self.place.request("GET", path).status == 404
            return
        objects = self.objects[storage_of(slot)]
        for name in NAMES:
            answer = self.place.request("GET", f"{path}/{name}")
            assert answer.status == (200 if name in objects else 404), answer
            assert name not in objects or answer.json()["spec"] == shown(declared, objects[name])
        if not table:
            assert self.place.specs(path) == {name: shown(declared, size) for name, size in objects.items()}
            return
        found = self.place.request("GET", path, headers=TABLE).json()
        assert [column["name"] for column in found["columnDefinitions"]] == ["Name", f"Gen{declared.generation}"]
        assert [row["cells"] for row in found["rows"]] == [[name, declared.generation] for name in sorted(objects)]

    def _create_virtual(self) -> None:
        """Nothing of a virtual kind is stored, so it has one answer."""
        answer = self.place.create(SLOTS["ping"].path(), "a", 5)
        declared = self.served.get("ping")
        if declared is None:
            assert answer.status == 404
        else:
            assert answer.json()["spec"] == shown(declared, 5)

    def _read_past(self, slot: str, name: str) -> None:
        """A list as of a revision after which something has been written, so that it has to wait for the store."""
        if slot not in self.served:
            return
        path, objects = SLOTS[slot].path(), dict(self.objects[storage_of(slot)])
        revision = self.place.request("GET", path).json()["metadata"]["resourceVersion"]
        self._write(slot, name, "PATCH" if name in objects else "POST")
        query = {"resourceVersion": revision, "resourceVersionMatch": "Exact"}
        self.lists.append(Held(slot, self.served, "GET", "", 0, self.place.send("GET", path, query), objects))
        self._settle()
        self._count("list held" if self.place.backend.paused else "list")
        if not self.place.backend.paused:
            self._check_list(self.lists.pop())

    def _check_list(self, held: Held) -> None:
        self._count("list of a former catalogue" if held.served is not self.served else "list let go")
        (answer,) = held.got
        assert answer.status == 200, answer
        found = {item["metadata"]["name"]: item["spec"] for item in answer.json()["items"]}
        assert found == {name: shown(held.served[held.slot], size) for name, size in held.listed.items()}

    # -- watches

    def _watch(self, slot: str, version: str, *, table: bool) -> None:
        """A watch, which begins with all objects."""
        declared, path = self.served.get(slot), SLOTS[slot].path(version)
        stream = self.place.watch(path, headers=TABLE if table else {})
        if declared is None:
            assert stream.reply.status == 404
            return
        objects = self.objects[storage_of(slot)]
        expected = [("ADDED", name, objects[name]) for name in sorted(objects)]
        self.watches.append(Watched(slot, self.served, stream, table, expected))
        self._count("watch")

    @precondition(lambda self: self.watches)
    @rule(data=st.data())
    def close_watch(self, data: st.DataObject) -> None:
        """A client goes."""
        watch = self.watches.pop(data.draw(st.integers(0, len(self.watches) - 1)))
        self._check_watch(watch)
        watch.stream.close()

    @invariant()
    def watches_are_right(self) -> None:
        """Each has had all events of its kind, once and in order, and has ended if its kind has gone or changed."""
        for watch in self.watches:
            self._check_watch(watch)
        self.watches = [watch for watch in self.watches if not watch.over][-12:]

    def _check_watch(self, watch: Watched) -> None:
        declared, stream = watch.served[watch.slot], watch.stream
        found = []
        for event, obj in stream.events:
            if watch.table:
                (row,) = obj["rows"]
                assert row["cells"][1] == declared.generation
                found.append((event, row["cells"][0], None))
            else:
                assert obj["spec"] == shown(declared, obj["spec"]["size"])
                found.append((event, obj["metadata"]["name"], obj["spec"]["size"]))
        assert found == [(event, name, None if watch.table else size) for event, name, size in watch.expected]
        assert (stream.ended, stream.error) == (watch.over, None)
        if watch.over:
            self._count("watch ended")

    # -- documents

    def _documents(self) -> None:
        self._count("documents")
        check_documents(self.place, self.served)

    def _same_documents(self, before: Catalog, made: Mapping[str, Any]) -> None:
        """Documents whose kinds have stayed must be the same objects."""
        old, new_ = group_versions(before), group_versions(self.served)
        for (group, version), kinds in new_.items():
            root = f"apis/{group}/{version}" if group else f"api/{version}"
            if old.get((group, version)) == kinds:
                for path in (f"/{root}", f"/openapi/v3/{root}"):
                    assert made[path][1] is self.documents_now[path][1]
        self.documents_now = made

    def everything(self) -> None:
        """Read all kinds, and start the server's last watches."""
        for slot, declared in self.served.items():
            if not SLOTS[slot].virtual:
                objects = self.objects[storage_of(slot)]
                found = self.place.specs(SLOTS[slot].path())
                assert found == {name: shown(declared, size) for name, size in objects.items()}


class OnDisk(Replacements):
    """The same in SQLite."""

    sqlite = True
    steps: ClassVar[Counter[str]] = Counter()


def run(machine: type[Replacements], examples: int, steps: int, *, explain: bool = True) -> None:
    """Run so many servers with so many steps each."""
    phases = [Phase.generate, Phase.shrink] if explain else [Phase.generate]
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            phases=phases,
            suppress_health_check=checks,
        ),
    )


def main() -> int:
    """The long form."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.replacements", description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    steps = parser.parse_args().steps
    for machine in (Replacements, OnDisk):
        began = time.monotonic()
        run(machine, examples=max(1, steps // 2 // 100), steps=100)
        sys.stdout.write(f"{machine.__name__}: {time.monotonic() - began:.0f} s\n")
        for what, count in sorted(machine.steps.items()):
            sys.stdout.write(f"  {count:8} {what}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
