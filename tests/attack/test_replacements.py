"""The short form of :mod:`tests.attack.replacements`."""

from __future__ import annotations

import pytest

from tests.attack.replacements import OnDisk, Replacements, run


@pytest.mark.parametrize(("machine", "examples"), [(Replacements, 40), (OnDisk, 8)])
def test_no_client_sees_a_mixture(machine: type[Replacements], examples: int) -> None:
    run(machine, examples=examples, steps=60)
