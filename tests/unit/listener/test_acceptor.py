from __future__ import annotations

import errno
import socket
from typing import Any

import pytest
from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure

from extapi.listener.acceptor import RETRY, Acceptor, BindError, bind
from tests.wire.harness import SelectClock


class Failing(socket.socket):
    """A listening socket whose next accept fails with each of ``errors`` in turn."""

    errors: tuple[int, ...] = ()

    def accept(self) -> tuple[socket.socket, object]:
        if self.errors:
            number, *rest = self.errors
            self.errors = tuple(rest)
            raise OSError(number, "on purpose")
        return super().accept()


class Bench:
    """An acceptor and what it did."""

    def __init__(self, sock: socket.socket, *, limit: int = 10) -> None:
        self.reactor = SelectClock()
        self.accepted: list[tuple[socket.socket, str]] = []
        self.died: list[BaseException] = []
        self.acceptor = Acceptor(
            self.reactor,
            sock,
            accepted=lambda sock, address: self.accepted.append((sock, address)),
            died=self.died.append,
            limit=limit,
        )

    def close(self) -> None:
        self.acceptor.stop()
        for sock, _ in self.accepted:
            sock.close()


def failing(*errors: int) -> Failing:
    sock = Failing()
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    sock.errors = errors
    return sock


@pytest.mark.parametrize(
    ("interface", "clients"),
    [
        ("127.0.0.1", ["127.0.0.1"]),
        ("::1", ["::1"]),
        ("::", ["::1", "127.0.0.1"]),
        ("0.0.0.0", ["::1", "127.0.0.1"]),  # noqa: S104 - what is tested
        ("", ["::1", "127.0.0.1"]),
        ("::ffff:127.0.0.1", ["127.0.0.1"]),
    ],
)
def test_accepts_on_both_families(interface: str, clients: list[str]) -> None:
    """A wildcard of either family is one of both, as to k8s.io/apiserver."""
    bench = Bench(bind(interface, 0))
    for number, client in enumerate(clients, 1):
        with socket.create_connection((client, bench.acceptor.address[1])):
            bench.reactor.until(lambda number=number: len(bench.accepted) == number)  # type: ignore[misc]
    assert [peer for _, peer in bench.accepted] == clients
    bench.close()


def test_a_kernel_without_ipv6_listens_on_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = socket.socket

    def without(family: int, *rest: Any) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return usual(family, *rest)

    monkeypatch.setattr(socket, "socket", without)
    with bind("::", 0) as sock:
        assert sock.getsockname()[0] == "0.0.0.0"  # noqa: S104 - as above
    with pytest.raises(BindError, match=r"^cannot listen on \[::1\]:0: Address family not supported by protocol$"):
        bind("::1", 0)


def test_bind_says_what_is_wrong() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BindError, match=rf"^cannot listen on 127\.0\.0\.1:{port}: Address already in use$"):
            bind("127.0.0.1", port)
    with pytest.raises(BindError, match=r"^cannot listen on 'localhost': not an IP address$"):
        bind("localhost", 0)
    with pytest.raises(BindError, match=r"^cannot listen on \[::1\]:99999: "):
        bind("::1", 99999)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_out_of_descriptors_waits_without_spinning(number: int) -> None:
    bench = Bench(failing(number))
    with socket.create_connection(bench.acceptor.address):
        bench.reactor.until(lambda: not bench.reactor.readers)
        assert (bench.accepted, bench.died, bench.acceptor.listening) == ([], [], True)
        bench.reactor.advance(RETRY)
        bench.reactor.until(lambda: bool(bench.accepted))
    bench.close()


def test_stop_while_out_of_descriptors() -> None:
    bench = Bench(failing(errno.EMFILE))
    with socket.create_connection(bench.acceptor.address):
        bench.reactor.until(lambda: not bench.reactor.readers)
    bench.close()
    assert bench.reactor.getDelayedCalls() == []
    bench.acceptor.stop()


def test_trouble_of_a_peer_is_not_ours() -> None:
    bench = Bench(failing(errno.ECONNABORTED, errno.EPERM))
    with socket.create_connection(bench.acceptor.address):
        bench.reactor.until(lambda: bool(bench.accepted))
    bench.close()


def test_dead_socket() -> None:
    bench = Bench(failing(errno.EBADF))
    with socket.create_connection(bench.acceptor.address):
        bench.reactor.until(lambda: bool(bench.died))
    assert isinstance(bench.died[0], OSError)
    assert (bench.acceptor.listening, bench.reactor.readers) == (False, set())
    bench.acceptor.connectionLost(ConnectionLost())
    assert len(bench.died) == 1
    bench.close()


def test_end_reported_by_the_reactor() -> None:
    bench = Bench(failing())
    bench.acceptor.connectionLost(Failure(ConnectionLost()))  # type: ignore[no-untyped-call]  # Twisted's Failure is not annotated
    assert isinstance(bench.died[0], ConnectionLost)
    assert (bench.acceptor.logPrefix(), bench.acceptor.fileno() > 0) == ("acceptor", True)


def test_limit_of_open_connections() -> None:
    bench = Bench(bind("127.0.0.1", 0), limit=1)
    with socket.create_connection(bench.acceptor.address), socket.create_connection(bench.acceptor.address):
        bench.reactor.until(lambda: not bench.reactor.readers)
        assert len(bench.accepted) == 1
        bench.acceptor.released()
        bench.reactor.until(lambda: len(bench.accepted) == 2)
    bench.close()
    bench.acceptor.released()
    assert not bench.reactor.readers
