"""A listener on loopback with an echo handler that does what a path asks for."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.errors import ApiError
from extapi.http.request import Request
from extapi.http.response import Chunk, Duplex, Response, Sink, Upgraded
from extapi.listener.listener import Listener
from extapi.listener.state import Limits
from extapi.listener.tls import ServingCertificate
from tests.certificates import Issued, authority
from tests.wire.harness import Client, SelectClock, client_context


@pytest.fixture(scope="session")
def serving_ca() -> Issued:
    return authority("serving-ca")


@pytest.fixture(scope="session")
def server_certificate(serving_ca: Issued) -> Issued:
    return serving_ca.leaf("localhost", san=["localhost", "127.0.0.1"])


@pytest.fixture(scope="session")
def trusting(serving_ca: Issued) -> ssl.SSLContext:
    return client_context(serving_ca)


@dataclass
class Echo:
    """The handler: answers with what it saw. ``gate`` holds up ``/wait``, and all that asks for it."""

    calls: list[Request] = field(default_factory=list)
    gates: list[Deferred[None]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    sinks: list[Sink] = field(default_factory=list)
    pieces: int = 0
    limit: int = 3 * 1024 * 1024

    async def __call__(self, call: Request) -> Response:
        self.calls.append(call)
        answer: Callable[[Request], Any] = getattr(self, "at_" + call.info.path.strip("/").split("/")[0], self.at_echo)
        try:
            response: Response = await answer(call)
        except CancelledError:
            self.cancelled.append(call.target)
            raise
        self.ended.append(call.target)
        return response

    async def at_echo(self, call: Request) -> Response:
        try:
            body = await call.body.read(self.limit)
        except ApiError as error:
            return Response(error.code, [("Content-Type", "text/plain")], str(error).encode())
        return Response(
            200, [("X-Method", call.method), ("X-Target", call.target)], body or b"echo " + call.target.encode()
        )

    async def at_wait(self, call: Request) -> Response:
        await self.gate()
        return await self.at_echo(call)

    async def at_ignore(self, call: Request) -> Response:
        return Response(200, body=b"ignored")

    async def at_raise(self, call: Request) -> Response:
        raise RuntimeError("on purpose")

    async def at_empty(self, call: Request) -> Response:
        return Response(204)

    async def at_close(self, call: Request) -> Response:
        return Response(200, body=b"bye", close=True)

    async def at_big(self, call: Request) -> Response:
        return Response(200, body=b"0123456789abcdef" * (1 << 17))  # 2 MiB

    async def at_pieces(self, call: Request) -> Response:
        def pieces() -> Iterator[bytes]:
            for number in range(128):
                self.pieces = number + 1
                yield b"%08d" % number * 4096  # 32 KiB

        return Response(200, body=pieces(), length=int(call.first("length") or 0) or None)

    async def at_broken(self, call: Request) -> Response:
        def pieces() -> Iterator[bytes]:
            yield b"one"
            yield b""
            raise RuntimeError("on purpose")

        return Response(200, body=pieces())

    async def at_list(self, call: Request) -> Response:
        return Response(200, body=[b"one", b"", b"two"])

    async def at_stream(self, call: Request) -> Response:
        async def produce(sink: Sink) -> None:
            self.sinks.append(sink)
            sink.write(Chunk(b"one"))
            sink.write(Chunk(b""))
            await self.gate()
            sink.write(Chunk(b"two"))
            await sink.drained()
            if call.first("then") == "raise":
                raise RuntimeError("on purpose")
            if call.first("then") == "abort":
                sink.abort()
            self.ended.append("producer")

        return Response(200, [("Content-Type", "application/json")], produce)

    async def at_upgrade(self, call: Request) -> Response:
        """Gives back what it gets, in capitals, once its gate is open; a full stop ends it."""

        async def run(peer: Duplex) -> None:
            self.sinks.append(peer)
            end: Deferred[None] = Deferred()

            def ended() -> None:
                if not end.called:
                    end.callback(None)

            def received(data: bytes) -> None:
                peer.write(Chunk(data.upper()))
                if b"." in data:
                    ended()

            peer.on_closed(ended)
            peer.receive(received)
            await end
            self.ended.append("upgraded")

        if call.first("wait"):
            await self.gate()
        return Response(101, [("Upgrade", "shout"), ("Connection", "x")], Upgraded(run))

    async def at_shout(self, call: Request) -> Response:
        """A long-running request: each piece of the body in capitals, after its gate if it asks for one."""
        call.long_running, call.deadline = True, float("inf")

        async def produce(sink: Sink) -> None:
            self.sinks.append(sink)
            try:
                if call.first("wait"):
                    await self.gate()
                while piece := await call.body.more():
                    self.pieces += len(piece)
                    sink.write(Chunk(piece.upper()))
            except ApiError as error:
                self.ended.append(f"{error}")
                raise
            except CancelledError:
                self.cancelled.append("producer")
                raise

        if call.first("hold"):
            await self.gate()
        return Response(200, [("Content-Type", "text/plain")], produce)

    async def at_apis(self, call: Request) -> Response:
        """A watch that ends when its sink does."""

        async def produce(sink: Sink) -> None:
            self.sinks.append(sink)
            end: Deferred[None] = Deferred()
            sink.on_closed(lambda: end.callback(None))
            sink.write(Chunk(b"event"))
            await end
            self.ended.append("watch")

        return Response(200, body=produce)

    def gate(self) -> Deferred[None]:
        gate: Deferred[None] = Deferred()
        self.gates.append(gate)
        return gate


@dataclass
class Wire:
    """A running listener and how to reach it."""

    reactor: SelectClock
    listener: Listener
    echo: Echo
    address: tuple[str, int]
    context: ssl.SSLContext
    finished: list[tuple[str, int, int, float]]
    died: list[BaseException]
    clients: list[Client] = field(default_factory=list)

    def connect(
        self, context: ssl.SSLContext | None = None, *, receive_buffer: int = 0, handshake: bool = True
    ) -> Client:
        sock = socket.socket()
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.connect(self.address)
        client = Client(self.reactor, sock, context or self.context, handshake=handshake)
        self.clients.append(client)
        return client


@pytest.fixture
def wire(server_certificate: Issued, trusting: ssl.SSLContext, tmp_path: Path) -> Iterator[Wire]:
    reactor, echo = SelectClock(), Echo()
    finished: list[tuple[str, int, int, float]] = []
    died: list[BaseException] = []
    listener = Listener(
        reactor,
        echo,
        tls=ServingCertificate(*server_certificate.save(tmp_path, "server")),
        interface="127.0.0.1",
        port=0,
        limits=Limits(connections=20),
        on_died=died.append,
        on_finished=lambda call, status, size, seconds: finished.append((call.target, status, size, seconds)),
    )
    running = Wire(reactor, listener, echo, listener.start(), trusting, finished, died)
    yield running
    for client in running.clients:
        client.close()
    for gate in echo.gates:
        if not gate.called:
            gate.callback(None)
    reactor.pass_time(listener.drain(0))
    reactor.advance(0)
    assert not reactor.readers
    assert not reactor.writers
    assert not reactor.getDelayedCalls()
