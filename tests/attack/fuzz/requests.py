"""One request as it is sent, and what earlier answers told; the bytes are :mod:`~tests.attack.fuzz.framing`'s business."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from tests.attack.fuzz import framing
from tests.attack.fuzz.api import Served

PROXY, CLIENT, NOBODY = "proxy", "client", "nobody"
"""Who sends: the front proxy, somebody with a client certificate, somebody without any."""

Headers = list[tuple[str, str]]


@dataclass
class Memory:
    """What earlier answers told."""

    objects: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    """By plural, namespace and name."""
    tokens: list[str] = field(default_factory=list)
    revision: str = "1"

    def keep(self, plural: str, obj: dict[str, Any]) -> None:
        """An object as it was answered."""
        metadata = obj["metadata"]
        key = (plural, metadata.get("namespace", ""), metadata.get("name", ""))
        self.objects.pop(key, None)
        self.objects[key] = obj
        if len(self.objects) > 64:
            del self.objects[next(iter(self.objects))]


@dataclass(frozen=True)
class Request:
    """One request as it is sent. ``mangled``: its framing was tampered with, so that any number of answers may come."""

    peer: str
    method: str
    target: str
    headers: Headers
    body: bytes = b""
    mangled: bytes | None = None
    served: Served | None = None
    """The resource that it is about, where that is plain."""

    @property
    def data(self) -> bytes:
        """The bytes on the wire."""
        if self.mangled is not None:
            return self.mangled
        return framing.plain(self.method, self.target, self.headers, self.body)

    @property
    def dry(self) -> bool:
        """Whether it may say that nothing is to be kept."""
        return "dryRun" in self.target or b"dryRun" in self.body

    def short(self) -> str:
        """For a finding's line."""
        return f"{self.peer}: {self.method} {self.target[:300]} ({len(self.body)} bytes of body)"


def described(request: Request) -> dict[str, Any]:
    """For a file of findings: all that is needed to send it again."""
    return {
        "peer": request.peer,
        "method": request.method,
        "target": request.target[:2000],
        "data": base64.b64encode(request.data).decode()
        if len(request.data) < 100_000
        else f"{len(request.data)} bytes",
        "headers": [list(header) for header in request.headers[:40]],
    }
