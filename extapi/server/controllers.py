"""Controllers: authors' code that runs beside the server, and is started again when it fails.

:mod:`extapi.server.context` is what they get from the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.clock import Timer
from extapi.server.context import Context

FIRST_DELAY, LAST_DELAY = 0.5, 60.0
"""Seconds before a controller that failed is started again: the first time, and at most.

After a run of more than the latter, the delay begins at the former again.
"""
ENDING = 5.0
"""Seconds that a controller has to end before another one takes its place."""


class Controller(Protocol):
    """Runs beside the server.

    If it raises or returns, that is logged and it is started again, after a delay that grows each time.

    Where several processes elect a leader, it runs in that one, and is cancelled if that process leads no more. An attribute
    ``each_process = True`` has it run in all of them.
    """

    async def run(self, context: Context) -> None:
        """Work until cancelled. Called once the server serves, and again after each failure."""
        ...


class Controllers:
    """Starts controllers, restarts them, replaces them, and stops them."""

    _log = Logger()

    def __init__(self, controllers: Sequence[Controller], context: Context) -> None:
        self._controllers = controllers
        self._context = context
        self._running: list[tuple[Controller, Deferred[None]]] = []
        self._stopped = False

    def start(self) -> None:
        """Start all controllers."""
        for controller in self._controllers:
            running = Deferred.fromCoroutine(self._keep(controller))
            running.addErrback(_cancelled)
            self._running.append((controller, running))

    async def replace(self, controllers: Sequence[Controller]) -> None:
        """Run these from now on. Those that run already go on; the others end before new ones begin.

        One that does not end within :data:`ENDING` seconds is no longer waited for.
        """
        stay, self._running, leaving = [], [], self._running
        for controller in controllers:
            same = next((each for each in leaving if each[0] is controller), None)
            if same is None:
                stay.append(controller)
            else:
                leaving.remove(same)
                self._running.append(same)
        for _, running in leaving:
            running.cancel()
        for ended in [Deferred.fromCoroutine(self._ended(controller, running)) for controller, running in leaving]:
            await ended
        self._controllers = stay
        if not self._stopped:
            self.start()

    async def _ended(self, controller: Controller, running: Deferred[None]) -> None:
        """Wait for the end of a controller that has been cancelled."""
        ended: Deferred[bool] = Deferred()
        timer: Timer = self._context.clock.callLater(ENDING, ended.callback, False)

        def over(_: None) -> None:
            if timer.active():
                timer.cancel()
                ended.callback(True)

        running.addCallback(over)
        if not await ended:
            self._log.warn(
                "controller {controller} has been cancelled but has not ended after {seconds} s; those that replace it begin",
                component=f"controller {_name(controller)}",
                controller=_name(controller),
                seconds=ENDING,
            )

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
                context.stop()  # otherwise its informers would stay, with all their objects
            if self._context.clock.seconds() - began > LAST_DELAY:
                delay, short_lives = FIRST_DELAY, 0
            short_lives += 1
            self._tell(controller, error, delay, short_lives)
            await self._context.sleep(delay)
            delay = min(delay * 2, LAST_DELAY)

    def _tell(self, controller: Controller, error: Exception | None, delay: float, times: int) -> None:
        """Log why a controller is started again. To return is a mistake as well."""
        details: dict[str, Any] = {
            "component": f"controller {_name(controller)}",
            "controller": _name(controller),
            "delay": delay,
            "often": "" if times == 1 else f" {times} times in a row",
        }
        if error is None:
            self._log.warn(
                "controller {controller} ended{often}: its run() returned, but should run until it is cancelled; it is "
                "started again in {delay} s",
                **details,
            )
        else:
            failure: Any = Failure
            self._log.failure(
                "controller {controller} failed{often} and is started again in {delay} s", failure(error), **details
            )

    def stop(self) -> None:
        """Cancel all controllers; end the informers of plugins, too."""
        self._stopped = True
        for _, running in self._running:
            running.cancel()
        self._context.close()


def _name(controller: Any) -> str:
    return type(controller).__name__


def _cancelled(failure: Any) -> None:
    failure.trap(CancelledError)
