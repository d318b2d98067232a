"""Expected is what ``encoding/json`` does with ``autoscaling/v1`` Scale; ``tests/differential/scaling.py`` asks kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.codec.scale import coerce_scale, scale_object
from extapi.errors import BadRequest


def scale(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "f"}, **members}


def test_a_scale_has_the_members_of_go_and_their_order() -> None:
    made = scale_object({"name": "f"}, 3, 2, "a=b")
    assert list(made) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert (made["spec"], made["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "a=b"})
    empty = scale_object({}, 0, 0, "")
    assert (empty["metadata"], empty["spec"], empty["status"]) == ({}, {}, {"replicas": 0})


@pytest.mark.parametrize(
    ("members", "spec", "status"),
    [
        ({}, {}, {"replicas": 0}),
        ({"spec": None, "status": None}, {}, {"replicas": 0}),
        ({"spec": {"replicas": None}}, {}, {"replicas": 0}),
        ({"spec": {"replicas": 0}}, {}, {"replicas": 0}),
        ({"spec": {"replicas": -(2**31)}}, {"replicas": -(2**31)}, {"replicas": 0}),
        ({"spec": {"replicas": 2**31 - 1}}, {"replicas": 2**31 - 1}, {"replicas": 0}),
        ({"status": {"replicas": 4, "selector": ""}}, {}, {"replicas": 4}),
        ({"status": {"selector": "a"}}, {}, {"replicas": 0, "selector": "a"}),
    ],
)
def test_what_is_left_out_is_zero(members: dict[str, Any], spec: dict[str, Any], status: dict[str, Any]) -> None:
    obj = scale(**members)
    assert coerce_scale(obj) == []
    assert (obj["spec"], obj["status"]) == (spec, status)


def test_unknown_fields_are_dropped_and_named() -> None:
    obj = scale(metadata={"name": "f", "a": 1}, spec={"replicas": 1, "b": 2}, status={"c": 3}, d=4)
    assert coerce_scale(obj) == ["metadata.a", "spec.b", "status.c", "d"]
    assert obj == scale(spec={"replicas": 1}, status={"replicas": 0})


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"spec": {"replicas": "3"}}, "string into Go struct field ScaleSpec.spec.replicas of type int32"),
        ({"spec": {"replicas": True}}, "bool into Go struct field ScaleSpec.spec.replicas of type int32"),
        ({"spec": {"replicas": []}}, "array into Go struct field ScaleSpec.spec.replicas of type int32"),
        ({"spec": {"replicas": 1.5}}, "number 1.5 into Go struct field ScaleSpec.spec.replicas of type int32"),
        ({"spec": {"replicas": 2**31}}, "number 2147483648 into Go struct field ScaleSpec.spec.replicas of type int32"),
        ({"spec": []}, "array into Go struct field Scale.spec of type v1.ScaleSpec"),
        ({"status": "x"}, "string into Go struct field Scale.status of type v1.ScaleStatus"),
        ({"status": {"replicas": {}}}, "object into Go struct field ScaleStatus.status.replicas of type int32"),
        ({"status": {"selector": 1}}, "number into Go struct field ScaleStatus.status.selector of type string"),
        ({"metadata": "x"}, "string into Go struct field Scale.metadata of type v1.ObjectMeta"),
        (
            {"metadata": {"labels": []}},
            "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
    ],
)
def test_a_wrong_type_is_refused_in_the_words_of_go(members: dict[str, Any], why: str) -> None:
    with pytest.raises(BadRequest) as refused:
        coerce_scale(scale(**members))
    assert refused.value.message == f"json: cannot unmarshal {why}"
