"""The programs that stand beside each other, ours and client-go's: started, read, and ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kubernetes import golang

_LONG = 1 << 20
"""Bytes of the longest line."""


def ours() -> list[str]:
    """The command line of ours."""
    return [sys.executable, "-m", "tests.network.ours"]


def theirs() -> list[str]:
    """The command line of client-go's."""
    return [str(golang.beside())]


@dataclass
class Followed:
    """What one informer knows, or what became of one caller's calls."""

    view: dict[str, str] = field(default_factory=dict)
    """The resourceVersion of each ``namespace/name``."""
    synced: bool = False
    calls: list[tuple[int, float]] = field(default_factory=list)
    """Status (-1: none) and seconds."""
    called: asyncio.Event = field(default_factory=asyncio.Event)
    """There was a first call."""
    runs: tuple[int, int] = (0, 0)
    """Of a key of a queue: while it changed, and after that."""

    def take(self, line: Mapping[str, Any]) -> None:
        """One line about it."""
        match line["event"]:
            case "synced":
                self.synced = True
            case "put":
                self.view[line["key"]] = line["resourceVersion"]
            case "delete":
                self.view.pop(line["key"], None)
            case "call":
                self.calls.append((line["status"], line.get("seconds", 0.0)))
                self.called.set()
            case "runs":
                self.runs = (line.get("busy", 0), line.get("quiet", 0))


class Program:
    """One process, and what it has said of everybody who is in it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.known: dict[str, Followed] = {}
        self._process = process

    def of(self, name: str) -> Followed:
        """What it has said of ``name``."""
        return self.known.setdefault(name, Followed())

    def resident(self) -> int:
        """MiB of memory that it has."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) // 1024 if found else 0

    async def ended(self) -> None:
        """Once it has come to its own end."""
        await self._process.wait()

    async def read(self) -> None:
        """Until its output ends."""
        assert self._process.stdout is not None
        async for text in self._process.stdout:
            line = json.loads(text)
            self.of(line["who"]).take(line)


@contextlib.asynccontextmanager
async def running(
    command: list[str], *arguments: str, log: Path, variables: Mapping[str, str] | None = None
) -> AsyncIterator[Program]:
    """One of them, which ends with the block. ``log``: where what it says on stderr goes."""
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *command,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            limit=_LONG,
            env={**os.environ, **(variables or {})},
        )
    program = Program(process)
    reading = asyncio.create_task(program.read())
    try:
        yield program
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(10):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        await reading


async def queues(directory: Path) -> list[tuple[int, int]]:
    """The runs of one key in both queues: while it changes ten times a second, and in the ten seconds after that."""
    async with contextlib.AsyncExitStack() as stack:
        both = [
            await stack.enter_async_context(running(command, "queue", log=directory / f"queue-{index}.log"))
            for index, command in enumerate((ours(), theirs()))
        ]
        for program in both:
            await program.ended()
        return [program.of("queue").runs for program in both]
