"""The quick rows of the table of odd machines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.environments.machine import Odd, run
from tests.environments.table import QUICK


@pytest.mark.parametrize("odd", QUICK, ids=lambda odd: odd.name)
def test_a_command_on_an_odd_machine(odd: Odd, tmp_path: Path) -> None:
    """It says what is wrong, and ends."""
    done = run(odd, tmp_path)
    assert done.returncode == odd.status, done.stderr
    assert re.search(odd.says.replace("{here}", re.escape(str(tmp_path))), done.stderr, re.MULTILINE), done.stderr
    assert "Traceback" not in done.stderr
    if odd.files is not None:
        assert set((tmp_path / "listed").read_text().splitlines()) == odd.files
