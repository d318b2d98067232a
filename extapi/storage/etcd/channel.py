"""Calls to etcd: one connection at a time, to the next endpoint when one fails; what may be repeated. Knows no keys.

A call that cannot have been worked on is made again, whatever it is. One that may have been is made again only if it is
repeatable. A new connection is asked for etcd's version, and for a token if there is a user, before it is used.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectError
from twisted.logger import Logger

from extapi.clock import sleep, stop_timer
from extapi.storage.base import Overloaded, StoreRefused, TooLarge, Unavailable, Uncertain, UnusableStore
from extapi.storage.etcd.advice import advised
from extapi.storage.etcd.call import Lost, NotBegun, RpcCall, RpcError
from extapi.storage.etcd.connection import RpcConnection
from extapi.storage.etcd.deadlines import Deadlines
from extapi.storage.etcd.dialling import answer_of, call_block, dialled
from extapi.storage.etcd.endpoints import EtcdAccess, EtcdEndpoint

Ask = Callable[[bytes, bytes], Awaitable[bytes]]
"""A call of a method, with a request, on one connection."""
_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
"""Seconds before endpoints are tried again that all failed; doubled with each round."""

UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, PERMISSION_DENIED = 2, 3, 4, 7
RESOURCE_EXHAUSTED, OUT_OF_RANGE = 8, 11
INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = 13, 14, 15, 16
"""Codes of gRPC that etcd uses (``etcd/api/v3/v3rpc/rpctypes/error.go``)."""

_LEARNER = "etcdserver: rpc not supported for learner"
_NOT_BEGUN = frozenset({"etcdserver: no leader", "etcdserver: too many requests", "raft proposal dropped", _LEARNER})
"""Errors with which a member says that it has proposed nothing. One that is stopping may have proposed
(``etcdserver/v3_server.go`` processInternalRaftRequestOnce)."""
_ELSEWHERE = _NOT_BEGUN | {"raft: stopped"}
"""Errors about the member, whatever their code: it has no vote yet, hands over its lead, or was removed from its cluster
(``go.etcd.io/raft/v3`` node.go ErrStopped, raft.go ErrProposalDropped; ``go.etcd.io/etcd/client/v3`` retry_interceptor.go
isSafeRetry)."""
_SMALL = "etcdserver: request is too large"
_CHANGED, _NOBODY = "etcdserver: revision of auth store is old", "etcdserver: user name is empty"
_ALARMED = frozenset({"etcdserver: mvcc: database space exceeded", "etcdserver: corrupt cluster"})
"""Errors while an alarm is raised, NOSPACE or CORRUPT."""


class Channel:
    """The way to etcd for calls, or for watches: large answers would hold up watches on the same connection.

    Args:
        reactor: An ``IReactorTime`` and ``IReactorTCP``.
        access: How etcd is reached.
        start: Which of its endpoints is used first.
        confirm: Looks at each new connection before it is used; may make calls on it.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        access: EtcdAccess,
        *,
        start: int = 0,
        confirm: Callable[[Ask], Awaitable[None]] | None = None,
    ) -> None:
        self._reactor = reactor
        self._access = access
        self._confirm = confirm
        self._endpoints: list[EtcdEndpoint] = access.endpoints
        self._at = start
        self._connection: RpcConnection | None = None
        self._token = b""
        self._blocks: dict[bytes, bytes] = {}
        """The headers of calls by method, for the connection in use."""
        self._dialling: Deferred[None] | None = None
        self._waiting: list[Deferred[RpcConnection]] = []
        self._why = "it has not been reached yet"
        self._deadlines = Deadlines(reactor)
        self._closed = False

    @property
    def endpoint(self) -> EtcdEndpoint:
        """The one in use, or the next to be tried."""
        return self._endpoints[self._at % len(self._endpoints)]

    def advised(self, words: str) -> str:
        """See :func:`extapi.storage.etcd.advice.advised`."""
        return advised(words, self._access.options)

    # -- calls

    async def call(self, method: bytes, request: bytes, *, repeatable: bool, seconds: float | None = None) -> bytes:
        """One request, one answer, within ``seconds`` (None: as calls usually).

        Raises:
            RpcError: etcd refuses it, with a code that says nothing of its availability.
            TooLarge: It is larger than etcd accepts.
            StoreRefused: An alarm is raised.
            Overloaded: etcd has too much to do; nothing was done.
            Uncertain: It may have been done; only if it is not repeatable.
            Unavailable: Nothing was done.
        """
        deadline = self._reactor.seconds() + (self._access.times.call if seconds is None else seconds)
        renewed = False
        while True:
            connection = await self._connected(deadline)
            where = f"etcd at {self.endpoint.url}"
            try:
                return await self._once(connection, method, request, deadline - self._reactor.seconds())
            except NotBegun as error:
                self._drop(connection, str(error))
                again: Exception = Unavailable(f"{where}: {error}")
            except Lost as error:
                again = Unavailable(f"{where}: {error}")
                if not repeatable:
                    raise Uncertain(f"{where}: {error}") from error
            except RpcError as error:
                if self._renews(error):
                    again = Unavailable(f"{where}: {error}")
                    if self._access.credentials is not None:
                        self._drop(connection, str(error))
                    if not renewed:
                        renewed = True
                        continue
                else:
                    again = _judged(error, where, repeatable=repeatable)
                    if isinstance(again, Overloaded):
                        raise again from error
                    self._drop(connection, str(error))
            if self._reactor.seconds() + _PAUSE >= deadline:
                raise again
            await sleep(self._reactor, _PAUSE)

    def _renews(self, error: RpcError) -> bool:
        """Whether etcd has done nothing, and may do it with a new token.

        A simple one is lost when its member restarts, any when users change. There may have been none, because users have been asked
        for only since then. Whoever is known by a certificate has no token, but meets a change of users all the same.

        Source: ``go.etcd.io/etcd/client/v3`` retry_interceptor.go shouldRefreshToken and refreshToken.
        """
        if self._access.credentials is None:
            return str(error) == _CHANGED
        return error.code == UNAUTHENTICATED or str(error) in (_CHANGED, _NOBODY)

    def _once(self, connection: RpcConnection, method: bytes, request: bytes, seconds: float) -> Deferred[bytes]:
        answers: list[bytes] = []
        call: RpcCall

        def cancelled(_: Deferred[bytes]) -> None:
            self._deadlines.remove(deadline)
            call.cancel()

        done: Deferred[bytes] = Deferred(cancelled)

        def end(outcome: Exception | None) -> None:
            self._deadlines.remove(deadline)
            if outcome is None and len(answers) == 1:
                done.callback(answers[0])
            else:
                done.errback(outcome or Lost("no answer came"))

        def message(data: bytes) -> None:
            answers.append(data)
            if len(answers) > 1:
                call.cancel()
                end(Lost("several answers instead of one"))

        def late() -> None:
            call.cancel()
            self._drop(connection, "no answer came in time")
            done.errback(Lost("no answer came in time"))

        call = connection.begin(self._block(method), request, message, end, last=True)
        deadline = self._deadlines.add(seconds, late)
        return done

    async def stream(
        self,
        method: bytes,
        first: bytes,
        message: Callable[[bytes], None],
        end: Callable[[Exception | None], None],
    ) -> RpcCall:
        """Begin a call in which messages go both ways. The next call goes elsewhere if the peer ends it with an error.

        Raises:
            Unavailable: No endpoint can be reached.
        """
        connection = await self._connected(self._reactor.seconds() + self._access.times.call)

        def ended(outcome: Exception | None) -> None:
            if isinstance(outcome, RpcError):  # for instance, the member has no leader: another one may have
                self._drop(connection, str(outcome))
            end(outcome)

        try:
            return connection.begin(self._block(method), first, message, ended, last=False)
        except NotBegun as error:
            raise Unavailable(f"etcd: {error}") from error

    def _block(self, method: bytes) -> bytes:
        block = self._blocks.get(method)
        if block is None:
            block = self._blocks[method] = call_block(method, self.endpoint, self._token)
        return block

    # -- the connection

    async def _connected(self, deadline: float) -> RpcConnection:
        """The connection, once there is one.

        Raises:
            Unavailable: There is none in time.
        """
        if self._closed:
            raise Unavailable("the store is closed")
        connection = self._connection
        if connection is not None and connection.usable and not connection.full:
            return connection
        waiting: Deferred[RpcConnection] = Deferred(self._forget)
        self._waiting.append(waiting)
        timer = self._reactor.callLater(max(deadline - self._reactor.seconds(), 0.0), self._give_up, waiting)
        if self._dialling is None:
            self._dialling = Deferred.fromCoroutine(self._dial())
        try:
            return await waiting
        finally:
            stop_timer(timer)

    def _forget(self, waiting: Deferred[RpcConnection]) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)

    def _give_up(self, waiting: Deferred[RpcConnection]) -> None:
        self._forget(waiting)
        waiting.errback(Unavailable(f"etcd cannot be reached: {self._why}"))

    def _drop(self, connection: RpcConnection, why: str) -> None:
        """Use another endpoint from now on. What runs on this connection may still come to its end."""
        if self._connection is connection:
            self._connection = None
            self._why = f"{self.endpoint.url}: {why}"
            self._at += 1
            connection.retire()

    async def _dial(self) -> None:
        """Try endpoints as long as somebody waits, each at once, then with pauses."""
        failures = 0
        try:
            while self._waiting and not self._closed:
                endpoint = self.endpoint
                try:
                    connection, token = await dialled(self._reactor, self._access, endpoint, self._drop)
                    await self._confirmed(connection, endpoint, token)
                except (UnusableStore, Unavailable, RpcError, Lost, NotBegun, ConnectError) as error:
                    self._why = f"{endpoint.url}: {self.advised(str(error))}"
                    self._log.warn("etcd cannot be used: {why}", why=self._why)
                    self._at += 1
                    failures += 1
                    rounds, position = divmod(failures, len(self._endpoints))
                    if not position:
                        await sleep(self._reactor, min(_PAUSE * 2 ** min(rounds, 10), _LONGEST_PAUSE))
                    continue
                if self._connection is not None:  # it takes no more calls
                    self._connection.retire()
                self._connection, self._token = connection, token
                self._blocks.clear()
                waiting, self._waiting = self._waiting, []
                for each in waiting:
                    each.callback(connection)
        except CancelledError:
            pass
        finally:
            self._dialling = None

    async def _confirmed(self, connection: RpcConnection, endpoint: EtcdEndpoint, token: bytes) -> None:
        if self._confirm is None:
            return
        deadline = self._reactor.seconds() + self._access.times.dial

        async def ask(method: bytes, request: bytes) -> bytes:
            block = call_block(method, endpoint, token)
            return await answer_of(self._reactor, connection, block, request, deadline)

        try:
            await self._confirm(ask)
        except BaseException:
            connection.close()
            raise
        if not connection.usable:
            raise Lost("the connection was lost")

    async def versions(self) -> None:
        """Ask every endpoint that can be reached for its version.

        Raises:
            TooOld: One is too old. Those that cannot be reached are asked when they are used.
        """
        for endpoint in self._endpoints:
            try:
                connection, _ = await dialled(self._reactor, self._access, endpoint, self._drop)
            except UnusableStore:
                raise
            except (Unavailable, RpcError, Lost, NotBegun, ConnectError) as error:
                self._why = f"{endpoint.url}: {self.advised(str(error))}"
                self._log.warn("etcd cannot be used: {why}", why=self._why)
            else:
                connection.close()

    def leave(self, call: RpcCall, why: str) -> None:
        """Use another connection from now on, which gets a token of its own; unless that of the call has been left before."""
        if self._connection is call.carrier:
            self._drop(self._connection, why)

    def close(self) -> None:
        """End the connection; calls fail."""
        self._closed = True
        if self._dialling is not None:
            self._dialling.cancel()
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.errback(Unavailable("the store is closed"))
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._deadlines.close()


def _judged(error: RpcError, where: str, *, repeatable: bool) -> Exception:
    """What an error means: raised at once if trying elsewhere does not help, else returned.

    ``where`` is the endpoint that answered, for messages.

    Raises:
        RpcError: It is about the request.
        TooLarge: The request is too large.
        StoreRefused: An alarm is raised.
        Uncertain: It may have been done.
        Unavailable: It was not done, and cannot be now.
    """
    text = str(error)
    if text in _ALARMED and error.code in (RESOURCE_EXHAUSTED, DATA_LOSS):
        raise StoreRefused(text)
    if error.code == INVALID_ARGUMENT and text == _SMALL:
        raise TooLarge(text)
    if error.code == RESOURCE_EXHAUSTED:
        # A message that is larger than gRPC itself accepts is refused before etcd sees it.
        if "larger than max" in text:
            raise TooLarge(_SMALL)
        if text in _NOT_BEGUN:
            return Overloaded(f"{where}: {text}")
        raise Unavailable(f"{where}: {text}")
    passing = error.code in (UNAVAILABLE, DEADLINE_EXCEEDED, INTERNAL, UNAUTHENTICATED) or text in _ELSEWHERE
    # What etcd has no name for may come after it has proposed.
    if not passing and (repeatable or error.code != UNKNOWN):
        raise error
    if error.code == UNAUTHENTICATED:
        raise Unavailable(f"{where}: {text}")
    if not repeatable and text not in _NOT_BEGUN:
        raise Uncertain(f"{where}: {text}")
    return Unavailable(f"{where}: {text}")
