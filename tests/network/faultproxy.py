"""A proxy to a control plane that cuts, freezes, slows, refuses, holds back and lies, as its test says.

It speaks TLS with both sides, and authenticates with the administrator's certificate: what a client shows it does not matter.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import ssl

from tests.network.faultserver import LOOPBACK, Connection, Request

SLOW_BYTES = 2000
"""Per second of a connection that is slow."""
LASTS = 8.0
FAULTS = ("cut", "freeze", "slow", "refuse", "hold", "lie")


class FaultProxy:
    """What :class:`FaultServer` calls for each request. ``fault``: one of FAULTS, or empty."""

    def __init__(self, port: int, tls: ssl.SSLContext, draw: random.Random) -> None:
        self.fault = ""
        self._port = port
        self._tls = tls
        self._draw = draw
        self._open: set[Connection] = set()
        self._frozen: set[Connection] = set()

    def begin(self, fault: str) -> None:
        """From now on. What is frozen stays so; what is open is cut now, and what begins meanwhile within LASTS seconds."""
        self.fault = fault
        if fault in {"cut", "refuse"}:
            self.cut()
        if fault == "freeze":
            self._frozen |= self._open

    def cut(self) -> None:
        """All connections, at once."""
        for each in self._open:
            each.abort()

    async def __call__(self, request: Request, connection: Connection) -> None:
        """Carry one request, or do what is wrong today."""
        self._open.add(connection)
        if self.fault == "cut":
            asyncio.get_running_loop().call_later(self._draw.uniform(0.1, LASTS), connection.abort)
        try:
            if self.fault == "refuse":
                connection.abort()
            elif self.fault == "freeze":
                self._frozen.add(connection)
                await connection.silence()
            elif self.fault == "lie" and await self._lie(request, connection):
                pass
            else:
                await self._carry(request, connection)
        finally:
            self._open.discard(connection)
            self._frozen.discard(connection)

    async def _carry(self, request: Request, connection: Connection) -> None:
        """The answer of the control plane, on a connection that ends with it."""
        reader, writer = await asyncio.open_connection(LOOPBACK, self._port, ssl=self._tls, server_hostname="localhost")
        try:
            kept = re.sub(rb"(?im)^(connection|authorization|accept-encoding|host):[^\n]*\n", b"", request.head)
            writer.write(kept[:-2] + b"Host: localhost\r\nConnection: close\r\n\r\n" + request.body)
            carrying = asyncio.ensure_future(self._pump(reader, connection))
            leaving = asyncio.ensure_future(connection.silence())
            try:
                await asyncio.wait([carrying, leaving], return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in (carrying, leaving):
                    each.cancel()
                await asyncio.gather(carrying, leaving, return_exceptions=True)
        finally:
            writer.transport.abort()
            connection.writer.close()

    async def _pump(self, reader: asyncio.StreamReader, connection: Connection) -> None:
        held = bytearray()
        while data := await reader.read(65536):
            if connection in self._frozen:
                await connection.silence()
            if self.fault == "hold":
                held += data
                continue
            for piece in self._pieces(bytes(held) + data):
                connection.writer.write(piece)
                await connection.writer.drain()
                if self.fault == "slow":
                    await asyncio.sleep(len(piece) / SLOW_BYTES)
            held.clear()
        connection.writer.write(held)
        await connection.writer.drain()

    def _pieces(self, data: bytes) -> list[bytes]:
        size = SLOW_BYTES // 10 if self.fault == "slow" else len(data)
        return [data[begin : begin + size] for begin in range(0, len(data), size)]

    async def _lie(self, request: Request, connection: Connection) -> bool:
        """Something else than the answer, or False for the answer itself."""
        lies = ["html", "empty", "cut short", "429", "503", "410", "401", "truth"]
        if request.watch:
            lies += ["ends", "error event", "no JSON"]
        lie = self._draw.choice(lies)
        match lie:
            case "html":
                await connection.reply(200, "<html>Please log in</html>", {"Content-Type": "text/html"})
            case "empty":
                await connection.reply(200, "{}")
            case "cut short":
                await connection.reply(
                    200, '{"kind":"ConfigMapList","apiVersion":"v1","items":[', {"Content-Length": "9999"}
                )
                connection.abort()
            case "429" | "503" | "410" | "401":
                refusal = {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "code": int(lie),
                    "reason": "Unknown",
                }
                headers = {"Retry-After": "1"} if lie == "429" else {}
                await connection.reply(int(lie), json.dumps(refusal), headers)
            case "truth":
                return False
            case _:
                await self._lie_in_watch(lie, connection)
        return True

    async def _lie_in_watch(self, lie: str, connection: Connection) -> None:
        await connection.begin()
        if lie == "error event":
            code = self._draw.choice([410, 500, 504])
            refusal = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "Unknown"}
            await connection.line({"type": "ERROR", "object": refusal})
        elif lie == "no JSON":
            connection.writer.write(b"5\r\nlies\n\r\n")
        with contextlib.suppress(OSError):
            await connection.end()
