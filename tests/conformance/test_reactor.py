"""The reactor that tests run their coroutines on."""

from __future__ import annotations

import socket

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from extapi.testing.reactor import drive, private_reactor


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
    assert "the test is over" in lost[0]
    assert not late.active()
