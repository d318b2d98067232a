"""Which definitions can move: established, served, and all that share a version."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.moved import check_together, group_versions, moved, read_definition, read_kinds
from tests.kubernetes.moving import GROUP, NAME
from tests.unit.takeover.tables import cluster, now
from tests.unit.takeover.world import LIVE


def definition(name: str = NAME, **versions: bool) -> dict[str, Any]:
    """A definition in the group, that serves these versions; the first one is stored."""
    made = copy.deepcopy(LIVE)
    made["metadata"]["name"] = name
    made["spec"]["names"]["plural"] = name.partition(".")[0]
    if versions:
        shape = made["spec"]["versions"][0]
        made["spec"]["versions"] = [
            {**shape, "name": each, "served": served, "storage": number == 0}
            for number, (each, served) in enumerate(versions.items())
        ]
    return made


def test_objects_are_read_in_the_storage_version() -> None:
    assert moved(definition(v1beta1=True, v1=True)).version == "v1beta1"


def test_or_in_the_first_served_one() -> None:
    assert moved(definition(v1alpha1=False, v1beta1=True, v1=True)).version == "v1"


def test_the_kind_has_the_servers_layout() -> None:
    kind = moved(definition())
    assert kind.key({"metadata": {"name": "a", "namespace": "b"}}) == b"/registry/moving.example.com/crates/b/a"
    assert kind.resource.path("b") == "/apis/moving.example.com/v1/namespaces/b/crates"
    assert (kind.name, kind.uid) == (NAME, "definition-1")
    stored = kind.stored(
        {"apiVersion": f"{GROUP}/v1", "kind": "Crate", "metadata": {"resourceVersion": "1", "name": "a"}}
    )
    assert kind.opened(stored) == {"apiVersion": f"{GROUP}/v1", "kind": "Crate", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"status": {}}, "is not established"),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "is being deleted"),
    ],
)
def test_others_cannot_move(change: dict[str, Any], text: str) -> None:
    made = definition()
    for key, value in change.items():
        made[key] = {**made[key], **value} if value else value
    with pytest.raises(TakeoverFailure, match=text):
        moved(made)


def test_one_that_serves_nothing_cannot_move() -> None:
    with pytest.raises(TakeoverFailure, match="serves no version"):
        moved(definition(v1=False))


def test_all_kinds_of_a_version_move_together() -> None:
    one, two = (
        definition("ones.moving.example.com", v1=True),
        definition("twos.moving.example.com", v1beta1=True, v1=True),
    )
    three = definition("threes.moving.example.com", v2=True)
    every = {each["metadata"]["name"]: each for each in (one, two, three)}
    with pytest.raises(
        TakeoverFailure, match=r"would move, too: twos.moving.example.com \(v1\). Give a --crd for each"
    ):
        check_together(["ones.moving.example.com"], every)
    check_together(["ones.moving.example.com", "twos.moving.example.com"], every)
    check_together(["threes.moving.example.com"], every)
    # A version that is not served is no version of an APIService.
    del every["twos.moving.example.com"]["spec"]["versions"][1]
    check_together(["ones.moving.example.com"], every)
    assert group_versions([one, two]) == [(GROUP, "v1"), (GROUP, "v1beta1")]


def test_definitions_are_found_by_name() -> None:
    where = cluster({"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {"items": [definition()]}})
    (kind,) = now(read_kinds(where, [NAME, NAME]))
    assert kind.name == NAME
    both = {"items": [definition(), definition(f"boxes.{GROUP}", v1=True)]}
    others = cluster({"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": both})
    with pytest.raises(TakeoverFailure, match=r"would move, too: boxes.moving.example.com \(v1\)"):
        now(read_kinds(others, [NAME]))
    with pytest.raises(TakeoverFailure, match=r"the cluster has no CustomResourceDefinition nones.example.com"):
        now(read_kinds(where, ["nones.example.com"]))
    with pytest.raises(TakeoverFailure, match=r"the CustomResourceDefinition a.b cannot be read: 404"):
        now(read_definition(where, "a.b"))
