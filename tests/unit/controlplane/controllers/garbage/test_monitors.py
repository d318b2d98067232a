"""What is followed, as discovery changes."""

from __future__ import annotations

from typing import Any

import msgspec

from extapi import Api, Group, Kind, Object, Version
from extapi.controlplane.controllers.garbage.monitors import Monitors
from extapi.controlplane.controllers.garbage.objects import Observed
from extapi.controlplane.kinds import events
from extapi.controlplane.kinds.core import CONFIG_MAP, NAMESPACE
from extapi.errors import ServiceUnavailable
from extapi.http.request import Request
from extapi.http.response import Handler, Response
from extapi.testing import InMemoryServer, serve
from tests.unit.controlplane.controllers.cluster import WIDGETS


class Thing(Object):
    """A thing that changes versions."""


BOTH = {"v1": Version(Thing), "v1beta1": Version(Thing)}
THINGS = Kind("Thing", versions=BOTH, storage="v1")
OLD_THINGS = Kind("Thing", versions={"v1": Version(Thing, served=False), "v1beta1": Version(Thing)}, storage="v1")
CORE = Group("", NAMESPACE, CONFIG_MAP, events.EVENT)
PATH = "/apis/things.example.com/v1beta1/namespaces/one/things"


class Followed:
    """Monitors of a server, and what they have reported."""

    def __init__(self, server: InMemoryServer) -> None:
        self.server = server
        self.seen: list[str] = []
        self.gone: list[str] = []
        self.monitors = Monitors(server.server.context.own(), self._seen, self._gone)

    def _seen(self, obj: Observed) -> None:
        self.seen.append(f"{obj.resource.version}/{obj.name}")

    def _gone(self, obj: Observed) -> None:
        self.gone.append(f"{obj.resource.version}/{obj.name}")

    def resync(self) -> bool:
        new = self.server.run(self.monitors.resync())
        self.server.advance(0.5)
        return new

    @property
    def resources(self) -> set[tuple[str, ...]]:
        return {each[:3] for each in self.monitors.followed}


def made(server: InMemoryServer, name: str) -> Any:
    body = {"apiVersion": "things.example.com/v1beta1", "kind": "Thing", "metadata": {"name": name}}
    assert server.request("POST", PATH, body=body).status == 201


def test_each_resource_is_followed_in_its_preferred_version_and_events_are_not() -> None:
    with serve(Api(CORE, WIDGETS)) as server:
        followed = Followed(server)
        assert followed.resync()
        assert followed.resources == {
            ("", "v1", "namespaces"), ("", "v1", "configmaps"),
            ("example.com", "v1", "widgets"), ("example.com", "v1", "gadgets"),
        }  # fmt: skip
        assert followed.monitors.synced
        assert not followed.resync(), "nothing is new"
        old = followed.monitors.resource("example.com/v1beta1", "Widget")
        assert old is not None
        assert (old.version, old.namespaced) == ("v1beta1", True), "references may name any version"
        assert followed.monitors.resource("v1", "Event") is not None, "it can own something"
        assert followed.monitors.resource("example.com/v9", "Widget") is None
        followed.monitors.stop()


def test_a_resource_stays_in_its_version_as_long_as_that_is_served() -> None:
    with serve(Api(CORE, Group("things.example.com", OLD_THINGS))) as server:
        followed = Followed(server)
        followed.resync()
        made(server, "a")
        server.advance(0.5)
        assert followed.seen[-1] == "v1beta1/a"
        server.run(server.server.replace([CORE, Group("things.example.com", THINGS)]))
        assert followed.resync()
        assert ("things.example.com", "v1beta1", "things") in followed.resources
        assert followed.gone == []
        new = Kind("Thing", versions={"v1": Version(Thing), "v1beta1": Version(Thing, served=False)}, storage="v1")
        server.run(server.server.replace([CORE, Group("things.example.com", new)]))
        followed.resync()
        assert ("things.example.com", "v1", "things") in followed.resources
        assert followed.gone == ["v1beta1/a"]
        assert followed.seen[-1] == "v1/a"
        followed.monitors.stop()


def test_what_is_not_followed_any_more_is_reported_and_stopping_reports_nothing() -> None:
    with serve(Api(CORE, Group("things.example.com", THINGS))) as server:
        followed = Followed(server)
        followed.resync()
        made(server, "a")
        server.advance(0.5)
        server.run(server.server.replace([CORE]))
        followed.resync()
        assert followed.gone == ["v1/a"]
        assert followed.monitors.resource("things.example.com/v1", "Thing") is None
        followed.monitors.stop()
        assert followed.gone == ["v1/a"]
        assert followed.monitors.followed == []


def test_a_server_that_is_away_keeps_what_it_had() -> None:
    away: list[bool] = []

    def front(handler: Handler) -> Handler:
        async def answer(call: Request) -> Response:
            if away and "/things" in call.info.path:
                raise ServiceUnavailable("away")
            response = await handler(call)
            if away and call.info.path == "/apis" and isinstance(response.body, bytes):
                document = msgspec.json.decode(response.body)
                for group in document["items"]:
                    for version in group["versions"] if group["metadata"]["name"] == "things.example.com" else ():
                        version.update(freshness="Stale", resources=None)
                response.body = msgspec.json.encode(document)
            return response

        return answer

    with serve(Api(CORE, Group("things.example.com", THINGS)), front=front) as server:
        followed = Followed(server)
        followed.resync()
        made(server, "a")
        server.advance(0.5)
        away.append(True)
        assert not followed.resync()
        assert not followed.monitors.complete
        assert followed.gone == []
        assert ("things.example.com", "v1", "things") in followed.resources
        assert followed.monitors.resource("things.example.com/v1beta1", "Thing") is not None
        away.clear()
        assert not followed.resync(), "nothing is new"
        assert followed.monitors.synced
        assert followed.gone == []
        followed.monitors.stop()
