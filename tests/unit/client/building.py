"""Calls as the listener makes them, a clock at the present, and a way to run what does not wait."""

from __future__ import annotations

import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from cryptography import x509
from twisted.internet.task import Clock

from extapi.http.request import Peer, Request, RequestInfo

T = TypeVar("T")


class _NoBody:
    complete = True

    async def read(self, limit: int) -> bytes:
        return b""

    async def more(self) -> bytes:
        return b""


def call(
    *,
    peer: Peer | None = None,
    certificates: tuple[x509.Certificate, ...] = (),
    headers: dict[str, list[str]] | None = None,
    info: RequestInfo | None = None,
    target: str = "/version",
) -> Request:
    """A GET with these headers (names in lower case) over this connection."""
    return Request(
        method="GET",
        target=target,
        info=info or RequestInfo("get", "/version"),
        query={},
        headers=dict(headers or {}),
        body=_NoBody(),
        peer=peer or Peer("127.0.0.1", certificates),
        audit_id="audit",
        received=0.0,
        deadline=60.0,
    )


def now() -> Clock:
    """A clock that shows the present and stands still."""
    untyped: Any = Clock
    clock: Any = untyped()
    clock.advance(time.time())
    return clock  # type: ignore[no-any-return]  # Clock is untyped


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the coroutine waits for something")
