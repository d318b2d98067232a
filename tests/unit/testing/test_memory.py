"""The tool that authors test with."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi import NotFound
from extapi.api.user import User
from extapi.client.kube import ResourceName
from extapi.testing import InMemoryServer, serve
from extapi.testing.memory import START
from tests.unit.verbs.sample import CURSED, GROUP, WIDGETS, Plugin, shop, widget

NAMES = ResourceName(GROUP, "v1", "widgets")


def test_a_request_and_its_answer() -> None:
    with serve(shop()) as server:
        status, headers, body = server.request("POST", WIDGETS, body=widget())
        assert status == 201
        assert headers["content-type"] == "application/json"
        assert b'"name":"w"' in body
        assert server.request("GET", f"{WIDGETS}/w").json()["metadata"]["name"] == "w"


def test_queries_may_repeat_a_parameter() -> None:
    with serve(shop()) as server:
        answer = server.request("POST", WIDGETS, [("dryRun", "All"), ("dryRun", "All")], body=widget())
        assert answer.status == 201
        assert server.request("GET", f"{WIDGETS}/w").status == 404


def test_the_client_is_the_server_itself_unless_it_acts_as_another() -> None:
    plugin = Plugin()
    with serve(shop(plugin)) as server:
        server.run(server.client.create(NAMES, widget("a"), namespace="default"))
        bob = User("bob", groups=("cooks",))
        server.run(server.acting_as(bob).create(NAMES, widget("b"), namespace="default"))
        server.request("POST", WIDGETS, body=widget("c"), user=bob)
    assert [review.user.name for review in plugin.reviews] == ["system:apiserver", "bob", "bob"]
    assert plugin.reviews[1].user.groups == ("cooks", "system:authenticated")


def test_refusals_are_raised() -> None:
    with serve(shop()) as server, pytest.raises(NotFound):
        server.run(server.client.get(NAMES, "x", namespace="default"))


def test_the_clock_says_what_time_it_is() -> None:
    clock = Clock()
    clock.advance(86400)
    with serve(shop(), clock=clock) as server:
        created = server.request("POST", WIDGETS, body=widget()).json()
    assert created["metadata"]["creationTimestamp"] == "1970-01-02T00:00:00Z"


def test_the_clock_goes_on_as_far_as_it_is_told() -> None:
    with serve(shop()) as server:
        assert server.clock.seconds() < START + 1
        before = server.clock.seconds()
        server.advance(90.005)
        assert server.clock.seconds() == pytest.approx(before + 90.005)


def test_what_never_ends_is_given_up() -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await Deferred[None]()
        finally:
            ended.append("cancelled")

    with serve(shop()) as server:
        with pytest.raises(TimeoutError, match=r"not done after 5\.0 seconds"):
            server.run(forever(), seconds=5.0)
        assert server.clock.seconds() == pytest.approx(START + 5.0, abs=1.0)  # its start took some steps
        assert ended == ["cancelled"]


def test_generated_names_are_the_same_in_each_run() -> None:
    def name() -> Any:
        with serve(shop()) as server:
            return server.request("POST", WIDGETS, body=widget("", generateName="a-")).json()["metadata"]["name"]

    assert name() == name()


def test_namespaces_are_there_until_they_are_taken_away() -> None:
    with serve(shop()) as server:
        server.namespaces.missing.add("gone")
        server.namespaces.terminating.add("going")
        statuses = {
            namespace: server.request("POST", WIDGETS.replace("default", namespace), body=widget()).status
            for namespace in ("any", "gone", "going")
        }
    assert statuses == {"any": 201, "gone": 404, "going": 403}


def test_a_stream_keeps_what_came_and_why_it_ended() -> None:
    with serve(shop()) as server:
        stream = server.watch(WIDGETS)
        server.request("POST", WIDGETS, body=widget())
        server.advance()
        assert [(kind, obj["metadata"]["name"]) for kind, obj in stream.events] == [("ADDED", "w")]
        assert (stream.ended, stream.error) == (False, None)
        stream.close()
        server.advance()
        assert stream.ended


def test_a_stream_that_is_refused_is_an_answer() -> None:
    with serve(shop()) as server:
        stream = server.watch(WIDGETS, {"resourceVersion": "abc"})
    assert stream.reply.status == 400
    assert stream.ended


def test_a_stream_that_fails_says_why() -> None:
    class Broken:
        status = 200

        async def lines(self) -> Any:
            yield b"{}"
            raise ValueError("broken")

    from extapi.testing import Stream  # noqa: PLC0415 - the one test that makes a stream by hand

    reply: Any = Broken()
    stream = Stream(reply)
    Deferred.fromCoroutine(stream.read())
    assert stream.lines == [b"{}"]
    assert isinstance(stream.error, ValueError)


def test_two_servers_share_nothing() -> None:
    with serve(shop()) as one, serve(shop()) as other:
        one.request("POST", WIDGETS, body=widget(spec={"size": CURSED}))
        assert one.request("GET", f"{WIDGETS}/w").status == 200
        assert other.request("GET", f"{WIDGETS}/w").status == 404


def test_a_store_outlives_a_server_that_is_not_stopped() -> None:
    first = InMemoryServer(shop())
    first.start()
    first.request("POST", WIDGETS, body=widget())
    second = InMemoryServer(shop(), backend=first.backend, clock=first.clock)
    second.start()
    assert second.request("GET", f"{WIDGETS}/w").status == 200


def test_namespaces_are_made_up_unless_the_api_has_them() -> None:
    with serve(shop()) as server:
        server.namespaces.missing.add("gone")
        path = WIDGETS.replace("/default/", "/gone/")
        assert server.request("POST", path, body=widget()).status == 404
    with serve(shop(), lifecycle=False) as server:
        server.namespaces.missing.add("gone")
        assert server.request("POST", path, body=widget()).status == 201
