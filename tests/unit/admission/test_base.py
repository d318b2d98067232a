from __future__ import annotations

from typing import Any

import pytest

from extapi.admission.base import Operation, Review
from extapi.api.definition import Kind, Version
from extapi.api.types import Object
from extapi.api.user import User
from extapi.conversion.hub import HubConverter
from extapi.errors import Forbidden, InternalError


class Hub(Object):
    size: int = 1


class Old(Object):
    text: str = "1"


KIND = Kind(
    "Box",
    plural="boxes",
    storage="v1",
    hub=Hub,
    versions={
        "v1": Version(Hub),
        "v0": Version(Old, to_hub=lambda old: Hub(size=int(old.text)), from_hub=lambda hub: Old(text=str(hub.size))),
    },
)
CONVERTER = HubConverter(KIND, "example.com")


def box(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v0", "kind": "Box", "metadata": {"name": "a", "selfLink": "kept"}, **more}


def review(obj: dict[str, Any] | None, converter: HubConverter | None = CONVERTER, **more: Any) -> Review:
    given: dict[str, Any] = {"operation": Operation.CREATE, "namespace": "ns", **more}
    return Review(
        kind=KIND, group="example.com", version="v0", user=User("jane"), obj=obj, converter=converter, **given
    )


def test_an_object_nobody_looks_at_stays_the_same_dict() -> None:
    obj = box(text="not a number, so that a conversion would fail")
    assert review(obj).result() is obj


def test_an_object_that_is_only_read_stays_the_same_dict() -> None:
    obj = box(text="1", unknown=True)
    reviewed = review(obj)
    assert reviewed.object == Hub(api_version="", kind="", metadata=reviewed.object.metadata, size=1)
    assert reviewed.object is reviewed.object
    assert reviewed.result() is obj


def test_changes_in_the_hub_come_back_in_the_requests_version() -> None:
    obj = box(text="1")
    reviewed = review(obj)
    reviewed.object.size = 5
    reviewed.object.metadata.labels = {"a": "b"}
    assert reviewed.result() == box(text="5") | {"metadata": {"name": "a", "selfLink": "kept", "labels": {"a": "b"}}}
    assert reviewed.as_version("v1") == {
        "apiVersion": "example.com/v1",
        "kind": "Box",
        "size": 5,
        "metadata": {"name": "a", "selfLink": "kept", "labels": {"a": "b"}},
    }
    assert obj == box(text="1")


def test_another_object_may_be_assigned() -> None:
    reviewed = review(box(text="1"))
    reviewed.object = Hub(size=7)
    result = reviewed.result()
    assert result is not None
    assert result["text"] == "7"


def test_other_versions_and_the_old_object() -> None:
    reviewed = review(
        box(text="2"),
        operation=Operation.UPDATE,
        old={**box(), "apiVersion": "example.com/v1", "size": 9},
        old_version="v1",
    )
    assert reviewed.as_version("v1") == {**box(size=2), "apiVersion": "example.com/v1"}
    assert reviewed.as_version("v0") == box(text="2")
    assert reviewed.old_object.size == 9
    assert reviewed.old_as_version("v0") == box(text="9")
    reviewed.old_object.size = 10
    assert reviewed.result() == box(text="2")


def test_on_delete_there_is_no_object() -> None:
    reviewed = review(None, operation=Operation.DELETE, old=box(text="3"), name="a")
    assert reviewed.object is None
    assert reviewed.result() is None
    assert reviewed.as_version("v1") is None
    assert reviewed.old_object.size == 3


def test_what_has_no_type_stays_a_dict() -> None:
    obj = {"replicas": 1}
    reviewed = review(obj, converter=None)
    reviewed.object["replicas"] = 2
    assert reviewed.result() is obj
    assert reviewed.as_version("v1") is obj
    reviewed.object = {"replicas": 3}
    assert reviewed.result() == {"replicas": 3}


def test_an_object_of_a_wrong_type_is_an_internal_error_when_it_is_asked_for() -> None:
    reviewed = review(box(text=5))
    with pytest.raises(InternalError, match=r"at `\$\.text`"):
        _ = reviewed.object


def test_a_plugin_that_puts_in_what_is_no_json_is_an_internal_error() -> None:
    reviewed = Review(
        operation=Operation.CREATE,
        kind=KIND,
        group="example.com",
        version="v1",
        user=User("jane"),
        obj=box(size=1),
        converter=CONVERTER,
    )
    reviewed.object.size = object()
    with pytest.raises(InternalError, match="cannot be written"):
        reviewed.result()


@pytest.mark.parametrize(
    ("metadata", "name", "called"),
    [
        ({"name": "a"}, "", "a"),
        ({"name": "a"}, "b", "b"),
        ({"generateName": "a-"}, "", "a-"),
        ({}, "", "Unknown"),
    ],
)
def test_refusing_is_forbidden_and_names_the_object(metadata: dict[str, Any], name: str, called: str) -> None:
    reviewed = review({**box(), "metadata": metadata}, name=name)
    with pytest.raises(Forbidden) as caught:
        reviewed.refuse("no")
    assert str(caught.value) == f'boxes.example.com "{called}" is forbidden: no'
    assert caught.value.status()["details"] == {"name": called, "group": "example.com", "kind": "boxes"}


def test_warnings_go_to_whoever_takes_them() -> None:
    kept = review(box())
    kept.warn("careful")
    assert kept.warnings == ["careful"]
    told: list[str] = []
    review(box(), warned=told.append).warn("careful")
    assert told == ["careful"]


def test_operations_are_their_names() -> None:
    assert [str(each) for each in Operation] == ["CREATE", "UPDATE", "DELETE", "CONNECT"]
    assert Operation.CREATE == "CREATE"
