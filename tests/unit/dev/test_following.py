"""What is registered follows what the server says that it serves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from extapi.api.policyrule import PolicyRule
from extapi.dev.following import Following
from extapi.dev.registration import GroupVersions, register
from extapi.server.servedfile import ServedGroups
from tests.unit.dev.servers import Recorder, recorder

APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SERVICE = "/api/v1/namespaces/extapi-dev/services/extension-server"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/extapi-dev:extension-server"
PIZZAS = GroupVersions("restaurant.example.com", ["v1"])
SECRETS = PolicyRule(api_groups=[""], resources=["secrets"], verbs=["get"], resource_names=["mine"])


class Kitchen:
    """A control plane, and what a server writes for it."""

    def __init__(self, server: Recorder, path: Path) -> None:
        self.server = server
        self.path = path
        self.lines: list[str] = []
        self.writes = 0
        ca = server.certificates.certificate("serving-ca")
        register(server.client(), [PIZZAS], port=8443, ca=ca)
        self.following = Following(
            server.client(), path, port=8443, ca=ca, groups=[PIZZAS], needs=[], tell=self.lines.append
        )

    def serves(self, *versions: str, group: str = PIZZAS.group, needs: Sequence[PolicyRule] = ()) -> None:
        """Write the file, and have it looked at; every content has another time."""
        ServedGroups(((group, versions),), needs).write(self.path)
        self.writes += 1
        os.utime(self.path, ns=(self.writes, self.writes))
        self.following.check()

    def registered(self) -> dict[str, Any]:
        """The APIServices by name."""
        return {
            path.rpartition("/")[2]: obj for path, obj in self.server.objects.items() if path.startswith(APISERVICES)
        }


@pytest.fixture
def kitchen(tmp_path: Path) -> Iterator[Kitchen]:
    with recorder(tmp_path) as running:
        yield Kitchen(running, tmp_path / "served.json")


def test_versions_are_registered_when_they_come_and_removed_when_they_go(kitchen: Kitchen) -> None:
    kitchen.serves("v1")
    assert kitchen.lines == []
    kitchen.serves("v2", "v1")
    assert sorted(kitchen.registered()) == ["v1.restaurant.example.com", "v2.restaurant.example.com"]
    priorities = {name: obj["spec"]["versionPriority"] for name, obj in kitchen.registered().items()}
    assert priorities["v2.restaurant.example.com"] > priorities["v1.restaurant.example.com"]
    kitchen.serves("v2")
    kitchen.serves("v2", group="kitchen.example.com")
    assert sorted(kitchen.registered()) == ["v2.kitchen.example.com"]
    assert kitchen.lines == [
        "registering v2.restaurant.example.com",
        "removing v1.restaurant.example.com",
        "registering v2.kitchen.example.com",
        "removing v2.restaurant.example.com",
    ]


def test_a_reload_has_the_documents_read_again(kitchen: Kitchen) -> None:
    """Else kubectl would explain the old schema for up to a minute."""
    kitchen.serves("v1")
    assert "annotations" not in kitchen.server.objects[SERVICE]["metadata"]
    kitchen.serves("v1")
    objects = [kitchen.server.objects[SERVICE], kitchen.registered()["v1.restaurant.example.com"]]
    assert [obj["metadata"]["annotations"] for obj in objects] == [{"extapi-dev/served": "2"}] * 2


def test_rights_follow_what_the_code_needs(kitchen: Kitchen) -> None:
    kitchen.serves("v1")
    assert ROLE not in kitchen.server.objects
    kitchen.serves("v1", needs=[SECRETS])
    rules = kitchen.server.objects[ROLE]["rules"]
    assert rules[-1] == {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get"]}


def test_nothing_is_asked_while_nothing_changes(kitchen: Kitchen) -> None:
    kitchen.following.check()  # there is no file yet
    kitchen.path.write_text("{")
    kitchen.following.check()
    kitchen.serves("v2", "v1")
    asked = len(kitchen.server.requests)
    kitchen.following.check()
    assert len(kitchen.server.requests) == asked


def test_a_refusal_is_told_once_and_tried_again(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(kitchen.server, "answer", lambda *_: (403, b'{"message": "not today"}'))
        kitchen.serves("v2", "v1")
        kitchen.following.check()
    assert kitchen.lines.count("the control plane refused a request: 403: not today") == 1
    kitchen.following.check()
    assert sorted(kitchen.registered()) == ["v1.restaurant.example.com", "v2.restaurant.example.com"]
