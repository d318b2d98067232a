"""A process that its parent has started oddly. Each case is one of its own: descriptors and signals are the process's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ODD = """
import os, signal, sys
{odd}
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1], sys.argv[2]])
"""


def run(odd: str, script: str, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ODD.format(odd=odd), script, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_what_is_written_to_a_closed_stream_reaches_no_file(closed: tuple[int, ...], tmp_path: Path) -> None:
    script = """
import sys
from extapi.inherited import mend
mend()
store = open(sys.argv[1], "w")
print("lost", flush=True)
print("lost", file=sys.stderr, flush=True)
print(store.fileno() > 2, repr(sys.stdin.read()), file=store)
"""
    result = run("; ".join(f"os.close({number})" for number in closed), script, tmp_path / "store")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "store").read_text() == "True ''\n"
    assert result.stdout == ("" if 1 in closed else "lost\n")


def test_children_can_be_waited_for_although_the_parent_ignored_theirs(tmp_path: Path) -> None:
    script = """
import subprocess
from extapi.inherited import mend
mend()
print(subprocess.run(["sh", "-c", "exit 3"]).returncode)
"""
    result = run("signal.signal(signal.SIGCHLD, signal.SIG_IGN)", script, tmp_path)
    assert (result.stdout, result.stderr) == ("3\n", "")


def test_each_command_begins_so(tmp_path: Path) -> None:
    script = "from extapi.cli import main; main(['--version'], prog_name='extapi')"
    result = run("os.close(1)", script, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
