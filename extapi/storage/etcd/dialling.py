"""How a connection to etcd is made ready: dialled, secured, authenticated, and asked for its version. Knows one endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure

from extapi.client.tcp import tcp_endpoint
from extapi.clock import Timer, stop_timer
from extapi.storage.base import Unavailable, UnusableStore
from extapi.storage.etcd import wire
from extapi.storage.etcd.call import Lost, RpcError
from extapi.storage.etcd.connection import RpcConnection
from extapi.storage.etcd.endpoints import EtcdAccess, EtcdEndpoint
from extapi.storage.etcd.frames import header_block

_PERMISSION_DENIED: Final = 7
"""That of gRPC. Where users are asked for, some versions tell theirs to root alone: 3.5 from 3.5.28 on, and 3.6 from its first
one, each up to a later one that tells all users (etcd issues 21466 and 21663). All of them are new enough; older ones tell
everybody."""
_NOT_ENABLED: Final = "etcdserver: authentication is not enabled"
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,6})")


def supported(version: str) -> bool:
    """Whether progress marks of this version of etcd can be trusted.

    Source: ``k8s.io/apiserver/pkg/storage/feature`` endpointSupportsRequestWatchProgress; etcd issues 15220 and 17507.
    """
    found = _VERSION.match(version)
    if found is None:
        return False
    parts = tuple(int(part) for part in found.groups())
    return (3, 4, 31) <= parts < (3, 5, 0) or parts >= (3, 5, 13)


class TooOld(UnusableStore):
    """An endpoint runs a version of etcd that cannot be used."""

    def __init__(self, endpoint: str, version: str) -> None:
        super().__init__(
            f"storage etcd: {endpoint} runs etcd {version[:40]!r}, whose watch progress cannot be relied on; "
            "3.5.13 or newer is needed, or 3.4.31 or newer of 3.4"
        )


def _check_status(endpoint: EtcdEndpoint, status: wire.Status) -> None:
    if not supported(status.version):
        raise TooOld(endpoint.url, status.version)
    if status.learner:
        raise Unavailable("it is a learner, which answers nothing until it is promoted")


async def dialled(
    reactor: Any, access: EtcdAccess, endpoint: EtcdEndpoint, gone: Callable[[RpcConnection, str], None]
) -> tuple[RpcConnection, bytes]:
    """A connection that can be used, and its token.

    Raises:
        TooOld: The endpoint's etcd is too old.
        Unavailable: It has joined its cluster, and has no vote yet.
        Exception: See :func:`introduced`.
    """
    connection, token, status = await introduced(reactor, access, endpoint, gone)
    try:
        if status is not None:
            _check_status(endpoint, status)
    except BaseException:
        connection.close()
        raise
    return connection, token


async def introduced(
    reactor: Any, access: EtcdAccess, endpoint: EtcdEndpoint, gone: Callable[[RpcConnection, str], None]
) -> tuple[RpcConnection, bytes, wire.Status | None]:
    """A connection to an etcd of any version, its token, and what etcd says of itself; None if only root may ask.

    Raises:
        Exception: The endpoint cannot be reached, or refuses us; it is an
            :class:`Unavailable`, :class:`RpcError`, :class:`Lost`, :class:`NotBegun` or ``ConnectError``.
    """
    deadline = reactor.seconds() + access.times.dial
    connection = await _opened(reactor, access, endpoint, gone)
    try:
        token = await _token(reactor, access, endpoint, connection, deadline)
        status: wire.Status | None = None
        try:
            data = await answer_of(reactor, connection, call_block(wire.STATUS, endpoint, token), b"", deadline)
        except RpcError as error:
            if error.code != _PERMISSION_DENIED:
                raise
        else:
            status = wire.status_answer(data)
    except BaseException:
        connection.close()
        raise
    if not connection.usable:
        raise Lost("the connection was lost")
    return connection, token, status


async def _token(
    reactor: Any, access: EtcdAccess, endpoint: EtcdEndpoint, connection: RpcConnection, deadline: float
) -> bytes:
    """A token, if there is a user; none if etcd asks for no users, which may change as it runs.

    Source: ``go.etcd.io/etcd/client/v3`` client.go getToken.
    """
    if access.credentials is None:
        return b""
    block, request = call_block(wire.AUTHENTICATE, endpoint, b""), wire.authenticate_request(*access.credentials)
    try:
        answer = await answer_of(reactor, connection, block, request, deadline)
    except RpcError as error:
        if str(error) != _NOT_ENABLED:
            raise
        return b""
    return wire.authenticate_answer(answer)


def _opened(
    reactor: Any, access: EtcdAccess, endpoint: EtcdEndpoint, gone: Callable[[RpcConnection, str], None]
) -> Deferred[RpcConnection]:
    """A connection whose peer has said that it speaks HTTP/2."""
    access.refresh()
    done: Deferred[RpcConnection] = Deferred(lambda _: abandon())
    made: list[RpcConnection] = []

    def abandon() -> None:
        connecting.cancel()
        for each in made:
            each.close()

    def finished(result: RpcConnection | Failure | Exception) -> None:
        stop_timer(timer)
        if not done.called:
            done.errback(result) if isinstance(result, (Failure, Exception)) else done.callback(result)

    def lost(connection: RpcConnection, why: str) -> None:
        gone(connection, why)
        finished(Lost(why))

    def late() -> None:
        finished(Lost("it does not answer"))
        abandon()

    class Dialler(Factory):
        noisy = False

        def buildProtocol(_, addr: Any) -> RpcConnection:  # noqa: N802, N805, ARG002 - Twisted's
            made.append(RpcConnection(reactor, finished, lost, ping=access.times.ping))
            return made[0]

    factory: Any = Dialler()
    if endpoint.tls:
        # not connectSSL: its small writes wait for a timer of the one global reactor
        factory = TLSMemoryBIOFactory(access.tls(endpoint.host), True, factory, clock=reactor)
        factory.noisy = False
    timer: Timer = reactor.callLater(access.times.dial, late)
    way = tcp_endpoint(reactor, endpoint.host, endpoint.port, timeout=access.times.dial)
    connecting: Deferred[Any] = way.connect(factory)
    connecting.addErrback(lambda reason: finished(Lost(reason.getErrorMessage())))
    return done


async def answer_of(reactor: Any, connection: RpcConnection, block: bytes, request: bytes, deadline: float) -> bytes:
    """The answer to a call that is made before the connection is used; ``block``: of :func:`call_block`."""
    answers: list[bytes] = []
    done: Deferred[None] = Deferred(lambda _: call.cancel())

    def end(outcome: Exception | None) -> None:
        if not done.called:
            done.callback(None) if outcome is None and answers else done.errback(outcome or Lost("no answer"))

    def late() -> None:
        call.cancel()
        end(Lost("it does not answer"))

    call = connection.begin(block, request, answers.append, end, last=True)
    timer = reactor.callLater(max(deadline - reactor.seconds(), 0.0), late)
    try:
        await done
    finally:
        stop_timer(timer)
    return answers[0]


def call_block(method: bytes, endpoint: EtcdEndpoint, token: bytes) -> bytes:
    """The headers of a call. ``hasleader``: a member without a leader refuses it, and ends a watch, instead of going quiet."""
    headers = [
        (b":method", b"POST"),
        (b":scheme", b"https" if endpoint.tls else b"http"),
        (b":path", method),
        (b":authority", endpoint.url.partition("://")[2].encode()),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
        (b"user-agent", b"extapi"),
        (b"hasleader", b"true"),
    ]
    if token:
        headers.append((b"token", token))
    return header_block(headers)
