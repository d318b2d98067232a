"""Signals as an exception, also where Python would drop it."""

from __future__ import annotations

import os
import signal
import warnings

import pytest

from extapi.dev import signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_an_exception_and_further_ones_are_ignored(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with signals.as_exception() as stop:
        stop.check()  # nobody has asked yet
        with pytest.raises(signals.StopRequested):
            signal.raise_signal(number)
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.raise_signal(each)
    assert signal.getsignal(number) is before


class Finalized:
    """Is asked to stop while it is finalized."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_finalizer_has_swallowed_comes_up_with_the_next_check() -> None:
    with signals.as_exception() as stop, warnings.catch_warnings():
        Finalized()
        with pytest.raises(signals.StopRequested):
            stop.check()
