from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from extapi.dev.directory import opened, write_secret
from extapi.dev.failure import DevFailure


def test_it_is_made_for_its_owner_alone_with_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with opened(Path("a/b")) as state:
        assert stat.S_IMODE((tmp_path / "a/b").stat().st_mode) == 0o700
        assert state.kubeconfig == tmp_path / "a/b/kubeconfig"


def test_a_second_run_is_refused_and_a_later_one_is_not(tmp_path: Path) -> None:
    with opened(tmp_path) as first:
        message = f"another run (process {os.getpid()}) already uses the directory {tmp_path}"
        with pytest.raises(DevFailure, match=f"^{re.escape(message)}$"), opened(tmp_path):
            pass
    with opened(tmp_path) as second:
        assert second == first


def test_a_run_that_has_not_said_who_it_is_is_named_so(tmp_path: Path) -> None:
    with opened(tmp_path):
        (tmp_path / "lock").write_text("")
        with pytest.raises(DevFailure, match=r"^another run \(process unknown\)"), opened(tmp_path):
            pass


def test_a_file_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "dir"):
        with pytest.raises(DevFailure, match=f"^cannot write the directory {path}: (File exists|Not a directory)$"):
            opened(path).__enter__()


def test_a_secret_is_for_its_owner_alone_also_when_it_was_not_before(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("old")
    path.chmod(0o644)
    (tmp_path / "kubeconfig.unfinished").touch()
    write_secret(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["kubeconfig"]
