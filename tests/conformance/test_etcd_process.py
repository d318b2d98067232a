"""Two ``extapi serve`` on one etcd over TLS: they show one another's objects, and outlive a failure of etcd."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.privatereactor import drive, private_reactor
from extapi.storage.etcd.backend import EtcdBackend
from tests.conformance.serving import HEADERS, TOPPINGS, Serving, etcd_flags
from tests.etcds import Etcd, etcd, http_apart
from tests.lastingport import lasting_port
from tests.stopping import stop
from tests.waiting import until

pytestmark = pytest.mark.kubernetes


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with etcd(tmp_path_factory.mktemp("etcd"), tls=True, arguments=[http_apart()]) as running:
        yield running


def on_etcd(directory: Path, kubeconfig: Path, member: Etcd, prefix: str) -> Serving:
    """A server that has not been started yet."""
    directory.mkdir()
    return Serving(directory, kubeconfig, flags=etcd_flags(directory, member, prefix))


def test_watches_end_where_the_past_is_gone_that_a_server_missed(
    tmp_path: Path, cluster_kubeconfig: Path, member: Etcd
) -> None:
    """The server falls silent, its connections break, others write and compact: it begins anew, and watches that are resumed are told 410."""
    prefix = "/extapi/missed"
    server = on_etcd(tmp_path / "a", cluster_kubeconfig, member, prefix)
    try:
        server.spawn()
        server.wait()
        assert server.process is not None
        status, made = server.request("POST", TOPPINGS, topping("ham"))
        assert status == 201
        watch = server.connect()
        version = made["metadata"]["resourceVersion"]
        watch.request("GET", f"{TOPPINGS}?watch=1&resourceVersion={version}", headers=HEADERS)
        events = watch.getresponse()
        stop(server.process.pid)
        member.kill()
        member.start()
        with private_reactor() as reactor:
            drive(reactor, delete_and_compact(reactor, member, prefix, int(version)), timeout=60)
        server.process.send_signal(signal.SIGCONT)
        # As in kube-apiserver, the watch ends, and the client is told when it resumes it.
        assert events.read() == b""
        watch.close()
        # It shows what it missed, and says of the past that it is gone.
        until(lambda: server.request("GET", f"{TOPPINGS}/ham")[0] == 404, 30)
        gone = server.request("GET", f"{TOPPINGS}?watch=1&resourceVersion={version}")[1]
        (event,) = [json.loads(line) for line in gone.splitlines()] if isinstance(gone, str) else [gone]
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    finally:
        server.close()


async def delete_and_compact(reactor: Any, member: Etcd, prefix: str, revision: int) -> None:
    """As another server does."""
    store = EtcdBackend(reactor, member.options(prefix))
    page = await store.page(b"", at=None, after=b"", limit=0)
    (entry,) = [entry for entry in page.entries if entry.revision == revision]
    gone = await store.commit(entry.key, None, expected=revision)
    assert await store.compact(gone, expected=await store.oldest()) == gone
    await store.close()


@pytest.fixture
def pair(tmp_path: Path, cluster_kubeconfig: Path, member: Etcd) -> Iterator[tuple[Serving, Serving]]:
    here, there = (on_etcd(tmp_path / name, cluster_kubeconfig, member, "/extapi/pair") for name in ("a", "b"))
    try:
        here.spawn()
        there.spawn()
        here.wait()
        there.wait()
        yield here, there
    finally:
        here.close()
        there.close()


def test_a_server_that_cannot_reach_etcd_says_so_and_ends(
    tmp_path: Path, cluster_kubeconfig: Path, member: Etcd
) -> None:
    """As kube-apiserver; who started it starts it again."""
    away = Etcd(member.directory, lasting_port(), tls=True)
    server = on_etcd(tmp_path / "a", cluster_kubeconfig, away, "/extapi/away")
    server.spawn()
    assert server.process is not None
    assert server.process.wait(60) == 1
    log = server.log.read_text()
    assert f"Error: etcd cannot be reached: {away.url}" in log
    assert "Traceback" not in log


def topping(name: str, **rest: Any) -> dict[str, Any]:
    api_version = "restaurant.programming-kubernetes.info/v1alpha1"
    return {"apiVersion": api_version, "kind": "Topping", "metadata": {"name": name, **rest}, "spec": {"cost": "1"}}


def test_two_servers_on_one_etcd_and_its_failure(pair: tuple[Serving, Serving], member: Etcd) -> None:
    here, there = pair
    # What one has written, the other one shows at once, and of two writes with one resourceVersion one is refused.
    status, made = here.request("POST", TOPPINGS, topping("ham"))
    assert status == 201
    assert there.request("GET", f"{TOPPINGS}/ham") == (200, made)
    assert there.request("PUT", f"{TOPPINGS}/ham", {**made, "spec": {"cost": "2"}})[0] == 200
    assert here.request("PUT", f"{TOPPINGS}/ham", {**made, "spec": {"cost": "3"}})[0] == 409
    version = here.request("GET", TOPPINGS)[1]["metadata"]["resourceVersion"]
    watch = there.connect()
    watch.request("GET", f"{TOPPINGS}?watch=1&resourceVersion={version}", headers=HEADERS)
    events = watch.getresponse()
    # More than etcd takes is told as such, and harms nobody.
    large = topping("large", labels={f"label-{number}": "x" * 63 for number in range(20_000)})
    status, refused = here.request("POST", TOPPINGS, large)
    assert (status, refused["reason"]) == (413, "RequestEntityTooLarge")
    # etcd goes: what there is can be read, the servers are not ready, and need no restart.
    member.kill()
    until(lambda: here.request("GET", "/readyz")[0] == 500, 30)
    assert here.request("GET", "/readyz/etcd")[0] == 500
    assert here.request("GET", "/livez")[0] == 200
    assert there.request("GET", f"{TOPPINGS}/ham?resourceVersion=0")[1]["spec"] == {"cost": "2"}
    assert there.request("POST", TOPPINGS, topping("lost"))[0] in (500, 504)
    # It comes again: so do they, and a watch that was open goes on.
    member.start()
    until(lambda: here.request("GET", "/readyz")[0] == 200, 30)
    until(lambda: there.request("GET", "/readyz")[0] == 200, 30)
    assert here.request("POST", TOPPINGS, topping("cheese"))[0] == 201
    event = json.loads(events.readline())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "cheese")
    watch.close()
    assert here.process is not None
    assert "Traceback" not in here.log.read_text()
