"""The command line of ``extapi export``."""

from __future__ import annotations

from pathlib import Path

import pytest

from extapi.takeover.exportcommand import _tell
from extapi.takeover.moved import moved
from extapi.takeover.restoring import Outcome
from tests.unit.takeover.place import KUBECONFIG
from tests.unit.takeover.test_importcommand import run
from tests.unit.takeover.world import LIVE


def test_what_cannot_be_is_one_line(tmp_path: Path) -> None:
    words = ["export", "--crd=crates.moving.example.com", "--storage=sqlite:///a.db"]
    status, said = run(*words, directory=tmp_path)
    assert (status, said) == (1, "Error: there is no file a.db; name the one of the server's --storage\n")
    (tmp_path / "a.db").touch()
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    status, said = run(*words, "--kubeconfig=kubeconfig", directory=tmp_path)
    assert status == 1
    assert said.startswith("Error: https://127.0.0.1:1: ")


def test_what_became_of_the_objects_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Outcome(created=12, updated=1, deleted=2, unchanged=3, failures=["a/b: 422 no"])
    outcome.new_uids = [f"ns/{number}" for number in range(12)]
    _tell(moved(LIVE), outcome, ["a/b", *(f"c/{number}" for number in range(11))])
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "crates.moving.example.com: 1 updated, 12 created, 2 deleted, 3 as they were"
    assert "12 objects have a new uid (ns/0, ns/1, ns/2, ns/3, ns/4, ns/5, ns/6, ns/7, ns/8, ns/9, ...)" in said[1]
    assert said[2] == "Error: crates.moving.example.com: a/b: 422 no"
    assert said[3] == "Error: crates.moving.example.com: c/0: differs from the store"
    assert said[-1] == "Error: crates.moving.example.com: and 2 more"
    assert len(outcome.failures) == 12
