"""What a converter answers is checked as kube-apiserver checks a conversion webhook (behaviour J48, J49)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from extapi.api.types import Obj
from extapi.conversion.converter import convert_objects
from extapi.errors import ApiError, InternalError, StorageError

V1, V2 = "stable.example.com/v1", "stable.example.com/v2"


def tab(name: str = "a", api_version: str = V1, **more: Any) -> Obj:
    metadata = {"name": name, "namespace": "n", "uid": f"uid-{name}", "labels": {"x": "y"}, "generation": 3}
    return {"apiVersion": api_version, "kind": "CronTab", "metadata": metadata, "spec": {"size": 1}, **more}


class Fake:
    """Answers as it is told, and remembers what it was asked."""

    name = "conversion webhook"

    def __init__(self, answer: Callable[[Sequence[Obj]], Any]) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    async def convert(self, objects: Sequence[Obj], api_version: str) -> Any:
        self.asked.append([obj["metadata"]["name"] for obj in objects])
        return self.answer(objects)


def now(coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


def converted(obj: Obj, **metadata: Any) -> Obj:
    return {**obj, "apiVersion": V2, "spec": {"size": "1"}, "metadata": {**obj["metadata"], **metadata}}


def test_only_what_is_in_another_version_is_sent_and_all_come_back_in_order() -> None:
    fake = Fake(lambda objects: [converted(obj) for obj in objects])
    there = tab("b", V2)
    made = now(convert_objects(fake, [tab("a"), there, tab("c")], V2))
    assert fake.asked == [["a", "c"]]
    assert made == [converted(tab("a")), there, converted(tab("c"))]
    assert made[1] is there


def test_nothing_to_convert_is_no_call() -> None:
    fake = Fake(list)
    assert now(convert_objects(fake, [tab(api_version=V2)], V2)) == [tab(api_version=V2)]
    assert now(convert_objects(fake, [], V2)) == []
    assert fake.asked == []


def test_the_failure_of_one_is_its_own() -> None:
    error = InternalError("not this one")
    fake = Fake(lambda objects: [error, converted(objects[1])])
    assert now(convert_objects(fake, [tab("a"), tab("b")], V2)) == [error, converted(tab("b"))]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_as_many_must_come_back_as_were_sent(count: int) -> None:
    fake = Fake(lambda objects: [converted(objects[0])] * count)
    with pytest.raises(StorageError) as raised:
        now(convert_objects(fake, [tab("a"), tab("b")], V2))
    assert raised.value.message == (
        f"conversion webhook for stable.example.com/v1, Kind=CronTab returned {count} objects, expected 2"
    )


def test_objects_that_come_back_in_another_order_are_not_mixed_up() -> None:
    fake = Fake(lambda objects: [converted(obj) for obj in reversed(objects)])
    made = now(convert_objects(fake, [tab("a"), tab("b")], V2))
    assert [str(error) for error in made] == [
        "conversion webhook for stable.example.com/v1, Kind=CronTab returned invalid object: "
        f"must have the same name: {one} != {other}"
        for one, other in (("a", "b"), ("b", "a"))
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"apiVersion": V1}, f"object at index 0: invalid groupVersion (expected {V2}, received {V1})"),
        ({"apiVersion": None}, f"object at index 0: invalid groupVersion (expected {V2}, received )"),
        ({"kind": "Other"}, "object at index 0: invalid kind (expected CronTab, received Other)"),
        ({"metadata": {"name": "z"}}, "object: must have the same name: a != z"),
        ({"metadata": {"name": "a", "namespace": "m"}}, "object: must have the same namespace: n != m"),
        ({"metadata": {"name": "a", "namespace": "n"}}, "object: must have the same UID: uid-a != "),
        ({"metadata": {"name": 1}}, "object: must have the same name: a != "),
        ({"metadata": 7}, "object: must have the same name: a != "),
        (None, "object at index 0: it is not a JSON object"),
    ],
)
def test_it_must_be_the_same_object_in_the_version_that_was_asked_for(change: Any, why: str) -> None:
    fake = Fake(lambda objects: [None if change is None else {**converted(objects[0]), **change}])
    (error,) = now(convert_objects(fake, [tab()], V2))
    assert isinstance(error, StorageError)
    assert error.message == f"conversion webhook for stable.example.com/v1, Kind=CronTab returned invalid {why}"
    assert (error.code, error.status().get("reason")) == (500, None)


def test_of_metadata_only_labels_and_annotations_can_change() -> None:
    changed = {"labels": {"z": "1"}, "annotations": {"A.b/c": "d"}, "generation": 9, "finalizers": ["f"]}
    fake = Fake(lambda objects: [converted(obj, **changed) for obj in objects])
    (made,) = now(convert_objects(fake, [tab()], V2))
    assert made["metadata"] == {
        "name": "a",
        "namespace": "n",
        "uid": "uid-a",
        "generation": 3,
        "labels": {"z": "1"},
        "annotations": {"A.b/c": "d"},
    }


def test_labels_that_are_left_out_are_gone() -> None:
    fake = Fake(lambda objects: [converted(objects[0], labels=None)])
    (made,) = now(convert_objects(fake, [tab()], V2))
    assert "labels" not in made["metadata"]


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"labels": []}, "invalid metadata.labels of type []interface {} in converted object"),
        ({"labels": "x"}, "invalid metadata.labels of type string in converted object"),
        ({"annotations": 3}, "invalid metadata.annotations of type int64 in converted object"),
        ({"labels": {"a": 1}}, "metadata.labels[a] must be a string, but is int64 in converted object"),
        ({"labels": {"a": 1.5}}, "metadata.labels[a] must be a string, but is float64 in converted object"),
        ({"labels": {"a": True}}, "metadata.labels[a] must be a string, but is bool in converted object"),
        ({"labels": {"a": None}}, "metadata.labels[a] must be a string, but is <nil> in converted object"),
        ({"labels": {"a": []}}, "metadata.labels[a] must be a string, but is []interface {} in converted object"),
        (
            {"labels": {"a": {}}},
            "metadata.labels[a] must be a string, but is map[string]interface {} in converted object",
        ),
        (
            {"labels": {"a": "-"}},
            (
                'metadata.labels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric '
                "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
                "'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ),
        ),
        ({"annotations": {"": "b"}}, "[metadata.annotation: "),
    ],
)
def test_labels_and_annotations_that_have_changed_must_be_valid(metadata: Any, why: str) -> None:
    fake = Fake(lambda objects: [converted(objects[0], **metadata)])
    (error,) = now(convert_objects(fake, [tab()], V2))
    assert isinstance(error, ApiError)
    prefix = "conversion webhook for stable.example.com/v1, Kind=CronTab returned invalid metadata: "
    assert error.message.startswith(prefix + why)


def test_old_labels_that_break_a_newer_rule_may_stay() -> None:
    original = tab()
    original["metadata"]["labels"] = {"a": "-"}
    fake = Fake(lambda objects: [converted(objects[0])])
    assert now(convert_objects(fake, [original], V2)) == [converted(original)]


def test_the_original_stays_as_it_is() -> None:
    original = tab()
    fake = Fake(lambda objects: [converted(objects[0], labels={"new": "yes"})])
    now(convert_objects(fake, [original], V2))
    assert original == tab()
