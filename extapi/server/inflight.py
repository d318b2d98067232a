"""Stage 3, is there room: a bound on the requests in work, one for reads and one for writes (spec H7).

Watches do not count: they are long-running. Nor do ``system:masters``, so that an operator gets through to a busy server,
and health checks, which kubelets ask without credentials (``SuggestedFlowSchemaProbes`` in
``k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap``).
"""

from __future__ import annotations

from extapi.api.user import MASTERS, UNAUTHENTICATED
from extapi.listener.call import Body, Call, Handler, Response

READS = frozenset({"get", "list", "watch"})

PROBES = frozenset({"/healthz", "/livez", "/readyz"})

UNAUTHENTICATED_SHARE = 4
"""Nobody in particular gets one of so many places: kube-apiserver keeps them apart by its catch-all priority level."""


class InFlight:
    """Lets at most ``reads`` and ``writes`` requests in at a time; the others get 429 and a second to wait. 0: no bound.

    A place is only held while there is something to do: who has to wait for a body gives it back meanwhile, and needs
    another one when the body has come.
    """

    def __init__(self, successor: Handler, *, reads: int = 400, writes: int = 200) -> None:
        self._successor = successor
        self._reads = _Pool(reads)
        self._writes = _Pool(writes)

    async def __call__(self, call: Call) -> Response:
        """Pass the call on if there is room."""
        info, user = call.info, call.user
        verb = info.verb
        if verb == "watch" or (user is not None and MASTERS in user.groups):
            return await self._successor(call)
        if verb == "get" and info.path in PROBES:
            return await self._successor(call)
        pool = self._reads if verb in READS else self._writes
        unauthenticated = user is None or UNAUTHENTICATED in user.groups
        if not pool.take(unauthenticated=unauthenticated):
            return _no_room()
        if not call.body.complete:
            return await self._awaiting_body(call, _Place(pool, unauthenticated=unauthenticated))
        try:
            return await self._successor(call)
        finally:
            pool.give_back(unauthenticated=unauthenticated)

    async def _awaiting_body(self, call: Call, place: _Place) -> Response:
        call.body = _AwaitedBody(call.body, place)
        try:
            return await self._successor(call)
        except _NoRoom:
            return _no_room()
        finally:
            place.give_back()


class _Pool:
    """``size``: places; 0: no bound."""

    __slots__ = ("_size", "_taken", "_unauthenticated")

    def __init__(self, size: int) -> None:
        self._size = size
        self._taken = 0
        self._unauthenticated = 0

    def take(self, *, unauthenticated: bool) -> bool:
        """Whether there was a place."""
        if self._size:
            if self._taken >= self._size:
                return False
            if unauthenticated and self._unauthenticated >= max(1, self._size // UNAUTHENTICATED_SHARE):
                return False
        self._taken += 1
        self._unauthenticated += unauthenticated
        return True

    def give_back(self, *, unauthenticated: bool) -> None:
        """A place is free again."""
        self._taken -= 1
        self._unauthenticated -= unauthenticated


class _Place:
    """A place in a pool, taken: it can be given back and taken again, and never given back twice."""

    __slots__ = ("_pool", "_taken", "_unauthenticated")

    def __init__(self, pool: _Pool, *, unauthenticated: bool) -> None:
        self._pool = pool
        self._unauthenticated = unauthenticated
        self._taken = True

    def take(self) -> bool:
        self._taken = self._pool.take(unauthenticated=self._unauthenticated)
        return self._taken

    def give_back(self) -> None:
        if self._taken:
            self._taken = False
            self._pool.give_back(unauthenticated=self._unauthenticated)


class _NoRoom(Exception):
    """The body has come, and all places are taken."""


class _AwaitedBody:
    """The body of a request that has only just begun to arrive."""

    __slots__ = ("_body", "_place")

    def __init__(self, body: Body, place: _Place) -> None:
        self._body = body
        self._place = place

    @property
    def complete(self) -> bool:
        """See :class:`extapi.listener.call.Body`."""
        return self._body.complete

    async def read(self, limit: int) -> bytes:
        """See :class:`extapi.listener.call.Body`."""
        if self._body.complete:
            return await self._body.read(limit)
        self._place.give_back()
        data = await self._body.read(limit)
        if not self._place.take():
            raise _NoRoom
        return data


def _no_room() -> Response:
    return Response(
        429,
        [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("X-Content-Type-Options", "nosniff"),
            ("Retry-After", "1"),
        ],
        b"Too many requests, please try again later.\n",
    )
