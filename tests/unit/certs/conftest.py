from __future__ import annotations

from pathlib import Path

import pytest

from extapi.certs.directory import Paths
from tests.unit.certs.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(Paths(tmp_path / "deploy" / "certs"))
