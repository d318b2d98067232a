"""A whole server in memory, with a cluster in memory: readiness, the informer of toppings, shutdown."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from twisted.internet.defer import Deferred

from extapi import Api, Context
from extapi.pizza import api as pizza_api
from extapi.server.electedcontrollers import Begin, ElectedControllers, End
from extapi.testing import InMemoryServer, serve
from extapi.webhooks.server import is_started
from tests.kubernetes.pizzas import TOPPINGS_PATH, topping
from tests.unit.webhooks.asking import Asked, lamps, recorded
from tests.unit.webhooks.test_mutating import lamps_with

CASE = recorded()["refused/validate"]


@pytest.fixture
def cluster() -> Iterator[InMemoryServer]:
    """What has the toppings."""
    with serve(Api(*pizza_api.groups)) as server:
        yield server


def pizzeria(cluster: InMemoryServer) -> Asked:
    context = Context(cluster.server.transport(), cluster.clock, Random(0))  # noqa: S311 - for delays
    return Asked(pizza_api, context=context, start=False)


def test_plugins_look_things_up_in_the_cluster(cluster: InMemoryServer) -> None:
    asked = pizzeria(cluster)
    cluster.run(asked.server.start())
    response = asked.ask(CASE).response
    assert response["status"]["message"] == 'topping "pineapple" not known'
    assert cluster.request("POST", TOPPINGS_PATH, body=topping("pineapple", "1")).status == 201
    assert asked.ask(CASE).response["allowed"]
    cluster.run(asked.server.stop())


class Leads:
    """Leads until it resigns."""

    name = "pizza"
    is_leading = True

    def __init__(self, started: Begin, stopped: End) -> None:
        self._started, self._stopped = started, stopped

    def start(self) -> None:
        self._started()

    async def stop(self) -> None:
        await self._stopped()


def test_one_that_resigns_ends_its_controllers_and_goes_on_answering(cluster: InMemoryServer) -> None:
    """So that another one leads while this one still has reviews in flight."""
    ran: list[str] = []

    class Working:
        async def run(self, context: Context) -> None:
            ran.append("begins")
            try:
                await Deferred[None]()
            finally:
                ran.append("ends")

    context = Context(cluster.server.transport(), cluster.clock, Random(0))  # noqa: S311 - for delays

    controllers = ElectedControllers([Working()], context, Leads)
    asked = Asked(pizza_api, context=context, controllers=controllers, start=False)
    cluster.run(asked.server.start())
    cluster.run(asked.server.resign())
    assert ran == ["begins", "ends"]
    assert asked.ask(CASE).response["status"]["message"] == 'topping "pineapple" not known'
    cluster.run(asked.server.stop())


def test_readiness_waits_for_informers(cluster: InMemoryServer) -> None:
    asked = pizzeria(cluster)
    ready = asked.send("/readyz", b"", method="GET")
    assert (ready.status, "[-]admission-plugins failed: reason withheld" in ready.text) == (500, True)
    assert asked.send("/livez", b"", method="GET").text == "ok"
    assert asked.send("/healthz", b"", method="GET").text == "ok"
    cluster.run(asked.server.start())
    assert asked.send("/readyz?verbose=1", b"", method="GET").text == (
        "[+]ping ok\n[+]admission-plugins ok\n[+]shutdown ok\nreadyz check passed\n"
    )
    assert asked.send("/readyz/admission-plugins", b"", method="GET").text == "ok"
    assert asked.send("/readyz", b"").status == 405
    cluster.run(asked.server.stop())


def test_an_informer_that_has_not_listed_keeps_the_server_unready(cluster: InMemoryServer) -> None:
    class Patient:
        async def start(self, context: Context) -> None:
            context.informer("gone.example.com", "v1", "things")

    context = Context(cluster.server.transport(), cluster.clock, Random(0))  # noqa: S311 - for delays
    asked = Asked(lamps_with(Patient()), context=context, start=False)
    cluster.run(asked.server.start())
    assert asked.send("/readyz/admission-plugins", b"", method="GET").text == (
        "internal server error: the informers of things have not listed yet\n"
    )
    assert asked.send("/validate/v1/lamp", b"").text == "not ready: the informers of things have not listed yet\n"
    cluster.run(asked.server.stop())


def test_a_server_that_stops_refuses_reviews_last() -> None:
    asked = lamps()
    case = recorded()["lamp-create/validate"]
    asked.server.shutdown.requested = True
    assert asked.send("/readyz/shutdown", b"", method="GET").status == 500
    assert asked.ask(case).status == 200
    asked.server.shutdown.refusing = True
    assert asked.ask(case).status == 503


def test_which_apis_need_a_cluster() -> None:
    assert is_started(pizza_api)
    assert not is_started(Api(*pizza_api.groups))
