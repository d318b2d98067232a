"""A TLS server on loopback that answers as a test says, byte by byte, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import json
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from extapi.issuing import Signed, make_authority, make_server

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Request:
    """One request. ``at``: when it had arrived, on the loop's clock; ``head``: its lines, to be carried further."""

    method: str
    path: str
    at: float
    head: bytes = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def watch(self) -> bool:
        """Whether it asks for a watch."""
        return "watch=1" in self.path or "watch=true" in self.path

    @property
    def authorization(self) -> str:
        """What the header says."""
        found = re.search(rb"(?im)^authorization: *([^\r]*)", self.head)
        return found[1].decode() if found else ""


class Connection:
    """The answer's side of one connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer

    async def reply(self, status: int, body: bytes | str, headers: Mapping[str, str] | None = None) -> None:
        """A whole answer, of JSON if the headers say nothing else."""
        content = body.encode() if isinstance(body, str) else body
        lines = {"Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})}
        head = "".join(f"{name}: {text}\r\n" for name, text in lines.items())
        self.writer.write(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + content)
        await self.writer.drain()

    async def begin(self) -> None:
        """An answer in chunks, as watches have it."""
        self.writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        await self.writer.drain()

    async def line(self, event: Mapping[str, Any]) -> None:
        """One event."""
        content = json.dumps(event).encode() + b"\n"
        self.writer.write(b"%x\r\n%s\r\n" % (len(content), content))
        await self.writer.drain()

    async def end(self) -> None:
        """The last chunk."""
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    def abort(self) -> None:
        """Cut it off."""
        if not self.writer.is_closing():
            self.writer.transport.abort()

    async def silence(self) -> None:
        """Say nothing more until the client leaves."""
        await self.writer.wait_closed()


Handler = Callable[[Request, Connection], Awaitable[None]]
"""Answers one request."""


class FaultServer:
    """Listens inside ``async with``; ``directory`` holds its certificate."""

    def __init__(self, handler: Handler, directory: Path) -> None:
        self.handler = handler
        self.requests: list[Request] = []
        self.asked = asyncio.Event()
        """There was a first request."""
        self.port = 0
        self._directory = directory
        self._ca: Signed = make_authority("network-ca", now=dt.datetime.now(dt.UTC))
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        signed = make_server(self._ca, "network", [LOOPBACK], now=dt.datetime.now(dt.UTC))
        pair = self._directory / f"{signed.certificate.serial_number:x}.pem"
        pair.touch(0o600)
        pair.write_bytes(signed.key_pem() + signed.certificate_pem())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair)
        self._server = await asyncio.start_server(self._accept, LOOPBACK, 0, ssl=context, limit=1 << 22)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Listen no more, and end all connections."""
        assert self._server is not None
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # the transports that were aborted close in the next turn

    def kubeconfig(self, name: str, user: Mapping[str, Any] | None = None) -> Path:
        """A kubeconfig that leads here. ``user``: its credentials, a token that nobody looks at unless given."""
        ca = self._directory / f"{name}-ca.crt"
        ca.write_bytes(self._ca.certificate_pem())
        cluster = {"server": f"https://{LOOPBACK}:{self.port}", "certificate-authority": str(ca)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": dict(user or {"token": "t1"})}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
        path = self._directory / f"{name}.kubeconfig"
        path.touch(0o600)
        path.write_text(json.dumps(config))
        return path

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # A client may go at any time, and the end of the server cancels.
            with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
                while not writer.is_closing():
                    await self._answer(reader, Connection(writer))
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, connection: Connection) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?im)^content-length: *(\d+)", head)
        body = await reader.readexactly(int(length[1])) if length else b""
        method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        request = Request(method, path, asyncio.get_running_loop().time(), head, body)
        self.requests.append(request)
        self.asked.set()
        await self.handler(request, connection)
