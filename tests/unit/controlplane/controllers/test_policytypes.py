"""Type checking: the warnings of kube-controller-manager 1.36.3 about the same policies, as they were recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from twisted.internet.task import Clock

from extapi import Api, Group, Kind, Version
from extapi.controlplane.controllers.policytypes import SECONDS, PolicyTypeController
from extapi.testing import InMemoryServer, serve
from tests.kubernetes.policytypes import DEFINITION, GROUP, POLICIES
from tests.unit.controlplane.kinds.served import stored_kinds

WARNINGS = json.loads((Path(__file__).parent / "warnings.json").read_text(encoding="utf-8"))
PATH = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


def _api(clock: Any) -> Api:
    versions = {each["name"]: Version(each["schema"]["openAPIV3Schema"]) for each in DEFINITION["spec"]["versions"]}
    ovens = Group(GROUP, Kind("Oven", versions=versions, storage="v1"))
    return Api(*stored_kinds().groups, ovens, controllers=[PolicyTypeController(clock)])


def _checked(server: InMemoryServer, obj: dict[str, Any]) -> Any:
    name = obj["metadata"]["name"]
    assert server.request("POST", PATH, body=obj).status == 201
    server.advance(1)
    return server.request("GET", f"{PATH}/{name}").json()["status"]


def _neutral(warnings: Any) -> Any:
    """Without the numbers at the end of the names of types."""
    return json.loads(re.sub(r"\b([A-Z]\w*?[A-Za-z])\d\b", r"\1#", json.dumps(warnings)))


def test_types_are_checked_as_kube_controller_manager_checks_them() -> None:
    clock = Clock()
    with serve(_api(clock), lifecycle=False, clock=clock) as server:
        for obj in POLICIES:
            status = _checked(server, obj)
            name = obj["metadata"]["name"].partition(".")[0]
            warnings = status["typeChecking"].get("expressionWarnings", [])
            assert _neutral(warnings) == WARNINGS[name], name
            assert status["observedGeneration"] == 1


def test_a_policy_is_checked_again_when_its_generation_changes_and_only_then() -> None:
    clock = Clock()
    merge = {"Content-Type": "application/merge-patch+json"}
    obj = POLICIES[0]
    one = f"{PATH}/{obj['metadata']['name']}"
    with serve(_api(clock), lifecycle=False, clock=clock) as server:
        assert _checked(server, obj)["typeChecking"]["expressionWarnings"]
        server.request("PATCH", one, headers=merge, body={"metadata": {"labels": {"a": "b"}}})
        before = server.request("GET", one).json()["metadata"]["resourceVersion"]
        server.advance(1)
        assert server.request("GET", one).json()["metadata"]["resourceVersion"] == before
        validations = [{"expression": "object.kind == 'Oven'"}]
        server.request("PATCH", one, headers=merge, body={"spec": {"validations": validations}})
        server.advance(1)
        assert server.request("GET", one).json()["status"] == {"observedGeneration": 2}


class Late(Clock):
    """A clock on which each look takes as long as a policy may."""

    def seconds(self) -> float:
        """See :class:`Clock`."""
        self.rightNow += SECONDS
        return super().seconds()


def test_checking_ends_in_time() -> None:
    clock = Clock()
    with serve(_api(Late()), lifecycle=False, clock=clock) as server:
        assert _checked(server, POLICIES[0]) == {"observedGeneration": 1, "typeChecking": {}}
