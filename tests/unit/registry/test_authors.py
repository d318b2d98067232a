"""An author's code that fails: nothing is stored, and the server goes on."""

from __future__ import annotations

import pytest

from extapi import Review
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
    """I2."""

    async def break_it(review: Review) -> None:
        review.object.spec.size = "huge"

    shop_served.plugin.on_mutate = break_it
    answer = shop_served.request("POST", WIDGETS, body=widget())
    assert answer.status == 422
    assert failure(answer)["details"]["causes"][0]["field"] == "spec.size"


def test_a_strategy_that_raises_is_an_error_of_the_server(shop_served: Shop) -> None:
    """H6: what is no API error goes on to the listener, which answers 500 and logs it; in memory a test sees it."""
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


def test_required_fields_never_reach_the_strategy(shop_served: Shop) -> None:
    answer = shop_served.request("POST", WIDGETS, body=widget(spec={"parts": [{}]}))
    assert answer.status == 422
    assert failure(answer)["message"] == 'Widget.shop.example.com "w" is invalid: spec.parts[0].name: Required value'
