"""Requests that share the tunnels of a proxy: how many there are, who waits, and what is said if there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from extapi.client.credentials import Credentials
from extapi.client.http import HttpTransport
from extapi.client.transport import ClientRequest, ProxyBusy, TransportError
from extapi.client.tunnelqueue import AGAIN, TUNNELS, TunnelQueue
from tests.certificates import SERVER, authority
from tests.unit.client.conftest import Server, Turning
from tests.unit.client.proxies import OPEN, Middle

SVC = "kubernetes.default.svc"


class Site:
    """A server behind a proxy: it answers what it was asked when it is let, in any order."""

    def __init__(self, turning: Turning, serve: Callable[..., Server]) -> None:
        ca = authority("cluster-ca")
        self.turning = turning
        self.held: list[Any] = []
        server = serve(self._hold, tls=ca.leaf("kube-apiserver", san=[SVC], eku=SERVER))
        self.middle = Middle(turning, [OPEN], server.port.getHost().port)
        credentials = Credentials(f"https://{SVC}:6443", ca=ca.pem, proxy=self.middle.proxy())
        self.transport = HttpTransport(turning.reactor, credentials)

    def _hold(self, request: Any) -> None:
        self.held.append(request)

    def ask(self, path: str, *, timeout: float = 10.0, watch: bool = False) -> Deferred[Any]:
        """Ask; its Deferred has what was read, or the first line and the stream that goes on."""

        async def answer() -> Any:
            reply = await self.transport.send(ClientRequest("GET", path, timeout=timeout))
            if not watch:
                return await reply.read()
            lines = reply.lines()
            return await anext(lines), lines, reply

        return Deferred.fromCoroutine(answer())

    def until_asked(self, *paths: str) -> None:
        """Until the server was asked for these, and for nothing else."""
        self.turning.until(lambda: sorted(self.asked) == sorted(paths))

    @property
    def asked(self) -> list[str]:
        """What the server was asked for and has not answered."""
        return [each.uri.decode() for each in self.held]

    def answer(self, path: str = "") -> None:
        """Answer a request; any, without ``path``."""
        (request, *_) = [each for each in self.held if not path or each.uri.decode() == path]
        self.held.remove(request)
        request.write(b"done")
        request.finish()


@pytest.fixture
def site(turning: Turning, serve: Callable[..., Server]) -> Iterator[Site]:
    made = Site(turning, serve)
    yield made
    for request in made.held:
        request.transport.abortConnection()
    turning.run(made.transport.close())
    made.middle.close()


def test_requests_at_once_have_a_bound_of_tunnels_and_watches_do_not_count(site: Site) -> None:
    watching = [site.ask(f"/watch{number}", watch=True) for number in range(3)]
    site.until_asked("/watch0", "/watch1", "/watch2")
    for each in site.held:
        each.write(b"event\n")
    streams = [site.turning.wait(each) for each in watching]
    site.held.clear()
    asking = [site.ask(f"/{number}") for number in range(3 * TUNNELS)]
    site.until_asked(*(f"/{number}" for number in range(TUNNELS)))
    assert site.middle.open == 3 + TUNNELS
    site.answer("/2")
    site.until_asked("/0", "/1", "/3", "/4", "/5", "/6", "/7", "/8")
    for _ in range(len(asking) - 1):
        site.turning.until(lambda: bool(site.held))
        site.answer()
    for each in asking:
        assert site.turning.wait(each) == b"done"
    assert len(site.middle.connections) == 3 + TUNNELS
    for _, _, reply in streams:
        reply.close()


def test_a_proxy_with_one_tunnel_serves_all_requests_in_order(site: Site) -> None:
    site.middle.limit = 1
    asking = [site.ask(f"/{number}") for number in range(TUNNELS)]
    for number in range(TUNNELS):
        site.until_asked(f"/{number}")
        # All others have been refused by now, or wait behind those.
        site.turning.until(lambda: sum(each.full for each in site.middle.connections) >= TUNNELS - 1)
        site.turning.until(lambda: all(each.closed for each in site.middle.connections if each.full))
        site.answer()
    assert [site.turning.wait(each) for each in asking] == [b"done"] * TUNNELS
    assert site.middle.open == 1


def test_without_any_tunnel_the_proxys_words_are_told_at_once(site: Site) -> None:
    site.middle.limit = 0
    with pytest.raises(ProxyBusy, match=r"the proxy answered CONNECT .* with 503 Service Unavailable"):
        site.turning.wait(site.ask("/"))
    site.middle.limit = None
    asking = site.ask("/again")
    site.until_asked("/again")
    site.answer()
    assert site.turning.wait(asking) == b"done"


def test_who_waits_too_long_is_told_what_the_proxy_said(site: Site) -> None:
    site.middle.limit = 1
    first = site.ask("/first")
    site.until_asked("/first")
    with pytest.raises(TransportError, match="with 503 Service Unavailable"):
        site.turning.wait(site.ask("/second", timeout=0.3))
    site.answer()
    assert site.turning.wait(first) == b"done"


def queue_of(clock: Clock, running: int) -> TunnelQueue:
    made = TunnelQueue(clock)
    for _ in range(running):
        assert started(made.turn()).called
    return made


def started(coroutine: Any) -> Any:
    return Deferred.fromCoroutine(coroutine)


def test_a_refused_request_asks_again_though_no_other_ends() -> None:
    clock = Clock()
    queue = queue_of(clock, 2)
    refused = started(queue.again(0))
    behind = started(queue.turn())
    clock.advance(AGAIN)
    assert refused.called
    assert not behind.called
    queue.done()
    assert behind.called
    assert not clock.getDelayedCalls()


def test_who_gives_up_leaves_no_place_behind() -> None:
    clock = Clock()
    queue = queue_of(clock, TUNNELS)
    leaving, waiting = started(queue.turn()), started(queue.turn())
    refused = started(queue.again(0))
    for each in (leaving, refused):
        each.cancel()
        each.addErrback(lambda failure: failure.trap(CancelledError))
    queue.done()
    assert waiting.called
    assert not clock.getDelayedCalls()
