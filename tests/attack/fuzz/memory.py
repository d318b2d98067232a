"""The server in this process: from the bytes that a connection reads to the bytes that it writes, without sockets and TLS.

Everything between is real: parser, exchange, the whole chain with its authenticators, and the store in memory. Only the
TLS stream is played by :class:`MemoryStream`, and the clock stands until it is moved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any
from unittest.mock import patch

from cryptography import x509
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from extapi.admission.namespaces import NamespaceLifecycle
from extapi.api.definition import Api
from extapi.api.user import User
from extapi.authentication.authenticator import Authenticator, UnionAuthenticator
from extapi.authentication.bearer import Bearer, WebsocketBearer
from extapi.authentication.clientcertificate import ClientCertificate
from extapi.authentication.loopback import Loopback
from extapi.authentication.requestheader import RequestHeader
from extapi.authentication.trust import HeaderNames, TrustSettings
from extapi.authorization.alwaysallow import AlwaysAllowGroups, AlwaysAllowPaths
from extapi.authorization.authorizer import Authorizer, UnionAuthorizer
from extapi.listener import connection
from extapi.listener.state import ListenerState
from extapi.server.server import RequestAuth, Server
from extapi.storage.memory import MemoryBackend
from extapi.testing import Namespaces
from tests.attack.fuzz.answers import Answer, Reader
from tests.attack.fuzz.requests import CLIENT, NOBODY, PROXY
from tests.certificates import CLIENT as CLIENT_USAGE, authority

_RECORD = 16 * 1024
_SECRET = "in-memory"


class MemoryStream:
    """What a connection needs of :class:`extapi.listener.stream.TLSStream`. ``context``: the certificates of the peer."""

    def __init__(self, reactor: Any, context: Any, sock: Any, application: Any, *, handshake: float = 0.0) -> None:
        del sock, handshake
        self._reactor = reactor
        self._certificates = context
        self._application = application
        self._incoming: list[bytes] = []
        self.paused = False
        self.secured = self.heard = True
        self.ending = False
        self.gone = False
        self.aborted = False
        self.pending = 0
        self.out = bytearray()

    def arrive(self, data: bytes) -> None:
        """The peer sends."""
        self._incoming += [data[at : at + _RECORD] for at in range(0, len(data), _RECORD)]
        self._deliver()

    @property
    def readable(self) -> bool:
        """Something came that was not taken yet."""
        return bool(self._incoming)

    def _deliver(self) -> None:
        while self._incoming and not self.paused and not self.ending:
            self._application.received(self._incoming.pop(0))

    def write(self, data: bytes | memoryview, *, more: bool = False) -> None:
        """See :class:`extapi.listener.stream.TLSStream`."""
        del more
        if not self.ending:
            self.out += data

    def flush(self) -> None:
        """See :class:`extapi.listener.stream.TLSStream`."""

    def close(self) -> None:
        """See :class:`extapi.listener.stream.TLSStream`."""
        if not self.ending:
            self.ending = True
            self._reactor.callLater(0, self.lose)

    def abort(self) -> None:
        """See :class:`extapi.listener.stream.TLSStream`."""
        self.aborted = True
        self.close()

    def lose(self) -> None:
        """The connection has ended."""
        if not self.gone:
            self.ending = self.gone = True
            self._incoming.clear()
            self._application.disconnected(ConnectionDone())

    def pause(self) -> None:
        """See :class:`extapi.listener.stream.TLSStream`."""
        self.paused = True

    def resume(self) -> None:
        """See :class:`extapi.listener.stream.TLSStream`."""
        if self.paused:
            self.paused = False
            if self._incoming:
                self._reactor.callLater(0, self._deliver)

    def certificates(self) -> tuple[x509.Certificate, ...]:
        """See :class:`extapi.listener.stream.TLSStream`."""
        found: tuple[x509.Certificate, ...] = self._certificates
        return found


@cache
def _trust() -> tuple[bytes, bytes, dict[str, tuple[x509.Certificate, ...]]]:
    """Authorities of proxies and of clients, and what each peer presents; once per process."""
    proxies, clients = authority("front-proxy-ca"), authority("client-ca")
    presented = {
        PROXY: proxies.leaf("front-proxy-client", eku=CLIENT_USAGE).chain,
        CLIENT: clients.leaf("cert-user", orgs=["cert-group"], eku=CLIENT_USAGE).chain,
        NOBODY: (),
    }
    return proxies.pem, clients.pem, presented


class Tokens:
    """Knows one token."""

    def __init__(self, users: dict[str, User]) -> None:
        self._users = users

    async def authenticate_token(self, token: str, address: str = "") -> User | None:
        """See :class:`extapi.authentication.bearer.TokenAuthenticator`."""
        return self._users.get(token)


class MemoryServer:
    """``api`` behind connections in memory. ``authorizers`` come after those that every server has."""

    def __init__(self, api: Api, authorizers: Iterable[Authorizer] = (), tokens: dict[str, User] | None = None) -> None:
        proxy_ca, client_ca, self._presented = _trust()
        self.clock = Clock()
        self.clock.advance(int(time.time()))
        self.backend = MemoryBackend(self.clock)
        self.namespaces = Namespaces()
        self.namespaces.missing.add("absent")
        self.namespaces.terminating.add("ending")
        settings = TrustSettings()
        settings.trust_proxies(proxy_ca)
        settings.trust_clients(client_ca)
        settings.use_names(
            HeaderNames(
                ("x-remote-user",),
                ("x-remote-uid",),
                ("x-remote-group",),
                ("x-remote-extra-",),
                ("front-proxy-client",),
            )
        )
        known = Tokens({"good": User("token-user")} if tokens is None else tokens)
        authenticators: list[Authenticator] = [
            Loopback(_SECRET),
            RequestHeader(settings, self.clock),
            ClientCertificate(settings, self.clock),
            Bearer(known),
            WebsocketBearer(known),
        ]
        self.server = Server(
            api,
            self.backend,
            self.clock,
            auth=RequestAuth(
                UnionAuthenticator(authenticators),
                settings,
                UnionAuthorizer([AlwaysAllowGroups(), AlwaysAllowPaths(), *authorizers]),
                _SECRET,
            ),
            builtin=[NamespaceLifecycle(cache=self.namespaces, live=self.namespaces.live, clock=self.clock)],
        )
        self._shared = ListenerState(reactor=self.clock, handler=self.server.handler)
        self._open: dict[str, tuple[Any, MemoryStream]] = {}

    def start(self) -> None:
        """Fill the cache, start plugins."""
        self._finish(self.server.start())

    def stop(self) -> None:
        """End connections and the server."""
        for _, stream in self._open.values():
            stream.lose()
        self._finish(self.server.stop())

    def _finish(self, coroutine: Any) -> None:
        results: list[Any] = []
        Deferred.fromCoroutine(coroutine).addBoth(results.append)
        for _ in range(1000):
            if results:
                break
            self.clock.advance(0.1)
        if not results or isinstance(results[0], Failure):
            raise RuntimeError(f"the server did not start or stop: {results}")

    async def revision(self) -> int:
        """Of the store."""
        return await self.backend.revision()

    def _connection(self, peer: str) -> MemoryStream:
        kept = self._open.get(peer)
        if kept is not None and not kept[1].ending:
            return kept[1]
        # The stand-in is handed to the connection where the real one would be; nothing else is replaced.
        stand_in: Callable[..., MemoryStream] = MemoryStream
        with patch.object(connection, "TLSStream", stand_in):
            made: Any = connection.Connection(self._shared, self._presented[peer], None, "127.0.0.1")  # type: ignore[arg-type]  # see MemoryStream
        made.secured()
        self._open[peer] = (made, made.stream)
        stream: MemoryStream = made.stream
        return stream

    def send(self, peer: str, data: bytes, methods: list[str], *, patient: bool = True) -> tuple[list[Answer], bool]:
        """Send bytes, and read what comes; whether the connection was left in order (no answer is missing).

        ``methods``: of the requests in the bytes, as far as they are known, for HEAD. ``patient``: the connection is kept
        for the next request, since nothing more can come on it.
        """
        stream = self._connection(peer)
        del stream.out[:]
        stream.arrive(data)
        reader = Reader(methods)
        answers = reader.read(stream.out, ended=stream.ending)
        steps = 0
        while not self._enough(answers, methods, stream) and steps < 140:
            # First in small steps, since most of what is waited for comes at once, then through the deadlines.
            self.clock.advance(0.001 if steps < 20 else 0.6)
            steps += 1
            answers = reader.read(stream.out, ended=stream.ending)
            if answers and not answers[-1].whole and steps > 3 and reader.streaming:
                break
        whole = self._enough(answers, methods, stream)
        if (
            not patient
            or not whole
            or reader.streaming
            or len(answers) != len(methods)
            or (answers and answers[-1].status == 101)
        ):
            stream.lose()
        self.clock.advance(0)
        return answers, whole

    @staticmethod
    def _enough(answers: list[Answer], methods: list[str], stream: MemoryStream) -> bool:
        return stream.ending or (len(answers) >= len(methods) and all(answer.whole for answer in answers))
