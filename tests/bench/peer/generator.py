"""The load: a Go program (``tests/kubernetes/load``) that sends one kind of request; here is how it is run.

The servers' CPU time is read when its connections are open and warm, and again when it has ended.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kubernetes import golang


@dataclass(frozen=True)
class Address:
    """Where requests go and as whom: files of PEM, and headers."""

    port: int
    ca: Path
    certificate: Path
    key: Path
    headers: Sequence[str] = ()

    def arguments(self) -> list[str]:
        """Of the load generator."""
        return [
            f"-address=127.0.0.1:{self.port}",
            f"-ca={self.ca}",
            f"-certificate={self.certificate}",
            f"-key={self.key}",
            *(f"-header={header}" for header in self.headers),
        ]


@dataclass(frozen=True)
class Load:
    """What one run sends; the program's own text says what ``{n}`` and the like in ``path`` and ``body`` are."""

    method: str
    path: str
    count: int
    connections: int
    body: str = ""
    kind: str = ""
    """The media type of ``body``, where it is not that of the method."""
    status: int = 200
    headers: tuple[str, ...] = ()
    unmeasured: int = 0
    """How many of them are sent before anything is measured."""
    watchers: int = 0
    """How many watches of ``watch`` are open; then each request is waited for on all of them."""
    watch: str = ""

    def arguments(self) -> list[str]:
        """Of the load generator."""
        return [
            f"-method={self.method}",
            f"-path={self.path}",
            f"-body={self.body}",
            f"-kind={self.kind}",
            f"-count={self.count}",
            f"-connections={self.connections}",
            f"-status={self.status}",
            f"-watchers={self.watchers}",
            f"-watch={self.watch}",
            *(f"-header={header}" for header in self.headers),
        ]


@dataclass(frozen=True)
class Figures:
    """Of one run. ``used``: CPU microseconds of each process that was looked at; latencies in milliseconds."""

    count: int
    seconds: float
    p50: float
    p99: float
    used: dict[str, float]


class Generator:
    """Runs the program."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._program = golang.program("load", "the load generator", say=say)

    def run(self, address: Address, load: Load, cpu: Callable[[], dict[str, float]]) -> Figures:
        """Send the load; ``cpu`` reads microseconds used by process. Raises RuntimeError with what went wrong."""
        command = [str(self._program), *address.arguments(), *load.arguments()]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError(f"{load.method} {load.path}: {process.stderr.read()}")
            before = cpu()
            process.stdin.write("\n")
            process.stdin.flush()
            line = process.stdout.readline()
            after = cpu()
            if not line:
                raise RuntimeError(f"{load.method} {load.path}: {process.stderr.read()}")
        said = json.loads(line)
        used = {name: after[name] - before[name] for name in after}
        return Figures(said["count"], said["seconds"], said["p50"], said["p99"], used)


def sample_apiserver(say: Callable[[str], None]) -> Path:
    """Kubernetes' own sample-apiserver, compiled from its module."""
    return golang.program("load", "sample-apiserver", package="k8s.io/sample-apiserver", say=say)
