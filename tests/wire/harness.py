"""Real sockets and real TLS under a clock that a test moves by hand: one thread, no sleeping.

:class:`SelectClock` is the reactor, as far as the listener needs one. :class:`Client` speaks raw bytes over TLS.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from tests.certificates import Issued

T = TypeVar("T")
PATIENCE = 10.0
"""Seconds of real time after which a test that waits has failed."""


class SelectClock(Clock):
    """``IReactorFDSet`` by select(2), ``IReactorTime`` by hand. Descriptors in ``others`` end a wait as well."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: set[Any] = set()
        self.writers: set[Any] = set()
        self.others: set[Any] = set()

    def addReader(self, reader: Any) -> None:  # noqa: N802 - named by Twisted
        self.readers.add(reader)

    def addWriter(self, writer: Any) -> None:  # noqa: N802 - named by Twisted
        self.writers.add(writer)

    def removeReader(self, reader: Any) -> None:  # noqa: N802 - named by Twisted
        self.readers.discard(reader)

    def removeWriter(self, writer: Any) -> None:  # noqa: N802 - named by Twisted
        self.writers.discard(writer)

    def turn(self, seconds: float = 0.0) -> bool:
        """One turn; waits up to ``seconds`` of real time for a descriptor. Whether there was something to do."""
        self.advance(0)
        readable, writable, _ = select.select(
            [*self.readers, *self.others], list(self.writers), [], 0 if self.due() else seconds
        )
        for one in readable:
            if one in self.readers:
                self._done(one, one.doRead())
        for one in writable:
            if one in self.writers:
                self._done(one, one.doWrite())
        self.advance(0)
        return bool(writable) or any(one not in self.others for one in readable)

    def due(self) -> bool:
        """A call is to be made now."""
        return any(call.getTime() <= self.seconds() for call in list[Any](self.getDelayedCalls()))

    def until(self, condition: Callable[[], bool]) -> None:
        """Turn until the condition holds; fails after :data:`PATIENCE`."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            self.turn(0.02)

    def start(self, coroutine: Coroutine[Any, Any, T]) -> list[T | Failure]:
        """Start the coroutine; its result, or failure, is put into the list."""
        results: list[Any] = []
        Deferred.fromCoroutine(coroutine).addBoth(results.append)
        return results

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result, while the reactor turns."""
        results = self.start(coroutine)
        self.until(lambda: bool(results))
        return self._result(results)

    @staticmethod
    def _result(results: list[T | Failure]) -> T:
        (result,) = results
        if isinstance(result, Failure):
            raise result.value or AssertionError
        return result

    def pass_time(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result; a tenth of a second passes whenever no descriptor is ready."""
        results = self.start(coroutine)
        for _ in range(100_000):
            if results:
                break
            if not self.turn():
                self.advance(0.1)
        return self._result(results)

    @staticmethod
    def _done(one: Any, why: BaseException | None) -> None:
        if why is not None:
            one.connectionLost(why)


def client_context(authority: Issued, certificate: Issued | None = None) -> ssl.SSLContext:
    """A client's TLS settings: trusts ``authority``, presents ``certificate``."""
    context = ssl.create_default_context(cadata=authority.pem.decode())
    context.set_alpn_protocols(["http/1.1"])
    if certificate is not None:
        with tempfile.TemporaryDirectory() as directory:
            context.load_cert_chain(*certificate.save(Path(directory), "client"))
    return context


class Client:
    """One raw TLS connection. ``sock`` is connected; the handshake is done on construction unless ``handshake=False``."""

    def __init__(
        self,
        reactor: SelectClock,
        sock: socket.socket,
        context: ssl.SSLContext,
        *,
        handshake: bool = True,
        session: ssl.SSLSession | None = None,
    ) -> None:
        self.reactor = reactor
        self.sock = sock
        sock.setblocking(False)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_hostname="localhost", session=session)
        self._unsent = b""
        self.got = b""
        """Plaintext received and not yet taken by :meth:`take`."""
        self.closed_cleanly = False
        """The server's close_notify came."""
        self.ended = False
        """The server's end of the TCP connection came, by FIN or reset."""
        self.alerts: list[str] = []
        """Fatal alerts of the server, as OpenSSL names them."""
        self.secured = False
        self.reading = True
        reactor.others.add(sock)
        if handshake:
            self.until(lambda: self.secured)
            self.settle()  # in TLS 1.3 the client is done before the server is

    def pump(self) -> None:
        """Move bytes both ways as far as that goes now."""
        if self.sock.fileno() < 0:
            return
        if self.reading:
            self._receive()
        if not self.secured:
            try:
                self.tls.do_handshake()
                self.secured = True
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as error:
                self.alerts.append(error.reason)
        if self.secured and self.reading:
            self._decrypt()
        self._unsent += self._out.read()
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while self._unsent:
                self._unsent = self._unsent[self.sock.send(self._unsent) :]

    def send(self, data: bytes) -> Client:
        """Encrypt and send."""
        view = memoryview(data)
        while view:
            view = view[self.tls.write(view) :]
        self.pump()
        return self

    def until(self, condition: Callable[[], bool]) -> None:
        """Both ends work until the condition holds."""

        def met() -> bool:
            self.pump()
            return condition()

        self.reactor.until(met)

    def settle(self) -> None:
        """Both ends work until nothing moves any more."""
        quiet = 0
        while quiet < 3:
            before = (len(self.got), self.ended, len(self._unsent))
            self.pump()
            moved = self.reactor.turn()
            self.pump()
            quiet = 0 if moved or before != (len(self.got), self.ended, len(self._unsent)) else quiet + 1

    def take(self, *, head_only: bool = False) -> Answer:
        """The next answer, waiting for it."""
        self.until(lambda: b"\r\n\r\n" in self.got or self.ended)
        head, _, self.got = self.got.partition(b"\r\n\r\n")
        answer = Answer(head)
        if head_only or answer.status in (100, 204, 304):
            return answer
        if answer.one("transfer-encoding") == "chunked":
            answer.body = self._chunks(answer)
        elif answer.one("content-length"):
            length = int(answer.one("content-length"))
            self.until(lambda: len(self.got) >= length or self.ended)
            answer.body, self.got = self.got[:length], self.got[length:]
        else:
            self.until(lambda: self.ended)
            answer.body, self.got = self.got, b""
        return answer

    def ask(self, data: bytes, *, head_only: bool = False) -> Answer:
        """Send and take."""
        return self.send(data).take(head_only=head_only)

    def close(self) -> None:
        """Go away: FIN without close_notify, as a killed client does."""
        self.reactor.others.discard(self.sock)
        self.sock.close()

    def _receive(self) -> None:
        try:
            while not self.ended:
                data = self.sock.recv(65536)
                if data:
                    self._in.write(data)
                else:
                    self._over()
        except BlockingIOError:
            pass
        except ConnectionError:
            self._over()

    def _over(self) -> None:
        self.ended = True
        self.reactor.others.discard(self.sock)

    def _decrypt(self) -> None:
        try:
            while data := self.tls.read(65536):
                self.got += data
            self.closed_cleanly = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.closed_cleanly = True
        except ssl.SSLError as error:
            self.alerts.append(error.reason)

    def _chunks(self, answer: Answer) -> bytes:
        body = b""
        while True:
            self.until(lambda: b"\r\n" in self.got or self.ended)
            if b"\r\n" not in self.got:
                return body
            line, _, rest = self.got.partition(b"\r\n")
            size = int(line, 16)
            needed = len(line) + size + 4
            self.until(lambda needed=needed: len(self.got) >= needed or self.ended)  # type: ignore[misc]  # mypy infers no type for a default
            rest = self.got[len(line) + 2 :]
            if len(rest) < size + 2:
                return body
            assert rest[size : size + 2] == b"\r\n"
            self.got = rest[size + 2 :]
            body += rest[:size]
            if not size:
                answer.whole = True
                return body


class Answer:
    """A response, parsed as strictly as it is simple."""

    def __init__(self, head: bytes) -> None:
        first, *lines = head.decode().split("\r\n")
        self.first = first
        self.status = int(first.split(" ")[1]) if first else 0
        self.headers: dict[str, list[str]] = {}
        for line in lines:
            name, _, value = line.partition(": ")
            self.headers.setdefault(name.lower(), []).append(value)
        self.body = b""
        self.whole = False
        """The last chunk came."""

    def one(self, name: str) -> str:
        """The only value of a header, or the empty string."""
        values = self.headers.get(name, [""])
        assert len(values) == 1, (name, values)
        return values[0]
