"""Controllers: authors' code that runs beside the server, and is started again when it fails.

:mod:`extapi.server.context` is what they get from the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
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

    If it raises or returns, that is logged and it is started again, after a delay that grows each time. Only the end that the
    server asks for, by cancelling it, is its last.

    Where several processes elect a leader, it runs in that one, and is cancelled if that process leads no more. An attribute
    ``each_process = True`` has it run in all of them.
    """

    async def run(self, context: Context) -> None:
        """Work until cancelled. Called once the server serves, and again after each failure."""
        ...


class _Run:
    """A controller that runs, again and again, until the server cancels it."""

    def __init__(self, controller: Controller, context: Context, log: Logger) -> None:
        self.controller = controller
        self._log = log
        self._context = context
        self._leaving = False
        """The server has cancelled it. Any other CancelledError is one of the controller's own calls."""
        self.ended: Deferred[None] = Deferred.fromCoroutine(self._keep())

    def cancel(self) -> None:
        """Ask it to end."""
        self._leaving = True
        self.ended.cancel()

    def _is_leaving(self) -> bool:
        return self._leaving

    async def _keep(self) -> None:
        delay, short_lives = FIRST_DELAY, 0
        while not self._is_leaving():
            began = self._context.clock.seconds()
            error = await self._once()
            if self._is_leaving():
                self._tell_end(error)
                return
            if self._context.clock.seconds() - began > LAST_DELAY:
                delay, short_lives = FIRST_DELAY, 0
            short_lives += 1
            self._tell(error, delay, short_lives)
            await self._pause(delay)
            delay = min(delay * 2, LAST_DELAY)

    async def _once(self) -> BaseException | None:
        """One run; what it raised."""
        context = self._context.own()
        try:
            await self.controller.run(context)
        except GeneratorExit:  # nobody waits for it any more
            raise
        except BaseException as raised:  # noqa: BLE001 - a controller is an author's code: whatever it raises, the server goes on
            return raised
        finally:
            context.stop()  # otherwise its informers would stay, with all their objects
        return None

    async def _pause(self, seconds: float) -> None:
        with suppress(CancelledError):  # by the server: nobody else has what is waited for
            await self._context.sleep(seconds)

    def _tell_end(self, error: BaseException | None) -> None:
        """Log what a controller raised instead of ending when it was cancelled."""
        if error is not None and not isinstance(error, CancelledError):
            name, failure = _name(self.controller), _failure(error)
            self._log.failure(
                "controller {controller} failed while it ended",
                failure,
                component=f"controller {name}",
                controller=name,
            )

    def _tell(self, error: BaseException | None, delay: float, times: int) -> None:
        """Log why a controller is started again. To return is a mistake as well."""
        name = _name(self.controller)
        details: dict[str, Any] = {
            "component": f"controller {name}",
            "controller": name,
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
            self._log.failure(
                "controller {controller} failed{often} and is started again in {delay} s", _failure(error), **details
            )


class Controllers:
    """Starts controllers, restarts them, replaces them, and stops them."""

    _log = Logger()

    def __init__(self, controllers: Sequence[Controller], context: Context) -> None:
        self._controllers = controllers
        self._context = context
        self._running: list[_Run] = []
        self._stopped = False

    def start(self) -> None:
        """Start all controllers."""
        for controller in self._controllers:
            self._running.append(_Run(controller, self._context, self._log))

    async def replace(self, controllers: Sequence[Controller]) -> None:
        """Run these from now on. Those that run already go on; the others end before new ones begin.

        One that does not end within :data:`ENDING` seconds is no longer waited for.
        """
        stay, self._running, leaving = [], [], self._running
        for controller in controllers:
            same = next((each for each in leaving if each.controller is controller), None)
            if same is None:
                stay.append(controller)
            else:
                leaving.remove(same)
                self._running.append(same)
        for each in leaving:
            each.cancel()
        for ended in [Deferred.fromCoroutine(self._ended(each)) for each in leaving]:
            await ended
        self._controllers = stay
        if not self._stopped:
            self.start()

    async def _ended(self, run: _Run) -> None:
        """Wait for the end of a controller that has been cancelled."""
        ended: Deferred[bool] = Deferred()
        timer: Timer = self._context.clock.callLater(ENDING, ended.callback, False)

        def over(_: None) -> None:
            if timer.active():
                timer.cancel()
                ended.callback(True)

        run.ended.addCallback(over)
        if not await ended:
            self._log.warn(
                "controller {controller} has been cancelled but has not ended after {seconds} s; those that replace it begin",
                component=f"controller {_name(run.controller)}",
                controller=_name(run.controller),
                seconds=ENDING,
            )

    async def stop(self) -> None:
        """Cancel all controllers; end the informers of plugins, too. Returns when the events of all have been written."""
        self._stopped = True
        for each in self._running:
            each.cancel()
        await self._context.close()


def _name(controller: Any) -> str:
    return type(controller).__name__


def _failure(error: BaseException) -> Failure:
    untyped: Any = Failure  # Twisted's constructor is not typed
    made: Failure = untyped(error)
    return made
