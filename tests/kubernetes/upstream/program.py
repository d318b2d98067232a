"""The programs: Kubernetes' e2e specs, and the image that they deploy; what they are made of, and where the finished ones are."""

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

AGNHOST = GoProgram(
    sources=PROGRAM.sources,
    name="agnhost",
    title="the image of Kubernetes' e2e specs",
    arguments=PROGRAM.arguments,
    package="k8s.io/kubernetes/test/images/agnhost",
    version=PROGRAM.version,
)
"""The webhook servers of the specs, among much else."""


def build(say: Callable[[str], None]) -> Path:
    """The finished specs, compiled if they are not there.

    :raises DevFailure: the cache cannot be written, or the compiler failed.
    """
    return compiled(PROGRAM, say, cache=cache_directory(os.environ))


def agnhost(say: Callable[[str], None]) -> Path:
    """The finished program of the image, likewise.

    :raises DevFailure: as above.
    """
    return compiled(AGNHOST, say, cache=cache_directory(os.environ))
