"""Does with our client what ``beside`` (tests/kubernetes/informer) does with client-go; the same arguments, the same lines."""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from twisted.internet import reactor as installed
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol
from twisted.internet.stdio import StandardIO
from twisted.internet.task import LoopingCall
from twisted.logger import ILogObserver, globalLogBeginner, textFileLogObserver

from extapi.client.dynamic import DynamicClient
from extapi.client.http import HttpTransport
from extapi.client.kube import Client, Obj
from extapi.client.kubeconfig import load_kubeconfig
from extapi.client.limited import RateLimitedTransport
from extapi.client.transport import TransportError
from extapi.client.workqueue import WorkQueue
from extapi.clock import sleep
from extapi.errors import ApiError

reactor: Any = installed


def say(who: str, event: str, **more: Any) -> None:
    """One thing that happened."""
    print(json.dumps({"who": who, "event": event, **more}), flush=True)


def client(path: Path, *, limited: bool = True) -> DynamicClient:
    """The client as a server has it, with or without its own limit of requests."""
    transport = HttpTransport(reactor, load_kubeconfig(path, reactor))
    sender = RateLimitedTransport(transport, reactor) if limited else transport
    return DynamicClient(Client(sender), reactor, random.random)


class Ending(Protocol):
    """Ends the program with its standard input."""

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802 - Twisted's name
        """The end."""
        if reactor.running:
            reactor.stop()


def each(pairs: list[str], do: Callable[[str, Path], None]) -> None:
    """For every NAME=KUBECONFIG."""
    for pair in pairs:
        name, _, path = pair.partition("=")
        do(name, Path(path))


def follow(group: str, version: str, resource: str, *pairs: str) -> None:
    """An informer for each kubeconfig."""

    def one(name: str, path: Path) -> None:
        def changed(kind: str, obj: Obj) -> None:
            metadata = obj["metadata"]
            key = f"{metadata.get('namespace', '')}/{metadata['name']}"
            event = "delete" if kind == "DELETED" else "put"
            say(name, event, key=key, resourceVersion=metadata["resourceVersion"])

        informer = client(path).informer(group, version, resource, on_change=changed)
        Deferred.fromCoroutine(informer.wait_synced()).addCallbacks(lambda _: say(name, "synced"), lambda _: None)

    each(list(pairs), one)


def calls(burst: str, *pairs: str) -> None:
    """Lists of ConfigMaps: ``burst`` at once, then two a second."""

    def one(name: str, path: Path) -> None:
        caller = client(path, limited=False)

        async def call() -> None:
            began = reactor.seconds()
            status = 200
            try:
                await caller.client.call("GET", "/api/v1/configmaps", timeout=5)
            except ApiError as refused:
                status = refused.code
            except TransportError:
                status = -1
            say(name, "call", status=status, seconds=reactor.seconds() - began)

        def begin() -> None:
            Deferred.fromCoroutine(call())

        for _ in range(int(burst)):
            begin()
        LoopingCall(begin).start(0.5, now=False)

    each(list(pairs), one)


def queue() -> None:
    """A key that is added again after a second, and changed ten times a second for six seconds."""

    async def all_of_it() -> None:
        made = WorkQueue(reactor)
        runs = 0

        async def work(_: str) -> float:
            nonlocal runs
            runs += 1
            return 1.0

        working = Deferred.fromCoroutine(made.each(work))
        for _ in range(60):
            made.add("default/a")
            await sleep(reactor, 0.1)
        busy = runs
        await sleep(reactor, 10)
        say("queue", "runs", busy=busy, quiet=runs - busy)
        working.addErrback(lambda _: None)
        working.cancel()
        reactor.stop()

    Deferred.fromCoroutine(all_of_it())


def main() -> None:
    """By the command line."""
    globalLogBeginner.beginLoggingTo([cast("ILogObserver", textFileLogObserver(sys.stderr))], redirectStandardIO=False)
    whats: dict[str, Callable[..., None]] = {"follow": follow, "calls": calls, "queue": queue}
    what = whats[sys.argv[1]]
    reactor.callWhenRunning(what, *sys.argv[2:])
    if what is not queue:
        StandardIO(Ending())  # type: ignore[no-untyped-call]  # Twisted has no types here
    reactor.run()


if __name__ == "__main__":
    main()
