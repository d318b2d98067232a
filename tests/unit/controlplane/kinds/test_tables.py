"""What ``kubectl get`` prints: columns and cells as recorded from kube-apiserver 1.36.3."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from extapi.controlplane.kinds.apiregistration import API_SERVICE
from extapi.controlplane.kinds.services import SERVICE
from extapi.testing import serve
from tests.unit.controlplane.kinds.served import stored_kinds

CASES = json.loads((Path(__file__).parent / "tables.json").read_text(encoding="utf-8"))
RECORDED = datetime(2026, 11, 21, 15, 5, 32, tzinfo=UTC).timestamp()
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
LOCAL = "v1.local.example"
"""Who serves APIs makes local ones available, and not the kind."""


def cells(columns: list[Any], case: dict[str, Any]) -> dict[str, Any]:
    found = dict(zip([name for name, *_ in columns], case, strict=True))
    return {
        name: "" if cell is None else str(cell) for name, cell in found.items() if name not in {"Age", "Created At"}
    }


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{c['path'].split('/')[-1]}-{c['object']['metadata']['name']}" for c in CASES]
)
def test_columns_and_cells_are_those_of_kube_apiserver(case: dict[str, Any]) -> None:
    clock = Clock()
    clock.advance(RECORDED)
    with serve(stored_kinds(), lifecycle=False, clock=clock) as server:
        assert server.request("POST", case["path"], body=case["object"]).status == 201
        name = case["object"]["metadata"]["name"]
        table = json.loads(server.request("GET", f"{case['path']}/{name}", headers=TABLE).body)
    columns = [[column["name"], column["priority"]] for column in table["columnDefinitions"]]
    assert columns == case["columns"]
    got, wanted = (cells(columns, row) for row in (table["rows"][0]["cells"], case["cells"]))
    if name == LOCAL:
        assert got.pop("Available") == "Unknown"
        assert wanted.pop("Available") == "True"
    assert got == wanted


def test_roles_show_the_moment_and_other_kinds_their_age() -> None:
    clock = Clock()
    clock.advance(RECORDED)
    with serve(stored_kinds(), lifecycle=False, clock=clock) as server:
        roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
        for path in (roles, "/api/v1/namespaces"):
            server.request("POST", path, body={"metadata": {"name": "c"}})
        role = json.loads(server.request("GET", f"{roles}/c", headers=TABLE).body)
        namespace = json.loads(server.request("GET", "/api/v1/namespaces/c", headers=TABLE).body)
    assert role["rows"][0]["cells"][1] == "2026-11-21T15:05:32Z"
    assert namespace["rows"][0]["cells"][1:] == ["Active", "0s"]


def cell(kind: Any, column: str, obj: dict[str, Any]) -> Any:
    (found,) = (each for each in kind.columns if each.name == column)
    return found.cell(obj)


@pytest.mark.parametrize(
    ("conditions", "shown"),
    [
        ([{"type": "Other", "status": "True"}], "Unknown"),
        ([{"type": "Available", "status": "True", "reason": "Passed"}], "True"),
        ([{"type": "Available", "status": "False", "reason": "MissingEndpoints"}], "False (MissingEndpoints)"),
        ([{"type": "Available", "status": "False"}], "False"),
    ],
)
def test_an_api_that_is_not_available_says_why(conditions: list[dict[str, str]], shown: str) -> None:
    # kube-aggregator/pkg/registry/apiservice/etcd ConvertToTable
    assert cell(API_SERVICE, "Available", {"spec": {}, "status": {"conditions": conditions}}) == shown


def test_a_load_balancer_shows_its_points_or_that_they_are_pending() -> None:
    # printers.go getServiceExternalIP and makePortString
    balanced = {"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "1.1.1.1"}]}}
    spec = {
        "type": "LoadBalancer",
        "externalIPs": ["2.2.2.2"],
        "ports": [{"port": 1, "nodePort": 2, "protocol": "TCP"}],
    }
    assert cell(SERVICE, "External-IP", {"spec": spec, "status": balanced}) == "1.1.1.1,h,2.2.2.2"
    assert cell(SERVICE, "External-IP", {"spec": {"type": "LoadBalancer"}}) == "<pending>"
    assert cell(SERVICE, "Port(s)", {"spec": spec}) == "1:2/TCP"
