"""A running server stores every object anew, in its storage version."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from twisted.internet.task import Clock

from extapi import Api, Group
from extapi.client.kube import ResourceName
from extapi.crd.definition import Definition
from extapi.crd.kinds import kind_of
from extapi.storage.memory import MemoryBackend
from extapi.takeover import migration
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.migration import Counts, Migration, MigrationPosition
from extapi.testing.memory import InMemoryServer
from tests.kubernetes.moving import DEFINITION, GROUP, PLURAL, crate
from tests.unit.takeover.tables import cluster, now, status, table

CRATES = ResourceName(GROUP, "v1", PLURAL)
PATH = "/apis/moving.example.com/v1/crates"


def served(storage: str) -> Api:
    """The definition with another storage version."""
    made = copy.deepcopy(DEFINITION)
    for each in made["spec"]["versions"]:
        each["storage"] = each["name"] == storage
    return Api(Group(GROUP, kind_of(Definition(made))))


class Aged:
    """A server whose store has five objects, four of them from a time when another version was stored."""

    def __init__(self, clock: Clock) -> None:
        clock.advance(1_700_000_000.0)
        self.backend = MemoryBackend(clock)
        before = InMemoryServer(served("v1beta1"), clock=clock, backend=self.backend)
        before.start()
        for number in range(4):
            before.run(before.client.create(CRATES, crate(f"old-{number}", number), namespace="default"))
        self.server = InMemoryServer(served("v1"), clock=clock, backend=self.backend)
        self.server.start()
        self.create("new")

    def create(self, name: str) -> None:
        self.server.run(self.server.client.create(CRATES, crate(name, 9), namespace="default"))

    def versions(self) -> dict[str, str]:
        """In which version each object is stored."""
        page = self.server.run(self.backend.page(b"/registry/", at=None, after=b"", limit=0))
        objects = [msgspec.json.decode(entry.value) for entry in page.entries]
        return {each["metadata"]["name"]: each["apiVersion"].rpartition("/")[2] for each in objects}

    def migration(self, position: MigrationPosition | None = None, **settings: Any) -> Migration:
        settings = {"rate": 1000.0, "save": lambda _: None, **settings}
        position = position or MigrationPosition("here", "crates")
        return Migration(self.server.client, self.server.clock, CRATES, position=position, **settings)


@pytest.fixture
def aged() -> Iterator[Aged]:
    made = Aged(Clock())
    yield made
    made.server.stop()


ALL = {"old-0", "old-1", "old-2", "old-3", "new"}


def test_an_unchanged_put_stores_an_object_in_the_storage_version(aged: Aged) -> None:
    """As kube-apiserver does: the bytes differ (``k8s.io/apiserver/pkg/storage/etcd3/store.go`` GuaranteedUpdate)."""
    client = aged.server.client
    read = aged.server.run(client.get(CRATES, "old-0", namespace="default"))
    written = aged.server.run(client.update(CRATES, "old-0", read, namespace="default"))
    assert aged.versions()["old-0"] == "v1"
    assert written["metadata"].pop("resourceVersion") != read["metadata"].pop("resourceVersion")
    assert written == read
    again = aged.server.run(client.get(CRATES, "old-0", namespace="default"))
    same = aged.server.run(client.update(CRATES, "old-0", again, namespace="default"))
    assert same["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]


def test_all_objects_are_stored_anew_and_stay_what_they_are(aged: Aged) -> None:
    def objects() -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = aged.server.run(aged.server.client.list(CRATES))["items"]
        for each in items:
            del each["metadata"]["resourceVersion"]
        return items

    before = objects()
    assert aged.versions() == {name: "v1" if name == "new" else "v1beta1" for name in ALL}
    reported: list[tuple[int, int]] = []
    counts = aged.server.run(aged.migration().run(lambda done, total: reported.append((done, total))))
    assert counts == Counts(written=4, unchanged=1)
    assert aged.versions() == dict.fromkeys(ALL, "v1")
    assert objects() == before
    assert reported[-1] == (0, 5)


def test_a_rate_bounds_it(aged: Aged) -> None:
    began = aged.server.clock.seconds()
    aged.server.run(aged.migration(rate=2.0).run())
    assert aged.server.clock.seconds() - began >= 3 / 2.0


def test_another_run_goes_on_where_one_was_killed(aged: Aged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "PAGE", 2)

    class Killed(Exception):
        pass

    saved: list[MigrationPosition] = []

    def save(position: MigrationPosition) -> None:
        saved.append(position)
        if len(saved) == 2:
            raise Killed

    with pytest.raises(Killed):
        aged.server.run(aged.migration(save=save).run())
    assert [(each.done, each.finished) for each in saved] == [(2, False), (4, False)]
    counts = aged.server.run(aged.migration(saved[0], save=saved.append).run())
    # The pages go on at the moment of the first one, so that what was written since is in conflict: it is done.
    assert counts == Counts(written=1, others=2)
    assert (saved[-1].done, saved[-1].finished) == (5, True)
    assert aged.versions() == dict.fromkeys(ALL, "v1")


def test_a_list_that_has_expired_is_gone_on_with(aged: Aged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "PAGE", 2)
    saved: list[MigrationPosition] = []

    def save(position: MigrationPosition) -> None:
        saved.append(position)
        if len(saved) == 1:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        aged.server.run(aged.migration(save=save).run())
    aged.create("zz")
    current = aged.server.run(aged.backend.revision())
    aged.server.run(aged.backend.compact(current, expected=aged.server.run(aged.backend.oldest())))
    aged.server.run(aged.migration(saved[0]).run())
    assert set(aged.versions().values()) == {"v1"}


def item(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "uid": "u", "resourceVersion": "3"}}


def test_what_others_write_meanwhile_is_left_to_them() -> None:
    objects = {PATH: {"metadata": {}, "items": [item("a"), item("b")]}}
    at = "PATCH /apis/moving.example.com/v1/namespaces/default/crates"
    kube = table({**objects, f"{at}/a": status(409, "Conflict"), f"{at}/b": status(404, "NotFound")})
    assert now(of(kube).run()) == Counts(others=2)
    assert [each.body for each in kube.requests if each.method == "PATCH"] == [
        b'{"metadata":{"resourceVersion":"3","uid":"u"}}'
    ] * 2


def test_what_may_pass_is_tried_again() -> None:
    clock = Clock()
    at = "PATCH /apis/moving.example.com/v1/namespaces/default/crates/a"
    page = {"metadata": {}, "items": [item("a")]}
    kube = table({PATH: [status(503, "ServiceUnavailable"), page], at: [status(429, "TooManyRequests"), item("a")]})
    assert now(of(kube, clock).run(), clock) == Counts(unchanged=1)


def test_an_object_that_cannot_be_written_is_named() -> None:
    at = "PATCH /apis/moving.example.com/v1/namespaces/default/crates/a"
    kube = table({PATH: {"metadata": {}, "items": [item("a")]}, at: status(422, "Invalid", "spec: wrong")})
    with pytest.raises(TakeoverFailure, match=r"crates default/a cannot be written: 422 spec: wrong. Put it right"):
        now(of(kube).run())
    with pytest.raises(TakeoverFailure, match=r"crates cannot be listed: 403 no"):
        now(of(table({PATH: status(403, "Forbidden", "no")})).run())


def of(kube: Any, clock: Clock | None = None) -> Migration:
    clock = clock or Clock()
    client = cluster(kube, clock).client
    position = MigrationPosition("here", "crates")
    return Migration(client, clock, CRATES, rate=1000.0, position=position, save=lambda _: None)
