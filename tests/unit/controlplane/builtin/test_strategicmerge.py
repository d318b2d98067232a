"""Strategic merge patches against what kube-apiserver 1.36.3 answered to the same patches of the same objects."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given, strategies as st

from extapi import ListMap, Object, Struct
from extapi.api.markers import MergeKey
from extapi.codec.options import Validation
from extapi.controlplane.builtin.strategicmerge import strategic_merge_patch
from extapi.errors import ApiError, BadRequest, Invalid, StorageError
from extapi.schema.compile import compile_type

RECORDED = json.loads((Path(__file__).parent / "strategic_cases.json").read_text())
"""Objects, and patches of them with what came of them (dry run; without managedFields)."""


class ConfigMap(Object):
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


class Port(Struct):
    name: str = ""
    port: int


class ServiceSpec(Struct):
    ports: Annotated[list[Port] | None, ListMap("port"), MergeKey("port")] = None
    selector: dict[str, str] | None = None
    ipFamilies: list[str] | None = None  # noqa: N815  the wire name
    externalIPs: list[str] | None = None  # noqa: N815  the wire name


class Service(Object):
    spec: ServiceSpec = ServiceSpec()


class Reference(Struct):
    name: str = ""


class ServiceAccount(Object):
    secrets: Annotated[list[Reference] | None, MergeKey("name")] = None
    image_pull_secrets: list[Reference] | None = None


SCHEMAS = {cls.__name__: compile_type(cls) for cls in (ConfigMap, Service, ServiceAccount)}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{case['kind']}: {case['name']}") for case in RECORDED["cases"]]
)
def test_kube_apiserver_says_the_same(case: dict[str, Any]) -> None:
    before = RECORDED["objects"][case["kind"]]
    untouched = deepcopy(before)
    patch = case["patch"] if isinstance(case["patch"], str) else json.dumps(case["patch"])
    if case["code"] == 200:
        after = strategic_merge_patch(before, patch.encode(), SCHEMAS[case["kind"]], case["kind"]).value
        # The verb takes the type from the endpoint; empty values are not written by Go.
        after |= {"apiVersion": before["apiVersion"], "kind": before["kind"]}
        assert _shown(after) == _shown(case["after"])
    elif case["code"] == 422:
        # The patch itself is fine; the schema is what refuses its result.
        strategic_merge_patch(before, patch.encode(), SCHEMAS[case["kind"]], case["kind"])
    else:
        with pytest.raises(ApiError) as caught:
            strategic_merge_patch(before, patch.encode(), SCHEMAS[case["kind"]], case["kind"])
        assert (caught.value.code, caught.value.message) == (case["code"], case["message"])
        assert caught.value.reason == case["reason"]
    assert before == untouched


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items() if item not in ({}, []) or key == "loadBalancer"}
    return [_shown(item) for item in value] if isinstance(value, list) else value


class Shapes(Object):
    """What the recorded kinds do not have."""

    free: dict[str, Any] | None = None
    nested: dict[str, dict[str, int]] | None = None
    keyless: Annotated[list[Reference] | None, MergeKey()] = None
    keyed: Annotated[list[Reference] | None, MergeKey("name")] = None
    words: Annotated[list[str] | None, MergeKey()] = None
    plain: list[str] | None = None


SHAPES = compile_type(Shapes)


def merged(doc: dict[str, Any], patch: Any) -> dict[str, Any]:
    return strategic_merge_patch(doc, json.dumps(patch).encode(), SHAPES, "Shapes").value


@pytest.mark.parametrize(
    ("doc", "patch", "after"),
    [
        ({"free": {"a": {"b": 1, "c": 2}}}, {"free": {"a": {"b": None}}}, {"free": {"a": {"c": 2}}}),
        ({"free": {"a": [{"b": 1}]}}, {"free": {"a": [{"c": 1}]}}, {"free": {"a": [{"c": 1}]}}),
        ({"nested": {"a": {"x": 1}}}, {"nested": {"a": {"y": 2}}}, {"nested": {"a": {"x": 1, "y": 2}}}),
        ({"words": []}, {"words": []}, {"words": []}),
        ({"words": ["a", "b"]}, {"words": ["b", "b", "c"]}, {"words": ["a", "b", "c"]}),
        ({"plain": ["a", "b"]}, {"$setElementOrder/plain": ["c"], "plain": ["c"]}, {"plain": ["c"]}),
        ({}, {"$setElementOrder/plain": ["c"]}, {}),
        ({}, {"$setElementOrder/keyed": [{"name": "b"}, {"name": "a"}], "keyed": [{"name": "a"}]}, {"keyed": [{"name": "a"}]}),
        ({}, {"keyed": [{"name": "a"}, {"name": "b", "$patch": "delete"}]}, {"keyed": [{"name": "a"}]}),
        # A directive takes out one item, whatever else the patch brings.
        ({"keyed": [{"name": "a"}, {"name": "b"}]}, {"keyed": [{"name": "c"}, {"name": "b", "$patch": "delete"}]}, {"keyed": [{"name": "c"}, {"name": "a"}]}),
        ({"keyed": [{"x": 1}]}, {"plain": None}, {"keyed": [{"x": 1}]}),
        # An item that is new comes as it is: the schema drops what is null, and what it does not know.
        ({"keyed": [{"name": "a"}]}, {"keyed": [{"name": "b", "x": None}]}, {"keyed": [{"name": "b", "x": None}, {"name": "a"}]}),
        ({"free": 1}, {"free": {"a": None, "b": [None, {"c": None}]}}, {"free": {"b": [None, {}]}}),
        ({"free": {"a": 1, "b": 2}}, {"free": {"$retainKeys": ["b", "c"], "c": 3}}, {"free": {"b": 2, "c": 3}}),
        ({"free": {"a": 1, "b": 2}}, {"free": {"$retainKeys": []}}, {"free": {}}),
        ({"free": {"a": 1}}, {"free": {"a": True}}, {"free": {"a": True}}),
    ],
)  # fmt: skip
def test_shapes(doc: dict[str, Any], patch: Any, after: dict[str, Any]) -> None:
    """By ``apimachinery/pkg/util/strategicpatch``."""
    assert merged(doc, patch) == after


@pytest.mark.parametrize(
    ("doc", "patch", "why"),
    [
        ({"keyless": [{"name": "a"}]}, {"keyless": [{"name": "b"}]}, "cannot merge lists without merge key for struct"),
        ({"words": []}, {"$setElementOrder/words": ["a"]}, "no elements in any of the given slices"),
        ({"keyed": [{"name": "a"}]}, {"keyed": [{"name": {}}]}, "runtime error: comparing uncomparable type map[string]interface {}"),
        ({"keyed": ["a"]}, {"keyed": ["b"]}, "expected a map[string]interface {}, but received a string"),
        ({"words": ["a"]}, {"$setElementOrder/words": [1.5], "words": ["b"]}, "The order in patch list:\n[b]\n doesn't match $setElementOrder list:\n[1.5]\n"),
        ({"keyed": [{"x": 1}]}, {"keyed": [{"name": "b"}]}, "map: map[x:1] does not contain declared merge key: name"),
    ],
)  # fmt: skip
def test_contradictions(doc: dict[str, Any], patch: Any, why: str) -> None:
    with pytest.raises(ApiError) as caught:
        merged(doc, patch)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (500, "", why)


def test_lists_of_lists() -> None:
    with pytest.raises(Invalid) as caught:
        merged({"words": []}, {"words": [["a"]]})
    status = caught.value.status()
    assert (status["message"], status["details"]) == (
        "the server rejected our request due to an error in our request",
        {},
    )


def test_true_is_not_one() -> None:
    assert merged({"keyed": [{"name": 1}]}, {"keyed": [{"name": True}]}) == {"keyed": [{"name": True}, {"name": 1}]}


@pytest.mark.parametrize(("mode", "told"), [("Ignore", []), ("Warn", ['duplicate field "plain"'])])
def test_duplicates(mode: Validation, told: list[str]) -> None:
    assert strategic_merge_patch({}, b'{"plain":[],"plain":["a"]}', SHAPES, "Shapes", mode).duplicates == told


def test_long_lists_take_linear_time() -> None:
    """Go's way of a list in a list would take some 10**9 comparisons here."""
    count = 30_000
    doc = {"keyed": [{"name": str(n)} for n in range(count)]}
    order = [{"name": str(n)} for n in range(2 * count)]
    patch = {"keyed": order[::2], "$setElementOrder/keyed": order}
    assert len(merged(doc, patch)["keyed"]) == count + count // 2
    assert merged(doc, {"keyed": [item | {"$patch": "delete"} for item in order]})["keyed"] == []


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["a", "delete", "replace", "merge"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["$patch", "$retainKeys", "name", "a", "keyed", "$setElementOrder/keyed", "$deleteFromPrimitiveList/a"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(
    st.sampled_from(
        ["free", "nested", "keyless", "keyed", "words", "plain", "metadata", "$patch", "$retainKeys"]
    ).flatmap(lambda name: st.sampled_from([name, f"$setElementOrder/{name}", f"$deleteFromPrimitiveList/{name}"])),
    _VALUES,
    max_size=5,
)


@given(_OBJECTS, _OBJECTS)
def test_any_patch_is_applied_or_refused(doc: dict[str, Any], patch: dict[str, Any]) -> None:
    try:
        json.dumps(merged(doc, patch))
    except (BadRequest, Invalid, StorageError):
        return
