"""What writes make of metadata.managedFields; facts of apimachinery's tests of managedfields/internal.

The long comparison with the original is ``tests/differential/managedfields.py``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Coroutine
from typing import Any

import pytest

from extapi.errors import BadRequest, Conflict, StorageError
from extapi.managedfields.atom import DEDUCED, Atom, atom_of
from extapi.managedfields.fieldmanager import FieldManager, _cap
from extapi.managedfields.fieldset import FieldSet
from extapi.managedfields.lastapplied import LAST_APPLIED
from extapi.managedfields.managers import Managed, managed_of
from extapi.managedfields.updater import Conversion, Types

NOW = "2020-01-01T00:00:09Z"
TYPED = atom_of(
    {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"x": {"type": "integer"}}},
        },
    }
)


class Relabelling(Conversion):
    """Nothing but the version changes."""

    async def whole(self, obj: dict[str, Any], api_version: str) -> dict[str, Any]:
        return {**obj, "apiVersion": api_version}


def manager(atom: Atom = TYPED, *, subresource: str = "", reset: dict[str, Any] | None = None) -> FieldManager:
    types = Types({"g/v1": atom}, Relabelling(), {"g/v1": FieldSet.from_json(reset)} if reset else {})
    return FieldManager(types, "g/v1", "K", subresource)


def obj(more: dict[str, Any] | None = None, *, entries: Any = None, uid: str = "", **parts: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "x", **(more or {})}
    if uid:
        metadata["uid"] = uid
    if entries is not None:
        metadata["managedFields"] = entries
    return {"apiVersion": "g/v1", "kind": "K", "metadata": metadata, **parts}


def finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def entry(name: str, operation: str, fields: dict[str, Any], *, time: str = NOW, **more: str) -> dict[str, Any]:
    return {
        "apiVersion": "g/v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": name, "operation": operation,
        "time": time, **more,
    }  # fmt: skip


SPEC_A: dict[str, Any] = {"f:spec": {"f:a": {}}}
SPEC_B: dict[str, Any] = {"f:spec": {"f:b": {}}}
OLD = "2019-01-01T00:00:00Z"


def test_a_create_is_tracked_without_what_nobody_manages() -> None:
    found = finished(manager().update(None, obj(spec={"a": 1}), "me", NOW))
    assert found == obj(entries=[entry("me", "Update", {"f:spec": {".": {}, "f:a": {}}})], spec={"a": 1})


def test_an_untracked_object_stays_untracked_until_an_apply() -> None:
    live = obj(uid="u", spec={"a": 1})
    new = obj(uid="u", spec={"a": 2})
    assert finished(manager().update(live, new, "me", NOW)) == new
    found = finished(manager().apply(live, obj(spec={"b": 1}), "me", NOW, force=False))
    entries = [
        entry("me", "Apply", SPEC_B),
        entry("before-first-apply", "Update", {"f:spec": {".": {}, "f:a": {}}}),
    ]
    assert found == obj(uid="u", entries=entries, spec={"a": 1, "b": 1})


def test_an_apply_of_nothing_new_keeps_object_and_time() -> None:
    live = obj(uid="u", entries=[entry("me", "Apply", SPEC_A, time=OLD)], spec={"a": 1})
    assert finished(manager().apply(live, obj(spec={"a": 1}), "me", NOW, force=False)) == live


def test_a_change_of_what_the_manager_has_is_a_new_time_alone() -> None:
    live = obj(uid="u", entries=[entry("me", "Update", SPEC_A, time=OLD)], spec={"a": 1})
    found = finished(manager().update(live, obj(uid="u", spec={"a": 2}), "me", NOW))
    assert found == obj(uid="u", entries=[entry("me", "Update", SPEC_A)], spec={"a": 2})


def test_a_change_of_more_within_the_same_second_is_tracked() -> None:
    live = obj(uid="u", entries=[entry("me", "Update", SPEC_A)], spec={"a": 1})
    found = finished(manager().update(live, obj(uid="u", spec={"a": 1, "b": 1}), "me", NOW))
    assert found == obj(
        uid="u", entries=[entry("me", "Update", {"f:spec": {"f:a": {}, "f:b": {}}})], spec={"a": 1, "b": 1}
    )


def test_who_has_lost_the_only_field_has_no_entry() -> None:
    entries = [entry("me", "Update", SPEC_A, time=OLD), entry("it", "Update", SPEC_B, time=OLD)]
    live = obj(uid="u", entries=entries, spec={"a": 1, "b": 1})
    found = finished(manager().update(live, obj(uid="u", spec={"b": 1}), "other", NOW))
    assert found == obj(uid="u", entries=entries[1:], spec={"b": 1})


def test_what_is_no_longer_applied_goes_if_nobody_else_manages_it() -> None:
    both: dict[str, Any] = {"f:spec": {"f:a": {}, "f:b": {}}}
    live = obj(
        uid="u",
        entries=[entry("me", "Apply", both, time=OLD), entry("it", "Apply", SPEC_B, time=OLD)],
        spec={"a": 1, "b": 1},
    )
    found = finished(manager().apply(live, obj(), "me", NOW, force=False))
    assert found == obj(uid="u", entries=[entry("it", "Apply", SPEC_B, time=OLD)], spec={"b": 1})


def test_a_conflict_names_manager_and_field() -> None:
    """TestNewConflictError has these texts."""
    live = obj(uid="u", entries=[entry("foo", "Update", SPEC_A, subresource="scale")], spec={"a": 1})
    with pytest.raises(Conflict) as caught:
        finished(manager().apply(live, obj(spec={"a": 2}), "me", NOW, force=False))
    status = caught.value.status()
    assert status["message"] == (
        'Apply failed with 1 conflict: conflict with "foo" with subresource "scale" using g/v1: .spec.a'
    )
    assert status["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "foo" with subresource "scale" using g/v1',
            "field": ".spec.a",
        }
    ]


def test_conflicts_are_listed_by_manager() -> None:
    live = obj(uid="u", entries=[entry("foo", "Update", SPEC_A), entry("bar", "Apply", SPEC_B)], spec={"a": 1, "b": 1})
    with pytest.raises(Conflict) as caught:
        finished(manager().apply(live, obj(spec={"a": 2, "b": 2}), "me", NOW, force=False))
    assert caught.value.status()["message"] == (
        'Apply failed with 2 conflicts: conflicts with "bar":\n- .spec.b\nconflicts with "foo" using g/v1:\n- .spec.a'
    )


def test_force_takes_the_fields() -> None:
    live = obj(uid="u", entries=[entry("foo", "Update", SPEC_A)], spec={"a": 1})
    found = finished(manager().apply(live, obj(spec={"a": 2}), "me", NOW, force=True))
    assert found == obj(uid="u", entries=[entry("me", "Apply", SPEC_A)], spec={"a": 2})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({**obj(), "apiVersion": "g/v2"}, "invalid object type: g/v2, Kind=K"),
        ({**obj(), "apiVersion": "v1"}, "invalid object type: /v1, Kind=K"),
        ({**obj(), "apiVersion": "a/b/c"}, "invalid object type: /, Kind="),
        ({**obj(), "apiVersion": 1}, "invalid object type: /, Kind=K"),
        ({**obj(), "kind": "L"}, "invalid object type: g/v1, Kind=L"),
        (obj(entries=[]), "metadata.managedFields must be nil"),
    ],
)
def test_configurations_that_are_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        finished(manager().apply(None, config, "me", NOW, force=False))
    assert str(caught.value) == message


def test_a_configuration_has_to_fit() -> None:
    with pytest.raises(StorageError) as caught:
        finished(manager().apply(None, obj(spec={"c": 1}), "me", NOW, force=False))
    assert str(caught.value) == (
        "failed to create typed patch object (/x; g/v1, Kind=K): .spec.c: field not declared in schema"
    )


def test_a_set_of_objects_cannot_be_tracked() -> None:
    """Observed on 1.36.3: such an object has no managers, and can be applied to by nobody."""
    items = {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "integer"}}}
    typed = atom_of(
        {
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
                "spec": {
                    "type": "object",
                    "properties": {"s": {"type": "array", "x-kubernetes-list-type": "set", "items": items}},
                },
            },
        }
    )
    live = finished(manager(typed).update(None, obj(spec={"s": [{"a": 1}]}), "me", NOW))
    assert live == obj(spec={"s": [{"a": 1}]})
    with pytest.raises(StorageError) as caught:
        finished(manager(typed).apply(live, obj(spec={}), "me", NOW, force=False))
    assert str(caught.value) == (
        "failed to create manager for existing fields: failed to convert new object (/x; g/v1, Kind=K) to smd typed: "
        ".spec.s: element 0: associative list without keys has an element that's a map type"
    )


@pytest.mark.parametrize("entries", [[], [{}]])
def test_an_update_may_forget_all_managers(entries: list[Any]) -> None:
    live = obj(uid="u", entries=[entry("foo", "Update", SPEC_A)], spec={"a": 1})
    found = finished(manager().update(live, obj(uid="u", entries=entries, spec={"a": 2}), "me", NOW))
    assert found == obj(uid="u", spec={"a": 2})


@pytest.mark.parametrize("entries", [[], [{}], [entry("it", "Apply", SPEC_A)]])
def test_managed_fields_in_a_request_to_a_subresource_are_ignored(entries: list[Any]) -> None:
    live = obj(uid="u", entries=[entry("foo", "Update", SPEC_A, time=OLD)], spec={"a": 1})
    new = obj(uid="u", entries=entries, spec={"a": 1})
    assert finished(manager(subresource="status").update(live, new, "me", NOW)) == live


@pytest.mark.parametrize("entries", [None, [{"manager": "x"}], "x"])
def test_an_update_that_says_nothing_or_nonsense_keeps_them(entries: Any) -> None:
    live = obj(uid="u", entries=[entry("foo", "Update", SPEC_A, time=OLD)], spec={"a": 1})
    found = finished(manager().update(live, obj(uid="u", entries=entries, spec={"a": 1, "b": 1}), "me", NOW))
    assert found["metadata"]["managedFields"] == [
        entry("foo", "Update", SPEC_A, time=OLD),
        entry("me", "Update", SPEC_B),
    ]


def test_fields_that_an_endpoint_resets_are_not_managed_through_it() -> None:
    main = manager(reset={"f:status": {}})
    found = finished(main.apply(None, obj(spec={"a": 1}, status={"x": 1}), "me", NOW, force=False))
    assert found["metadata"]["managedFields"] == [entry("me", "Apply", SPEC_A)]
    status = manager(subresource="status", reset={"f:metadata": {}, "f:spec": {}})
    live = obj(uid="u", entries=found["metadata"]["managedFields"], spec={"a": 1})
    after = finished(status.update(live, {**live, "spec": {"a": 9}, "status": {"x": 1}}, "me", NOW))
    added = entry("me", "Update", {"f:status": {".": {}, "f:x": {}}}, subresource="status")
    assert after["metadata"]["managedFields"] == [entry("me", "Apply", SPEC_A), added]


def test_kubectl_takes_over_what_client_side_apply_has_written() -> None:
    """lastappliedmanager_test.go: no conflict about fields that the annotation has with the live value."""
    text = json.dumps(obj(spec={"a": 1}))
    fields = {"f:metadata": {"f:annotations": {".": {}, f"f:{LAST_APPLIED}": {}}}, **SPEC_A}
    live = obj({"annotations": {LAST_APPLIED: text}}, uid="u", entries=[entry("old", "Update", fields)], spec={"a": 1})
    config = obj(spec={"a": 2})
    with pytest.raises(Conflict):
        finished(manager().apply(live, config, "other", NOW, force=False))
    found = finished(manager().apply(live, config, "kubectl", NOW, force=False))
    written = '{"apiVersion":"g/v1","kind":"K","metadata":{"name":"x"},"spec":{"a":2}}\n'
    assert found["metadata"]["annotations"] == {LAST_APPLIED: written}
    assert found["spec"] == {"a": 2}


def test_the_annotation_has_no_defaults() -> None:
    """What is merged shares parts with the configuration."""

    def fill(merged: dict[str, Any]) -> None:
        merged["spec"]["b"] = 7

    fills = dataclasses.replace(manager(), default=fill)
    found = finished(
        fills.apply(None, obj({"annotations": {LAST_APPLIED: "x"}}, spec={"a": 1}), "kubectl", NOW, force=False)
    )
    written = '{"apiVersion":"g/v1","kind":"K","metadata":{"annotations":{},"name":"x"},"spec":{"a":1}}\n'
    assert found["metadata"]["annotations"] == {LAST_APPLIED: written}
    assert found["spec"] == {"a": 1, "b": 7}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        json.dumps({**obj(spec={"a": 1}), "apiVersion": "g/v2"}),
        "[" * 5000,
        json.dumps(obj(spec={"a": 3})),
    ],
)
def test_an_annotation_that_says_nothing_of_use_allows_nothing(text: str) -> None:
    live = obj({"annotations": {LAST_APPLIED: text}}, uid="u", entries=[entry("old", "Update", SPEC_A)], spec={"a": 1})
    with pytest.raises(Conflict):
        finished(manager().apply(live, obj(spec={"a": 2}), "kubectl", NOW, force=False))


def test_the_annotation_is_dropped_if_it_would_be_too_large() -> None:
    """lastappliedupdater_test.go: 256 KiB for all annotations."""
    live = obj({"annotations": {LAST_APPLIED: "{}"}}, uid="u", entries=[entry("old", "Update", SPEC_A)])
    config = obj({"labels": {"a": "x" * 256 * 1024}})
    found = finished(manager().apply(live, config, "kubectl", NOW, force=False))
    assert found["metadata"]["annotations"] == {}


def named(name: str, version: str, second: int, *fields: str) -> dict[str, Any]:
    return {
        "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": {f"f:{each}": {} for each in fields},
        "manager": name, "operation": "Update", "time": f"2020-01-01T00:00:{second:02}Z",
    }  # fmt: skip


ANCIENT = "ancient-changes"
CAPPED = {
    "one version, no ancient changes": (
        [named("1", "v1", 1, "a"), named("2", "v1", 2, "b"), named("3", "v1", 3, "c"), named("4", "v1", 4, "d")],
        [named(ANCIENT, "v1", 2, "a", "b"), named("3", "v1", 3, "c"), named("4", "v1", 4, "d")],
    ),
    "one version, one ancient changes": (
        [named(ANCIENT, "v1", 2, "a", "b"), named("3", "v1", 3, "c"), named("4", "v1", 4, "d"), named("5", "v1", 5, "e")],
        [named(ANCIENT, "v1", 3, "a", "b", "c"), named("4", "v1", 4, "d"), named("5", "v1", 5, "e")],
    ),
    "two versions, no ancient changes": (
        [named("1", "v1", 1, "a"), named("2", "v2", 2, "b"), named("3", "v1", 3, "c"), named("4", "v1", 4, "d"), named("5", "v1", 5, "e")],
        [named("2", "v2", 2, "b"), named(ANCIENT, "v1", 4, "a", "c", "d"), named("5", "v1", 5, "e")],
    ),
    "three versions, one ancient changes": (
        [named("2", "v2", 2, "b"), named(ANCIENT, "v1", 4, "a", "c", "d"), named("5", "v1", 5, "e"), named("6", "v3", 6, "f"), named("7", "v2", 7, "g")],
        [named(ANCIENT, "v1", 5, "a", "c", "d", "e"), named("6", "v3", 6, "f"), named(ANCIENT, "v2", 7, "b", "g")],
    ),
    "three versions, two ancient changes": (
        [named(ANCIENT, "v1", 5, "a", "c", "d", "e"), named("6", "v3", 6, "f"), named(ANCIENT, "v2", 7, "b", "g"), named("8", "v3", 8, "h")],
        [named(ANCIENT, "v1", 5, "a", "c", "d", "e"), named(ANCIENT, "v2", 7, "b", "g"), named(ANCIENT, "v3", 8, "f", "h")],
    ),
    "four versions, two ancient changes": (
        [named(ANCIENT, "v1", 5, "a", "c", "d", "e"), named("6", "v3", 6, "f"), named(ANCIENT, "v2", 7, "b", "g"), named("8", "v4", 8, "h")],
        [named(ANCIENT, "v1", 5, "a", "c", "d", "e"), named("6", "v3", 6, "f"), named(ANCIENT, "v2", 7, "b", "g"), named("8", "v4", 8, "h")],
    ),
}  # fmt: skip
"""TestCapUpdateManagers."""


@pytest.mark.parametrize("name", CAPPED)
def test_the_oldest_updaters_are_merged(name: str) -> None:
    entries, expected = CAPPED[name]
    managed = managed_of(entries)
    _cap(managed, 3)
    assert managed.to_json() == expected


def test_ten_updaters_are_kept() -> None:
    live = obj(uid="u", entries=[named(f"u{n:02}", "g/v1", n, f"z{n}") for n in range(10)], spec={"a": 1})
    found = finished(manager().update(live, {**live, "spec": {"a": 2}}, "me", "2020-01-01T00:01:00Z"))["metadata"][
        "managedFields"
    ]
    assert [each["manager"] for each in found] == [ANCIENT, *(f"u{n:02}" for n in range(2, 10)), "me"]
    assert not Managed().to_json()


def test_the_deepest_object_goes_through() -> None:
    spec: dict[str, Any] = {"a": 1}
    other: dict[str, Any] = {"a": 2}
    for _ in range(197):
        spec, other = {"a": spec}, {"a": other}
    kind = manager(DEDUCED)
    live = {**finished(kind.apply(None, obj(spec=spec), "me", NOW, force=False))}
    live["metadata"]["uid"] = "u"
    assert finished(kind.apply(live, obj(spec=other), "me", NOW, force=False))["spec"] == other
    updated = finished(kind.update(live, {**live, "spec": other}, "it", NOW))
    assert [each["manager"] for each in updated["metadata"]["managedFields"]] == ["me", "it"]
    with pytest.raises(Conflict):
        finished(kind.apply(live, obj(spec=other), "it", NOW, force=False))


def test_the_deepest_lists_go_through() -> None:
    models = {
        "Item": {
            "type": "object",
            "properties": {
                "k": {"type": "string"},
                "n": {"type": "integer"},
                "items": {
                    "type": "array",
                    "items": {"$ref": "#/x/Item"},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                },
            },
        }
    }
    types = atom_of(
        {
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
                "spec": {"$ref": "#/x/Item"},
            },
        },
        models,
    )

    def nested(number: int) -> dict[str, Any]:
        item: dict[str, Any] = {"k": "a", "n": number}
        for _ in range(98):
            item = {"k": "a", "items": [item, {"k": "b"}]}
        return item

    kind = manager(types)
    live = finished(kind.apply(None, obj(spec=nested(1)), "me", NOW, force=False))
    live["metadata"]["uid"] = "u"
    assert finished(kind.apply(live, obj(spec=nested(2)), "me", NOW, force=False))["spec"] == nested(2)
    with pytest.raises(Conflict):
        finished(kind.apply(live, obj(spec=nested(2)), "it", NOW, force=False))
    # What is no longer applied goes; the item is as deep as one can be.
    assert finished(kind.apply(live, obj(), "me", NOW, force=False)) == obj(uid="u")


def test_conflicts_are_told_until_there_are_many() -> None:
    """1,000 causes, and a megabyte of paths; the number is that of all."""
    for name, count, told in (("x", 1100, 1000), ("x" * 400_000, 8, 3)):
        spec = {name: {f"{number}": 1 for number in range(count)}}
        kind = manager(DEDUCED)
        live = finished(kind.apply(None, obj(spec=spec), "it", NOW, force=False))
        other = {name: dict.fromkeys(spec[name], 2)}
        with pytest.raises(Conflict) as caught:
            finished(kind.apply(live, obj(spec=other), "me", NOW, force=False))
        assert len(caught.value.status()["details"]["causes"]) == told
        assert str(caught.value).startswith(f"Apply failed with {count} conflicts: ")


def test_what_every_object_of_a_go_type_has_is_nobodys() -> None:
    """``spec: {}`` of a built-in kind: the field is there before anything is set."""
    typed = dataclasses.replace(manager(), zero={"spec": {}})
    found = finished(typed.update(None, obj(spec={"a": 1}), "me", NOW))
    assert found["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:a": {}}}
    found = finished(manager().update(None, obj(spec={"a": 1}), "me", NOW))
    assert found["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {".": {}, "f:a": {}}}


@pytest.mark.parametrize(
    "entries",
    [None, [{"manager": "m", "operation": "Apply", "apiVersion": "g/v1", "fieldsV1": {"f:spec": {"f:a": {}}}}]],
)
def test_an_apply_that_changes_nothing_gives_an_object_of_its_own(entries: Any) -> None:
    """Callers write in it, and compare it with the live object."""
    live = obj(entries=entries, spec={"a": 1})
    found = finished(manager(subresource="status", reset={"f:spec": {}}).apply(live, obj(), "m", NOW, force=False))
    assert found is not live
    assert found["metadata"] is not live["metadata"]
    assert found["spec"] == {"a": 1}
