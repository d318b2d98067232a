"""What each member of etcd says of itself, and how it is reached: for ``extapi storage status`` and the doctor. Writes nothing.

A member of any version is asked, and one that cannot be reached does not hide the others.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

from cryptography import x509
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.error import ConnectError

from extapi.storage.base import Unavailable, UnusableStore
from extapi.storage.etcd import wire
from extapi.storage.etcd.alarms import alarms_of
from extapi.storage.etcd.call import Lost, NotBegun, NotGrpc, RpcError
from extapi.storage.etcd.connection import RpcConnection
from extapi.storage.etcd.dialling import answer_of, call_block, introduced, supported
from extapi.storage.etcd.endpoints import EtcdAccess, EtcdEndpoint, EtcdOptions
from extapi.storage.etcd.frames import header_block

_ROOT_ONLY = "(for root only)"
"""What stands for the version where only root may ask for it; such etcds are new enough."""
_READS = 3
"""Linearizable reads that are timed."""
_READ_SECONDS = 5.0


class MemberReport(NamedTuple):
    """Of one endpoint."""

    endpoint: str
    failure: str = ""
    """Why there is nothing else; empty: there is."""
    version: str = ""
    supported: bool = True
    """Whether a server starts on this version."""
    hidden: bool = False
    """Whether it tells its version, size, leader and alarms to root alone: they are unknown."""
    member: int = 0
    leads: bool = False
    leader: bool = True
    """Whether it knows of one."""
    learner: bool = False
    size: int = 0
    """Bytes of its database's file."""
    in_use: int = 0
    """Bytes of it that are not free."""
    quota: int = 0
    """Bytes that it may have; 0: it does not say, before 3.6."""
    alarms: tuple[str, ...] = ()
    seconds: float | None = None
    """How long a linearizable read takes, in the median; None: it failed, and ``read_failure`` says why."""
    read_failure: str = ""
    through_http: bool = False
    """Whether an HTTP server takes the calls of its clients."""
    certificate_ends: dt.datetime | None = None
    """The end of its certificate's validity; None: without TLS."""


async def survey(reactor: Any, options: EtcdOptions) -> list[MemberReport]:
    """Ask all endpoints at the same time; some seconds at most.

    Raises:
        UnusableStore: A file of the options cannot be used.
    """
    access = EtcdAccess(options)
    asked = [Deferred.fromCoroutine(_report(reactor, access, each, options.prefix)) for each in access.endpoints]
    return await gatherResults(asked, consumeErrors=True)


async def _report(reactor: Any, access: EtcdAccess, endpoint: EtcdEndpoint, prefix: str) -> MemberReport:
    try:
        connection, token, status = await introduced(reactor, access, endpoint, lambda *_: None)
    except (UnusableStore, Unavailable, RpcError, Lost, NotBegun, ConnectError) as error:
        return MemberReport(endpoint.url, str(error))
    hidden = status is None
    status = status or wire.Status(_ROOT_ONLY, 0, [])
    try:
        found = MemberReport(
            endpoint.url,
            version=status.version[:40],
            supported=hidden or supported(status.version),
            hidden=hidden,
            member=status.member,
            leads=0 < status.leader == status.member,
            leader=bool(status.leader) or hidden,
            learner=status.learner,
            size=status.size,
            in_use=status.in_use,
            quota=status.quota,
            alarms=tuple(alarms_of(status.errors)),
            certificate_ends=_certificate_end(connection),
        )
        try:
            block = call_block(wire.RANGE, endpoint, token)
            request = wire.range_request(f"{prefix}/mark".encode(), count_only=True)
            times = []
            for _ in range(_READS):
                begun = reactor.seconds()
                await answer_of(reactor, connection, block, request, begun + _READ_SECONDS)
                times.append(reactor.seconds() - begun)
        except (Unavailable, RpcError, Lost, NotBegun) as error:
            return found._replace(read_failure=str(error))
        through_http = await _through_http(reactor, connection, endpoint)
        return found._replace(seconds=sorted(times)[_READS // 2], through_http=through_http)
    finally:
        connection.close()


async def _through_http(reactor: Any, connection: RpcConnection, endpoint: EtcdEndpoint) -> bool:
    """Whether an HTTP server takes the calls, as it does with TLS unless HTTP has a port of its own: what is no call is answered.

    Source: ``go.etcd.io/etcd/server/v3/embed`` serve.go, ``grpcHandlerFunc``.
    """
    block = header_block(
        [
            (b":method", b"HEAD"),  # an answer without content, which would not be that of a call
            (b":scheme", b"https" if endpoint.tls else b"http"),
            (b":path", b"/version"),
            (b":authority", endpoint.url.partition("://")[2].encode()),
            (b"user-agent", b"extapi"),
        ]
    )
    try:
        await answer_of(reactor, connection, block, b"", reactor.seconds() + _READ_SECONDS)
    except NotGrpc:
        return True
    except (RpcError, Lost, NotBegun):
        pass  # an error of gRPC; or no answer at all, which says nothing
    return False


def _certificate_end(connection: Any) -> dt.datetime | None:
    ask = getattr(connection.transport, "getPeerCertificate", None)
    certificate = ask() if ask else None
    return None if certificate is None else certificate.to_cryptography().not_valid_after_utc


def own_certificates(options: EtcdOptions) -> list[tuple[str, dt.datetime]]:
    """The files with certificates of the options, and when the first of those in each ends that ends first.

    Raises:
        UnusableStore: A file cannot be read.
    """
    found = []
    for flag, path in (("--etcd-cafile", options.cafile), ("--etcd-certfile", options.certfile)):
        if path is not None:
            try:
                certificates = x509.load_pem_x509_certificates(path.read_bytes())
            except (OSError, ValueError) as error:
                raise UnusableStore(f"{flag}: {path}: {error}") from error
            found.append((f"{flag} {path}", min(each.not_valid_after_utc for each in certificates)))
    return found
