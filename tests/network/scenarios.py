"""What a server or a network does wrong, each time in the same way; and how often each client asks it meanwhile.

Every scenario has two servers of its own, one for our informer and one for client-go's: what is right is what client-go does.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.network import programs
from tests.network.faultserver import Connection, FaultServer, Request

SECONDS = 25.0
"""How long a short run lasts."""
OBJECTS = 3
_WIDE = "x" * 8000
_HUGE = "x" * 150_000


@dataclass(frozen=True)
class Told:
    """How often one client asked."""

    synced: bool
    lists: int
    watches: int
    blind: float
    """Seconds of the longest time between two watches."""


@dataclass(frozen=True)
class Scenario:
    """``handler``: made anew for each client; ``seconds``: how long it needs to show; ``lived``: seconds that each of its watches lasts."""

    name: str
    handler: Callable[[], Callable[[Request, Connection], Awaitable[None]]]
    seconds: float = SECONDS
    lived: float = 0.0


def config_map(number: int, data: str = "") -> dict[str, Any]:
    """One of the objects of all scenarios."""
    metadata = {"name": f"c{number}", "namespace": "default", "uid": f"u{number}", "resourceVersion": str(number + 1)}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, **({"data": {"x": data}} if data else {})}


def page(items: Iterable[dict[str, Any]], token: str = "") -> str:
    """A list, or one page of it."""
    metadata = {"resourceVersion": "1000", **({"continue": token} if token else {})}
    return json.dumps({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": list(items)})


def status(code: int, reason: str) -> dict[str, Any]:
    """A refusal."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason}


async def usual_list(_: Request, connection: Connection) -> None:
    """The objects."""
    await connection.reply(200, page(map(config_map, range(OBJECTS))))


def watches(handle: Callable[[Connection], Awaitable[None]]) -> Callable[[], Any]:
    """The list is right; each watch is answered by ``handle``."""

    async def answer(request: Request, connection: Connection) -> None:
        if request.watch:
            await handle(connection)
        else:
            await usual_list(request, connection)

    return lambda: answer


async def cut(connection: Connection) -> None:
    """As a proxy does with a connection that is idle."""
    await connection.begin()
    await asyncio.sleep(CUT)
    connection.abort()


CUT = 3.0


async def expire_by_event(connection: Connection) -> None:
    """410 as the only event."""
    await connection.begin()
    await connection.line({"type": "ERROR", "object": status(410, "Expired")})
    await connection.end()


async def expire_by_status(connection: Connection) -> None:
    """410 as the answer."""
    await connection.reply(410, json.dumps(status(410, "Expired")))


async def end_with_bookmark(connection: Connection) -> None:
    """One bookmark, and the end."""
    await connection.begin()
    event = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": "1000"}}
    await connection.line({"type": "BOOKMARK", "object": event})
    await connection.end()


async def end_at_once(connection: Connection) -> None:
    """No event."""
    await connection.begin()
    await connection.end()


async def ask_to_wait(connection: Connection) -> None:
    """429 with 10 seconds."""
    await connection.reply(429, json.dumps(status(429, "TooManyRequests")), {"Retry-After": "10"})


async def fail(connection: Connection) -> None:
    """500."""
    await connection.reply(500, json.dumps(status(500, "InternalError")))


async def silence(connection: Connection) -> None:
    """A watch in which nothing happens."""
    await connection.begin()
    await connection.silence()


async def hold_back(connection: Connection) -> None:
    """As a proxy that waits for the end of an answer before it passes it on."""
    await connection.silence()


def lists(handle: Callable[[Request, Connection], Awaitable[None]]) -> Callable[[], Any]:
    """Watches are right, and nothing happens in them; each list is answered by ``handle``."""

    async def answer(request: Request, connection: Connection) -> None:
        await (silence(connection) if request.watch else handle(request, connection))

    return lambda: answer


async def wait_to_list(_: Request, connection: Connection) -> None:
    """429 to a list."""
    await ask_to_wait(connection)


async def forget_pages(request: Request, connection: Connection) -> None:
    """Each ``continue`` has expired."""
    if "continue=" in request.path:
        await expire_by_status(connection)
    elif "limit=" in request.path:
        await connection.reply(200, page(map(config_map, range(500)), "token"))
    else:
        await connection.reply(200, page(map(config_map, range(700))))


async def list_slowly(_: Request, connection: Connection) -> None:
    """36 pieces, one a second."""
    content = page(config_map(number, _WIDE) for number in range(500)).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    connection.writer.write(head.encode())
    size = len(content) // 36 + 1
    for begin in range(0, len(content), size):
        connection.writer.write(content[begin : begin + size])
        await connection.writer.drain()
        await asyncio.sleep(1)


async def list_much(_: Request, connection: Connection) -> None:
    """75 MB at once."""
    await connection.reply(200, page(config_map(number, _HUGE) for number in range(500)))


SCENARIOS = (
    Scenario("a watch is cut off each 3 s", watches(cut), lived=CUT),
    Scenario("410 as an event of each watch", watches(expire_by_event)),
    Scenario("410 as the answer to each watch", watches(expire_by_status)),
    Scenario("each watch ends at once", watches(end_at_once)),
    Scenario("500 to each watch", watches(fail)),
    Scenario("429, Retry-After 10, to each watch", watches(ask_to_wait)),
    Scenario("429, Retry-After 10, to each list", lists(wait_to_list)),
    Scenario("each `continue` has expired", lists(forget_pages)),
)
LONG = (
    Scenario("each watch ends after one bookmark", watches(end_with_bookmark), 10),
    Scenario("a list of 4 MB takes 36 s", lists(list_slowly), 60),
    Scenario("a list of 75 MB", lists(list_much), 60),
    Scenario("no watch is answered", watches(hold_back), 300),
)
"""What takes longer, or much memory, or all of a processor by client-go."""


@dataclass(frozen=True)
class Row:
    """What both did."""

    scenario: Scenario
    ours: Told
    theirs: Told

    def text(self) -> str:
        """As a row of the table."""

        def cells(told: Told) -> str:
            return f"{told.lists}{'' if told.synced else ', never synced'} | {told.watches} | {told.blind:.1f}"

        return f"| {self.scenario.name}, {self.scenario.seconds:.0f} s | {cells(self.ours)} | {cells(self.theirs)} |"


HEAD = """| what happens, for how long | our lists | watches | s blind | client-go's lists | watches | s blind |
|---|---|---|---|---|---|---|"""


async def compare(scenarios: Iterable[Scenario], directory: Path) -> list[Row]:
    """All of them at the same time."""
    chosen = list(scenarios)
    # So that both list and then watch; a streamed list, client-go's first choice, would only add a request.
    variables = {"KUBE_FEATURE_WatchListClient": "false"}
    async with contextlib.AsyncExitStack() as stack:
        servers: dict[str, list[FaultServer]] = {}
        clients = []
        for who, command in (("ours", programs.ours()), ("theirs", programs.theirs())):
            servers[who] = [await stack.enter_async_context(FaultServer(each.handler(), directory)) for each in chosen]
            pairs = [f"{index}={server.kubeconfig(f'{who}-{index}')}" for index, server in enumerate(servers[who])]
            log = directory / f"{who}.log"
            program = programs.running(command, "follow", "", "v1", "configmaps", *pairs, log=log, variables=variables)
            clients.append(await stack.enter_async_context(program))
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(60):
            for server in (*servers["ours"], *servers["theirs"]):
                await server.asked.wait()
        begun = loop.time()
        rows = {}
        for index in sorted(range(len(chosen)), key=lambda index: chosen[index].seconds):
            await asyncio.sleep(max(0.0, begun + chosen[index].seconds - loop.time()))
            told = [
                tell(servers[who][index], program.of(str(index)).synced, chosen[index])
                for who, program in zip(("ours", "theirs"), clients, strict=True)
            ]
            rows[index] = Row(chosen[index], *told)
            for who in servers:
                await servers[who][index].close()
        return [rows[index] for index in range(len(chosen))]


def tell(server: FaultServer, synced: bool, scenario: Scenario) -> Told:
    """By what it was asked until now; each client's time begins with its first request."""
    first = server.requests[0].at
    asked = [each for each in server.requests if each.at <= first + scenario.seconds]
    begun = [each.at for each in asked if each.watch]
    blind = max((later - earlier - scenario.lived for earlier, later in itertools.pairwise(begun)), default=0.0)
    return Told(synced, len(asked) - len(begun), len(begun), max(blind, 0.0))
