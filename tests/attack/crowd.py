"""Many connections of strangers, and single ones of others, to a server on loopback: plain bytes over TLS."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import time
from collections.abc import Callable, Sequence

from tests.bench.server import Server

GROUP = "restaurant.programming-kubernetes.info"
PIZZAS = f"/apis/{GROUP}/v1beta1/namespaces/%s/pizzas"
TOPPINGS = f"/apis/{GROUP}/v1alpha1/toppings"
PATIENCE = 60.0
"""Seconds after which a test that waits has failed."""


class Stranger:
    """A connection without a client certificate, from ``source``, an address of loopback."""

    def __init__(self, server: Server, source: str = "127.0.0.1") -> None:
        plain = socket.create_connection(("127.0.0.1", server.port), timeout=30, source_address=(source, 0))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self.socket = context.wrap_socket(plain)
        self.socket.setblocking(False)
        self._got = b""
        self.closed = False

    def send(self, data: bytes) -> None:
        """All of it."""
        self.socket.setblocking(True)
        try:
            self.socket.sendall(data)
        finally:
            self.socket.setblocking(False)

    def get(self, path: str, *headers: str) -> None:
        """Ask for a path."""
        self.send("\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode())

    def answer(self) -> tuple[int, str] | None:
        """Status and head of the next answer, if the whole of it is there."""
        with contextlib.suppress(ssl.SSLWantReadError, ConnectionError):
            while data := self.socket.recv(65536):
                self._got += data
            self.closed = True
        head, end, rest = self._got.partition(b"\r\n\r\n")
        if not end:
            return None
        text = head.decode("latin-1")
        length = next(
            (int(line.split(":")[1]) for line in text.split("\r\n") if line.lower().startswith("content-length:")), 0
        )
        if len(rest) < length:
            return None
        self._got = rest[length:]
        return int(text.split(" ")[1]), text

    def wait(self) -> tuple[int, str]:
        """The next answer."""
        return answers([self], 1)[0]

    def close(self) -> None:
        self.socket.close()


def answers(strangers: Sequence[Stranger], count: int) -> list[tuple[int, str]]:
    """The next ``count`` answers that any of them gets, at most one each."""
    found: list[tuple[int, str]] = []
    waiting = list(strangers)
    deadline = time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} answers"
        with selectors.DefaultSelector() as selector:
            for each in waiting:
                selector.register(each.socket, selectors.EVENT_READ, each)
            ready = selector.select(0.2)
        # What TLS has read already makes no socket readable.
        for stranger in [key.data for key, _ in ready] or waiting:
            answer = stranger.answer()
            if answer is not None:
                found.append(answer)
                waiting.remove(stranger)
    return found


def until(condition: Callable[[], bool]) -> None:
    """Wait for what happens elsewhere."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
