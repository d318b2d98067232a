"""Texts are those of ``unstructured`` helpers.go and of ValidateScaleSpec; the differential twins ask kube-apiserver the same."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Group, Kind, Object, Scale, Struct, Version
from extapi.api.declaration import DeclarationError
from extapi.api.definition import Api
from extapi.errors import StorageError
from extapi.registry.kinds import serve_kinds
from extapi.registry.scalepaths import ScalePaths

PATHS = ScalePaths(
    Scale(
        spec_replicas_path=".spec.a.n",
        status_replicas_path=".status.n",
        label_selector_path=".status.selector",
    )
)


def obj(spec: Any = None, status: Any = None) -> dict[str, Any]:
    metadata = {"creationTimestamp": "T", "generation": 3, "labels": {"a": "b"}, "name": "x", "uid": "u"}
    parts = {"spec": spec, "status": status}
    return {"metadata": metadata, **{name: value for name, value in parts.items() if value is not None}}


def test_a_scale_shows_the_object_and_its_numbers() -> None:
    scale = PATHS.scale(obj({"a": {"n": 3}}, {"n": 2, "selector": "a=b"}))
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "a=b"}
    assert list(scale["metadata"].items()) == [("name", "x"), ("uid", "u"), ("creationTimestamp", "T")]


@pytest.mark.parametrize("given", [obj(), obj({}), obj({"a": {}}), obj({"a": None})])
def test_what_is_not_there_is_zero(given: dict[str, Any]) -> None:
    assert not PATHS.has_replicas(given)
    assert PATHS.scale(given)["spec"] == {}
    assert list(PATHS.errors(given)) == []


def test_a_number_is_set_in_a_copy() -> None:
    before = obj({"a": {"m": 1}, "b": 2})
    after = PATHS.scaled(before, 7)
    assert after["spec"] == {"a": {"m": 1, "n": 7}, "b": 2}
    assert before == obj({"a": {"m": 1}, "b": 2})
    assert PATHS.scaled(obj(), 7)["spec"] == {"a": {"n": 7}}


def test_a_number_is_not_set_in_what_is_no_object() -> None:
    for spec, where in (("x", ".spec"), ({"a": 1}, ".spec.a")):
        with pytest.raises(StorageError) as refused:
            PATHS.scaled(obj(spec), 7)
        assert refused.value.message == f"value cannot be set because {where} is not a map[string]interface{{}}"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("x", ".spec.a accessor error: x is of the type string, expected map[string]interface{}"),
        ({"a": 3}, ".spec.a.n accessor error: 3 is of the type int64, expected map[string]interface{}"),
        ({"a": {"n": "x"}}, ".spec.a.n accessor error: x is of the type string, expected int64"),
        ({"a": {"n": None}}, ".spec.a.n accessor error: <nil> is of the type <nil>, expected int64"),
        ({"a": {"n": True}}, ".spec.a.n accessor error: true is of the type bool, expected int64"),
        ({"a": {"n": 2.5}}, ".spec.a.n accessor error: 2.5 is of the type float64, expected int64"),
        (
            {"a": {"n": 2**70}},
            ".spec.a.n accessor error: 1.1805916207174113e+21 is of the type float64, expected int64",
        ),
        (
            {"a": {"n": {"b": [1, False, None], "a": "x"}}},
            ".spec.a.n accessor error: map[a:x b:[1 false <nil>]] is of the type map[string]interface {}, expected int64",
        ),
        ({"a": {"n": []}}, ".spec.a.n accessor error: [] is of the type []interface {}, expected int64"),
    ],
)
def test_a_value_of_another_type_is_refused(spec: Any, why: str) -> None:
    with pytest.raises(StorageError) as refused:
        PATHS.scale(obj(spec))
    assert refused.value.message == why
    with pytest.raises(StorageError):
        PATHS.has_replicas(obj(spec))
    (error,) = PATHS.errors(obj(spec))
    assert (error.path, error.value, error.detail) == (".spec.a.n", 0, why)


def test_a_long_value_is_cut() -> None:
    (error,) = PATHS.errors(obj({"a": {"n": "x" * 100_000}}))
    assert len(error.text()) < 2000


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (-1, "should be a non-negative integer"),
        (2**31, "should be less than or equal to 2147483647"),
        (2**31 - 1, None),
    ],
)
def test_a_number_is_no_less_than_0_and_an_int32(number: int, why: str | None) -> None:
    for given, path in ((obj({"a": {"n": number}}), ".spec.a.n"), (obj(None, {"n": number}), ".status.n")):
        found = [(error.path, error.value, error.detail) for error in PATHS.errors(given)]
        assert found == ([(path, number, why)] if why else [])


def test_a_write_of_status_is_not_refused_for_its_spec() -> None:
    given = obj({"a": {"n": -1}}, {"n": -2, "selector": 3})
    assert [error.path for error in PATHS.errors(given)] == [".spec.a.n", ".status.n", ".status.selector"]
    assert [error.path for error in PATHS.errors(given, "status")] == [".status.n", ".status.selector"]


def test_a_number_that_is_no_int32_loses_its_upper_half() -> None:
    assert PATHS.scale(obj({"a": {"n": 2**32 + 7}}))["spec"] == {"replicas": 7}
    assert PATHS.scale(obj({"a": {"n": 2**31}}))["spec"] == {"replicas": -(2**31)}


class Spec(Struct):
    size: int = 0
    name: str = ""
    free: dict[str, int] = {}  # noqa: RUF012 -- a field: msgspec copies the default


class Flock(Object):
    spec: Spec = Spec()
    status: Spec = Spec()


@pytest.mark.parametrize(
    ("paths", "why"),
    [
        ((".spec.size", ".status.size", ".spec.name"), ""),
        ((".spec.free.any", ".status.size", ""), ""),
        (
            (".spec.sizes", ".status.size", ""),
            "spec_replicas_path .spec.sizes: there is no 'sizes'; did you mean 'size'?",
        ),
        ((".spec.name", ".status.size", ""), "spec_replicas_path .spec.name: its type is string, not integer"),
        (
            (".spec.size", ".status.size", ".spec.size"),
            "label_selector_path .spec.size: its type is integer, not string",
        ),
    ],
)
def test_paths_lead_to_fields_of_the_version(paths: tuple[str, str, str], why: str) -> None:
    scale = Scale(spec_replicas_path=paths[0], status_replicas_path=paths[1], label_selector_path=paths[2])
    api = Api(Group("g.example.com", Kind("Flock", storage="v1", versions={"v1": Version(Flock)}, scale=scale)))
    if not why:
        serve_kinds(api)
        return
    with pytest.raises(DeclarationError) as refused:
        serve_kinds(api)
    assert str(refused.value) == f"kind Flock: version v1: scale: {why}"


def test_a_version_that_lacks_the_fields_is_told_to_have_its_own() -> None:
    class OldFlock(Object):
        status: Spec = Spec()

    scale = Scale(spec_replicas_path=".spec.size", status_replicas_path=".status.size")
    versions = {"v1": Version(Flock), "v0": Version(OldFlock, to_hub=lambda _: Flock(), from_hub=lambda _: OldFlock())}
    kind = Kind("Flock", storage="v1", hub=Flock, versions={**versions, "v1": Version(Flock)}, scale=scale)
    with pytest.raises(DeclarationError) as refused:
        serve_kinds(Api(Group("g.example.com", kind)))
    assert "version v0: scale: spec_replicas_path .spec.size: there is no 'spec'" in str(refused.value)
    assert str(refused.value).endswith("give version v0 scale= of its own")


def test_a_ready_schema_is_judged_as_that_of_a_crd() -> None:
    scale = Scale(spec_replicas_path=".spec.size", status_replicas_path=".status.size")
    kind = Kind("Flock", storage="v1", versions={"v1": Version({"type": "object"})}, scale=scale)
    serve_kinds(Api(Group("g.example.com", kind)))
