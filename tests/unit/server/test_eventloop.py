"""The reactor of a server's process: what Twisted's own does, and the same end for a descriptor that fails."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest
from twisted.internet.interfaces import IReadDescriptor
from twisted.logger import ILogObserver, globalLogPublisher
from zope.interface import implementer

from extapi.clock import wall_time
from extapi.server.eventloop import EventLoop


@implementer(IReadDescriptor)
class Descriptor:
    """One end of a pair of sockets, whose other end has sent something."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        self.here, self.there = socket.socketpair()
        self.there.send(b"x")
        self.read = 0
        self.rival: Descriptor | None = None
        self.error: Exception | None = None
        self.lost: list[Any] = []
        loop.addReader(self)
        loop.descriptors.append(self)

    def fileno(self) -> int:
        return self.here.fileno()

    def logPrefix(self) -> str:  # noqa: N802 - named by Twisted
        return "test"

    def doRead(self) -> None:  # noqa: N802 - named by Twisted
        self.read += 1
        if self.error is not None:
            raise self.error
        if self.rival is not None:
            self._loop.removeReader(self.rival)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - named by Twisted
        self.lost.append(reason.value)

    def close(self) -> None:
        self.here.close()
        self.there.close()


@pytest.fixture
def loop() -> Iterator[Any]:
    untyped: Any = EventLoop
    loop = untyped()
    loop.descriptors = []
    try:
        yield loop
    finally:
        loop.removeAll()
        for each in loop.descriptors:
            each.close()
        for waker in list(loop._internalReaders):
            waker.connectionLost(None)
        loop._poller.close()


def test_what_is_ready_is_read_again_and_again(loop: Any) -> None:
    descriptors = [Descriptor(loop), Descriptor(loop)]
    for _ in range(3):
        loop.iterate(0)
    assert [each.read for each in descriptors] == [3, 3]


def test_a_descriptor_that_another_has_removed_is_not_read(loop: Any) -> None:
    one, other = Descriptor(loop), Descriptor(loop)
    one.rival, other.rival = other, one
    loop.iterate(0)
    assert sorted([one.read, other.read]) == [0, 1]


def test_a_descriptor_that_raises_is_logged_and_disconnected(loop: Any) -> None:
    broken, sound = Descriptor(loop), Descriptor(loop)
    broken.error = ValueError("a bug")
    logged: list[Any] = []
    observer = cast("ILogObserver", logged.append)
    globalLogPublisher.addObserver(observer)
    try:
        for _ in range(2):
            loop.iterate(0)
    finally:
        globalLogPublisher.removeObserver(observer)
    assert (broken.read, broken.lost, sound.read) == (1, [broken.error], 2)
    assert [event["failure"].value for event in logged if event["isError"]] == [broken.error]


@pytest.mark.parametrize("moved", [-3600, 3600])
def test_time_goes_on_when_the_machines_clock_is_set(loop: Any, moved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As timers and durations of Go, which are of a monotonic clock (https://pkg.go.dev/time#hdr-Monotonic_Clocks)."""
    called: list[str] = []
    soon, late = loop.callLater(0, called.append, "soon"), loop.callLater(50, called.append, "late")
    loop.iterate(0)
    assert called == ["soon"]
    before, wall = loop.seconds(), time.time
    assert before == pytest.approx(wall(), abs=5)
    monkeypatch.setattr(time, "time", lambda: wall() + moved)
    loop.iterate(0)
    assert called == ["soon"]
    assert not soon.active()
    assert late.active()
    assert 0 <= loop.seconds() - before < 5
    assert wall_time(loop) == pytest.approx(wall() + moved, abs=5)
    late.cancel()


PROGRAM = """
from extapi.server.reactor import run_process

class Process:
    async def run(self):
        return 0

def make(reactor, log):
    print(type(reactor).__name__)
    return Process()

raise SystemExit(run_process(make))
"""


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("", "EventLoop"),
        ("from twisted.internet import pollreactor; pollreactor.install()\n", "PollReactor"),
    ],
    ids=["none", "an author's"],
)
def test_it_is_installed_unless_there_is_one(before: str, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", before + PROGRAM], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.returncode) == (f"{name}\n", 0), done.stderr
