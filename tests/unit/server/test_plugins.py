"""Another Api in place of one that is served: kinds, plugins and controllers change together, and requests end as they began."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import ILogObserver, formatEvent, globalLogPublisher

from extapi import Api, Context, Group, Informer, Kind, Object, Review, Version
from extapi.api.declaration import DeclarationError
from extapi.client.kube import ResourceName
from extapi.registry.storedversions import UnknownStoredVersion
from extapi.testing import InMemoryServer, serve
from tests.unit.verbs.sample import WIDGETS, Plugin, shop, widget


class Following:
    """A plugin with an informer; says what it was asked."""

    def __init__(self) -> None:
        self.contexts: list[Context] = []
        self.informer: Informer | None = None
        self.changes: list[str] = []
        self.asked = 0

    async def start(self, context: Context) -> None:
        """Follow the widgets."""
        self.contexts.append(context)

        def changed(_: Any, obj: Any) -> None:
            if obj is not None:
                self.changes.append(obj["metadata"]["name"])

        self.informer = context.informer("shop.example.com", "v1", "widgets", on_change=changed)

    async def validate(self, review: Review) -> None:
        """Count."""
        del review
        self.asked += 1


class Running:
    """A controller that says when it begins and ends."""

    def __init__(self, log: list[str], name: str = "") -> None:
        self.log = log
        self.name = name

    async def run(self, context: Context) -> None:
        """Until it is cancelled."""
        self.log.append(f"begin {self.name}")
        try:
            await context.sleep(1e9)
        finally:
            self.log.append(f"end {self.name}")


def replace(server: InMemoryServer, api: Api, before: Api) -> None:
    server.run(server.server.replace_api(api, before))


def test_plugins_of_another_api_are_asked_and_those_before_end() -> None:
    old, new = Following(), Following()
    before, after = shop(old), shop(new)
    with serve(before) as server:
        assert server.request("POST", WIDGETS, body=widget("a")).status == 201
        replace(server, after, before)
        assert server.request("POST", WIDGETS, body=widget("b")).status == 201
        server.advance()
        assert (old.asked, new.asked) == (1, 1)
        assert "b" not in old.changes
        assert "b" in new.changes
        assert new.contexts[0] is not old.contexts[0]


def test_a_plugin_that_stays_is_not_started_again() -> None:
    plugin = Following()
    before = shop(plugin)
    with serve(before) as server:
        replace(server, Api(*before.groups, admission=[plugin]), before)
        assert server.request("POST", WIDGETS, body=widget("a")).status == 201
        server.advance()
        assert (len(plugin.contexts), plugin.changes, plugin.asked) == (1, ["a"], 1)


def test_a_request_that_began_before_ends_with_the_plugins_of_before() -> None:
    waits: Deferred[None] = Deferred()
    old, new = Plugin(), Plugin()

    async def wait(_: Review) -> None:
        await waits

    old.on_mutate = wait
    before = shop(old)
    with serve(before) as server:
        body = {"apiVersion": "shop.example.com/v1", "kind": "Widget", **widget("a")}
        widgets = ResourceName("shop.example.com", "v1", "widgets")
        creating = Deferred.fromCoroutine(server.client.create(widgets, body, namespace="default"))
        server.advance()
        replace(server, shop(new), before)
        assert not creating.called
        waits.callback(None)
        server.advance()
        assert server.run(_result(creating))["metadata"]["name"] == "a"
        assert [what for what, _ in old.seen] == ["mutate", "validate"]
        assert new.seen == []


async def _result(waiting: Deferred[Any]) -> Any:
    return await waiting


class NeverStarts(Following):
    """A plugin whose start fails."""

    async def start(self, context: Context) -> None:
        """Fail, after it has begun to follow widgets."""
        await super().start(context)
        raise RuntimeError("the author's mistake")


def test_a_plugin_that_cannot_be_started_leads_back_to_what_was_served() -> None:
    old, new, log = Plugin(), NeverStarts(), list[str]()
    before = shop(old, controllers=[Running(log)])
    with serve(before) as server:
        stream = server.watch(WIDGETS)
        added = Kind("Lamp", storage="v1", versions={"v1": Version(Object)})
        after = Api(
            *before.groups, Group("lamps.example.com", added), admission=[new], controllers=[Running(log, "new")]
        )
        with pytest.raises(RuntimeError, match="the author's mistake"):
            replace(server, after, before)
        assert server.request("POST", WIDGETS, body=widget("a")).status == 201
        assert server.request("GET", "/apis/lamps.example.com/v1").status == 404
        server.advance()
        assert [what for what, _ in old.seen] == ["mutate", "validate"]
        assert (new.asked, new.changes) == (0, [])
        assert log == ["begin "]
        assert [kind for kind, _ in stream.events] == ["ADDED"]  # of a kind that stayed


@pytest.mark.parametrize("stored", [False, True])
def test_kinds_that_cannot_be_served_change_nothing(stored: bool) -> None:
    old, new = Plugin(), Following()
    before = shop(old)
    (group,) = before.groups
    later = Kind("Widget", storage="v2", versions={"v2": Version(Object)})
    wrong = Kind("Widget", storage="v1", versions={"v1": Version({"type": "wrong"})})
    with serve(before) as server:
        assert server.request("POST", WIDGETS, body=widget("a")).status == 201
        with pytest.raises(UnknownStoredVersion if stored else DeclarationError):
            replace(server, Api(Group(group.name, later if stored else wrong), admission=[new]), before)
        assert server.request("POST", WIDGETS, body=widget("b")).status == 201
        assert len(old.seen) == 4
        assert new.contexts == []


def test_controllers_that_stay_go_on_and_the_others_end_before_new_ones_begin() -> None:
    log: list[str] = []
    stays = Running(log, "stays")
    before = shop(controllers=[Running(log, "old"), stays])
    with serve(before) as server:
        replace(server, shop(controllers=[stays, Running(log, "new")]), before)
        assert log == ["begin old", "begin stays", "end old", "begin new"]
    assert sorted(log[4:]) == ["end new", "end stays"]


class Clinging:
    """A controller that does not end when it is told to."""

    async def run(self, context: Context) -> None:
        """Catch what should end it."""
        while True:
            try:
                await context.sleep(1e9)
            except CancelledError:
                continue


@contextmanager
def told() -> Iterator[list[str]]:
    events: list[str] = []
    observer = cast("ILogObserver", lambda event: events.append(formatEvent(event)))
    globalLogPublisher.addObserver(observer)
    try:
        yield events
    finally:
        globalLogPublisher.removeObserver(observer)


def test_a_controller_that_does_not_end_delays_others_for_a_bounded_time() -> None:
    log: list[str] = []
    before = shop(controllers=[Clinging()])
    with told() as events, serve(before) as server:
        replacing = Deferred.fromCoroutine(server.server.replace_api(shop(controllers=[Running(log, "new")]), before))
        server.clock.advance(4.9)
        assert (replacing.called, log) == (False, [])
        server.clock.advance(0.2)
        assert (replacing.called, log) == (True, ["begin new"])
    assert any("controller Clinging has been cancelled but has not ended after 5.0 s" in event for event in events)
