"""Several ``extapi serve`` on one etcd, as a Deployment runs them: with the flags that are rendered, and from one release to the next."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from extapi.manifests.etcd import DIRECTORY
from tests.conformance.releases import GROUP, second
from tests.conformance.serving import HEADERS, Serving
from tests.etcds import Etcd, etcd
from tests.unit.manifests.rendering import pod_of, rendered
from tests.waiting import until

pytestmark = pytest.mark.kubernetes

START = 240
"""Seconds for several servers to start at once, on a machine that has other work."""
THINGS = f"/apis/{GROUP}/v1/things"
THING = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "one"}}
RELEASE = "tests.conformance.releases"


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """Its directory has the files of the Secret, too."""
    with etcd(tmp_path_factory.mktemp("etcd"), tls=True) as running:
        shutil.copy(running.directory / "client.crt", running.directory / "tls.crt")
        shutil.copy(running.directory / "client.key", running.directory / "tls.key")
        yield running


def flags(member: Etcd, **settings: Any) -> list[str]:
    """The rendered flags about the store, as if the Secret were mounted where the member has its files."""
    pod = pod_of(rendered(second, storage="etcd:", etcd_servers=member.url, **settings))
    (container,) = pod["containers"]
    (mount,) = (mount for mount in container["volumeMounts"] if mount["name"] == "etcd")
    assert mount["mountPath"] == DIRECTORY
    kept = [arg for arg in container["args"] if arg.startswith(("--storage", "--etcd-", "--shutdown-delay"))]
    assert len(kept) == 7
    return [arg.replace(f"={DIRECTORY}/", f"={member.directory}/") for arg in kept]


def server(directory: Path, kubeconfig: Path, store: Sequence[str], target: str) -> Serving:
    """One that has not been started yet."""
    directory.mkdir()
    trust = ("--authentication-skip-lookup", f"--requestheader-client-ca-file={directory / 'proxy-ca.pem'}")
    return Serving(directory, kubeconfig, target=target, flags=(*trust, *store))


def said(server: Serving) -> str:
    """What it says of its replicas."""
    connection = server.connect()
    connection.request("GET", "/readyz?verbose", headers=HEADERS)
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    (line,) = (line for line in lines if "]replicas " in line)
    return line


def test_the_rendered_flags_start_three_servers(tmp_path: Path, cluster_kubeconfig: Path, member: Etcd) -> None:
    store = flags(member, replicas=3)
    servers = [server(tmp_path / name, cluster_kubeconfig, store, f"{RELEASE}:second") for name in "abc"]
    with ExitStack() as stack:
        for each in servers:
            stack.callback(each.close)
            each.spawn()
        for each in servers:
            until(each.ready, START)
        status, made = servers[0].request("POST", THINGS, THING)
        assert status == 201
        assert [each.request("GET", f"{THINGS}/one") for each in servers] == [(200, made)] * 3
        until(lambda: all(said(each) == "[+]replicas ok: one of 3 on this store" for each in servers), 30)


def test_a_version_is_stored_when_all_servers_read_it(tmp_path: Path, cluster_kubeconfig: Path, member: Etcd) -> None:
    """A Deployment that goes from the first release to the third gets stuck, instead of showing clients errors."""
    store = [arg for arg in flags(member, etcd_prefix="/extapi/rollout") if "shutdown" not in arg]
    old = server(tmp_path / "old", cluster_kubeconfig, store, f"{RELEASE}:first")
    new = server(tmp_path / "new", cluster_kubeconfig, store, f"{RELEASE}:third")
    with ExitStack() as stack:
        stack.callback(old.close)
        stack.callback(new.close)
        old.spawn()
        until(old.ready, START)
        new.spawn()
        until(lambda: "in v2, which" in _answer(new), START)
        line = said(new)
        assert line.startswith(f"[-]replicas failed: this server stores things.{GROUP} in v2, which ")
        assert " cannot read; first deploy a release that has v2" in line
        assert new.request("GET", "/livez")[0] == 200  # a restart would not help
        # Nothing is stored by it, even if somebody asks it directly.
        status, refused = new.request("POST", THINGS, THING)
        assert (status, refused["reason"]) == (500, "ServerTimeout")
        status, made = old.request("POST", THINGS, THING)
        assert status == 201
        assert old.end(signal.SIGTERM) == 0
        until(new.ready, START)
        assert new.request("PUT", f"{THINGS}/one", {**made, "spec": 1})[0] == 200
        # And back: the first release would meet what it cannot read.
        old.spawn()
        assert old.process is not None
        assert old.process.wait(START) == 1
        assert "in versions that this server does not have: 1 in v2" in old.log.read_text()


def _answer(server: Serving) -> str:
    try:
        return said(server)
    except OSError:
        return ""
