"""Subresources that take the connection over, for ``extapi serve tests.kubernetes.connecting:api``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator

from extapi import (
    Api,
    ConnectRequest,
    Context,
    Group,
    Kind,
    NotFound,
    Operation,
    Review,
    StreamingResponse,
    Subresource,
    UpgradedConnection,
    UpgradeResponse,
    Version,
    WebSocket,
    WebSocketResponse,
)

GROUP = "machines.example.com"
CHANNELS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
ENDED: list[str] = []


class Machines:
    """What machines do while somebody is connected to them."""

    def __init__(self) -> None:
        self._context: Context | None = None

    async def start(self, context: Context) -> None:
        self._context = context

    async def log(self, request: ConnectRequest) -> StreamingResponse:
        """So many lines, or lines without an end; the last line that was written is asked for with ``?ended``."""
        if request.first("ended"):
            return StreamingResponse(json.dumps(ENDED))
        return StreamingResponse(self._lines(request))

    async def _lines(self, request: ConnectRequest) -> AsyncIterator[str]:
        assert self._context is not None
        number = 0
        try:
            while number < int(request.first("lines", "1000000")):
                number += 1
                yield f"{request.object['spec']['say']} {number}\n"
                if request.first("size"):
                    yield "x" * int(request.first("size"))
                else:
                    await self._context.sleep(0.02)
        finally:
            ENDED.append(f"{request.name} {number}")

    async def exec(self, request: ConnectRequest) -> WebSocketResponse:
        """A shell that gives back what it is told, in the channels of ``kubectl exec``; ``exit`` ends it."""

        async def session(socket: WebSocket) -> None:
            await socket.send(b"\1" + f"{request.name}$ ".encode())
            async for message in socket:
                said = message.encode() if isinstance(message, str) else message
                if said[:1] != b"\0":
                    continue  # not stdin
                if said[1:] == b"exit\n":
                    await socket.send(b'\3{"metadata":{},"status":"Success"}')
                    return
                await socket.send(b"\1" + said[1:].upper())
            ENDED.append(f"{request.name} exec")

        return WebSocketResponse(session, protocols=CHANNELS)

    async def attach(self, request: ConnectRequest) -> UpgradeResponse:
        """Gives the bytes back in reverse."""

        async def session(stream: UpgradedConnection) -> None:
            while data := await stream.read():
                await stream.write(data[::-1])
            ENDED.append(f"{request.name} attach")

        return UpgradeResponse("SPDY/3.1", session)

    async def proxy(self, request: ConnectRequest) -> StreamingResponse:
        """Says what was asked; ``/echo`` gives the body back as it comes, and ``/missing`` is not there."""
        if request.path == "/missing":
            raise NotFound.named("machines", GROUP, request.name)
        if request.path == "/echo":
            return StreamingResponse(aiter(request.body), "application/octet-stream", status=202)
        if request.path == "/digest":
            digest = hashlib.sha256()
            async for piece in request.body:
                digest.update(piece)
            return StreamingResponse(digest.hexdigest())
        said = {
            "method": request.method,
            "path": request.path,
            "query": {name: list(values) for name, values in request.query.items()},
            "user": request.user.name,
            "body": (await request.body.read()).decode(),
            "say": request.object["spec"]["say"],
        }
        return StreamingResponse(json.dumps(said), "application/json", headers={"X-Machine": request.name})


class Doorkeeper:
    """Lets nobody connect to a machine called locked, and warns whoever connects to another one."""

    async def validate(self, review: Review) -> None:
        if review.operation == Operation.CONNECT:
            if review.name == "locked":
                review.refuse(f"{review.subresource} is locked")
            if review.options.get("warn"):
                review.warn("connected: " + review.options["warn"][0])


machines = Machines()
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"say": {"type": "string", "default": "hello"}}, "default": {}}
    },
}
ALL = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
api = Api(
    Group(
        GROUP,
        Kind(
            "Machine",
            storage="v1",
            versions={"v1": Version(SCHEMA)},
            subresources={
                "log": Subresource(connects=machines.log, methods=["GET"]),
                "exec": Subresource(connects=machines.exec),
                "shell": Subresource(connects=machines.exec),
                "tail": Subresource(connects=machines.log, methods=["GET"]),
                "attach": Subresource(connects=machines.attach),
                "proxy": Subresource(connects=machines.proxy, methods=ALL),
            },
        ),
    ),
    admission=[machines, Doorkeeper()],
)
