"""An in-process transport that answers by a table: what the cluster says, and what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import Deferred

from extapi.client.transport import ClientRequest, TransportError

Obj = dict[str, Any]


class Answer:
    """A whole answer, or with ``stream`` one to which lines are added."""

    def __init__(
        self, status: int, obj: Any = None, *, stream: bool = False, headers: Mapping[str, str] | None = None
    ) -> None:
        self.status = status
        self.headers = headers or {}
        self._obj = obj
        self._lines: list[bytes | Exception | None] = [] if stream else [None]
        self._waiting: Deferred[None] | None = None
        self.closed = False

    def complete(self, request: ClientRequest) -> None:
        """Give an object apiVersion and kind, which the tests leave out and no API server does; bytes stay as they are."""
        obj = self._obj
        if self.status < 300 and isinstance(obj, dict) and not obj.keys() & {"apiVersion", "kind"}:
            parts = request.path.split("/")
            version = parts[2] if parts[1] == "api" else "/".join(parts[2:4])
            sent = json.loads(request.body) if request.body else {}
            kind = sent.get("kind") if isinstance(sent, dict) else None
            # Not SomethingList: that says of which kind the items are.
            self._obj = {"apiVersion": version, "kind": kind or ("Things" if "items" in obj else "Thing"), **obj}

    def send(self, kind: str, obj: Obj) -> None:
        """Add a watch event."""
        self._lines.append(json.dumps({"type": kind, "object": obj}).encode())
        self._wake()

    def end(self) -> None:
        """Nothing follows."""
        self._lines.append(None)
        self._wake()

    def fail(self, error: Exception) -> None:
        """It breaks off."""
        self._lines.append(error)
        self._wake()

    async def read(self, limit: int = 1 << 20) -> bytes:
        data = self._obj if isinstance(self._obj, bytes) else json.dumps(self._obj).encode()
        if len(data) > limit:
            raise TransportError(f"the answer is larger than {limit} bytes")
        return data

    async def lines(self) -> AsyncIterator[bytes]:
        while True:
            while not self._lines:
                if self.closed:
                    raise TransportError("closed")
                self._waiting = Deferred()
                await self._waiting
            line = self._lines.pop(0)
            if line is None:
                return
            if isinstance(line, Exception):
                raise line
            yield line

    def close(self) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.called:
            waiting.callback(None)


Reaction = Callable[[ClientRequest], Any]


@dataclass
class Kubernetes:
    """Answers each request by ``react``: an Answer, an error to raise, or a Deferred of one."""

    react: Reaction
    requests: list[ClientRequest] = field(default_factory=list)

    async def send(self, request: ClientRequest) -> Answer:
        self.requests.append(request)
        answer = self.react(request)
        if isinstance(answer, Deferred):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Answer)
        answer.complete(request)
        return answer

    def bodies(self) -> list[Obj]:
        """The JSON that was sent."""
        return [json.loads(request.body) for request in self.requests if request.body is not None]


def status(code: int, reason: str, message: str = "no", **details: Any) -> Answer:
    """A refusal."""
    found: Obj = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason}
    found["code"] = code
    if details:
        found["details"] = details
    return Answer(code, found)
