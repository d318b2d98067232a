"""A server that elects a leader by a Lease of the control plane: the rights that it needs, and how it hands over."""

from __future__ import annotations

import json
import os
import shlex
import signal
from pathlib import Path

import pytest

from extapi.dev.registration import NAMESPACE
from tests.kubernetes import second, tallied
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane, Kubectl
from tests.kubernetes.killing import kill
from tests.kubernetes.ledger import lines_path
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("extension_server")

LEASE = "tallied"
FLAGS = (
    "--leader-elect",
    f"--leader-elect-resource-name={LEASE}",
    f"--leader-elect-resource-namespace={NAMESPACE}",
    "--leader-elect-retry-period=500ms",
    # As long as nobody waits for it here.
    "--shutdown-delay-duration=10m",
)


def advice(log: Path) -> str:
    """What the log says about the right to Leases."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    missing = [line["usually_fixed_by"] for line in lines if line["event"] == "a right is missing in the cluster"]
    return next((str(text) for text in missing if "leases" in text), "")


def test_a_leader_is_elected_once_it_may_and_hands_over_while_it_still_serves(
    control_plane: ControlPlane, kubectl: Kubectl, admin: Caller, tmp_path: Path
) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE}"

    def holder() -> str:
        return str(admin("GET", lease).json["spec"].get("holderIdentity", ""))

    with second.running(control_plane, "tests.kubernetes.tallied:api", tmp_path, "memory:", FLAGS) as server:
        typed = until(lambda: advice(server.log), 60)
        assert admin("GET", tallied.PATH).status == 404  # nobody leads
        try:
            for command in typed.split(" && "):
                kubectl(*shlex.split(command)[1:])
            pid = server._processes.pid("extension-server")
            until(lambda: admin("GET", tallied.PATH).status == 200, 60)
            assert admin("GET", tallied.PATH).json["spec"]["writer"] == pid
            assert holder()
            os.kill(pid, signal.SIGTERM)
            until(lambda: holder() == "", 60)
            # Another one may lead; this one serves until its delay is over.
            assert admin("GET", lines_path("default")).status == 200
        finally:
            kill(server)
            for kind in ("rolebinding", "role"):
                kubectl("delete", kind, "-n", NAMESPACE, "extension-server:leader-election")
            kubectl("delete", "lease", "-n", NAMESPACE, LEASE)
