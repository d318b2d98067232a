"""A webhook server in memory, and the reviews that it is asked: those that a kube-apiserver 1.36.3 sent, and changed ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi import Api
from extapi.client.transport import ClientRequest
from extapi.codec.patches import json_patch
from extapi.pizza import api as pizza_api
from extapi.server.context import Context
from extapi.server.loopback import LoopbackReply, LoopbackTransport
from extapi.webhooks.server import WebhookServer
from tests.kubernetes.hooked import api as lamp_api

T = TypeVar("T")
Obj = dict[str, Any]
PIZZAS = "restaurant.programming-kubernetes.info"


@dataclass(frozen=True)
class Recorded:
    """A request that a kube-apiserver sent."""

    path: str
    content_type: str
    review: Obj


def recorded() -> Mapping[str, Recorded]:
    """All, by case."""
    lines = Path(__file__).with_name("recorded.jsonl").read_text(encoding="utf-8").splitlines()
    parsed = [json.loads(line) for line in lines]
    return {each["case"]: Recorded(each["path"], each["contentType"], each["review"]) for each in parsed}


@dataclass(frozen=True)
class Answer:
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def response(self) -> Obj:
        """What a review was answered."""
        assert self.status == 200, self.text
        found: Obj = self.json["response"]
        return found


class Asked:
    """A server that has been started."""

    def __init__(self, api: Api, *, context: Context | None = None, start: bool = True, **options: Any) -> None:
        self.clock = Clock()
        self.server = WebhookServer(api, self.clock, context=context, **options)
        if start:
            done(self.server.start())

    def sending(
        self,
        path: str,
        body: Any,
        *,
        method: str = "POST",
        content_type: str = "application/json",
        seconds: float = 30,
    ) -> Deferred[Answer]:
        """Send something, which may have to wait."""
        path, _, query = path.partition("?")
        parameters = [tuple(each.split("=")) for each in query.split("&") if each]
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": content_type} if content_type else {}
        request = ClientRequest(method, path, parameters, headers, data, timeout=seconds)  # type: ignore[arg-type]  # pairs
        return Deferred.fromCoroutine(_answer(LoopbackTransport(self.server.handler, self.clock, ""), request))

    def send(self, path: str, body: Any, **options: Any) -> Answer:
        """Send something that is answered at once."""
        return result(self.sending(path, body, **options))

    def ask(self, case: Recorded) -> Answer:
        """Send what was recorded."""
        return self.send(case.path, case.review, content_type=case.content_type)


async def _answer(transport: LoopbackTransport, request: ClientRequest) -> Answer:
    reply: LoopbackReply = await transport.send(request)
    return Answer(reply.status, reply.headers, await reply.read())


def done(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of what does not wait."""
    return result(Deferred.fromCoroutine(coroutine))


def result(deferred: Deferred[T]) -> T:
    """The result of what is finished."""
    found: list[T] = []
    failures: list[Any] = []
    deferred.addCallbacks(found.append, failures.append)
    if failures:
        failures[0].raiseException()
    assert found, "it waits"
    return found[0]


def patched(review: Obj, response: Obj) -> Obj:
    """The object of a review with the patch of its answer, as kube-apiserver applies it."""
    assert response["allowed"], response
    if "patch" not in response:
        assert "patchType" not in response
        unchanged: Obj = review["request"]["object"]
        return unchanged
    assert response["patchType"] == "JSONPatch"
    return json_patch(review["request"]["object"], base64.b64decode(response["patch"])).value


def operations(response: Obj) -> list[tuple[str, str]]:
    """What a patch does, and where."""
    return [(each["op"], each["path"]) for each in json.loads(base64.b64decode(response["patch"]))]


def lamps(**options: Any) -> Asked:
    """The server of lamps."""
    return Asked(lamp_api, **options)


def pizzas_without_plugins() -> Asked:
    """The server of pizzas, without the plugin that needs a cluster."""
    return Asked(Api(*pizza_api.groups))
