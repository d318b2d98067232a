"""The program with Kubernetes' e2e specs: what it is made of, and where the finished one is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from extapi.dev.build import KUBERNETES
from extapi.dev.golang import GoProgram, cache_directory, compiled

PROGRAM = GoProgram(
    sources=Path(__file__).parent,
    name="upstream",
    title="Kubernetes' e2e specs",
    arguments=("build", "-v", "-trimpath", "-ldflags", "-s -w"),
    version=KUBERNETES[2],
)


def build(say: Callable[[str], None]) -> Path:
    """The finished program, compiled if it is not there.

    :raises DevFailure: the cache cannot be written, or the compiler failed.
    """
    return compiled(PROGRAM, say, cache=cache_directory(os.environ))
