"""Partial metadata: behaviour G6."""

from typing import Any

from extapi.codec.partial import partial, partial_list

PIZZA: dict[str, Any] = {
    "apiVersion": "g/v1",
    "kind": "Pizza",
    "metadata": {"name": "x", "creationTimestamp": "2024-05-01T10:00:00Z", "resourceVersion": "7"},
    "spec": {"toppings": [{"name": "tomato"}, {"name": "ham"}]},
}


def test_partial_metadata() -> None:
    assert partial(PIZZA) == {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": PIZZA["metadata"],
    }
    assert partial_list([PIZZA], {"resourceVersion": "9"}, version="v1beta1") == {
        "apiVersion": "meta.k8s.io/v1beta1",
        "kind": "PartialObjectMetadataList",
        "metadata": {"resourceVersion": "9"},
        "items": [partial(PIZZA, version="v1beta1")],
    }


def test_a_partial_list_of_nothing_has_null_for_items() -> None:
    assert partial_list([], {"resourceVersion": "9"})["items"] is None
