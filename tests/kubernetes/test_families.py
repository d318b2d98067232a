"""A machine with ``::1`` alone, and one without loopback. ``families`` tries other machines when it is asked to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kubernetes.families import BOTH_LOCALHOST, LOCALHOST, SIX, machine, use


@pytest.mark.parametrize(
    ("plane", "hosts"),
    [("builtin", LOCALHOST), pytest.param("kube", BOTH_LOCALHOST, marks=pytest.mark.kubernetes)],
    ids=["builtin", "kube"],
)
def test_everything_runs_on_a_machine_with_ipv6_alone(tmp_path: Path, plane: str, hosts: str) -> None:
    with machine(SIX, hosts=hosts) as there:
        use(there, plane, tmp_path, serving=plane == "builtin")


def test_a_machine_without_loopback_is_told_so_and_nothing_is_written(tmp_path: Path) -> None:
    with machine() as there:
        command = [*there.within, sys.executable, "-m", "extapi", "dev", "--dir", str(tmp_path / "dev")]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr == (
        "Error: there is no loopback address to listen on (127.0.0.1: Cannot assign requested address; ::1: Cannot assign "
        "requested address): bring the interface up with ip link set lo up\n"
    )
    assert not (tmp_path / "dev").exists()
