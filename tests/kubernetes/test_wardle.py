"""The drop-in for sample-apiserver behind both control planes, started with the flags of Kubernetes' own end-to-end test.

What single answers hold is recorded in ``tests/unit/wardle/``; what is expected here was seen of sample-apiserver 0.36.3
behind kube-apiserver 1.36.3 as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.kubernetes import second
from tests.kubernetes.calling import MERGE, Caller
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.second import SecondServer
from tests.waiting import until

GROUP = "wardle.example.com"
FISCHER = f"/apis/{GROUP}/v1alpha1/fischers/strict"
DEPRECATED = f"Warning: {GROUP}/v1alpha1 {{}} is deprecated in v1.3+, unavailable in v1.10+\n"
FLAGS = [
    "--etcd-servers=http://127.0.0.1:2379",
    "--audit-log-path=-",
    "--audit-log-maxage=0",
    "--audit-log-maxbackup=0",
]
"""Those of the upstream test that every server here does not have anyway."""


@pytest.fixture(scope="module")
def wardle(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecondServer]:
    with second.running(
        control_plane, "examples.wardle:api", tmp_path_factory.mktemp("wardle"), "memory:", FLAGS
    ) as server:
        yield server


def made(kind: str, name: str, version: str = "v1alpha1", **members: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": name}, **members}


def refused(admin: Caller, path: str, name: str, version: str) -> str:
    """Why nobody may create a flunder of that name; empty if one may."""
    answer = admin("POST", f"{path}?dryRun=All", made("Flunder", name, version))
    return answer.message if answer.status == 403 else ""


def test_flags_that_do_nothing_here_are_told_once(wardle: SecondServer) -> None:
    events = [json.loads(line)["event"] for line in wardle.log.read_text().splitlines() if '"warning"' in line]
    assert len([event for event in events if "--etcd-servers" in event and "--storage" in event]) == 1
    told = "No audit policy file provided, no events will be recorded for log backend"
    assert len([event for event in events if told in event]) == 1


def test_what_the_upstream_test_asks(admin: Caller, wardle: SecondServer, namespace: str) -> None:
    """The requests of ``TestSampleAPIServer``, and what it says about their answers."""
    path = f"/apis/{GROUP}/v1alpha1/namespaces/{namespace}/flunders"
    flunder = made("Flunder", "rest-flunder")
    flunder["metadata"]["labels"] = {"sample-label": "true"}
    created = admin("POST", path, flunder)
    assert created.status == 201
    assert (created.json["apiVersion"], created.json["kind"]) == (flunder["apiVersion"], "Flunder")
    assert created.json["metadata"]["name"] == "rest-flunder"
    assert len(admin("GET", path).json["items"]) == 1
    assert admin("DELETE", f"{path}/rest-flunder").status == 200
    assert admin("GET", path).json["items"] == []
    document = admin("GET", f"/openapi/v3/apis/{GROUP}/v1beta1").json
    assert document["openapi"].startswith("3.0")
    assert f"/apis/{GROUP}/v1beta1/namespaces/{{namespace}}/flunders" in document["paths"]


def test_both_versions_as_kubectl_shows_them(kubectl: Kubectl, wardle: SecondServer, namespace: str) -> None:
    assert kubectl("api-resources", f"--api-group={GROUP}") == (
        "NAME       SHORTNAMES   APIVERSION                    NAMESPACED   KIND\n"
        "fischers                wardle.example.com/v1alpha1   false        Fischer\n"
        "flunders                wardle.example.com/v1beta1    true         Flunder\n"
    )
    done = kubectl.run(
        "create", "-n", namespace, "-f-", stdin=json.dumps(made("Flunder", "my", spec={"reference": "other"}))
    )
    assert done.stdout == "flunder.wardle.example.com/my created\n"
    assert done.stderr == DEPRECATED.format("Flunder")
    table = kubectl("get", "flunders", "-n", namespace)
    assert re.fullmatch(r"NAME   CREATED AT\nmy     \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", table)
    found = json.loads(kubectl("get", "flunder", "my", "-n", namespace, "-o", "json"))
    assert (found["apiVersion"], found["status"]) == (f"{GROUP}/v1beta1", {})
    assert found["spec"] == {"flunderReference": "other", "referenceType": "Flunder"}
    first = kubectl.run("get", f"flunders.v1alpha1.{GROUP}", "my", "-n", namespace, "-o", "jsonpath={.spec}")
    assert json.loads(first.stdout) == {"reference": "other", "referenceType": "Flunder"}
    assert first.stderr == DEPRECATED.format("Flunder")


def test_a_fischer_bans_names_in_every_version(admin: Caller, wardle: SecondServer, namespace: str) -> None:
    paths = {version: f"/apis/{GROUP}/{version}/namespaces/{namespace}/flunders" for version in ("v1alpha1", "v1beta1")}
    assert admin("POST", paths["v1beta1"], made("Flunder", "old", "v1beta1")).status == 201
    fischer = made("Fischer", "strict", disallowedFlunders=["old", "new"])
    assert admin("POST", FISCHER.rpartition("/")[0], fischer).status == 201
    for version, path in paths.items():
        why = until(partial(refused, admin, path, "new", version))
        assert why == (
            'flunders.wardle.example.com "new" is forbidden: this name may not be used, please change the resource name'
        )
    # What has the name already may be changed.
    label = admin("PATCH", f"{paths['v1beta1']}/old", {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    assert label.status == 200
    assert admin("DELETE", FISCHER).status == 200
    until(lambda: not refused(admin, paths["v1alpha1"], "new", "v1alpha1"))
