"""What docs/howto/high-availability.md types, typed: a user for the prefix, a snapshot, and a disaster, with two servers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.serving import HEADERS, TOPPINGS, Serving, etcd_flags
from tests.docs.samples import ROOT, blocks, reader
from tests.etcds import Etcd, etcd
from tests.kubernetes import golang
from tests.waiting import until

pytestmark = pytest.mark.kubernetes

PAGE = ROOT / "docs" / "howto" / "high-availability.md"
PREFIX = "/extapi/restaurant"


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Etcd]:
    (tmp_path / "etcd").mkdir()
    with etcd(tmp_path / "etcd", tls=True, arguments=("--bcrypt-cost=4",)) as running:
        yield running


def serving(directory: Path, kubeconfig: Path, member: Etcd, *flags: str) -> Serving:
    """A server on it, which has not been started."""
    directory.mkdir()
    return Serving(directory, kubeconfig, flags=(*etcd_flags(directory, member, PREFIX), *flags))


def topping(name: str) -> dict[str, Any]:
    api_version = "restaurant.programming-kubernetes.info/v1alpha1"
    return {"apiVersion": api_version, "kind": "Topping", "metadata": {"name": name}, "spec": {"cost": "1"}}


def test_the_page(tmp_path: Path, cluster_kubeconfig: Path, member: Etcd) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "etcdctl").symlink_to(golang.etcdctl())
    (programs / "etcdutl").symlink_to(golang.etcdutl())
    users, rights, snapshot, restore = (block for block in blocks(PAGE) if block.for_etcd)
    with reader(tmp_path) as operator:
        operator.environment |= {
            "PATH": f"{programs}:{operator.environment['PATH']}",
            "ETCDCTL_ENDPOINTS": member.url,
            "ETCDCTL_CACERT": str(member.directory / "ca.crt"),
            "ETCDCTL_CERT": str(member.directory / "client.crt"),
            "ETCDCTL_KEY": str(member.directory / "client.key"),
            "ETCDCTL_COMMAND_TIMEOUT": "50s",  # of a busy machine
            "ETCDCTL_DIAL_TIMEOUT": "50s",
        }
        operator.type(users)
        # One server has the user's password, for the other one the name in its certificate is enough.
        assert "etcdctl user add extapi:" in users.text
        (tmp_path / "password").write_text("also-change-me\n")
        here = serving(
            tmp_path / "a",
            cluster_kubeconfig,
            member,
            "--etcd-username=extapi",
            f"--etcd-password-file={tmp_path / 'password'}",
        )
        there = serving(tmp_path / "b", cluster_kubeconfig, member)
        try:
            here.spawn()
            there.spawn()
            until(here.ready, 240)
            until(there.ready, 240)
            assert here.request("POST", TOPPINGS, topping("ham"))[0] == 201
            operator.type(rights)
            _disaster(here, there, member, lambda: operator.type(snapshot), lambda: operator.type(restore), tmp_path)
        finally:
            here.close()
            there.close()


def _disaster(here: Serving, there: Serving, member: Etcd, save: Any, restore: Any, directory: Path) -> None:
    """All that was written after the snapshot is gone, and clients learn it."""
    save()
    status, lost = here.request("POST", TOPPINGS, topping("lost"))
    assert status == 201
    before = int(lost["metadata"]["resourceVersion"])
    watch = there.connect()
    watch.request("GET", f"{TOPPINGS}?watch=1&resourceVersion={before}", headers=HEADERS)
    events = watch.getresponse()
    member.kill()
    restore()
    shutil.rmtree(member.directory / "data")
    shutil.move(directory / "restored", member.directory / "data")
    member.start()
    until(lambda: _names(here) == ["ham"], 120)
    until(lambda: _names(there) == ["ham"], 120)
    for server in (here, there):
        until(lambda server=server: server.request("GET", "/readyz")[0] == 200, 120)  # type: ignore[misc]
        # No resourceVersion comes twice, and one from before is told to be too old.
        status, made = server.request("POST", TOPPINGS, topping(f"new-{server.port}"))
        assert status == 201
        assert int(made["metadata"]["resourceVersion"]) > 10**9 > before
        told = server.request("GET", f"{TOPPINGS}?watch=1&resourceVersion={before}&timeoutSeconds=1")[1]
        assert told.get("object", told)["code"] == 410
    assert events.read() == b""  # the watch that was open has ended
    watch.close()
    for server in (here, there):
        assert "Traceback" not in server.log.read_text()


def _names(server: Serving) -> list[str]:
    status, found = server.request("GET", TOPPINGS)
    return [item["metadata"]["name"] for item in found["items"]] if status == 200 else []
