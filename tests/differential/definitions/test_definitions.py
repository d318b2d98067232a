"""Wrong definitions are refused in the words of kube-apiserver; good ones that look wrong are not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.differential.definitions import names, schemas, updates
from tests.differential.definitions.building import GROUP
from tests.differential.definitions.ours import created, neutral, updated
from tests.differential.definitions.recording import MANIFESTS, PATH, answer_to, caller, recorded
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane
from tests.waiting import until


@pytest.fixture(scope="module")
def call(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Caller:
    """The administrator, at the control plane."""
    return caller(control_plane, tmp_path_factory.mktemp("definitions"))


@pytest.fixture
def store(call: Caller) -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """Create a definition and wait until it is established. Its deletion is begun afterwards, not waited for."""
    stored: list[str] = []

    def make(manifest: dict[str, Any]) -> dict[str, Any]:
        answer = call("POST", PATH, manifest)
        assert answer.status == 201, answer.body
        name = manifest["metadata"]["name"]
        stored.append(name)
        return until(lambda: _established(call("GET", f"{PATH}/{name}").json), 60)

    yield make
    for name in stored:
        call("DELETE", f"{PATH}/{name}")


def _established(obj: dict[str, Any]) -> dict[str, Any] | None:
    conditions = obj.get("status", {}).get("conditions") or ()
    found = {each["type"]: each["status"] for each in conditions}
    return obj if found.get("Established") == "True" else None


def test_there_are_enough() -> None:
    assert len(MANIFESTS) + len(updates.CASES) >= 150
    assert len(MANIFESTS) == len(names.CASES) + len(schemas.CASES)


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_new_definition(call: Caller, name: str) -> None:
    wanted = answer_to(call, name)
    assert neutral(created(MANIFESTS[name])) == wanted
    assert recorded()[name] == (wanted and wanted["message"]), (
        "record anew: python -m tests.differential.definitions.recording"
    )


@pytest.mark.parametrize("name", updates.CASES)
def test_a_changed_definition(call: Caller, store: Callable[[dict[str, Any]], dict[str, Any]], name: str) -> None:
    # A group for each case: definitions of one name would wait for each other's deletion.
    group = f"case-{list(updates.CASES).index(name)}.test"
    before, change = json.loads(json.dumps(updates.CASES[name]).replace(GROUP, group))
    stored = store(before)
    change["metadata"] |= {"name": f"things.{group}", "resourceVersion": stored["metadata"]["resourceVersion"]}
    answer = call("PUT", f"{PATH}/things.{group}?dryRun=All&fieldValidation=Ignore", change)
    wanted = None if answer.status == 200 else neutral(answer.json)
    assert neutral(updated(change, stored)) == wanted
