"""The schemas are those that controller-gen writes into CRDs (``pkg/crd/known_types.go``, and its int-or-string)."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import (
    Api,
    Duration,
    Group,
    IntOrPercent,
    Kind,
    LabelSelector,
    Object,
    QuantityStr,
    SecretRef,
    Struct,
    Version,
    duration_seconds,
    selector_matches,
)
from extapi.testing import serve


class ThingSpec(Struct):
    size: QuantityStr = "1"
    surge: IntOrPercent | None = None
    period: Duration | None = None
    secret: SecretRef | None = None
    selector: LabelSelector = LabelSelector()


class Thing(Object):
    spec: ThingSpec = ThingSpec()


api = Api(Group("a.example.com", Kind("Thing", storage="v1", status=False, versions={"v1": Version(Thing)})))
PATH = "/apis/a.example.com/v1/namespaces/default/things"


def answers(**spec: Any) -> set[str]:
    """The fields that are wrong."""
    with serve(api) as server:
        thing = {"apiVersion": "a.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}
        answer = server.request("POST", PATH, body=thing)
        if answer.status == 201:
            return set()
        assert answer.status == 422
        return {cause["field"] for cause in answer.json()["details"]["causes"]}


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("size", ["500m", "1.5Gi", "2", 2, "1e3", "-.5"], ["", "x", "1 Gi", "1KiB"]),
        ("surge", [3, "25%", "100%", "0%"], ["101%", "25", "x%", "-1%"]),
        ("period", ["1h30m", "250ms", "-1.5h", "0", "1µs"], ["3 days", "1", "h", "1h 30m"]),
    ],
)
def test_scalars(name: str, right: list[Any], wrong: list[Any]) -> None:
    assert [answers(**{name: value}) for value in right] == [set()] * len(right)
    assert [answers(**{name: value}) for value in wrong] == [{f"spec.{name}"}] * len(wrong)


def test_structs() -> None:
    assert answers(secret={"name": "a"}) == set()
    assert answers(secret={"name": "a", "key": "k"}) == set()
    assert answers(secret={"name": ""}) == {"spec.secret.name"}
    assert answers(secret={"key": "k"}) == {"spec.secret.name"}
    expression = {"key": "a", "operator": "In", "values": ["b"]}
    assert answers(selector={"matchLabels": {"a": "b"}, "matchExpressions": [expression]}) == set()
    assert answers(selector={"matchExpressions": [{**expression, "operator": "Is"}]}) == {
        "spec.selector.matchExpressions[0].operator"
    }


def test_they_are_published_as_crds_publish_them() -> None:
    with serve(api) as server:
        document = server.request("GET", "/openapi/v3/apis/a.example.com/v1").json()
    (schema,) = [each for name, each in document["components"]["schemas"].items() if name.endswith(".Thing")]
    spec = schema["properties"]["spec"]["properties"]
    int_or_string = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    quantity = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
    assert spec["size"] == {**int_or_string, "pattern": quantity, "default": "1"}
    assert spec["surge"] == {**int_or_string, "pattern": "^(100|[0-9]{1,2})%$"}
    assert (spec["period"]["type"], spec["period"]["format"]) == ("string", "duration")
    assert spec["secret"]["required"] == ["name"]
    expressions = spec["selector"]["properties"]["matchExpressions"]
    assert expressions["x-kubernetes-list-type"] == "atomic"
    assert expressions["items"]["required"] == ["key", "operator"]


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        ({}, {"a": "b"}, True),
        ({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"}, True),
        ({"matchLabels": {"a": "b"}}, None, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, {"a": "c"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {}, False),
    ],
)
def test_a_selector_selects(selector: dict[str, Any], labels: dict[str, str] | None, selected: bool) -> None:
    assert selector_matches(selector, labels) is selected


def test_a_selector_as_a_struct_selects_the_same() -> None:
    assert LabelSelector(match_labels={"a": "b"}).matches({"a": "b"})
    assert not LabelSelector(match_labels={"a": "b"}).matches({})


def test_a_selector_that_cannot_be_is_told() -> None:
    with pytest.raises(ValueError, match="must be specified when `operator` is 'In'"):
        selector_matches({"matchExpressions": [{"key": "a", "operator": "In"}]}, {})


def test_a_duration_has_seconds() -> None:
    assert duration_seconds("1h30m") == 5400
    assert duration_seconds("250ms") == 0.25
    with pytest.raises(ValueError, match='time: missing unit in duration "1"'):
        duration_seconds("1")
