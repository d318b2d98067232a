"""A controller at work in the cluster, with the rights of the server's account: the one of ``docs/howto/controller.md``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from extapi.dev import registration
from extapi.loading.module import load_api
from tests.docs.samples import ROOT, write_files
from tests.kubernetes import second
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.doctoring import examine
from tests.kubernetes.second import SecondServer
from tests.waiting import until

TARGET = "sites:api"


@pytest.fixture(scope="module")
def sites(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecondServer]:
    """The server of the how-to's API. Its account has no more rights than any extension server's at first."""
    directory = tmp_path_factory.mktemp("sites")
    write_files(ROOT / "docs/howto/controller.md", directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        patch.setenv("PYTHONPATH", str(directory), prepend=os.pathsep)
        registration.authorize(control_plane.client)
        with second.running(control_plane, TARGET, directory, "memory:") as server:
            yield server
        registration.authorize(control_plane.client)


@pytest.fixture
def rights(control_plane: ControlPlane, sites: SecondServer) -> None:
    """What ``extapi dev`` gives to the server's account."""
    registration.authorize(control_plane.client, load_api(TARGET).needs)


def made(kubectl: Kubectl, namespace: str, name: str) -> None:
    site = {"apiVersion": "web.example.com/v1", "kind": "Site", "metadata": {"name": name}, "spec": {"title": "Hello"}}
    kubectl("create", "-n", namespace, "-f", "-", stdin=json.dumps(site))


def read(kubectl: Kubectl, namespace: str, *what: str) -> Any:
    return json.loads(kubectl("get", "-n", namespace, *what, "-o", "json"))


def events(kubectl: Kubectl, namespace: str, resource: str = "events.v1.") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read(kubectl, namespace, resource)["items"]
    return found


def times(event: dict[str, Any]) -> int:
    """How often an event has happened: as of ``events.k8s.io``, or in its older form."""
    series = event.get("series")
    return int(series["count"]) if series else event.get("count") or 1


def test_what_rbac_lacks_is_named_with_the_rule_to_add(sites: SecondServer) -> None:
    def told() -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in sites.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if "fixed_by" in line]

    (line,) = until(told)
    assert 'cannot list resource "configmaps"' in line["reason"]
    rule = 'PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["list", "watch"])'
    assert f"Declare it with Api(needs=[{rule}])" in line["fixed_by"]
    assert line["rule"] == '- apiGroups: [""]\n  resources: [configmaps]\n  verbs: [list, watch]'


def test_the_doctor_says_it_too(control_plane: ControlPlane, sites: SecondServer) -> None:
    account = f"{registration.NAMESPACE}:extension-server"

    def found() -> Any:
        examination = examine(control_plane.kubeconfig, f"--app={TARGET}", f"--service-account={account}")
        return examination.finding("rights.needs", f"account {account}")

    registration.authorize(control_plane.client)
    until(lambda: "may not create configmaps" in found()["saw"], seconds=30)
    registration.authorize(control_plane.client, load_api(TARGET).needs)
    until(lambda: found()["severity"] == "ok", seconds=30)


def test_it_makes_a_config_map_sets_a_condition_and_records_an_event(
    rights: None, kubectl: Kubectl, namespace: str
) -> None:
    made(kubectl, namespace, "home")
    kubectl("wait", "-n", namespace, "--for=condition=Published", "site/home", "--timeout=50s")
    site, page = read(kubectl, namespace, "site/home"), read(kubectl, namespace, "configmap/home")
    assert page["data"] == {"index.html": "<h1>Hello</h1>"}
    (owner,) = page["metadata"]["ownerReferences"]
    assert owner["uid"] == site["metadata"]["uid"]
    (condition,) = site["status"]["conditions"]
    assert condition.pop("lastTransitionTime")
    assert condition == {
        "type": "Published",
        "status": "True",
        "reason": "Published",
        "message": "the page is in the ConfigMap home",
        "observedGeneration": 1,
    }
    (event,) = until(lambda: events(kubectl, namespace))
    assert event["involvedObject"]["uid"] == site["metadata"]["uid"]
    assert (event["reason"], event["action"], event["type"]) == ("Published", "Publish", "Normal")
    assert event["reportingComponent"] == "web.example.com/publisher"
    told = kubectl("describe", "-n", namespace, "site", "home")
    assert "made the ConfigMap home" in told


def test_what_happens_again_is_the_same_event(rights: None, kubectl: Kubectl, namespace: str) -> None:
    made(kubectl, namespace, "home")
    kubectl("wait", "-n", namespace, "--for=condition=Published", "site/home", "--timeout=50s")
    kubectl("delete", "-n", namespace, "configmap", "home")
    until(lambda: kubectl.run("get", "-n", namespace, "configmap", "home").returncode == 0)
    until(lambda: [times(event) for event in events(kubectl, namespace)] == [2])


def test_the_condition_follows_the_generation_and_keeps_its_time(
    rights: None, kubectl: Kubectl, namespace: str
) -> None:
    made(kubectl, namespace, "home")
    kubectl("wait", "-n", namespace, "--for=condition=Published", "site/home", "--timeout=50s")
    (before,) = read(kubectl, namespace, "site/home")["status"]["conditions"]
    kubectl("patch", "-n", namespace, "site", "home", "--type=merge", "-p", '{"spec":{"title":"Goodbye"}}')

    def followed() -> bool:
        (after,) = read(kubectl, namespace, "site/home")["status"]["conditions"]
        return bool(after == before | {"observedGeneration": 2})

    until(followed)
    assert read(kubectl, namespace, "configmap/home")["data"] == {"index.html": "<h1>Goodbye</h1>"}


def test_the_config_map_goes_with_its_site(rights: None, kubectl: Kubectl, namespace: str) -> None:
    made(kubectl, namespace, "home")
    kubectl("wait", "-n", namespace, "--for=condition=Published", "site/home", "--timeout=50s")
    kubectl("delete", "-n", namespace, "site", "home")
    until(lambda: kubectl.run("get", "-n", namespace, "configmap", "home").returncode != 0, seconds=60)
