"""A stand-in for kube-apiserver, as far as reviews go: counts what it is asked, and answers when a test wants it to.

Tokens that begin with ``good`` are theirs who follow; users but ``system:anonymous`` may do everything.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.bench.cluster import Cluster, listed

T = TypeVar("T")


class ReviewCluster(Cluster):
    """Answers on loopback until :meth:`stop`. ``latency``: seconds that a review takes; ``holds``: which wait for :meth:`release`."""

    def __init__(self, *, latency: float = 0.0, holds: Callable[[dict[str, Any]], bool] = lambda _: False) -> None:
        self.reviews: list[tuple[float, str]] = []
        """When each came, and its kind."""
        self.running = 0
        self.most = 0
        """The most that ran at one moment."""
        self._latency = latency
        self._holds = holds
        self._loop = asyncio.new_event_loop()
        self._released = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._listening: asyncio.Server = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024))

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that leads here."""
        port = self._listening.sockets[0].getsockname()[1]
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "stub",
            "clusters": [{"name": "stub", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "stub", "user": {"token": "none"}}],
            "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
        }
        path.write_text(json.dumps(config))
        return path

    def count(self, kind: str) -> int:
        """How many reviews of a kind came."""
        return sum(each == kind for _, each in self.reviews)

    def busiest(self, kind: str, seconds: float = 1.0) -> int:
        """The most reviews of a kind that came within so many seconds."""
        times = [at for at, each in self.reviews if each == kind]
        first = most = 0
        for number, at in enumerate(times):
            while times[first] <= at - seconds:
                first += 1
            most = max(most, number - first + 1)
        return most

    def release(self) -> None:
        """Answer what is held, and hold nothing from now on."""
        self._loop.call_soon_threadsafe(self._released.set)

    def stop(self) -> None:
        """End everything."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._listening.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _ = head.split(" ", 2)
        if method == "GET":
            if "watch=" in path:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
                await reader.read()
                return False
            self._write(writer, listed(path))
            return True
        fields = (line.split(":", 1) for line in head.split("\r\n")[1:] if line)
        length = next(int(value) for name, value in fields if name.lower() == "content-length")
        review = json.loads(await reader.readexactly(length))
        self.reviews.append((time.monotonic(), review["kind"]))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self._holds(review["spec"]):
                await self._released.wait()
            if self._latency:
                await asyncio.sleep(self._latency)
        finally:
            self.running -= 1
        self._write(writer, {**review, "status": _status(review["spec"])})
        return True

    @staticmethod
    def _write(writer: asyncio.StreamWriter, obj: dict[str, Any]) -> None:
        body = json.dumps(obj).encode()
        head = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(body) + body)


def _status(spec: dict[str, Any]) -> dict[str, Any]:
    token = spec.get("token")
    if token is None:
        return {"allowed": spec.get("user") != "system:anonymous"}
    if not token.startswith("good"):
        return {"authenticated": False}
    return {"authenticated": True, "user": {"username": token, "groups": ["system:authenticated"]}}
