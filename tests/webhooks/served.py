"""A definition served in this process, by a server in memory that calls a webhook over the network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from twisted.internet.defer import Deferred

from extapi import Api, Group
from extapi.client.services import by_dns
from extapi.client.transport import ClientRequest
from extapi.crd.definition import Definition
from extapi.crd.kinds import kind_of
from extapi.crd.webhooks import Webhooks
from extapi.testing import InMemoryServer
from tests.unit.client.conftest import Turning


class Served:
    """Stop it at the end."""

    def __init__(self, turning: Turning, *definitions: dict[str, Any]) -> None:
        self.turning = turning
        self.webhooks = Webhooks(by_dns, turning.reactor)
        read = [Definition(each) for each in definitions]
        groups = [Group(each.group, kind_of(each, self.webhooks)) for each in read]
        self.server = InMemoryServer(Api(*groups), lifecycle=False)
        self.server.start()

    def begin(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        accept: str = "application/json",
        content_type: str = "application/json",
    ) -> Deferred[tuple[int, Any]]:
        """Send a request, which may wait; status and body come later."""
        content = None if body is None else json.dumps(body).encode()
        path, _, asked = path.partition("?")
        request = ClientRequest(
            method,
            path,
            (*parse_qsl(asked), *(query or {}).items()),
            {"Content-Type": content_type, "Accept": accept},
            content,
            timeout=60,
        )

        async def answered() -> tuple[int, Any]:
            response = await self.server.server.transport().send(request)
            return response.status, json.loads(await response.read())

        return Deferred.fromCoroutine(answered())

    def request(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        """Status and body."""
        status, answer = self.wait(self.begin(method, path, body, **more))
        return status, answer

    def wait(self, running: Deferred[Any]) -> Any:
        """What comes of it."""
        results: list[Any] = []
        running.addBoth(results.append)
        self.until(lambda: bool(results))
        if not isinstance(results[0], tuple):
            results[0].raiseException()
        return results[0]

    def until(self, condition: Callable[[], bool]) -> None:
        """Turn both reactors until the condition holds."""

        def turned() -> bool:
            self.server.advance(0.001)
            return condition()

        self.turning.until(turned, 30)

    def stop(self) -> None:
        self.server.stop()
        self.webhooks.close()
        self.turning.reactor.iterate(0.01)
