"""A kube-apiserver that is not configured for aggregation: the server finds out at its start, and so does the doctor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extapi.dev import registration
from tests.kubernetes import doctoring
from tests.kubernetes.control_plane import running
from tests.kubernetes.second import SecondServer

pytestmark = pytest.mark.kubernetes

NOT_GIVEN = ["--requestheader-client-ca-file=", "--proxy-client-cert-file=", "--proxy-client-key-file="]


def test_server_and_doctor_say_that_the_aggregation_layer_is_not_configured(tmp_path: Path) -> None:
    with running(tmp_path / "cluster", "kube", flags=NOT_GIVEN) as plane:
        registration.authorize(plane.client)
        (tmp_path / "server").mkdir()
        server = SecondServer(plane, "tests.kubernetes.apis:away", tmp_path / "server", "memory:")
        try:
            server.start()
        finally:
            server.stop()
        told = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
        (error,) = [line for line in told if line["level"] == "error"]
        assert "the cluster's aggregation layer is not configured" in error["event"]
        # It names the flags that this kube-apiserver was not given.
        for flag in NOT_GIVEN:
            assert flag.rstrip("=") in error["event"]
        examination = doctoring.examine(plane.kubeconfig)
        assert examination.status == 1
        finding = examination.finding(
            "authentication.proxies", "ConfigMap kube-system/extension-apiserver-authentication"
        )
        assert finding["severity"] == "error"
        assert "the aggregation layer is not configured" in finding["wrong"]
        for flag in NOT_GIVEN:
            assert flag.rstrip("=") in finding["do"]
