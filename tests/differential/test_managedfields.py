"""The short form of :mod:`tests.differential.managedfields`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.managedfields import play
from tests.kubernetes import golang

pytestmark = pytest.mark.kubernetes


@pytest.fixture(scope="module")
def program() -> Path:
    """Kubernetes' own code for managed fields; compiled ahead where all tests run."""
    return golang.managedfields()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_writes_leave_the_same_object_managers_and_conflicts(program: Path, seed: str) -> None:
    run = play(program, steps=400, seed=seed)
    assert run.differences == []
    assert min(run.steps, run.questions) >= 400
    assert run.conflicts > 10
    assert run.refused < run.steps / 10
