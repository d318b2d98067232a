"""What an author's code gets from the server: a client through the whole chain, informers, and time.

Controllers run beside the server once it serves; an admission plugin with ``start`` is started before.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.api.user import User
from extapi.client.clock import Clock, sleep
from extapi.client.informer import Informer, OnChange
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.workqueue import WorkQueue
from extapi.server.loopback import LoopbackTransport

FIRST_DELAY, LAST_DELAY = 0.5, 60.0
"""Seconds before a controller that failed runs again, and at most; one that worked for longer than that begins anew."""


class Controller(Protocol):
    """Runs beside the server, as long as it does. If it raises, that is logged and it is started again, later each time."""

    async def run(self, context: Context) -> None:
        """Work until cancelled."""
        ...


class Context:
    """The surroundings of an author's code. :attr:`client` acts as the loopback user, who may do everything."""

    def __init__(self, transport: LoopbackTransport, clock: Clock, random: Random) -> None:
        self._transport = transport
        self._clock = clock
        self._random = random
        self._informers: list[Informer] = []
        self.client = Client(transport)

    def own(self) -> Context:
        """The same surroundings for somebody with informers of his own, which end with his :meth:`stop`."""
        return Context(self._transport, self._clock, self._random)

    def acting_as(self, user: User) -> Client:
        """A client that acts as somebody else, with just the rights that authorization gives them."""
        return Client(self._transport.acting_as(user))

    def informer(
        self,
        group: str,
        version: str,
        resource: str,
        *,
        namespace: str = "",
        field_selector: str = "",
        label_selector: str = "",
        on_change: OnChange | None = None,
    ) -> Informer:
        """A started, self-refreshing copy of a collection; ``await informer.wait_synced()`` before reading it."""
        informer = Informer(
            self.client,
            ResourceName(group, version, resource),
            clock=self._clock,
            jitter=self._random.random,
            namespace=namespace,
            field_selector=field_selector,
            label_selector=label_selector,
            on_change=on_change,
        )
        self._informers.append(informer)
        informer.start()
        return informer

    async def get(self, group: str, version: str, resource: str, name: str, *, namespace: str = "") -> Obj:
        """One object, read live. Raises :class:`extapi.errors.NotFound` and other API errors."""
        return await self.client.get(ResourceName(group, version, resource), name, namespace=namespace)

    async def patch_status(
        self, group: str, version: str, resource: str, name: str, status: Obj, *, namespace: str = ""
    ) -> Obj:
        """Merge ``status`` into the object's status; None takes a field away."""
        return await self.client.patch(
            ResourceName(group, version, resource), name, {"status": status}, namespace=namespace, subresource="status"
        )

    @property
    def clock(self) -> Clock:
        """What time it is."""
        return self._clock

    def queue(self) -> WorkQueue:
        """A queue of work for one controller."""
        return WorkQueue(self._clock)

    async def sleep(self, seconds: float) -> None:
        """Wait without holding up the server."""
        await sleep(self._clock, seconds)

    def stop(self) -> None:
        """End all informers."""
        for informer in self._informers:
            informer.stop()


class Controllers:
    """Starts controllers, keeps them running, stops them."""

    _log = Logger()

    def __init__(self, controllers: Sequence[Controller], context: Context) -> None:
        self._controllers = controllers
        self._context = context
        self._running: list[Deferred[None]] = []

    def start(self) -> None:
        """Start all of them."""
        for controller in self._controllers:
            running = Deferred.fromCoroutine(self._keep(controller))
            running.addErrback(_cancelled)
            self._running.append(running)

    async def _keep(self, controller: Controller) -> None:
        delay = FIRST_DELAY
        short_lives = 0
        while True:
            began = self._context.clock.seconds()
            context = self._context.own()
            error: Exception | None = None
            try:
                await controller.run(context)
            except CancelledError:
                raise
            except Exception as raised:  # noqa: BLE001 - a controller is an author's code: whatever it raises, the server goes on
                error = raised
            finally:
                context.stop()  # else what it followed would stay, with all its objects
            if self._context.clock.seconds() - began > LAST_DELAY:
                delay, short_lives = FIRST_DELAY, 0
            short_lives += 1
            self._tell(controller, error, delay, short_lives)
            await self._context.sleep(delay)
            delay = min(delay * 2, LAST_DELAY)

    def _tell(self, controller: Controller, error: Exception | None, delay: float, times: int) -> None:
        """Log why a controller is started again: that it has returned is a mistake as well, and a quiet one."""
        details: dict[str, Any] = {
            "component": f"controller {_name(controller)}",
            "controller": _name(controller),
            "delay": delay,
            "often": "" if times == 1 else f" {times} times in a row",
        }
        if error is None:
            self._log.warn(
                "controller {controller} ended{often}: its run() returned, and should go on until it is cancelled; it is "
                "started again in {delay} s",
                **details,
            )
        else:
            failure: Any = Failure
            self._log.failure(
                "controller {controller} failed{often} and is started again in {delay} s", failure(error), **details
            )

    def stop(self) -> None:
        """Cancel all of them; the informers of plugins end as well."""
        for running in self._running:
            running.cancel()
        self._context.stop()


def _name(controller: Any) -> str:
    return type(controller).__name__


def _cancelled(failure: Any) -> None:
    failure.trap(CancelledError)
