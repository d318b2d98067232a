"""Informers behind a proxy with faults, ours and client-go's, on one control plane: do they know what is there after each fault?

A writer goes on during each fault, on a connection of its own. Then it rests, the fault ends, and the time is measured until
each informer knows what a fresh list has: one of ConfigMaps, and one of a kind that an extension server has.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.kubernetes.calling import MERGE, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, add_extension_server, running
from tests.kubernetes.pizzas import GROUP, TOPPINGS_PATH, topping
from tests.network import programs
from tests.network.faultproxy import FAULTS, FaultProxy
from tests.network.faultserver import FaultServer
from tests.network.programs import Program

BOUND = 60.0
"""Seconds after a fault within which an informer has to know again what is there."""
PATIENCE = {"ours": 150.0, "theirs": BOUND}
"""Seconds after which the soak stops waiting for one. client-go speaks HTTP/1.1 here, without pings: to a frozen connection it
listens until its watch ends, after 5 to 10 minutes."""
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
RESOURCES = {"configmaps": ("", "v1", "configmaps"), "toppings": (GROUP, "v1alpha1", "toppings")}
WHO = ("ours", "theirs")
_PACE = 0.25
"""Seconds between two writes."""
_NAMES = 40


@dataclass
class Follower:
    """One informer behind its own proxy."""

    who: str
    resource: str
    program: Program
    server: FaultServer
    proxy: FaultProxy
    delays: list[tuple[float, str]] = field(default_factory=list)
    """Seconds after the end of each fault, and the fault."""
    memory: list[int] = field(default_factory=list)
    """MiB of its process after each fault."""

    def row(self, plane: str) -> str:
        """As a row of the table."""
        seconds = self.server.requests[-1].at - self.server.requests[0].at
        times = [each for each, _ in self.delays]
        worst, fault = max(self.delays)
        half = (len(self.memory) + 1) // 2
        memory = f"{max(self.memory[:half])}, {max(self.memory[-half:])}"
        who = "ours" if self.who == "ours" else "client-go's"
        return (
            f"| {plane} | {self.resource} | {who} | {len(times)} | {statistics.median(times):.1f} | {worst:.1f} ({fault}) |"
            f" {len(self.server.requests) / seconds:.2f} | {memory} |"
        )


HEAD = """| control plane | resource | informer | faults | s until it knows, median | worst | requests per s | MiB in each half |
|---|---|---|---|---|---|---|---|"""


class Writer:
    """Creates, changes and deletes objects of both kinds, by chance, while it is allowed to."""

    def __init__(self, admin: Caller, draw: random.Random) -> None:
        self._admin = admin
        self._draw = draw
        self._number = 0

    async def write(self, seconds: float) -> None:
        """For so long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while loop.time() < until:
            await asyncio.to_thread(self._one)
            await asyncio.sleep(_PACE)

    def _one(self) -> None:
        self._number += 1
        name = f"soak-{self._draw.randrange(_NAMES)}"
        path = self._draw.choice([CONFIG_MAPS, TOPPINGS_PATH])
        if self._draw.random() < 0.3:
            answer = self._admin("DELETE", f"{path}/{name}")
        else:
            change = {"metadata": {"annotations": {"number": str(self._number)}}}
            answer = self._admin("PATCH", f"{path}/{name}", change, content_type=MERGE)
        if answer.status == 404:
            metadata = {"name": name}
            config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            answer = self._admin("POST", path, topping(name, "1") if path == TOPPINGS_PATH else config_map)
        assert answer.status in {200, 201}, answer


async def _listed(admin: Caller, resource: str) -> dict[str, str]:
    """What is there, as an informer would know it."""
    path = TOPPINGS_PATH if resource == "toppings" else "/api/v1/configmaps"
    answer = await asyncio.to_thread(admin, "GET", path)
    assert answer.status == 200, answer
    found = (each["metadata"] for each in answer.json["items"])
    return {f"{each.get('namespace', '')}/{each['name']}": each["resourceVersion"] for each in found}


async def _measure(admin: Caller, follower: Follower, fault: str) -> None:
    """Until it knows what is there; others than the writer write, too, so what is there is asked each time."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    name = follower.resource
    while loop.time() - begun < PATIENCE[follower.who]:
        if follower.program.of(name).view == await _listed(admin, name):
            break
        await asyncio.sleep(0.5)
    follower.delays.append((loop.time() - begun, fault))
    follower.memory.append(follower.program.resident())


@contextlib.contextmanager
def _plane(name: str, directory: Path) -> Iterator[tuple[ControlPlane, Caller]]:
    """A control plane with an extension server, and its administrator."""
    with running(directory / name, name) as plane:
        add_extension_server(plane, "extapi.pizza:api")
        signed = user_certificate(authority(plane.certificates, "cluster-ca"), "root", "system:masters")
        tls = tls_of(plane.certificates.certificate("cluster-ca"), signed, directory)
        yield plane, Caller(plane.cluster.port, tls)


async def soak(plane: str, minutes: float, seed: int, directory: Path, say: Callable[[str], None]) -> list[Follower]:
    """One control plane for so long."""
    draw = random.Random(seed)  # noqa: S311 - faults by chance
    async with contextlib.AsyncExitStack() as stack:
        started, admin = stack.enter_context(_plane(plane, directory))
        followers = []
        for who in WHO:
            for resource, names in RESOURCES.items():
                proxy = FaultProxy(started.cluster.port, admin.tls, random.Random(seed))  # noqa: S311
                server = await stack.enter_async_context(FaultServer(proxy, directory))
                command = programs.ours() if who == "ours" else programs.theirs()
                pair = f"{resource}={server.kubeconfig(f'{plane}-{who}-{resource}')}"
                log = directory / f"{plane}-{who}-{resource}.log"
                program = await stack.enter_async_context(programs.running(command, "follow", *names, pair, log=log))
                followers.append(Follower(who, resource, program, server, proxy))
        loop = asyncio.get_running_loop()
        writer = Writer(admin, draw)
        end = loop.time() + 60 * minutes
        while loop.time() < end:
            fault, seconds = draw.choice(FAULTS), draw.uniform(2, 45)
            for each in followers:
                each.proxy.begin(fault)
            await writer.write(seconds)
            for each in followers:
                each.proxy.begin("")
            await asyncio.gather(*(_measure(admin, each, fault) for each in followers))
            delays = ", ".join(f"{each.who} {each.resource} {each.delays[-1][0]:.1f}" for each in followers)
            say(f"{plane}: {fault} for {seconds:.0f} s; known again after: {delays} s")
        return followers
