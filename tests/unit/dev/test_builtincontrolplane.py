"""The built-in control plane as ``extapi dev`` starts it: the real process."""

from __future__ import annotations

import datetime as dt
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from extapi.dev import certificates, ports, registration
from extapi.dev.builtincontrolplane import BuiltinControlPlane
from extapi.dev.directory import opened
from extapi.dev.failure import DevFailure
from extapi.dev.processes import Processes

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


@contextmanager
def cluster(path: Path, *, durable: bool = True, port: int = 0) -> Iterator[BuiltinControlPlane]:
    """One with its state in ``path``, not started yet."""
    with opened(path) as state:
        keys = certificates.ensure(state.certificates, registration.IDENTITIES, now=dt.datetime.now(dt.UTC))
        processes = Processes(state.logs)
        port = port or ports.choose(0, "--port")
        try:
            yield BuiltinControlPlane(state=state, port=port, certificates=keys, processes=processes, durable=durable)
        finally:
            processes.stop()


def test_it_is_ready_when_it_says_so_and_its_kubeconfig_is_secret(tmp_path: Path) -> None:
    with cluster(tmp_path, durable=False) as running:
        running.start()
        assert running.start_controller_manager()
        assert running.client.problem("/readyz") is None
        names = {item["metadata"]["name"] for item in running.client.get("/api/v1/namespaces")["items"]}
        assert {"default", "kube-system", "kube-public"} <= names
        registration.authorize(running.client)  # all that an extension server needs can be made
        registration.authorize(running.client)  # and made again
        path = running.write_kubeconfig("admin", tmp_path / "kubeconfig")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert f"https://127.0.0.1:{running.port}" in path.read_text()
        assert running.write_kubeconfig("extension-client") == tmp_path / "extension-client.kubeconfig"
    assert not (tmp_path / "controlplane.sqlite").exists()


def test_its_objects_survive_a_restart(tmp_path: Path) -> None:
    with cluster(tmp_path) as first:
        first.start()
        first.client.apply("/api/v1/namespaces/default/configmaps/a", {**CONFIG_MAP, "data": {"x": "1"}})
    with cluster(tmp_path) as second:
        second.start()
        assert second.client.get("/api/v1/namespaces/default/configmaps/a")["data"] == {"x": "1"}
        second.client.apply("/api/v1/namespaces/default/configmaps/a", {**CONFIG_MAP, "data": {"y": "2"}})
        assert second.client.get("/api/v1/namespaces/default/configmaps/a")["data"] == {"x": "1", "y": "2"}


def test_one_that_cannot_start_says_why(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, cluster(tmp_path, port=taken.getsockname()[1]) as broken:
        log = re.escape(f"{tmp_path}/log/control-plane.log")
        with pytest.raises(
            DevFailure, match=f"^control-plane ended with status 1; its log is {log}, which ends with: Error: "
        ):
            broken.start()
