"""The clock of an in-memory server refuses what the reactor refuses that runs in production."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest

from extapi.privatereactor import private_reactor
from extapi.testing import serve
from extapi.testing.clock import ManualClock
from tests.unit.verbs.sample import shop


def refusal(clock: Any, delay: Any, call: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        clock.callLater(delay, call)
    return str(raised.value)


@pytest.mark.parametrize("delay", [-0.5, float("nan"), float("-inf")])
def test_a_delay_that_a_reactor_refuses_is_refused_with_its_words(delay: float) -> None:
    with private_reactor() as reactor, serve(shop()) as server:
        assert refusal(server.clock, delay, print) == refusal(reactor, delay, print)


def test_what_cannot_be_called_is_refused() -> None:
    assert refusal(ManualClock(), 1, None) == "None is not callable"


def test_a_call_from_another_thread_is_refused() -> None:
    clock, told = ManualClock(), []
    thread = Thread(target=lambda: told.append(refusal(clock, 1, print)))
    thread.start()
    thread.join()
    assert told == ["callLater was called from another thread than the reactor's; use callFromThread there"]
    assert clock.getDelayedCalls() == []


def test_time_passes_when_it_is_moved() -> None:
    clock = ManualClock()
    called: list[str] = []
    clock.callLater(2, called.append, "a")
    clock.advance(1.5)
    assert called == []
    clock.advance(0.5)
    assert (called, clock.seconds()) == (["a"], 2)
