"""No write ends at another object than its path names, whatever plugins and strategies make of it."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Review, Strategy
from extapi.testing import ServerResponse, serve
from tests.unit.registry.orders import ORDERS, Order, WritableOrders, body, order, shop
from tests.unit.verbs.sample import GROUP, WIDGETS, Shop, failure, widget

APPLY = {"Content-Type": "application/apply-patch+yaml"}
FORCED = {"fieldManager": "me", "force": "true"}
OTHER_NAME = "the name of the object (other) does not match the name on the URL (w)"
OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


def setting(shop: Shop, **metadata: Any) -> None:
    """Have the plugin set these members of metadata, of whatever is called w."""

    async def mutate(review: Review) -> None:
        if review.object.metadata.name == "w":
            for name, value in metadata.items():
                setattr(review.object.metadata, name, value)

    shop.plugin.on_mutate = mutate


def apply(shop: Shop, **metadata: Any) -> ServerResponse:
    return shop.request("PATCH", f"{WIDGETS}/w", FORCED, APPLY, widget(spec={"size": 3}, **metadata))


def stored(shop: Shop) -> dict[str, int]:
    """The sizes of all widgets, by name."""
    items = shop.request("GET", WIDGETS).json()["items"]
    return {item["metadata"]["name"]: item["spec"]["size"] for item in items}


@pytest.mark.parametrize("there", [True, False])
def test_an_apply_never_makes_what_a_plugin_has_renamed(shop_served: Shop, there: bool) -> None:
    """kube-apiserver 1.36.3 stores an object of the other name under the path's key, where nobody can delete it."""
    before = {"other": 1} if there else {}
    if there:
        shop_served.create("other")
    setting(shop_served, name="other")
    refused = apply(shop_served)
    assert (refused.status, failure(refused)["message"]) == (400, OTHER_NAME)
    assert stored(shop_served) == before


def test_an_update_keeps_its_name(shop_served: Shop) -> None:
    """The text is that of kube-apiserver 1.36.3, for PUT, PATCH and apply."""
    created = shop_served.create()
    shop_served.create("other")
    setting(shop_served, name="other")
    for refused in (shop_served.put(created), shop_served.merge({"spec": {"size": 3}}), apply(shop_served)):
        assert refused.status == 422
        assert 'metadata.name: Invalid value: "other": field is immutable' in failure(refused)["message"]
    assert stored(shop_served) == {"other": 1, "w": 1}


def test_a_post_is_stored_under_the_last_name(shop_served: Shop) -> None:
    """As kube-apiserver 1.36.3 does: a POST has no name in its path."""
    setting(shop_served, name="other")
    assert shop_served.create()["metadata"]["name"] == "other"
    refused = shop_served.request("POST", WIDGETS, body=widget(spec={"size": 3}))
    assert (refused.status, failure(refused)["message"]) == (409, f'widgets.{GROUP} "other" already exists')
    assert stored(shop_served) == {"other": 1}


def test_a_name_is_generated_from_the_prefix_that_a_plugin_gives(shop_served: Shop) -> None:
    """As kube-apiserver 1.36.3 does, which generates names after admission."""

    async def mutate(review: Review) -> None:
        review.object.metadata.generate_name = "other-"

    shop_served.plugin.on_mutate = mutate
    made = shop_served.request("POST", WIDGETS, body=widget("", generateName="w-")).json()["metadata"]
    assert (made["generateName"], made["name"][:6], len(made["name"])) == ("other-", "other-", 11)


def test_a_revision_that_a_plugin_sets_counts_as_the_clients(shop_served: Shop) -> None:
    """Behaviour E12. The texts are those of kube-apiserver 1.36.3."""
    setting(shop_served, resource_version="5")
    refused = shop_served.request("POST", WIDGETS, body=widget())
    why = "resourceVersion should not be set on objects to be created"
    assert (refused.status, failure(refused)["message"]) == (500, why)
    assert stored(shop_served) == {}
    assert apply(shop_served).status == 201
    assert shop_served.merge({"status": {"ready": True}}, subresource="/status").status == 409


@pytest.mark.parametrize("by_plugin", [True, False])
def test_a_revision_that_is_none_makes_nothing(shop_served: Shop, by_plugin: bool) -> None:
    """Behaviour E12, of an apply; a POST does not read it."""
    if by_plugin:
        setting(shop_served, resource_version="x")
    refused = apply(shop_served, **({} if by_plugin else {"resourceVersion": "x"}))
    assert (refused.status, failure(refused)["message"]) == (500, 'strconv.ParseUint: parsing "x": invalid syntax')
    assert stored(shop_served) == {}
    assert shop_served.request("POST", WIDGETS, body=widget(resourceVersion="x")).status == 201


def test_no_plugin_moves_an_object_to_another_namespace(shop_served: Shop) -> None:
    """Not in a write of the status either, which ignores all else of metadata."""
    created = shop_served.create()
    setting(shop_served, namespace="elsewhere")
    for refused in (
        shop_served.request("POST", WIDGETS, body=widget()),
        shop_served.put(created),
        apply(shop_served),
        shop_served.merge({"status": {"ready": True}}, subresource="/status"),
    ):
        assert (refused.status, failure(refused)["message"]) == (400, OTHER_NAMESPACE)
    assert "status" not in shop_served.get() or not shop_served.get()["status"].get("ready")


@pytest.mark.parametrize(
    ("field", "message"), [("name", OTHER_NAME), ("namespace", OTHER_NAMESPACE)], ids=["name", "namespace"]
)
def test_an_authors_code_is_given_the_object_of_the_path(field: str, message: str) -> None:
    """The strategy of a kind with a feed, whose author writes wherever the object says."""

    class Renaming(Strategy):
        def prepare(self, obj: Order, old: Order | None) -> None:
            setattr(obj.metadata, field, "other")

    orders = WritableOrders()
    orders.add(order("other"))
    with serve(shop(orders, strategy=Renaming())) as server:
        refused = server.request("PATCH", f"{ORDERS}/w", FORCED, APPLY, body("w", 3))
        assert (refused.status, failure(refused)["message"]) == (400, message)
        assert [verb for verb, _ in orders.asked if verb != "get"] == []


def test_an_author_is_not_asked_to_make_an_object_of_no_revision() -> None:
    orders = WritableOrders()
    with serve(shop(orders)) as server:
        refused = server.request("PATCH", f"{ORDERS}/w", FORCED, APPLY, body("w", 3, resourceVersion="x"))
        assert (refused.status, failure(refused)["message"]) == (500, 'strconv.ParseUint: parsing "x": invalid syntax')
        assert server.request("POST", ORDERS, body=body("w", 3, resourceVersion="5")).status == 500
        assert [verb for verb, _ in orders.asked if verb != "get"] == []
