"""The short form of :mod:`tests.attack.replacements`."""

from __future__ import annotations

import pytest

from tests.attack.replacements import OnDisk, Replacements, run


@pytest.mark.parametrize(("machine", "examples"), [(Replacements, 20), (OnDisk, 5)])
def test_no_client_sees_a_mixture(machine: type[Replacements], examples: int) -> None:
    run(machine, examples=examples, steps=60)
