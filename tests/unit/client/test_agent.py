"""How a server is reached: by its address without any help, by its name with the resolver's."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from twisted.internet.protocol import Factory
from twisted.web.resource import Resource
from twisted.web.server import Site

from extapi.client.credentials import Credentials
from extapi.client.http import HttpTransport
from extapi.client.transport import ClientRequest
from extapi.privatereactor import drive, private_reactor


class _Greeting(Resource):
    isLeaf = True  # noqa: N815 - Twisted's name

    def render_GET(self, request: Any) -> bytes:  # noqa: N802 - Twisted's name
        return b"hello " + request.getRequestHostname()  # type: ignore[no-any-return]  # Twisted's


def _site(reactor: Any) -> Factory:
    untyped: Any = Site
    root: Any = _Greeting
    site = untyped(root(), reactor=reactor)
    site.noisy = False
    return site  # type: ignore[no-any-return]  # Twisted's


@pytest.mark.parametrize(("interface", "host"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_an_address_needs_no_thread_that_resolves_it(interface: str, host: str) -> None:
    """A reactor that was never started has none: a request that waits for it never ends."""
    threads = threading.active_count()
    with private_reactor() as reactor:
        port = reactor.listenTCP(0, _site(reactor), interface=interface)
        transport = HttpTransport(reactor, Credentials(f"http://{host}:{port.getHost().port}"))

        async def ask() -> bytes:
            reply = await transport.send(ClientRequest("GET", "/"))
            body = await reply.read()
            await transport.close()
            return body

        assert drive(reactor, ask()) == f"hello {interface}".encode()
    assert threading.active_count() == threads


def test_a_name_is_resolved(turning: Any) -> None:
    port = turning.reactor.listenTCP(0, _site(turning.reactor), interface="127.0.0.1")
    transport = HttpTransport(turning.reactor, Credentials(f"http://localhost:{port.getHost().port}"))

    async def ask() -> bytes:
        reply = await transport.send(ClientRequest("GET", "/"))
        body = await reply.read()
        await transport.close()
        return body

    assert turning.run(ask()) == b"hello localhost"
    turning.wait(port.stopListening())
