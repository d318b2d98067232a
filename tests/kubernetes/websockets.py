"""WebSockets by the ``websocket-client`` package, whose code is not ours, to a control plane."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping, Sequence

import websocket

from tests.kubernetes.calling import Caller


@contextlib.contextmanager
def opened(
    caller: Caller,
    path: str,
    *,
    subprotocols: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    origin: bool = True,
) -> Iterator[websocket.WebSocket]:
    """A WebSocket as long as the block lasts. Raises WebSocketBadStatusException if there is none."""
    # The package leaves a socket open that the server closed first, so it gets one of ours.
    raw = socket.create_connection(("localhost", caller.port), 30)
    with caller.tls.wrap_socket(raw, server_hostname="localhost") as stream:
        client = websocket.create_connection(
            f"wss://localhost:{caller.port}{path}",
            socket=stream,
            timeout=30,
            header={**caller.headers, **(headers or {})},
            subprotocols=list(subprotocols),
            suppress_origin=not origin,
        )
        try:
            yield client
        finally:
            client.close(timeout=1)


def refusal(caller: Caller, path: str, **options: object) -> tuple[int, bytes]:
    """Status and body of the answer of who does not open a WebSocket."""
    try:
        with opened(caller, path, **options):  # type: ignore[arg-type]  # passed on
            raise AssertionError("it was opened")
    except websocket.WebSocketBadStatusException as error:
        return error.status_code, error.resp_body or b""
