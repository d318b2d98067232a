"""The garbage collector pauses while a large write works, and not while it waits."""

from __future__ import annotations

import gc
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from extapi.server.collector import uncollected
from tests.attack.wide import APPLY, PATH, obj, server


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    assert gc.isenabled()
    yield
    assert gc.isenabled()


def running(work: Coroutine[Any, Any, Any]) -> Deferred[Any]:
    async def run() -> Any:
        return await uncollected(work)

    return Deferred.fromCoroutine(run())


def test_it_pauses_while_the_work_runs_and_not_while_it_waits() -> None:
    waited: Deferred[int] = Deferred()
    seen = []

    async def work() -> int:
        seen.append(gc.isenabled())
        number = await waited
        seen.append(gc.isenabled())
        return number

    result: list[int] = []
    running(work()).addCallback(result.append)
    assert gc.isenabled()
    waited.callback(7)
    assert (seen, result) == ([False, False], [7])


def test_an_error_reaches_the_work_and_one_of_the_work_its_caller() -> None:
    waited: Deferred[int] = Deferred()

    async def work() -> int:
        try:
            return await waited
        except KeyError:
            raise ValueError("told") from None

    result = running(work())
    waited.errback(KeyError("told"))
    failures: list[Failure] = []
    result.addErrback(failures.append)
    assert str(failures[0].value) == "told"
    assert isinstance(failures[0].value, ValueError)


def test_it_is_cancelled_with_its_caller() -> None:
    ended = []

    async def work() -> None:
        try:
            await Deferred()
        finally:
            ended.append(gc.isenabled())

    result = running(work())
    failures: list[Failure] = []
    result.addErrback(failures.append)
    result.cancel()
    assert isinstance(failures[0].value, CancelledError)
    assert ended == [False]


def test_work_that_is_never_ended_is_closed_with_its_caller() -> None:
    ended = []

    async def work() -> None:
        try:
            await Deferred()
        finally:
            ended.append(True)

    waiting: Any = uncollected(work())
    waiting.send(None)
    waiting.close()
    assert ended == [True]


def test_a_collector_that_is_off_stays_off() -> None:
    async def work() -> int:
        return 1

    gc.disable()
    try:
        running(work())
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(("length", "paused"), [("99999", False), ("100000", True), ("3145728", True), ("", True)])
def test_large_writes_are_not_collected(length: str, paused: bool) -> None:
    """What a client sends in many parts does not say its size."""
    runs: list[str] = []
    gc.callbacks.append(lambda phase, _: runs.append(phase))
    body = obj("open", {f"k{number}": {"a": "x"} for number in range(2_000)})
    headers = {"Content-Type": APPLY} | ({"Content-Length": length} if length else {})
    try:
        with server() as serving:
            gc.collect()
            runs.clear()
            threshold = gc.get_threshold()
            gc.set_threshold(50, 1000, 1000)
            try:
                answer = serving.request("PATCH", PATH, {"fieldManager": "one"}, headers, body)
            finally:
                gc.set_threshold(*threshold)
    finally:
        gc.callbacks.pop()
    assert answer.status == 201
    assert (len(runs) < 30) is paused, len(runs)
