"""Conversion: the author's functions on what a ConversionReview holds; all succeed, or the review fails (as v1 demands)."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Api, Group, Kind, Object, Struct, Version
from extapi.webhooks import converting
from tests.unit.webhooks.asking import PIZZAS, Asked, pizzas_without_plugins, recorded, result

Obj = dict[str, Any]
MANAGED = [{"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]


def review(to: str, *objects: Any, version: str = "v1") -> Obj:
    request = {"uid": "u-1", "desiredAPIVersion": to, "objects": objects}
    return {"kind": "ConversionReview", "apiVersion": f"apiextensions.k8s.io/{version}", "request": request}


def pizza(name: str, *toppings: str) -> Obj:
    return {
        "apiVersion": f"{PIZZAS}/v1alpha1",
        "kind": "Pizza",
        "metadata": {"name": name, "namespace": "default", "uid": f"u-{name}", "managedFields": MANAGED, "odd": 1},
        "spec": {"toppings": list(toppings)},
        "status": {"cost": "1.00"},
    }


def test_what_a_kube_apiserver_sent() -> None:
    case = recorded()["read/convert"]
    response = pizzas_without_plugins().ask(case).response
    sent = case.review["request"]
    assert response["uid"] == sent["uid"]
    assert response["result"] == {"status": "Success"}
    (made,) = response["convertedObjects"]
    assert made["apiVersion"] == f"{PIZZAS}/v1alpha1"
    assert made["spec"] == {"toppings": ["tomato", "mozzarella", "salami"]}
    assert made["metadata"] == sent["objects"][0]["metadata"]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize("path", ["/convert/v1/pizza", "/convert/v1beta1/pizza", f"/convert/v1/pizza.{PIZZAS}"])
def test_several_objects_keep_their_order_and_metadata(version: str, path: str) -> None:
    objects = [
        pizza("a", "x", "x"),
        {**pizza("b"), "apiVersion": f"{PIZZAS}/v1beta1", "spec": {"toppings": [{"name": "y", "quantity": 2}]}},
    ]
    answer = pizzas_without_plugins().send(path, review(f"{PIZZAS}/v1beta1", *objects, version=version))
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["apiVersion"] == f"apiextensions.k8s.io/{version}"
    made = answer.response["convertedObjects"]
    assert [each["spec"]["toppings"] for each in made] == [
        [{"name": "x", "quantity": 2}],
        [{"name": "y", "quantity": 2}],
    ]
    assert [each["metadata"] for each in made] == [each["metadata"] for each in objects]
    assert [each["apiVersion"] for each in made] == [f"{PIZZAS}/v1beta1"] * 2


def test_no_objects() -> None:
    assert (
        pizzas_without_plugins().send("/convert/v1/pizza", review(f"{PIZZAS}/v1beta1")).response["convertedObjects"]
        == []
    )


BAD: list[tuple[Any, str]] = [
    ({**pizza("b"), "spec": {"toppings": "x"}}, "default/b: conversion of Pizza failed at"),
    (
        {**pizza("b"), "kind": "Topping"},
        'request.objects[1] is of "restaurant.programming-kubernetes.info/v1alpha1", kind "Topping"',
    ),
    ({**pizza("b"), "apiVersion": "v1"}, 'request.objects[1] is of "v1", kind "Pizza"; expected Pizza of'),
    ({**pizza("b"), "metadata": []}, "request.objects[1].metadata is no object"),
    ({}, 'request.objects[1] is of "None", kind "None"'),
    (7, "request.objects[1]: expected an object, got int"),
    (None, "request.objects[1]: expected an object, got NoneType"),
]


@pytest.mark.parametrize(("bad", "text"), BAD)
def test_one_that_fails_fails_the_review(bad: Any, text: str) -> None:
    response = (
        pizzas_without_plugins().send("/convert/v1/pizza", review(f"{PIZZAS}/v1beta1", pizza("a", "x"), bad)).response
    )
    assert response["convertedObjects"] == []
    assert response["result"]["status"] == "Failure"
    assert text in response["result"]["message"]


def test_a_version_that_the_kind_has_not() -> None:
    response = pizzas_without_plugins().send("/convert/v1/pizza", review(f"{PIZZAS}/v9", pizza("a"))).response
    assert response["result"] == {"status": "Failure", "message": f'Pizza has no version "{PIZZAS}/v9"'}


class _Spec(Struct):
    size: int = 0


class _Old(Object):
    spec: _Spec = _Spec()


class _New(Object):
    spec: _Spec = _Spec()


def _fails(obj: _Old) -> _New:
    if obj.spec.size == 13:
        raise ValueError("a secret")
    return _New(spec=_Spec(size=obj.spec.size + 1))


def shelves(**behaviour: Any) -> Asked:
    versions = {"v2": Version(_New), "v1": Version(_Old, to_hub=_fails, from_hub=lambda new: _Old(spec=new.spec))}
    return Asked(Api(Group("shop.example.com", Kind("Shelf", hub=_New, storage="v2", versions=versions, **behaviour))))


def shelf(size: int) -> Obj:
    return {"apiVersion": "shop.example.com/v1", "kind": "Shelf", "metadata": {"name": "s"}, "spec": {"size": size}}


def test_a_failing_function_tells_the_caller_nothing_of_its_error() -> None:
    response = shelves().send("/convert/v1/shelf", review("shop.example.com/v2", shelf(13))).response
    assert (
        response["result"]["message"]
        == "s: conversion of Shelf failed at shop.example.com/v1: to_hub raised ValueError"
    )


def test_defaults_and_cluster_scope() -> None:
    made = shelves().send("/convert/v1/shelf", review("shop.example.com/v2", shelf(-1))).response["convertedObjects"]
    assert made[0]["spec"] == {"size": 0}


def test_others_get_their_turn_between_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = shelves()
    monkeypatch.setattr(converting, "TURN", -1.0)
    answer = asked.sending("/convert/v1/shelf", review("shop.example.com/v2", shelf(1), shelf(2)))
    assert not answer.called
    asked.clock.advance(0)
    assert [each["spec"]["size"] for each in result(answer).response["convertedObjects"]] == [2, 3]


def test_a_conversion_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = shelves()
    monkeypatch.setattr(converting, "TURN", -1.0)
    answer = asked.sending("/convert/v1/shelf", review("shop.example.com/v2", *[shelf(1)] * 100), seconds=0)
    asked.clock.advance(0)
    late = result(answer)
    assert (late.status, late.text) == (503, "the review was not answered in time\n")
    assert not asked.clock.getDelayedCalls()


def test_without_a_hub_only_the_version_changes() -> None:
    api = Api(
        Group("shop.example.com", Kind("Shelf", storage="v1", versions={"v1": Version(_Old), "v2": Version(_New)}))
    )
    made = Asked(api).send("/convert/v1/shelf", review("shop.example.com/v2", shelf(4))).response["convertedObjects"]
    assert made == [{**shelf(4), "apiVersion": "shop.example.com/v2"}]


def test_texts_survive() -> None:
    odd = {**pizza("a", "<&>", "\u2028", "é"), "apiVersion": f"{PIZZAS}/v1alpha1"}
    made = (
        pizzas_without_plugins()
        .send("/convert/v1/pizza", review(f"{PIZZAS}/v1beta1", odd))
        .response["convertedObjects"]
    )
    assert [each["name"] for each in made[0]["spec"]["toppings"]] == ["<&>", "\u2028", "é"]
    assert made[0]["metadata"] == odd["metadata"]


# -- what kube-apiserver 1.36.3 sends while it merges what is applied; seen by tests/differential/appliedversions.py --------


class Socket(Struct):
    kind: str
    volts: int = 230


class LampSpec(Struct):
    title: str
    socket: Socket
    labels: dict[str, str] | None = None
    foot: Socket | None = None


class Lamp(Object):
    spec: LampSpec


class OldLamp(Object):
    spec: LampSpec


LAMPS = Api(
    Group(
        "lamps.example.com",
        Kind(
            "Lamp",
            storage="v1",
            hub=Lamp,
            versions={
                "v1": Version(Lamp),
                "v2": Version(
                    OldLamp, to_hub=lambda old: Lamp(spec=old.spec), from_hub=lambda lamp: OldLamp(spec=lamp.spec)
                ),
            },
        ),
    )
)
LEAST = {"title": "", "socket": {"kind": "", "volts": 230}}


@pytest.mark.parametrize(
    ("sent", "metadata", "spec"),
    [
        ({}, {}, LEAST),
        ({"metadata": None, "spec": None}, {}, LEAST),
        ({"metadata": {"name": "a", "labels": None}, "spec": {"title": "b"}}, {"name": "a"}, {**LEAST, "title": "b"}),
        ({"spec": {**LEAST, "title": None, "labels": None, "foot": None}}, {}, {**LEAST, "labels": {}, "foot": LEAST["socket"]}),
    ],
)  # fmt: skip
def test_objects_that_lack_parts_are_converted_and_have_metadata(sent: Obj, metadata: Obj, spec: Obj) -> None:
    lamp = {"apiVersion": "lamps.example.com/v1", "kind": "Lamp", **sent}
    (made,) = Asked(LAMPS).send("/convert/v1/lamp", review("lamps.example.com/v2", lamp)).response["convertedObjects"]
    assert (made["metadata"], made["spec"]) == (metadata, spec)
