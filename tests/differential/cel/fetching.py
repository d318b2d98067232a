"""Go modules with data: downloaded once into Go's own cache, as pinned in ``gomodules``."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path

from extapi.dev import toolchain
from extapi.dev.golang import cache_directory

HERE = Path(__file__).parent / "gomodules"


@cache
def versions() -> dict[str, str]:
    """The modules that go.mod names, with their versions."""
    lines = (line.split() for line in (HERE / "go.mod").read_text().splitlines())
    return {words[0]: words[1] for words in lines if len(words) == 2 and words[1].startswith("v")}


@cache
def directory(module: str) -> Path:
    """Where the files of a module are. Go checks them against go.sum.

    Raises:
        RuntimeError: It could not be downloaded, or is not what go.sum says.
    """
    go = toolchain.find().command or toolchain.install(cache_directory(os.environ), print)
    settings = {"GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    run = subprocess.run(
        [str(go), "mod", "download", "-json", f"{module}@{versions()[module]}"],
        cwd=HERE,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(run.stdout or "{}")
    if run.returncode or "Dir" not in found:
        raise RuntimeError(f"{module}: {found.get('Error') or run.stderr}")
    return Path(found["Dir"])
