"""The command line of ``extapi export``."""

from __future__ import annotations

from pathlib import Path

from tests.unit.takeover.place import KUBECONFIG
from tests.unit.takeover.test_importcommand import run


def test_what_cannot_be_is_one_line(tmp_path: Path) -> None:
    words = ["export", "--crd=crates.moving.example.com", "--storage=sqlite:///a.db"]
    status, said = run(*words, directory=tmp_path)
    assert (status, said) == (1, "Error: there is no file a.db; name the one of the server's --storage\n")
    (tmp_path / "a.db").touch()
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    status, said = run(*words, "--kubeconfig=kubeconfig", directory=tmp_path)
    assert status == 1
    assert said.startswith("Error: https://127.0.0.1:1: ")
