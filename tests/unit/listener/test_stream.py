"""The stream alone: a socketpair, select(2) and a clock moved by hand."""

from __future__ import annotations

import gc
import hashlib
import random
import socket
import struct
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from OpenSSL import SSL
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.python.failure import Failure

from extapi.listener.stream import FLUSH, HANDSHAKE, LINGER, RECORD, TLSStream
from extapi.listener.tls import ServingCertificate
from tests.certificates import authority
from tests.wire.harness import Client, SelectClock, client_context

CA = authority("ca")


class Recorder:
    """An application that notes everything."""

    def __init__(self) -> None:
        self.secure = 0
        self.got = b""
        self.drains = 0
        self.ends: list[BaseException] = []
        self.pause_after: int | None = None
        self.stream: TLSStream | None = None

    def secured(self) -> None:
        self.secure += 1

    def received(self, data: bytes) -> None:
        assert len(data) <= RECORD
        self.got += data
        if self.pause_after is not None and len(self.got) >= self.pause_after and self.stream is not None:
            self.stream.pause()

    def drained(self) -> None:
        self.drains += 1

    def disconnected(self, reason: BaseException) -> None:
        self.ends.append(reason)


class Bench:
    """Both ends of a connection."""

    def __init__(
        self,
        directory: Path,
        *,
        buffer: int = 0,
        handshake: bool = True,
        sockets: tuple[socket.socket, socket.socket] | None = None,
    ) -> None:
        self.reactor = SelectClock()
        ours, theirs = sockets or socket.socketpair()
        if buffer:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        self.application = Recorder()
        tls = ServingCertificate(*CA.leaf("localhost", san=["localhost"]).save(directory, "server"))
        self.stream = TLSStream(self.reactor, tls.context, ours, self.application)
        self.application.stream = self.stream
        self.client = Client(self.reactor, theirs, client_context(CA), handshake=handshake)

    def ended(self) -> bool:
        self.client.settle()
        return self.stream.gone


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    finish(made)


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, buffer=4096)
    yield made
    finish(made)


def finish(bench: Bench) -> None:
    bench.stream.connectionLost(ConnectionLost())
    bench.client.close()
    assert not bench.reactor.readers
    assert not bench.reactor.writers
    bench.reactor.advance(0)
    assert bench.reactor.getDelayedCalls() == []
    assert len(bench.application.ends) == 1


def test_the_session_goes_with_the_connection(bench: Bench) -> None:
    """It is most of what a connection takes, and many that come and go at once must not pile up."""
    session = weakref.ref(bench.stream._tls)
    gc.disable()
    try:
        bench.client.close()
        bench.reactor.until(lambda: bench.stream.gone)
        assert session() is None
    finally:
        gc.enable()
    bench.stream.write(b"too late")
    bench.stream.resume()
    bench.stream.close()
    assert len(bench.application.ends) == 1


def test_order_and_completeness_with_a_reader_that_stalls(narrow: Bench) -> None:
    stream, client = narrow.stream, narrow.client
    chosen = random.Random(1)  # noqa: S311 - the same sizes each time
    wanted, total = hashlib.sha256(), 0
    client.reading = False
    for _ in range(500):
        data = chosen.randbytes(chosen.choice((1, 20, 790, 5000, 16384, 40000)))
        wanted.update(data)
        total += len(data)
        stream.write(data)
    assert stream.pending > 0
    assert stream in narrow.reactor.writers
    client.reading = True
    client.until(lambda: len(client.got) == total)
    assert hashlib.sha256(client.got).digest() == wanted.digest()
    narrow.reactor.until(lambda: stream not in narrow.reactor.writers)
    assert stream.pending == 0
    assert narrow.application.drains >= 1


def test_write_that_fits_needs_no_turn_of_the_reactor(bench: Bench) -> None:
    bench.stream.write(b"x" * 40_000)
    bench.stream.write(b"")
    assert (bench.stream.pending, bench.stream in bench.reactor.writers) == (0, False)
    bench.client.until(lambda: len(bench.client.got) == 40_000)
    assert bench.application.drains == 0


def test_what_is_followed_by_more_leaves_with_it(bench: Bench) -> None:
    for data in (b"head", b"x" * 40_000, b"end"):
        bench.stream.write(data, more=True)
    bench.client.settle()
    assert (bench.stream.pending, bench.client.got) == (40_007, b"")
    bench.stream.flush()
    assert (bench.stream.pending, bench.stream in bench.reactor.writers) == (0, False)
    bench.client.until(lambda: len(bench.client.got) == 40_007)
    bench.stream.flush()
    assert bench.application.drains == 0


def test_flush_leaves_a_full_socket_to_the_reactor(narrow: Bench) -> None:
    narrow.client.reading = False
    narrow.stream.write(b"x" * 1_000_000)
    narrow.stream.write(b"y" * 10, more=True)
    narrow.stream.flush()
    assert narrow.stream in narrow.reactor.writers
    narrow.client.reading = True
    narrow.client.until(lambda: narrow.client.got.endswith(b"y"))
    assert len(narrow.client.got) == 1_000_010


def test_flush_of_a_broken_connection_ends_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.stream.write(b"x", more=True)
    monkeypatch.setattr(bench.stream, "_send", Broken().fail)
    bench.stream.flush()
    assert bench.stream.ending
    bench.reactor.turn()
    assert bench.stream.gone


def test_one_call_sends_all_records_in_few_packets(tmp_path: Path) -> None:
    """On TCP, where the kernel fills packets; afterwards it holds nothing back."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    bench = Bench(tmp_path, sockets=(ours, theirs))
    sent: list[int] = []
    send = bench.stream._send

    def counting(data: bytes | memoryview) -> int:
        sent.append(send(data))
        return sent[-1]

    bench.stream._send = counting
    before = segments(ours)
    bench.stream.write(b"x" * 4 * RECORD)
    assert sent == [4 * RECORD]
    bench.client.until(lambda: len(bench.client.got) == 4 * RECORD)
    assert segments(ours) - before < 4
    assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_CORK) == 0
    finish(bench)


def segments(sock: socket.socket) -> int:
    """Segments with data that were sent: tcpi_data_segs_out of tcp(7)."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    (count,) = struct.unpack_from("I", info, 156)
    return int(count)


def test_close_sends_what_is_queued_and_waits_for_the_peer(narrow: Bench) -> None:
    narrow.stream.write(b"x" * 1_000_000)
    narrow.stream.close()
    narrow.stream.close()
    narrow.stream.write(b"dropped")
    assert (narrow.stream.ending, narrow.stream in narrow.reactor.readers) == (True, False)
    narrow.client.until(lambda: narrow.client.closed_cleanly and narrow.client.ended)
    assert len(narrow.client.got) == 1_000_000
    assert not narrow.stream.gone
    narrow.client.close()
    narrow.reactor.until(lambda: narrow.stream.gone)
    assert isinstance(narrow.application.ends[0], ConnectionDone)


def test_close_throws_away_what_still_comes(bench: Bench) -> None:
    bench.stream.close()
    bench.client.send(b"x" * 3_000_000)
    bench.client.until(lambda: bench.client.closed_cleanly and not bench.client._unsent)
    assert bench.application.got == b""
    bench.client.sock.shutdown(socket.SHUT_WR)
    bench.reactor.until(lambda: bench.stream.gone)


def test_close_waits_for_the_peer_only_so_long(bench: Bench) -> None:
    bench.stream.close()
    bench.reactor.advance(LINGER - 0.1)
    assert not bench.stream.gone
    bench.reactor.advance(0.1)
    assert bench.stream.gone


def test_close_waits_for_a_stalled_reader_only_so_long(narrow: Bench) -> None:
    narrow.client.reading = False
    narrow.stream.write(b"x" * 1_000_000)
    narrow.stream.close()
    narrow.reactor.advance(FLUSH)
    assert narrow.stream.gone
    assert isinstance(narrow.application.ends[0], TimeoutError)


def test_close_during_the_handshake(tmp_path: Path) -> None:
    bench = Bench(tmp_path, handshake=False)
    bench.stream.close()
    bench.reactor.turn()
    assert bench.stream.gone
    finish(bench)


def test_abort_ends_at_the_next_turn_without_a_proper_end(narrow: Bench) -> None:
    narrow.stream.write(b"x" * 1_000_000)
    narrow.stream.abort()
    assert (narrow.stream.gone, narrow.stream.pending) == (False, 0)
    narrow.client.until(lambda: narrow.client.ended)
    assert (narrow.stream.gone, narrow.client.closed_cleanly) == (True, False)
    narrow.stream.abort()
    narrow.stream.close()
    narrow.stream.write(b"x")


def test_handshake_that_takes_too_long(tmp_path: Path) -> None:
    bench = Bench(tmp_path, handshake=False)
    bench.reactor.advance(HANDSHAKE - 0.1)
    assert not bench.stream.gone
    bench.reactor.advance(0.2)
    assert isinstance(bench.application.ends[0], TimeoutError)
    finish(bench)


def test_garbage_instead_of_a_handshake(tmp_path: Path) -> None:
    bench = Bench(tmp_path, handshake=False)
    bench.client.sock.send(b"GET / HTTP/1.1\r\n\r\n")
    bench.reactor.until(lambda: bench.stream.gone)
    assert isinstance(bench.application.ends[0], ConnectionLost)
    finish(bench)


def test_pause_holds_the_peer_back(bench: Bench) -> None:
    bench.stream.pause()
    bench.client.send(b"y" * 100_000)
    bench.client.settle()
    assert bench.application.got == b""
    bench.stream.resume()
    bench.client.until(lambda: len(bench.application.got) == 100_000)


def test_pause_in_the_middle_loses_nothing(bench: Bench) -> None:
    bench.application.pause_after = 20_000
    bench.client.send(b"y" * 100_000)
    bench.client.settle()
    assert 20_000 <= len(bench.application.got) < 100_000
    while len(bench.application.got) < 100_000:
        bench.application.pause_after = len(bench.application.got) + 1
        bench.stream.resume()
        bench.stream.resume()
        bench.client.settle()
    assert bench.application.got == b"y" * 100_000


def test_one_connection_leaves_room_for_others(bench: Bench) -> None:
    bench.client.send(b"y" * 5_000_000)
    bench.client.until(lambda: len(bench.application.got) == 5_000_000)


def test_close_notify_is_the_end(bench: Bench) -> None:
    with pytest.raises(Exception, match=r"want|read"):
        bench.client.tls.unwrap()
    bench.client.pump()
    bench.reactor.until(lambda: bench.stream.gone)
    assert isinstance(bench.application.ends[0], ConnectionDone)


def test_peer_that_vanishes_while_much_is_queued(narrow: Bench) -> None:
    narrow.client.reading = False
    narrow.stream.write(b"x" * 1_000_000)
    narrow.client.close()
    narrow.reactor.until(lambda: narrow.stream.gone)
    assert (narrow.stream.pending, len(narrow.application.ends)) == (0, 1)


def test_write_to_a_peer_that_vanished(bench: Bench) -> None:
    bench.client.close()
    for _ in range(3):
        bench.stream.write(b"x" * 100)
    assert bench.stream.ending
    bench.reactor.turn()
    assert bench.stream.gone


def test_reactors_reason_is_unwrapped(bench: Bench) -> None:
    bench.stream.connectionLost(Failure(ConnectionDone()))  # type: ignore[no-untyped-call]  # Twisted's Failure is not annotated
    bench.stream.connectionLost(ConnectionLost())
    assert [type(end) for end in bench.application.ends] == [ConnectionDone]
    assert (bench.stream.logPrefix(), bench.stream.fileno() > 0) == ("tls", True)


class Reluctant:
    """A TLS connection that asks for the other direction once, as a key update can."""

    def __init__(self, real: SSL.Connection, wanted: type[Exception]) -> None:
        self._real = real
        self._wanted: type[Exception] | None = wanted

    def send(self, data: bytes) -> int:
        self._hesitate()
        return self._real.send(data)

    def recv(self, size: int) -> bytes:
        self._hesitate()
        return self._real.recv(size)

    def _hesitate(self) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            raise wanted


def test_reading_that_has_to_write_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.stream, "_recv", Reluctant(bench.stream._tls, SSL.WantWriteError).recv)
    bench.client.send(b"abc")
    bench.client.until(lambda: bench.application.got == b"abc")
    bench.reactor.until(lambda: bench.stream not in bench.reactor.writers)


def test_writing_that_has_to_read_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.stream, "_send", Reluctant(bench.stream._tls, SSL.WantReadError).send)
    bench.stream.write(b"abc")
    assert bench.stream.pending == 3
    bench.client.until(lambda: bench.client.got == b"abc")


class Broken:
    """A TLS connection on which nothing works any more."""

    def fail(self, *_arguments: object) -> int:
        raise SSL.SysCallError(104, "ECONNRESET")


@pytest.mark.parametrize("call", ["_send", "_recv"])
def test_broken_connection_ends(bench: Bench, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setattr(bench.stream, call, Broken().fail)
    bench.stream.write(b"x")
    bench.client.send(b"x")
    bench.reactor.until(lambda: bench.stream.gone)
    assert isinstance(bench.application.ends[0], ConnectionLost)


def test_connection_that_breaks_while_much_is_queued(narrow: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow.client.reading = False
    narrow.stream.write(b"x" * 1_000_000)
    monkeypatch.setattr(narrow.stream, "_send", Broken().fail)
    narrow.client.reading = True
    narrow.client.until(lambda: narrow.stream.gone)


def test_close_on_a_broken_connection(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.stream._tls, "shutdown", Broken().fail)
    bench.stream.close()
    bench.reactor.turn()
    assert bench.stream.gone


def test_close_notify_that_does_not_fit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> bool:
        raise SSL.WantWriteError

    monkeypatch.setattr(bench.stream._tls, "shutdown", full)
    bench.stream.close()
    bench.client.until(lambda: bench.client.ended)
    assert not bench.client.closed_cleanly


def test_reset_while_waiting_for_the_peers_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Reset:
        def __init__(self, real: socket.socket) -> None:
            self._real = real

        def recv(self, size: int) -> bytes:
            raise ConnectionResetError

        def __getattr__(self, name: str) -> object:
            return getattr(self._real, name)

    bench.stream.close()
    monkeypatch.setattr(bench.stream, "_socket", Reset(bench.stream._socket))
    bench.client.close()
    bench.reactor.until(lambda: bench.stream.gone)
    assert isinstance(bench.application.ends[0], ConnectionLost)


def test_certificate_that_cannot_be_parsed_counts_as_none(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def unparsable(**_options: object) -> None:
        raise ValueError("error parsing asn1 value")

    monkeypatch.setattr(bench.stream._tls, "get_peer_certificate", unparsable)
    assert bench.stream.certificates() == ()


def test_large_handshake_that_has_to_wait_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, handshake=False)
    real, first = bench.stream._tls.do_handshake, [True]

    def shake() -> None:
        if first and first.pop():
            raise SSL.WantWriteError
        real()

    monkeypatch.setattr(bench.stream._tls, "do_handshake", shake)
    bench.client.until(lambda: bench.application.secure == 1)
    bench.client.settle()
    assert bench.stream not in bench.reactor.writers
    finish(bench)
