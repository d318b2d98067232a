"""What runs beside the server: it gets a client, informers and time, and is started again when it fails."""

from __future__ import annotations

from typing import Any, cast

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import ILogObserver, capturedLogs, formatEvent, globalLogPublisher

from extapi import Context, EventRecorder, Informer, WorkQueue
from extapi.api.user import User
from extapi.testing import serve
from tests.unit.verbs.sample import GROUP, WIDGETS, Shop, shop, widget

WIDGET = (GROUP, "v1", "widgets")


class Failing:
    """Fails each time it is run."""

    def __init__(self) -> None:
        self.times: list[float] = []

    async def run(self, context: Context) -> None:
        self.times.append(context._clock.seconds())
        raise RuntimeError("the author's mistake")


def test_a_controller_that_fails_is_run_again_later_and_later() -> None:
    failing = Failing()
    with serve(shop(controllers=[failing])) as server:
        for _ in range(3200):
            server.clock.advance(0.125)
    pauses = [later - earlier for earlier, later in zip(failing.times, failing.times[1:], strict=False)]
    assert pauses[:7] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    assert set(pauses[7:]) == {60.0}


class Ending:
    """Returns each time it is run."""

    async def run(self, context: Context) -> None:
        """Do nothing."""


def test_what_a_controller_does_wrong_is_told_each_time() -> None:
    """That one has returned is as bad as an error, and nobody would notice."""
    logged: list[dict[str, Any]] = []
    observer = cast("ILogObserver", logged.append)
    globalLogPublisher.addObserver(observer)
    try:
        with serve(shop(controllers=[Failing(), Ending()])) as server:
            server.clock.advance(0.5)
    finally:
        globalLogPublisher.removeObserver(observer)
    told = [(event["component"], formatEvent(event)) for event in logged if "component" in event]
    ended = "its run() returned, but should run until it is cancelled; it is started again in"
    assert told == [
        ("controller Failing", "controller Failing failed and is started again in 0.5 s"),
        ("controller Ending", f"controller Ending ended: {ended} 0.5 s"),
        ("controller Failing", "controller Failing failed 2 times in a row and is started again in 1.0 s"),
        ("controller Ending", f"controller Ending ended 2 times in a row: {ended} 1.0 s"),
    ]
    failures = [event["log_failure"] for event in logged if "component" in event and "log_failure" in event]
    assert [str(failure.value) for failure in failures] == ["the author's mistake"] * 2
    assert all(failure.getTracebackObject() is not None for failure in failures)


class Rarely:
    """Works for an hour, then fails."""

    def __init__(self) -> None:
        self.times: list[float] = []

    async def run(self, context: Context) -> None:
        self.times.append(context.clock.seconds())
        await context.sleep(3600)
        raise RuntimeError("once an hour")


def test_a_controller_that_worked_long_is_run_again_soon() -> None:
    rarely = Rarely()
    with serve(shop(controllers=[rarely])) as server:
        for _ in range(8 * 3600):
            server.clock.advance(0.5)
    assert {later - earlier for earlier, later in zip(rarely.times, rarely.times[1:], strict=False)} == {3600.5}


class Forgetful:
    """Follows the widgets and fails at once, each time it is run."""

    def __init__(self) -> None:
        self.runs = 0
        self.heard: list[str] = []

    async def run(self, context: Context) -> None:
        self.runs += 1
        context.informer(*WIDGET, on_change=lambda event, _: self.heard.append(event))
        raise RuntimeError("the author's mistake")


def test_what_a_controller_followed_before_it_failed_is_followed_no_more() -> None:
    forgetful = Forgetful()
    with serve(shop(controllers=[forgetful])) as server:
        server.advance(10)
        assert forgetful.runs > 3
        assert server.request("POST", WIDGETS, body=widget()).status == 201
        server.advance(0.5)
        assert forgetful.heard == []


def test_the_server_goes_on_without_it() -> None:
    with serve(shop(controllers=[Failing()])) as server:
        assert server.request("POST", WIDGETS, body=widget()).status == 201


class Waiting:
    """Waits for ever, and notes how it ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def run(self, context: Context) -> None:
        try:
            await Deferred[None]()
        except CancelledError:
            self.ended.append("cancelled")
            raise


def test_a_controller_is_cancelled_when_the_server_stops() -> None:
    waiting = Waiting()
    with serve(shop(controllers=[waiting])):
        assert waiting.ended == []
    assert waiting.ended == ["cancelled"]


class Readying:
    """Marks each widget as ready: the usual shape of a controller."""

    def __init__(self) -> None:
        self.informer: Informer | None = None

    async def run(self, context: Context) -> None:
        queue = context.queue()

        def changed(_event: str, obj: dict[str, Any]) -> None:
            queue.add(obj["metadata"]["name"])

        self.informer = context.informer(*WIDGET, namespace="default", label_selector="mine=yes", on_change=changed)
        await self.informer.wait_synced()
        async for name in queue:
            await context.sleep(2)
            if (await context.get(*WIDGET, name, namespace="default")).get("status") != {"ready": True}:
                await context.patch_status(*WIDGET, name, {"ready": True}, namespace="default")
            queue.done(name)


def test_a_controller_works_through_the_whole_chain() -> None:
    readying = Readying()
    with serve(shop(controllers=[readying])) as server:
        served = Shop(server, None)  # type: ignore[arg-type]  # no plugin here
        served.create("mine", labels={"mine": "yes"})
        served.create("other")
        server.advance(1)
        assert "status" not in served.get("mine")
        server.advance(3)
        assert served.get("mine")["status"] == {"ready": True}
        assert "status" not in served.get("other")
        assert readying.informer is not None
        assert readying.informer.get("default", "mine") is not None


class Following:
    """Follows everything there is to follow, and fails."""

    def __init__(self) -> None:
        self.informers: list[Informer] = []
        self.recorders: list[EventRecorder] = []

    async def run(self, context: Context) -> None:
        bob = context.acting_as(User("bob"))
        self.recorders.append(context.recorder("example.com/a"))
        for client in (context, context.cluster, bob):
            self.informers.append(client.informer("", "v1", "configmaps"))
        raise RuntimeError("the author's mistake")


def test_informers_of_every_client_end_with_the_run_and_recorders_stay() -> None:
    following = Following()
    with serve(shop(controllers=[following])) as server:
        server.advance(0.6)
        assert len(following.informers) == 6
        for informer in following.informers:
            with pytest.raises(CancelledError):
                server.run(informer.wait_synced())
        assert following.recorders[0] is following.recorders[1]


class Broken:
    """Ends by something that looks like the server's own cancel, or like the end of the process."""

    each_process = True

    def __init__(self, error: BaseException | None) -> None:
        self.error = error
        self.runs = 0

    async def run(self, context: Context) -> None:
        self.runs += 1
        if self.error is not None:
            raise self.error
        informer = context.informer(*WIDGET)
        informer.stop()
        await informer.wait_synced()


@pytest.mark.parametrize("error", [None, CancelledError(), SystemExit(1), KeyboardInterrupt()])
def test_only_the_server_ends_a_controller(error: BaseException | None) -> None:
    broken = Broken(error)
    with capturedLogs() as logs, serve(shop(controllers=[broken])) as server:
        server.advance(0.6)
        assert broken.runs == 2
    told = [formatEvent(event) for event in logs if "controller" in event]
    assert told[0] == "controller Broken failed and is started again in 0.5 s"


class Swallowing:
    """Ends in another way than asked when it is cancelled."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.runs = 0

    async def run(self, context: Context) -> None:
        self.runs += 1
        try:
            await context.sleep(3600)
        except Exception:  # noqa: BLE001 - as authors write it; a CancelledError is one
            if self.error is not None:
                raise self.error from None


@pytest.mark.parametrize(("error", "told"), [(None, 0), (RuntimeError("while it ended"), 1)])
def test_a_controller_that_was_cancelled_does_not_begin_anew(error: Exception | None, told: int) -> None:
    swallowing = Swallowing(error)
    with capturedLogs() as logs, serve(shop(controllers=[swallowing])) as server:
        server.run(server.server.replace_api(shop(), shop(controllers=[swallowing])))
        server.advance(5)
        assert swallowing.runs == 1
    lines = [formatEvent(event) for event in logs if "controller" in event]
    assert lines == ["controller Swallowing failed while it ended"] * told


class Delaying:
    """Asks for a key in two seconds, and fails before."""

    def __init__(self) -> None:
        self.queues: list[WorkQueue] = []

    async def run(self, context: Context) -> None:
        self.queues.append(context.queue())
        self.queues[-1].add_later("a", 2)
        await context.sleep(1)
        raise RuntimeError("the author's mistake")


def test_what_a_controller_had_queued_ends_with_the_run() -> None:
    delaying = Delaying()
    with serve(shop(controllers=[delaying])) as server:
        server.advance(3)
        delaying.queues[0].add("b")
        assert len(delaying.queues[0]) == 0
