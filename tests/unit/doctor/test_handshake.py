from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.doctor.handshake import shake_hands
from tests.certificates import SERVER, authority
from tests.unit.doctor.healthy import unreadable

CA = authority("ca")


@contextlib.contextmanager
def answering(answer: Callable[[socket.socket], None], address: str = "127.0.0.1") -> Iterator[int]:
    """A port whose first connection ``answer`` gets, in a thread."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as server:

        def once() -> None:
            connected, _ = server.accept()
            with connected:
                answer(connected)

        thread = threading.Thread(target=once)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            thread.join()


def test_it_sees_the_whole_chain_under_the_name_that_it_asks_for(tmp_path: Path) -> None:
    leaf = CA.intermediate("middle").leaf("server", san=["a.b.svc"], eku=SERVER, expired=True)
    asked: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*leaf.save(tmp_path, "server"))
    context.sni_callback = lambda _socket, name, _context: asked.append(name)

    def tls(connected: socket.socket) -> None:
        # The client leaves as soon as it has seen the certificates.
        with contextlib.suppress(OSError):
            context.wrap_socket(connected, server_side=True).close()

    with answering(tls) as port:
        served = shake_hands("127.0.0.1", port, server_name="a.b.svc", seconds=30, given=True)
    assert (served.address, served.given, served.failure) == (f"127.0.0.1:{port}", True, "")
    assert served.chain == leaf.chain
    assert len(served.chain) == 2
    assert asked == ["a.b.svc"]


def test_an_address_is_no_server_name_and_stands_in_brackets(tmp_path: Path) -> None:
    """RFC 6066, section 3; RFC 9110, section 7.2."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*CA.leaf("server", san=["::1"], eku=SERVER).save(tmp_path, "server"))
    names: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    asked = b""

    def tls(connected: socket.socket) -> None:
        nonlocal asked
        with contextlib.suppress(OSError), context.wrap_socket(connected, server_side=True) as secured:
            while b"\r\n\r\n" not in asked:
                asked += secured.recv(1000)

    with answering(tls, "::1") as port:
        served = shake_hands("::1", port, server_name="::1", seconds=30)
    assert (served.address, len(served.chain)) == (f"[::1]:{port}", 1)
    assert names == [None]
    assert b"\r\nHost: [::1]\r\n" in asked


def test_a_certificate_that_openssl_alone_can_read(tmp_path: Path) -> None:
    leaf = CA.leaf("server", eku=SERVER)
    (tmp_path / "tls.crt").write_bytes(unreadable(leaf))
    (tmp_path / "tls.key").write_bytes(leaf.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")

    def tls(connected: socket.socket) -> None:
        with contextlib.suppress(OSError):
            context.wrap_socket(connected, server_side=True).close()

    with answering(tls) as port:
        served = shake_hands("127.0.0.1", port, server_name="a.b.svc", seconds=30)
    assert (served.chain, served.failure) == ((), "7 is not a valid X509 version")


READYZ = b"[+]ping ok\n[+]authentication-trust ok: x\nreadyz check passed\n"


@pytest.mark.parametrize(
    ("answer", "readiness"),
    [
        (b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + READYZ, READYZ.decode()),
        (b"HTTP/1.1 403 Forbidden\r\n\r\nno", "no"),
        (b"", ""),
        (b"SSH-2.0-OpenSSH\r\n\r\nhello", ""),
        (b"HTTP/1.1 200 OK\r\n" + b"x" * 1_000_000, ""),
    ],
    ids=["readiness", "a refusal", "nothing", "another protocol", "no end"],
)
def test_what_it_says_of_itself(tmp_path: Path, answer: bytes, readiness: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*CA.leaf("server", eku=SERVER).save(tmp_path, "server"))
    asked = b""

    def tls(connected: socket.socket) -> None:
        nonlocal asked
        with contextlib.suppress(OSError), context.wrap_socket(connected, server_side=True) as secured:
            while b"\r\n\r\n" not in asked:
                asked += secured.recv(1000)
            secured.sendall(answer)

    with answering(tls) as port:
        served = shake_hands("127.0.0.1", port, server_name="a.b.svc", seconds=30)
    assert len(served.chain) == 1
    # RFC 9112, 6.3: an answer to HTTP/1.0 may end with the connection.
    assert asked == b"GET /readyz?verbose HTTP/1.0\r\nHost: a.b.svc\r\nUser-Agent: extapi-doctor\r\n\r\n"
    assert served.readiness == readiness


def test_certificates_are_seen_of_who_answers_no_request(tmp_path: Path) -> None:
    over = threading.Event()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*CA.leaf("server", eku=SERVER).save(tmp_path, "server"))

    def tls(connected: socket.socket) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(connected, server_side=True):
            over.wait()

    began = time.monotonic()
    with answering(tls) as port:
        try:
            served = shake_hands("127.0.0.1", port, server_name="a.b.svc", seconds=30)
        finally:
            over.set()
    assert time.monotonic() - began < 20, "what is left of the time is for other servers"
    assert (len(served.chain), served.failure, served.readiness) == (1, "", "")


@pytest.mark.parametrize(
    ("first", "failure"),
    [
        (b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request\n", "TLS: "),
        (b"", "TLS: "),
    ],
)
def test_who_does_not_speak_tls(first: bytes, failure: str) -> None:
    def plain(connected: socket.socket) -> None:
        connected.recv(1000)
        connected.sendall(first)

    with answering(plain) as port:
        served = shake_hands("127.0.0.1", port, server_name="a.b.svc", seconds=30)
    assert served.chain == ()
    assert served.failure.startswith(failure)


def test_who_says_nothing() -> None:
    over = threading.Event()

    def nothing(_: socket.socket) -> None:
        over.wait()

    with answering(nothing) as port:
        try:
            served = shake_hands("127.0.0.1", port, server_name="a.b.svc", seconds=0.2)
        finally:
            over.set()
    assert served.failure == "nothing within 0.2 seconds"


def test_a_name_that_nobody_resolves_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver has bounds of its own, of half a minute and more."""
    over, gone = threading.Event(), threading.Event()

    def resolve(*_: object, **__: object) -> list[object]:
        over.wait()
        gone.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    try:
        served = shake_hands("a.example.com", 443, server_name="a", seconds=0.2)
    finally:
        over.set()
    assert served.failure == "nothing within 0.2 seconds"
    assert gone.wait(30)


def test_localhost_is_both_loopback_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 6761, section 6.3, also where the system's resolver knows one of them alone."""

    def of_numbers(host: str, port: int, **more: Any) -> Any:
        return usual(host, port, **{**more, "flags": socket.AI_NUMERICHOST})

    usual = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", of_numbers)
    with answering(lambda _: None, "::1") as port:
        assert shake_hands("localhost", port, server_name="a", seconds=30).failure.startswith("TLS: ")


def test_each_address_of_a_name_is_tried_within_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(connected: socket.socket) -> None:
        connected.recv(1000)

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        refusing = bound.getsockname()
        with answering(plain) as port:
            found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", each) for each in (refusing, ("127.0.0.1", port))]
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
            assert shake_hands("a.example.com", 443, server_name="a", seconds=30).failure.startswith("TLS: ")
        # The time is over before the second is asked.
        times = iter([0.0, 0.0, 0.0, 31.0])
        served = shake_hands("a.example.com", 443, server_name="a", seconds=30, timer=lambda: next(times))
        assert served.failure == "nothing within 30 seconds"


def test_who_is_not_there() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        assert shake_hands("127.0.0.1", port, server_name="a", seconds=30).failure == "Connection refused"
    # Names that no resolver is ever asked for.
    assert shake_hands("x" * 300, 1, server_name="a", seconds=30).failure
