"""The collector pauses, and is afterwards as it was."""

from __future__ import annotations

import gc

import pytest

from extapi.registry.collecting import uncollected


def test_the_collector_pauses() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_runs_again_after_an_error() -> None:
    with pytest.raises(RuntimeError), uncollected():
        raise RuntimeError
    assert gc.isenabled()


def test_a_pause_in_a_pause_does_not_end_it() -> None:
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
