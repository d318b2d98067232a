"""A conversion webhook on loopback: a TLS server in threads, which lets the test write whatever bytes it likes.

The path of a request chooses what it answers (:mod:`tests.webhooks.answers`). Knows none of our code.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.certificates import SERVER, Issued, authority


@dataclass
class Call:
    """A request as the webhook got it, and the way to answer it."""

    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    """Its connection's number, from 0."""
    number: int
    """Of the calls about these objects, from 0."""
    client: str
    """The common name in the certificate that was shown; empty if none was."""
    send: Callable[[bytes], None]
    ended: Callable[[], object]
    """Waits until the client has closed the connection, or the webhook is closed."""
    over: threading.Event = field(default_factory=threading.Event)
    """Set when the webhook is closed."""

    @property
    def review(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[Call], "bytes | None"]
"""Returns the bytes of the whole response; None: the connection is to be closed."""


class Webhook:
    """Serves until it is closed. ``answers``: by path, without its leading slash."""

    def __init__(self, answers: Mapping[str, Answer], context: ssl.SSLContext | None) -> None:
        self._answers = answers
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._over = threading.Event()
        self.open: set[socket.socket] = set()
        """The connections that are open."""
        self.port: int = self._listener.getsockname()[1]
        self.calls: list[Call] = []
        self._asked: dict[bytes, int] = {}
        self.connections = 0
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in list(self.open):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)  # that of TLS is not for other threads
        self._thread.join()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"https://{host}:{self.port}/{path}"

    def _accept(self) -> None:
        threads = []
        while not self._over.is_set():
            try:
                plain, _ = self._listener.accept()
            except OSError:
                break
            number, self.connections = self.connections, self.connections + 1
            threads.append(threading.Thread(target=self._serve, args=(plain, number), daemon=True))
            threads[-1].start()
        for each in threads:
            each.join()

    def _serve(self, plain: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, ValueError), plain:
            wrapped = plain
            if self._context is not None:
                wrapped = self._context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
            self.open.add(wrapped)
            try:
                if isinstance(wrapped, ssl.SSLSocket):
                    wrapped.do_handshake()
                self._talk(wrapped, number)
            finally:
                wrapped.close()
                self.open.discard(wrapped)

    def _talk(self, connection: socket.socket, number: int) -> None:
        with connection.makefile("rb") as stream:
            while (line := stream.readline()).endswith(b" HTTP/1.1\r\n"):
                target = line.split()[1].decode()
                headers = {}
                while header := stream.readline().strip():
                    name, _, value = header.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = stream.read(int(headers.get("content-length", 0)))
                about = body.partition(b'"objects":')[2]  # the same if it is sent again
                again = self._asked[about] = self._asked.get(about, -1) + 1
                call = Call(
                    target,
                    headers,
                    body,
                    number,
                    again,
                    _client(connection),
                    connection.sendall,
                    partial(stream.read, 1),
                    self._over,
                )
                self.calls.append(call)
                answer = self._answers[target.partition("?")[0].lstrip("/")](call)
                if answer is None:
                    return
                connection.sendall(answer)


def _client(connection: socket.socket) -> str:
    shown = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    subject: Any = (shown or {}).get("subject", ())
    return "".join(value for part in subject for key, value in part if key == "commonName")


@dataclass(frozen=True)
class Certified:
    """Certificates of webhooks."""

    ca: Issued
    leaf: Issued

    def context(self, directory: Path, *, client_ca: Issued | None = None) -> ssl.SSLContext:
        paths = self.leaf.save(directory, f"{self.leaf.certificate.serial_number:x}")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(paths.certificate, paths.key)
        if client_ca is not None:
            context.load_verify_locations(cadata=client_ca.pem.decode())
            context.verify_mode = ssl.CERT_OPTIONAL
        return context


def certified(*names: str, **properties: Any) -> Certified:
    """A certificate for names and addresses; by default of this machine."""
    ca = authority("webhook-ca")
    san = names or ("127.0.0.1", "localhost")
    return Certified(ca, ca.leaf("webhook", san=san, eku=SERVER, **properties))


@contextlib.contextmanager
def serving(answers: Mapping[str, Answer], context: ssl.SSLContext | None) -> Iterator[Webhook]:
    webhook = Webhook(answers, context)
    try:
        yield webhook
    finally:
        webhook.close()
