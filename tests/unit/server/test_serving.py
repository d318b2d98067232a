"""When a server listens, and how one ends that has not begun."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.http.request import Request
from extapi.http.response import Handler, Response, http_error
from extapi.listener.acceptor import hold
from extapi.listener.tls import ServingCertificate
from extapi.privatereactor import drive, private_reactor
from extapi.server.serving import Serving
from extapi.server.shutdown import Shutdown
from tests.certificates import SERVER, authority


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """A server freezes what its process has; that of the tests goes on."""
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


async def _nothing(request: Request) -> Response:
    del request
    return http_error(404, "there is nothing")


class Served:
    """Starts when it is let."""

    def __init__(self) -> None:
        self.shutdown = Shutdown()
        self.handler: Handler = _nothing
        self.may_start: Deferred[None] = Deferred()
        self.seen: list[str] = []

    def requests(self, *_: Any) -> None:
        """Counts nothing."""

    async def start(self) -> None:
        self.seen.append("starts")
        try:
            await self.may_start
        except CancelledError:
            self.seen.append("is cancelled")
            raise

    async def stop(self) -> None:
        self.seen.append("stops")


def serving(reactor: Any, served: Served, directory: Path, **options: Any) -> Serving:
    paths = authority("serving-ca").leaf("localhost", san=["localhost"], eku=SERVER).save(directory, "serving")
    return Serving(
        served,
        reactor,
        tls=ServingCertificate(paths.certificate, paths.key),
        interface="127.0.0.1",
        access_log=lambda *_: None,
        **options,
    )


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return False
    return True


def asked(times: int, then: Deferred[None], answer: list[bool]) -> Callable[[], bool]:
    """A question that fires ``then`` when it has been asked often."""
    left = [times]

    def ready() -> bool:
        left[0] -= 1
        if left[0] == 0:
            then.callback(None)
        return answer[0]

    return ready


def test_one_of_several_takes_connections_only_once_it_is_ready(tmp_path: Path) -> None:
    """Before, the kernel would give it its part of them, and clients would be told that it is not ready."""
    held = hold("127.0.0.1", 0)
    port = held.getsockname()[1]
    begun: Deferred[None] = Deferred()
    waited: Deferred[None] = Deferred()
    answer = [False]
    served = Served()

    async def story(reactor: Any) -> int:
        made = serving(
            reactor,
            served,
            tmp_path,
            port=port,
            shared=True,
            ready=asked(3, waited, answer),
            started=lambda: begun.callback(None),
        )
        running = Deferred.fromCoroutine(made.run())
        assert not listens(port)  # it has not started
        served.may_start.callback(None)
        await waited
        assert not listens(port)  # it has started, and is not ready
        answer[0] = True
        await begun
        assert listens(port)
        made.stop()
        return await running

    with held, private_reactor() as reactor:
        assert drive(reactor, story(reactor), timeout=60) == 0
    assert served.seen == ["starts", "stops"]


def test_one_that_is_stopped_before_it_runs_starts_nothing(tmp_path: Path) -> None:
    served = Served()

    async def story(reactor: Any) -> int:
        made = serving(reactor, served, tmp_path, port=0)
        made.stop()
        return await made.run()

    with private_reactor() as reactor:
        assert drive(reactor, story(reactor), timeout=60) == 0
    assert served.seen == ["stops"]


def test_one_that_is_stopped_while_it_starts_ends_as_it_should(tmp_path: Path) -> None:
    served = Served()

    async def story(reactor: Any) -> int:
        made = serving(reactor, served, tmp_path, port=0)
        running = Deferred.fromCoroutine(made.run())
        made.stop()
        return await running

    with private_reactor() as reactor:
        assert drive(reactor, story(reactor), timeout=60) == 0
    assert served.seen == ["starts", "is cancelled", "stops"]
