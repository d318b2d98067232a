"""Stage 3: bounds on the requests in flight, one for reads and one for writes (behaviour H7).

Not counted are watches and other long-running requests; requests of ``system:masters``, so that operators can reach a busy server;
and health checks, which kubelets send without credentials.

Source: ``k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap`` SuggestedFlowSchemaProbes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from extapi.api.user import MASTERS, UNAUTHENTICATED
from extapi.http.request import Body, Request
from extapi.http.response import Handler, Response, http_error

READS = frozenset({"get", "list", "watch"})

PROBES = frozenset({"/healthz", "/livez", "/readyz"})

UNAUTHENTICATED_SHARE = 4
"""Unauthenticated requests get one of this many slots; kube-apiserver has its catch-all priority level for them."""


class Room:
    """How many requests may be in flight, and are.

    Args:
        reads: The most read requests; 0 for no bound.
        writes: The most write requests; 0 for no bound.
        refused: Is called with each request that gets 429.
    """

    __slots__ = ("reads", "refused", "writes")

    def __init__(self, reads: int = 400, writes: int = 200, refused: Callable[[Request], None] | None = None) -> None:
        self.reads = _Slots(reads)
        self.writes = _Slots(writes)
        self.refused = refused or _ignored


class InFlight:
    """Passes on a bounded number of requests at a time; the others get 429, and a second to wait.

    A request that waits for its body gives its slot back meanwhile, and needs another one when the body has arrived.

    Args:
        successor: The next stage.
        room: How many.
    """

    def __init__(self, successor: Handler, room: Room) -> None:
        self._successor = successor
        self._room = room

    def __call__(self, request: Request) -> Awaitable[Response]:
        """The successor's response, or 429."""
        info, user = request.info, request.user
        verb = info.verb
        lasting = verb == "watch" or request.long_running
        if lasting or (user is not None and MASTERS in user.groups) or (verb == "get" and info.path in PROBES):
            return self._successor(request)
        return self._counted(request, self._room.reads if verb in READS else self._room.writes)

    async def _counted(self, request: Request, slots: _Slots) -> Response:
        user = request.user
        unauthenticated = user is None or UNAUTHENTICATED in user.groups
        if not slots.take(unauthenticated=unauthenticated):
            return self._no_room(request)
        if not request.body.complete:
            return await self._awaiting_body(request, _Slot(slots, unauthenticated=unauthenticated))
        try:
            return await self._successor(request)
        finally:
            slots.give_back(unauthenticated=unauthenticated)

    async def _awaiting_body(self, request: Request, slot: _Slot) -> Response:
        request.body = _AwaitedBody(request.body, slot)
        try:
            return await self._successor(request)
        except _NoSlot:
            return self._no_room(request)
        finally:
            slot.give_back()

    def _no_room(self, request: Request) -> Response:
        self._room.refused(request)
        return http_error(429, "Too many requests, please try again later.", ("Retry-After", "1"))


class _Slots:
    """``size`` slots; 0 for no bound."""

    __slots__ = ("_size", "_unauthenticated", "taken")

    def __init__(self, size: int) -> None:
        self._size = size
        self.taken = 0
        self._unauthenticated = 0

    def take(self, *, unauthenticated: bool) -> bool:
        """Take a slot; whether there was one."""
        if self._size:
            if self.taken >= self._size:
                return False
            if unauthenticated and self._unauthenticated >= max(1, self._size // UNAUTHENTICATED_SHARE):
                return False
        self.taken += 1
        self._unauthenticated += unauthenticated
        return True

    def give_back(self, *, unauthenticated: bool) -> None:
        """Free a slot."""
        self.taken -= 1
        self._unauthenticated -= unauthenticated


class _Slot:
    """A slot that is taken. It can be given back and taken again, and is never given back twice."""

    __slots__ = ("_slots", "_taken", "_unauthenticated")

    def __init__(self, slots: _Slots, *, unauthenticated: bool) -> None:
        self._slots = slots
        self._unauthenticated = unauthenticated
        self._taken = True

    def take(self) -> bool:
        self._taken = self._slots.take(unauthenticated=self._unauthenticated)
        return self._taken

    def give_back(self) -> None:
        if self._taken:
            self._taken = False
            self._slots.give_back(unauthenticated=self._unauthenticated)


class _NoSlot(Exception):
    """The body has arrived, and all slots are taken."""


class _AwaitedBody:
    """A body that has not arrived completely; the request gives up its slot while it reads it."""

    __slots__ = ("_body", "_slot")

    def __init__(self, body: Body, slot: _Slot) -> None:
        self._body = body
        self._slot = slot

    @property
    def complete(self) -> bool:
        """See :class:`extapi.http.request.Body`."""
        return self._body.complete

    async def read(self, limit: int) -> bytes:
        """See :class:`extapi.http.request.Body`."""
        if self._body.complete:
            return await self._body.read(limit)
        self._slot.give_back()
        data = await self._body.read(limit)
        if not self._slot.take():
            raise _NoSlot
        return data

    async def more(self) -> bytes:
        """See :class:`extapi.http.request.Body`. Who reads in pieces is served meanwhile, and keeps the slot."""
        return await self._body.more()


def _ignored(request: Request) -> None:
    pass
