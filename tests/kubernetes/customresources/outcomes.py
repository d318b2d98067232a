"""Runs of the integration tests, and what each test came to. Knows how Go's test binaries print."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.kubernetes.control_plane import running

LIMIT = 900
"""Seconds for all tests of a process."""
HANGS = "TestEtcdStorage"
"""It asks an etcd that is not there, again and again, so that it is never run."""
_END = re.compile(r"^--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)$", re.MULTILINE)
_BEGIN = re.compile(r"^=== RUN   ([^/\s]+)$", re.MULTILINE)
_STATES = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}


@dataclass(frozen=True)
class Outcome:
    """What became of a test: ``passed``, ``failed`` or ``skipped``, and all that it printed."""

    state: str
    seconds: float
    output: str


def names(program: Path) -> list[str]:
    """The names of all tests, in the order in which they stand in the sources."""
    listed = subprocess.run([str(program), "-test.list", "^Test"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if line.startswith("Test")]


def run(program: Path, kubeconfig: Path, tests: Sequence[str], directory: Path) -> dict[str, Outcome]:
    """Run tests one after the other. They delete all definitions that the control plane has.

    A test of which nothing is found in what it returns did not run, or not to its end.
    """
    log = directory / "integration.log"
    with log.open("w") as written:
        subprocess.run(
            [str(program), "-test.v", f"-test.timeout={LIMIT}s", "-test.run", f"^({'|'.join(tests)})$"],
            cwd=directory,
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=LIMIT + 60,
        )
    return outcomes(log.read_text(errors="replace"))


def outcomes(log: str) -> dict[str, Outcome]:
    """What ``-test.v`` says of each test."""
    begins = {match[1]: match.start() for match in _BEGIN.finditer(log)}
    ends = list(_END.finditer(log))
    found = {}
    for index, match in enumerate(ends):
        state, name, seconds = match.groups()
        # Subtests are told after their test.
        until = min((begin for begin in begins.values() if begin > match.start()), default=len(log))
        following = ends[index + 1].start() if index + 1 < len(ends) else len(log)
        found[name] = Outcome(_STATES[state], float(seconds), log[begins.get(name, 0) : min(until, following)])
    return found


def run_shards(program: Path, plane: str, tests: Sequence[str], directory: Path, *, shards: int) -> dict[str, Outcome]:
    """Run tests in as many processes as ``shards``, each with a control plane of its own: most of their time they wait."""
    tried = [test for test in tests if test != HANGS]

    def shard(number: int) -> dict[str, Outcome]:
        own = directory / str(number)
        own.mkdir()
        with running(own / "state", plane) as control_plane:
            return run(program, control_plane.kubeconfig, tried[number::shards], own)

    with ThreadPoolExecutor(shards) as pool:
        return {name: outcome for part in pool.map(shard, range(shards)) for name, outcome in part.items()}
