"""Definitions that recurse, explode or are huge: a clear error, or they are served."""

from __future__ import annotations

import pytest

from tests.attack.definitions import CASES, outcome


@pytest.mark.parametrize("name", CASES)
def test_the_worst_definitions_are_judged(name: str) -> None:
    make, wanted = CASES[name]
    found = outcome(make())
    if wanted:
        assert wanted in found
    else:
        assert found == ""
