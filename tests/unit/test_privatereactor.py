"""A reactor that is turned by hand: what runs on it, and what is left of it."""

from __future__ import annotations

import signal
import socket
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import deferLater

from extapi.privatereactor import drive, private_reactor


def test_what_the_coroutine_returns_or_raises_comes_out() -> None:
    async def value() -> int:
        return await deferLater(reactor, 0, int, "7")

    async def error() -> None:
        await deferLater(reactor, 0, int, "x")

    with private_reactor() as reactor:
        assert drive(reactor, value()) == 7
        with pytest.raises(ValueError, match="invalid literal"):
            drive(reactor, error())


def test_a_coroutine_that_does_not_end_is_cancelled() -> None:
    ended: list[type[BaseException]] = []

    async def wait() -> None:
        try:
            await Deferred()
        except CancelledError as error:
            ended.append(type(error))

    with private_reactor() as reactor, pytest.raises(TimeoutError, match=r"not done within 0\.01 s"):
        drive(reactor, wait(), timeout=0.01)
    assert ended == [CancelledError]


def test_leaving_ends_what_is_still_registered() -> None:
    lost: list[str] = []

    class Descriptor:
        def __init__(self, end: socket.socket) -> None:
            self.fileno = end.fileno

        def connectionLost(self, reason: object) -> None:  # noqa: N802 - Twisted's name
            lost.append(str(reason))

    one, other = socket.socketpair()
    with one, other, private_reactor() as reactor:
        reactor.addReader(Descriptor(one))
        late = reactor.callLater(60, lost.append, "too late")
    assert len(lost) == 1
    assert "the reactor is gone" in lost[0]
    assert not late.active()


def test_what_loses_its_connection_may_cancel_its_timer() -> None:
    """Else the error of the second cancellation would hide why the reactor was left."""

    class Descriptor:
        def __init__(self, end: socket.socket, timer: Any) -> None:
            self.fileno = end.fileno
            self.timer = timer

        def connectionLost(self, reason: object) -> None:  # noqa: N802 - Twisted's name
            del reason
            self.timer.cancel()

    def leave(end: socket.socket) -> None:
        with private_reactor() as reactor:
            reactor.addReader(Descriptor(end, reactor.callLater(60, list)))
            raise ValueError("why it was left")

    one, other = socket.socketpair()
    with one, other, pytest.raises(ValueError, match="why it was left"):
        leave(one)


def test_no_file_descriptor_is_left() -> None:
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir()))
    with private_reactor() as reactor:
        drive(reactor, _later(reactor, 0))
        assert len(list(descriptors.iterdir())) > before
    assert len(list(descriptors.iterdir())) == before


def test_a_connection_that_was_aborted_last_is_closed() -> None:
    descriptors = Path("/proc/self/fd")
    endpoint: Any = TCP4ClientEndpoint
    factory: Any = Factory
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = len(list(descriptors.iterdir()))
        with private_reactor() as reactor:

            async def abort() -> None:
                way = endpoint(reactor, *server.getsockname())
                protocol = await way.connect(factory.forProtocol(Protocol))
                protocol.transport.abortConnection()

            drive(reactor, abort())
        assert len(list(descriptors.iterdir())) == before


class _Stop(BaseException):
    pass


def test_what_a_signal_handler_raises_comes_out_although_it_came_within_a_callback() -> None:
    """Twisted logs and forgets what is raised there."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise _Stop

    ended: list[str] = []

    async def wait() -> None:
        await _later(reactor, 0)
        signal.pthread_kill(
            threading.get_ident(), signal.SIGTERM
        )  # another thread, as of pytest-xdist, would take it at once
        ended.append("undisturbed")
        await Deferred()

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with private_reactor() as reactor, pytest.raises(_Stop):
            drive(reactor, wait())
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended == ["undisturbed"]
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


async def _later(reactor: Any, seconds: float) -> None:
    await deferLater(reactor, seconds)
