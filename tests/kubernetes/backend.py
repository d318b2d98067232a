"""An extension server that says what a test wants and remembers what arrived: HTTP/1.1 over TLS, in threads of its own.

It stands where ours would stand, so that a test sees the very bytes that a control plane sends, or how it takes a server
that is slow, mute or somebody else's. Needs nothing of ours but certificates.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cryptography import x509

from extapi.dev.ports import LOOPBACK
from tests.certificates import Paths

Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Received:
    """A request as it came.

    ``connection``: the number of its connection; ``client``: the serial number of the peer's certificate, 0 without one.
    """

    line: str
    headers: Fields
    body: bytes
    trailers: Fields
    connection: int
    client: int

    @property
    def path(self) -> str:
        """The path without the query."""
        return self.line.split(" ")[1].partition("?")[0]

    def values(self, name: str) -> list[str]:
        """All values of a header, ``name`` in lower case."""
        return [value for each, value in self.headers if each.lower() == name]


Answering = Callable[[Received], bytes | None]
"""The bytes of an answer; None: nothing until the backend ends; empty: hang up."""


def answer(body: bytes = b"{}", status: str = "200 OK", *headers: str) -> bytes:
    """A whole answer with a length."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def discovery(received: Received) -> bytes:
    """What a server says that serves one version without any resource: 404 but for its discovery."""
    parts = received.path.strip("/").split("/")
    if len(parts) != 3 or parts[0] != "apis":
        return answer(b'{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}', "404 Not Found")
    resources = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "/".join(parts[1:]), "resources": []}
    return answer(json.dumps(resources).encode())


class Backend:
    """Listens from the start on, at ``port`` of loopback or at any free one, until :meth:`close`.

    Without a ``certificate`` it speaks plain HTTP, and so can but refuse what begins with TLS. Certificates of clients are asked for where ``clients``,
    a file of authorities, is given; others than theirs end the handshake.
    """

    def __init__(
        self,
        certificate: Paths | None,
        answering: Answering = discovery,
        *,
        port: int = 0,
        clients: Path | None = None,
    ) -> None:
        self.answering = answering
        self.requests: list[Received] = []
        self._tls = _context(certificate, clients) if certificate else None
        self._listener = socket.create_server((LOOPBACK, port), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._number = 0
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def asked(self, path: str) -> list[Received]:
        """The requests for a path so far."""
        return [each for each in list(self.requests) if each.path == path]

    def close(self) -> None:
        """End: nothing listens, and no connection is open."""
        self._over.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            sockets = list(self._sockets)
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(30)

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._over.is_set():  # accepted while it ended, so that nobody else would end it
                    sock.close()
                    return
                self._number += 1
                self._sockets.add(sock)
            thread = threading.Thread(target=self._serve, args=(sock, self._number), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        try:
            # Whatever the other side does to the connection is its business; what arrived is what counts.
            with contextlib.suppress(OSError):
                self._converse(sock, number)
        finally:
            with self._lock:
                self._sockets.discard(sock)
            sock.close()

    def _converse(self, sock: socket.socket, number: int) -> None:
        if self._tls is None:
            sock.recv(65536)  # the beginning of a TLS handshake: no request
            sock.sendall(answer(b"", "400 Bad Request"))
            return
        stream = self._tls.wrap_socket(sock.dup(), server_side=True)
        presented = stream.getpeercert(binary_form=True)
        client = x509.load_der_x509_certificate(presented).serial_number if presented else 0
        with stream, stream.makefile("rb") as reader:
            while request := _request(reader):
                received = Received(*request, number, client)
                self.requests.append(received)
                said = self.answering(received)
                if said is None:
                    self._over.wait()
                if not said:
                    return
                stream.sendall(said)


def _context(certificate: Paths, clients: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.certificate, certificate.key)
    if clients is not None:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _request(reader: IO[bytes]) -> tuple[str, Fields, bytes, Fields] | None:
    """The next request of a stream: its line, headers, body and trailers. None at the end."""
    line = reader.readline()
    if not line:
        return None
    headers = _fields(reader)
    length, chunked = 0, False
    for name, value in headers:
        if name.lower() == "content-length":
            length = int(value)
        elif name.lower() == "transfer-encoding":
            chunked = True
    if not chunked:
        return line.decode().rstrip("\r\n"), headers, reader.read(length), ()
    body = b""
    while size := int(reader.readline().partition(b";")[0], 16):
        body += reader.read(size)
        reader.readline()
    return line.decode().rstrip("\r\n"), headers, body, _fields(reader)


def _fields(reader: IO[bytes]) -> Fields:
    """Lines up to an empty one."""
    fields = []
    while field := reader.readline().rstrip(b"\r\n"):
        name, _, value = field.decode().partition(":")
        fields.append((name, value.strip(" \t")))
    return tuple(fields)
