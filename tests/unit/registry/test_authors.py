"""An author's code that fails: nothing is stored, and the server goes on."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Api, Group, Kind, Review, Strategy, Version
from extapi.testing import serve
from tests.unit.verbs.sample import WIDGETS, Shop, failure, widget


def test_a_plugin_that_raises_is_500(shop_served: Shop) -> None:
    """A plugin that fails lets nothing through."""

    async def fail(review: Review) -> None:
        raise ValueError("secret")

    shop_served.plugin.on_validate = fail
    answer = shop_served.request("POST", WIDGETS, body=widget())
    assert answer.status == 500
    assert failure(answer)["message"] == 'Internal error occurred: admission plugin "Plugin" failed'
    shop_served.plugin.on_validate = None
    assert shop_served.request("GET", f"{WIDGETS}/w").status == 404


def test_what_a_plugin_makes_of_the_object_is_validated(shop_served: Shop) -> None:
    """Behaviour I2."""

    async def break_it(review: Review) -> None:
        review.object.spec.size = "huge"

    shop_served.plugin.on_mutate = break_it
    answer = shop_served.request("POST", WIDGETS, body=widget())
    assert answer.status == 422
    assert failure(answer)["details"]["causes"][0]["field"] == "spec.size"


def test_a_strategy_that_raises_is_an_error_of_the_server(shop_served: Shop) -> None:
    """Behaviour H6: what is no API error goes on to the listener, which answers 500 and logs it; in memory a test sees it."""
    with pytest.raises(RuntimeError, match="the author's mistake"):
        shop_served.request("POST", WIDGETS, body=widget(spec={"color": "boom"}))
    assert shop_served.request("GET", f"{WIDGETS}/w").status == 404
    assert shop_served.create()


def test_a_conversion_that_raises_keeps_a_write_out(shop_served: Shop) -> None:
    """The hub object cannot be made of what the client sent."""
    body = widget(version="v1alpha1", spec={"inches": "many"})
    answer = shop_served.request("POST", WIDGETS.replace("v1", "v1alpha1"), body=body)
    assert answer.status == 500
    assert "to_hub raised ValueError" in failure(answer)["message"]


def test_wrong_types_never_reach_the_strategy(shop_served: Shop) -> None:
    """A hub object cannot be made of them: the schema's errors come alone, as 422."""
    answer = shop_served.request("POST", WIDGETS, body=widget(spec={"size": "x", "color": "boom"}))
    assert answer.status == 422
    assert [cause["field"] for cause in failure(answer)["details"]["causes"]] == ["spec.size"]


@pytest.mark.parametrize("spec", [{"color": "blue"}, {"size": 1.0000000001}, {"size": 1e18}, {"size": 2**63}])
def test_values_that_no_type_of_python_holds_are_the_mistake_of_the_client(shop_served: Shop, spec: Any) -> None:
    """With a plugin that looks at the object, and with a strategy that does."""

    async def look(review: Review) -> None:
        assert review.object

    for hook in (look, None):
        shop_served.plugin.on_mutate = hook
        answer = shop_served.request("POST", WIDGETS, body=widget(spec=spec))
        assert answer.status == 422
        assert failure(answer)["reason"] == "Invalid"


def test_required_fields_never_reach_the_strategy(shop_served: Shop) -> None:
    answer = shop_served.request("POST", WIDGETS, body=widget(spec={"parts": [{}]}))
    assert answer.status == 422
    assert failure(answer)["message"] == 'Widget.shop.example.com "w" is invalid: spec.parts[0].name: Required value'


def test_a_plugin_changes_nothing_that_the_request_must_not(shop_served: Shop) -> None:
    """Behaviour K1, K2: status has an endpoint of its own, and some metadata is the server's."""

    async def meddle(review: Review) -> None:
        if review.object is not None:
            review.object.status.ready = True
            review.object.spec.size += 10
            review.object.metadata.generation = 77
            review.object.metadata.labels = {"mine": "yes"}

    shop_served.plugin.on_mutate = meddle
    created = shop_served.create()
    assert "status" not in created
    assert (created["spec"]["size"], created["metadata"]["generation"]) == (11, 1)
    updated = shop_served.put(created).json()
    assert "status" not in updated
    assert (updated["spec"]["size"], updated["metadata"]["generation"]) == (21, 2)
    status = shop_served.merge({"status": {"ready": False}}, subresource="/status").json()
    assert status["status"] == {"ready": True}
    assert (status["spec"]["size"], status["metadata"]["generation"]) == (21, 2)


class Starting(Strategy):
    """Begins a status and remembers what it was shown."""

    def prepare(self, obj: Any, old: Any | None) -> None:
        if old is None:
            obj["status"] = {"phase": "Pending"}


class Labelling:
    """Changes an object that has no type: a dict, in place."""

    async def mutate(self, review: Review) -> None:
        if review.object is not None:
            review.object["metadata"]["labels"] = {"seen": "yes", "null": None}
            review.object["status"] = {"phase": "Forged"}
            review.object["spec"] = {"known": 1, "unknown": 2}


SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"known": {"type": "integer"}, "more": {"type": "integer", "default": 3}},
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}


def test_objects_without_a_type_are_brought_into_shape_too() -> None:
    """What changes in place is pruned and defaulted; a strategy may begin a status, as strategies in Kubernetes do."""
    kind = Kind("Thing", storage="v1", versions={"v1": Version(SCHEMA)}, strategy=Starting())
    path = "/apis/a.example.com/v1/namespaces/default/things"
    thing = {"apiVersion": "a.example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    with serve(Api(Group("a.example.com", kind), admission=[Labelling()])) as server:
        answer = server.request("POST", path, body=thing)
        assert answer.status == 201, answer
        created = answer.json()
        assert created == server.request("GET", f"{path}/t").json()
    assert created["spec"] == {"known": 1, "more": 3}
    assert created["status"] == {"phase": "Pending"}
    assert created["metadata"]["labels"] == {"seen": "yes", "null": ""}
