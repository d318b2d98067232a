"""Proxies of the tests' own: they ask for a password, remember what they were asked for, and can be stopped and started.

One connects where its test says, whatever it was asked for: so a name that no resolver knows, or an address that is
nowhere, leads to a server on loopback, and who reached it has been through the proxy.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import re
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any

LOOPBACK = "127.0.0.1"
_SECONDS = 30


@dataclass
class RESTRequest:
    """One connection that a client asked for."""

    target: str
    """``host:port``, as it was asked for."""
    user: str = ""
    """``user:password``, if any were given."""
    peer: str = ""
    """The common name in the client's certificate, if it showed one to the proxy."""
    begun: bytes = field(default=b"", repr=False)
    """The first bytes that the proxy carried to the server."""


Route = Callable[[str], int]
"""From ``host:port`` to the port on loopback that is reached instead."""


class Proxy:
    """A proxy on loopback. ``scheme``: ``http`` or ``socks5``; ``user``: the ``user:password`` that it wants, if any.

    ``tls``: what clients of an HTTP proxy find at its port. :meth:`start` it first, and :meth:`close` it in the end.
    """

    def __init__(self, scheme: str, route: Route, *, user: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[RESTRequest] = []
        self.port = 0
        self.open = 0
        """The tunnels that are open."""
        self._scheme = scheme
        self._route = route
        self._user = user
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"{scheme} proxy")
        self._thread.start()

    @property
    def url(self) -> str:
        """As clients are given it."""
        user = f"{self._user}@" if self._user else ""
        scheme = "https" if self._tls is not None else self._scheme
        return f"{scheme}://{user}{LOOPBACK}:{self.port}"

    @property
    def targets(self) -> set[str]:
        """What it was asked for so far."""
        return {each.target for each in self.asked}

    def start(self) -> None:
        """Listen; again at the same port."""
        self._run(self._start())

    def stop(self) -> None:
        """Listen no more, and break every connection."""
        self._run(self._stop())

    def close(self) -> None:
        """The end of its thread as well."""
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_SECONDS)

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._client, LOOPBACK, self.port, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
            await server.wait_closed()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # the transports that were aborted close in the next turn

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        writers = [writer]
        try:
            # A client may go at any time, and stop() cancels.
            with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
                asked = await (self._socks5 if self._scheme == "socks5" else self._connect)(reader, writer)
                if asked is not None:
                    await self._carry(asked, reader, writer, writers)
        finally:
            for each in writers:
                each.transport.abort()
            self._tasks.discard(task)

    async def _carry(
        self,
        asked: RESTRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        writers: list[asyncio.StreamWriter],
    ) -> None:
        """Both ways, until one of them ends; what was sent before that arrives."""
        certificate = writer.get_extra_info("peercert") or {}
        asked.peer = dict(pair for part in certificate.get("subject", ()) for pair in part).get("commonName", "")
        self.asked.append(asked)
        far_reader, far_writer = await asyncio.open_connection(LOOPBACK, self._route(asked.target))
        writers.append(far_writer)
        writer.write(b"\x05\x00\x00\x01" + bytes(6) if self._scheme == "socks5" else b"HTTP/1.1 200 OK\r\n\r\n")

        async def copied(source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, remember: bool) -> None:
            while data := await source.read(65536):
                if remember and not asked.begun:
                    asked.begun = data[:64]
                sink.write(data)
                await sink.drain()

        self.open += 1
        ways = [
            asyncio.ensure_future(copied(reader, far_writer, remember=True)),
            asyncio.ensure_future(copied(far_reader, writer, remember=False)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for each in writers:
                each.close()
                await each.wait_closed()
        finally:
            self.open -= 1
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> RESTRequest | None:
        """RFC 9110, 9.3.6."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        request = re.match(r"CONNECT (\S+) HTTP/1\.1\r\n", head)
        given = re.search(r"(?im)^proxy-authorization: basic (\S+)\r$", head)
        user = base64.b64decode(given[1]).decode() if given else ""
        if request is not None and user == self._user:
            return RESTRequest(request[1], user)
        refusal = "400 Bad Request" if request is None else "407 Proxy Authentication Required"
        writer.write(f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        return None

    async def _socks5(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> RESTRequest | None:
        """RFC 1928 and RFC 1929."""
        methods = await reader.readexactly((await reader.readexactly(2))[1])
        method = 2 if self._user else 0
        if method not in methods:
            writer.write(b"\x05\xff")
            await writer.drain()
            return None
        writer.write(bytes([5, method]))
        user = ""
        if self._user:
            name = await reader.readexactly((await reader.readexactly(2))[1])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            user = f"{name.decode()}:{password.decode()}"
            writer.write(bytes([1, int(user != self._user)]))
            await writer.drain()
            if user != self._user:
                return None
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        return RESTRequest(f"{host}:{int.from_bytes(await reader.readexactly(2), 'big')}", user)


@contextlib.contextmanager
def running(scheme: str, route: Route, *, user: str = "", tls: ssl.SSLContext | None = None) -> Iterator[Proxy]:
    """A proxy that listens."""
    proxy = Proxy(scheme, route, user=user, tls=tls)
    try:
        proxy.start()
        yield proxy
    finally:
        proxy.close()
