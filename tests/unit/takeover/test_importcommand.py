"""The command line of ``extapi import``: what excludes what, and what is told before a cluster is asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from extapi.cli import main
from tests.unit.takeover.place import KUBECONFIG

WORDS = ["import", "--crd", "crates.moving.example.com"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--once", "--switch"], "--once, --switch and --abort exclude each other"),
        (["--switch"], "--switch needs either --apiservice FILE or --service NAMESPACE/NAME"),
        (["--switch", "--service=a/b", "--apiservice=c"], "--switch needs either --apiservice FILE or"),
        (["--settle=-1"], "-1.0 is not in the range 0<=x<=600"),
    ],
)
def test_a_wrong_command_line_is_told(words: list[str], text: str) -> None:
    result = CliRunner().invoke(main, [*WORDS, "--storage=sqlite:///a.db", *words])
    assert result.exit_code == 2
    assert text in result.output


def run(*words: str, directory: Path) -> tuple[int, str]:
    """A process of its own: each has one reactor."""
    done = subprocess.run(
        [sys.executable, "-m", "extapi", *words],
        cwd=directory,
        env={"PATH": "", "HOME": str(directory)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_what_cannot_be_is_one_line(tmp_path: Path) -> None:
    status, said = run(*WORDS, "--storage=memory:", directory=tmp_path)
    assert (status, said) == (
        1,
        "Error: memory: ends with its process; name the sqlite:///PATH of the server's --storage\n",
    )
    status, said = run(*WORDS, "--storage=sqlite:///a.db", directory=tmp_path)
    assert status == 1
    assert said == f"Error: no kubeconfig: there is no {tmp_path}/.kube/config; give --kubeconfig FILE\n"
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    status, said = run(*WORDS, "--storage=sqlite:///a.db", "--kubeconfig=kubeconfig", directory=tmp_path)
    assert status == 1
    assert said.startswith("Error: https://127.0.0.1:1: ")
    assert said.count("\n") == 1
    assert not (tmp_path / "a.db").exists()
