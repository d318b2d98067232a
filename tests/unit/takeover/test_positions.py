"""A migration's position survives a kill, and is of one migration only."""

from __future__ import annotations

from pathlib import Path

import pytest

from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.migration import MigrationPosition
from extapi.takeover.positions import load, save


def test_a_position_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "position"
    assert load(path, "here", "a.b") is None
    position = MigrationPosition("here", "a.b", "token", 7)
    save(path, position)
    assert load(path, "here", "a.b") == position
    assert load(path, "there", "a.b") is None
    assert load(path, "here", "c.d") is None
    save(path, MigrationPosition("here", "a.b", "", 9, finished=True))
    assert load(path, "here", "a.b") is None
    assert [each.name for each in tmp_path.iterdir()] == ["position"]


def test_other_files_are_told(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("text")
    with pytest.raises(TakeoverFailure, match="no position of a migration"):
        load(path, "here", "a.b")
    with pytest.raises(TakeoverFailure, match="cannot be written: No such file or directory"):
        save(tmp_path / "none" / "position", MigrationPosition("here", "a.b"))
