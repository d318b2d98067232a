"""From the head of a request to the :class:`~extapi.listener.call.Call` that travels through the stages."""

from __future__ import annotations

import random

from extapi.errors import BadRequest
from extapi.listener.call import Body, Call, Peer
from extapi.listener.deadline import time_allowed
from extapi.listener.parsing import Head
from extapi.listener.requestinfo import request_info
from extapi.listener.target import parse_query, split_target

_FOREVER = float("inf")


def audit_id(headers: dict[str, list[str]]) -> str:
    """The id that the client chose, whatever it is, or a new one in the form of a UUIDv4 (spec G11)."""
    values = headers.get("audit-id")
    if values and values[0]:
        return values[0]
    # Unique is enough: nobody trusts an id that a client may choose, and uuid4 costs four times as much.
    digits = format(random.getrandbits(128), "032x")
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{'89ab'[int(digits[16], 16) & 3]}{digits[17:20]}-{digits[20:]}"
    )


def make_call(head: Head, body: Body, peer: Peer, *, identity: str, received: float, longest: float) -> Call:
    """``identity``: the audit id. ``received``: seconds on the reactor's clock. ``longest``: seconds a request may take.

    Raises :class:`~extapi.listener.target.BadTarget`, :class:`~extapi.listener.requestinfo.NoRequestInfo`, and
    :class:`~extapi.errors.BadRequest` for a ``timeout`` that is no duration (spec H4).
    """
    path, raw_query = split_target(head.target)
    query = parse_query(raw_query)
    info = request_info(head.method, path, query)
    deadline = _FOREVER
    if info.verb != "watch":
        timeout = query.get("timeout") if query else None
        try:
            deadline = received + (time_allowed(timeout[0], longest) if timeout else longest)
        except ValueError as error:
            raise BadRequest(str(error)) from None
    return Call(
        method=head.method,
        target=head.target.decode("ascii"),
        info=info,
        query=query,
        headers=head.headers,
        body=body,
        peer=peer,
        audit_id=identity,
        received=received,
        deadline=deadline,
    )
