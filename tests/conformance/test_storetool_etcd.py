"""``extapi storage`` with stores in etcd: copies between any two, backups, and a server that goes on afterwards."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from extapi.console.failure import CommandFailure
from extapi.privatereactor import drive, private_reactor
from extapi.storage.filling import KEY
from extapi.storetool.filling import Filled, Filling
from extapi.storetool.source import LiveSource
from extapi.storetool.stores import NamedStore, opened, read
from tests.conformance.serving import TOPPINGS, Serving
from tests.conformance.test_etcd_process import on_etcd, topping
from tests.conformance.test_storetool import done
from tests.etcds import Etcd, etcd
from tests.waiting import until

pytestmark = pytest.mark.kubernetes


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with etcd(tmp_path_factory.mktemp("etcd"), tls=True) as running:
        yield running


def flags(member: Etcd, prefix: str) -> list[str]:
    return [
        f"--etcd-servers={member.url}",
        f"--etcd-prefix={prefix}",
        f"--etcd-cafile={member.directory / 'ca.crt'}",
        f"--etcd-certfile={member.directory / 'client.crt'}",
        f"--etcd-keyfile={member.directory / 'client.key'}",
    ]


def held(reactor: Any, store: NamedStore) -> dict[bytes, tuple[bytes, int]]:
    async def run() -> dict[bytes, tuple[bytes, int]]:
        async with opened(store, reactor) as backend:
            page = await backend.page(b"", at=None, after=b"", limit=0)
            return {entry.key: (entry.value, entry.revision) for entry in page.entries}

    return drive(reactor, run(), timeout=120)


def fill(reactor: Any, origin: NamedStore, target: NamedStore) -> Filled:
    async def run() -> Filled:
        async with read(origin, reactor) as source, opened(target, reactor) as backend:
            return await Filling(backend, source, replace=False).run(lambda *_: None)

    return drive(reactor, run(), timeout=120)


def in_etcd(member: Etcd, prefix: str) -> NamedStore:
    return NamedStore("etcd:", member.options(prefix))


def test_copies_go_from_any_store_to_any_other_and_no_revision_comes_twice(member: Etcd, tmp_path: Path) -> None:
    """SQLite, etcd, another prefix, SQLite again: each goes on above all that were before it."""
    first, last = (NamedStore(f"sqlite:///{tmp_path / name}", None) for name in ("first.db", "last.db"))
    entries = {b"/registry/g/things/n/%03d" % number: b'{"a":%d}' % number for number in range(600)}

    async def filled(reactor: Any) -> int:
        async with opened(first, reactor) as store:
            await store.skip(10**9)
            for key, value in entries.items():
                await store.commit(key, value, expected=0)
            return cast("int", await store.revision())

    with private_reactor() as reactor:
        highest = drive(reactor, filled(reactor), timeout=120)
        stores = [first, in_etcd(member, "/copy/a"), in_etcd(member, "/copy/b"), last]
        for origin, target in pairwise(stores):
            assert fill(reactor, origin, target)[:3] == (600, 600, 0)
            found = held(reactor, target)
            assert {key: value for key, (value, _) in found.items()} == entries
            revisions = [revision for _, revision in found.values()]
            assert min(revisions) > highest
            highest = max(revisions)
        with pytest.raises(CommandFailure, match="the store is not empty"):
            fill(reactor, first, stores[1])


def test_a_copy_that_was_interrupted_goes_on_at_a_later_revision(member: Etcd, tmp_path: Path) -> None:
    """Etcd's revision rises without the store; all of it is compared anyway."""
    source, target, other = (in_etcd(member, f"/half/{name}") for name in "abc")

    async def half(reactor: Any) -> None:
        async with opened(source, reactor) as store:
            for number in range(3):
                await store.commit(b"/registry/g/things/n/%d" % number, b"1", expected=0)
        async with opened(target, reactor) as store:
            await store.commit(KEY, b"etcd:/half/a at revision 1", expected=0)
            await store.commit(b"/registry/g/things/n/0", b"1", expected=0)

    with private_reactor() as reactor:
        drive(reactor, half(reactor))
        with pytest.raises(
            CommandFailure, match="etcd:/half/b has only a part of what it is being filled with from etcd:/half/a"
        ):
            fill(reactor, target, other)
        both = [*flags(member, "/half/a"), "--to-etcd-prefix=/half/b"]
        assert "3 keys of etcd:/half/a, 2 of them written" in done("copy", "--from=etcd:", "--to=etcd:", *both)
        assert fill(reactor, target, other).written == 3
        assert [value for value, _ in held(reactor, other).values()] == [b"1"] * 3


def test_a_store_whose_history_is_gone_before_it_is_read_is_no_source(member: Etcd) -> None:
    store = in_etcd(member, "/compacted")

    async def tale(reactor: Any) -> str:
        async with opened(store, reactor) as backend:
            source = await LiveSource.of(store.name, backend)
            made = await backend.commit(b"/a", b"1", expected=0)
            await backend.compact(made, expected=await backend.oldest())
            with pytest.raises(CommandFailure) as caught:
                await anext(source.entries())
            return str(caught.value)

    with private_reactor() as reactor:
        assert "was compacted while it was read; run it again" in drive(reactor, tale(reactor))


def test_a_server_outlives_a_restored_etcd_and_a_bump(tmp_path: Path, cluster_kubeconfig: Path) -> None:
    """Not ready while etcd is older than what the server has seen; healed by the offset, without a restart."""
    (tmp_path / "etcd").mkdir()
    with etcd(tmp_path / "etcd", tls=True) as member:
        server = on_etcd(tmp_path / "a", cluster_kubeconfig, member, "/extapi/bumped")
        try:
            check(server, member)
        finally:
            server.close()


def check(server: Serving, member: Etcd) -> None:
    directory, given = member.directory, flags(member, "/extapi/bumped")
    server.start()
    assert server.request("POST", TOPPINGS, topping("old"))[0] == 201
    member.kill()
    shutil.copytree(directory / "data", directory / "copy")
    member.start()
    until(lambda: server.request("POST", TOPPINGS, topping("lost"))[0] in (201, 409), 30)
    lost = server.request("GET", f"{TOPPINGS}/lost")[1]["metadata"]["resourceVersion"]
    for number in range(5):
        server.request("POST", TOPPINGS, topping(f"lost-{number}"))
    latest = int(server.request("GET", TOPPINGS)[1]["metadata"]["resourceVersion"])
    member.kill()
    shutil.rmtree(directory / "data")
    (directory / "copy").rename(directory / "data")
    member.start()
    until(lambda: "older state than before" in server.request("GET", "/readyz/etcd")[1], 30)
    assert server.request("GET", "/readyz")[0] == 500
    assert server.request("GET", "/livez")[0] == 200
    assert server.request("POST", TOPPINGS, topping("new"))[0] == 500
    log = server.log.read_text()
    # A call may find it first, or who compares what was seen.
    found = f"(and was at {latest}|has not reached revision [0-9]+ of the store, which was seen)"
    assert re.search(f"{found}: an older state was restored; raise the offset with 'extapi storage bump etcd:'", log)
    done("bump", "etcd:", *given)
    until(lambda: server.request("GET", "/readyz")[0] == 200, 30)
    after = server.request("GET", TOPPINGS)[1]
    assert [item["metadata"]["name"] for item in after["items"]] == ["old"]
    assert int(after["metadata"]["resourceVersion"]) > max(latest, 1_000_000)
    assert int(after["items"][0]["metadata"]["resourceVersion"]) > max(latest, 1_000_000)
    status, gone = server.request("GET", f"{TOPPINGS}?watch=1&resourceVersion={lost}&timeoutSeconds=1")
    event = gone if isinstance(gone, dict) else json.loads(gone)
    assert (status, event["object"]["code"], event["object"]["reason"]) == (200, 410, "Expired")
    assert server.request("POST", TOPPINGS, topping("new"))[0] == 201
    # What there is, and of which etcd.
    said = json.loads(done("status", "etcd:", *given, "-o", "json"))
    (row,) = said["resources"]
    assert (row["resource"], row["objects"]) == ("toppings.restaurant.programming-kubernetes.info", 2)
    (etcds,) = said["members"]
    assert (etcds["endpoint"], etcds["leader"], etcds["alarms"], etcds["failure"]) == (member.url, True, [], "")
    assert etcds["version"].startswith("3.")
    assert 0 < etcds["inUse"] <= etcds["size"]
    assert said["offset"] > 1_000_000
