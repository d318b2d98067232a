"""A server of several processes: the port, the supervisor, the workers, and the hub where the store is a file.

Each worker imports the author's modules itself, after the fork: they may start threads or install a reactor, which no fork
survives. Everything else is imported once, before.
"""

from __future__ import annotations

import gc
import importlib
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Final, NoReturn

import click
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.api.definition import Api
from extapi.leaving import threads_left
from extapi.listener.acceptor import BindError, hold
from extapi.loading.module import load_api
from extapi.server.command import load_and_parse, run
from extapi.server.exposition import Family
from extapi.server.logs import configure_events
from extapi.server.options import ServerOptions
from extapi.server.process import ServerProcess, WorkerRole
from extapi.server.processmetrics import process_families, python_families
from extapi.server.reactor import run_process
from extapi.storage.base import Backend, Engine, UnusableStore
from extapi.storage.hub.backend import HubBackend
from extapi.storage.hub.hub import Hub
from extapi.storage.hub.shared import SharedRevisions
from extapi.storage.url import ETCD, open_backend, sqlite_path
from extapi.workers import control, scraping
from extapi.workers.control import Control
from extapi.workers.supervisor import Supervisor

_IMPORTED: Final = ("extapi.client.agent", "extapi.registry.ruling")
"""Modules that are otherwise imported when they are first needed."""


def supervise(target: str, options: ServerOptions) -> int:
    """Serve from ``options.workers`` processes.

    Args:
        target: ``MODULE:NAME`` of the API; empty for the kinds of ``--crd`` alone.
        options: How.

    Returns:
        The exit status.
    """
    configure_events(sys.stderr.buffer, {"worker": "supervisor"})
    try:
        held = hold(options.bind_address, options.secure_port)
    except BindError as error:
        click.echo(f"Error: {error}", err=True)
        return 1
    options = replace(options, secure_port=held.getsockname()[1])
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # otherwise the first collection in each process would write to every page with an object
    path = sqlite_path(options.storage)
    if path is None:
        return Supervisor(options.workers, partial(_work, target, options, None)).run()
    shared = SharedRevisions()
    work, hub = partial(_work, target, options, shared), partial(_hub, path, shared)
    return Supervisor(options.workers, work, hub).run()


def _work(
    target: str, options: ServerOptions, shared: SharedRevisions | None, number: int, sock: socket.socket
) -> NoReturn:
    """One worker, from its fork to its end."""
    own = options if number == 0 else replace(options, served_file=None)
    with threads_left():
        control.tell(sock, control.IMPORTING)
        try:
            api, own = load_and_parse(lambda: load_api(target) if target else Api(), lambda: own)
        finally:
            control.tell(sock, control.IMPORTED)
        sys.exit(run(api, own, target, fields={"worker": number}, make=partial(_worker, number, sock, shared)))


def _worker(
    number: int,
    sock: socket.socket,
    shared: SharedRevisions | None,
    api: Api,
    options: ServerOptions,
    reactor: Any,
    *more: Any,
    **further: Any,
) -> ServerProcess:
    """A server among several, in its process."""
    place = _Place(number, options.workers, reactor, sock, hub=shared is not None)
    process = ServerProcess(
        api,
        options,
        reactor,
        *more,
        **further,
        worker=WorkerRole(leads=number == 0, open_store=partial(_open, options, shared, place), started=place.ready),
    )
    process.metrics.gather = place.gather
    place.collect = process.metrics.collect
    place.stop = process.stop
    return process


def _open(options: ServerOptions, shared: SharedRevisions | None, place: _Place, reactor: Any) -> Backend:
    """The store of one worker.

    Raises:
        UnusableStore: Several processes cannot share it.
    """
    path = sqlite_path(options.storage)
    if shared is not None and path is not None:
        backend = HubBackend(reactor, path, shared, place.ask_for_hub)
        place.attach = backend.attach
        return backend
    opened = open_backend(options.storage, reactor, options.etcd)
    if options.storage != ETCD and not isinstance(opened, Engine):
        raise UnusableStore(
            f"storage {options.storage!r}: it is no extapi.storage.base.Engine, so that its content may be in this process "
            "alone; leave --workers away"
        )
    return opened


class _Place:
    """What a process knows of the others.

    Args:
        number: Its number; that of the hub is the number of workers.
        workers: How many workers there are.
        reactor: The reactor.
        sock: Its control socket.
        hub: Whether there is a hub.
    """

    def __init__(self, number: int, workers: int, reactor: Any, sock: socket.socket, *, hub: bool) -> None:
        self._reactor = reactor
        self._others = [each for each in range(workers + hub) if each != number]
        self._control = Control(reactor, sock, self._heard, self._alone)
        self.attach: Callable[[socket.socket], None] = socket.socket.close
        """Gets connections between a worker and the hub."""
        self.collect: Callable[[str], Iterable[Family]] = lambda _: ()
        self.stop: Callable[[], None] = lambda: None

    def ready(self) -> None:
        """Tell the supervisor that this process does its work."""
        self._control.tell(control.READY)

    def ask_for_hub(self) -> None:
        """Ask for a connection to the hub."""
        self._control.tell(control.HUB)

    async def gather(self, path: str, own: list[Family]) -> list[Family]:
        """See :data:`extapi.server.metrics.Gather`."""
        word = control.SLIS if path == "/metrics/slis" else control.SCRAPE

        def ask(number: int, sock: socket.socket) -> None:
            self._control.tell(word, number, give=sock)

        return await scraping.gather(self._reactor, own, self._others, ask)

    def _heard(self, word: bytes, number: int, given: socket.socket | None) -> None:
        del number
        if given is None:
            return
        if word == control.HUB:
            self.attach(given)
        else:
            path = "/metrics/slis" if word == control.SLIS else "/metrics"
            scraping.answer(self._reactor, given, self.collect(path))

    def _alone(self) -> None:
        """The supervisor is gone, and nobody would end this process."""
        self.stop()


def _hub(path: str, shared: SharedRevisions, number: int, sock: socket.socket) -> int:
    """The hub, from its fork to its end."""
    return run_process(lambda reactor, _: _HubProcess(reactor, path, shared, number, sock), (), {"worker": "hub"})


class _HubProcess:
    """The process of the hub."""

    _log = Logger()

    def __init__(self, reactor: Any, path: str, shared: SharedRevisions, number: int, sock: socket.socket) -> None:
        self._hub = Hub(reactor, path, shared)
        self._place = _Place(number, number, reactor, sock, hub=False)
        self._place.attach = self._hub.attach
        self._place.collect = _figures
        self._place.stop = self.stop
        self._ended: Deferred[None] = Deferred()

    async def run(self) -> int:
        """See :class:`extapi.server.reactor.Stoppable`."""
        self._place.ready()
        await self._ended
        await self._hub.close()
        self._log.info("stopped")  # the last line of a server that ends in order
        return 0

    def stop(self) -> None:
        """See :class:`extapi.server.reactor.Stoppable`."""
        if not self._ended.called:
            self._ended.callback(None)


def _figures(path: str) -> Iterable[Family]:
    """What the hub adds to the metrics: what it costs."""
    if path == "/metrics":
        yield from process_families()
        yield from python_families()
