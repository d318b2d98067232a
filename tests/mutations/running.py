"""Plants mutations in a copy of the tree, and runs tests there. The checkout itself is never changed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.mutations.mutation import Mutation, StaleMutation

ROOT = Path(__file__).parents[2]
LONGEST = 120.0
"""Seconds for the tests of one mutation."""
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__")
_FAILED, _PASSED = 1, 0
_TOLD = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_NOT_COLLECTED = "ERROR collecting"


class Outcome(Enum):
    """What became of a mutation; only the first is good."""

    SEEN = "seen"
    MISSED = "MISSED"
    """All tests passed."""
    BROKEN = "BROKEN"
    """The tests could not be run: nothing would import the module. That is no test that sees the fault."""
    HUNG = "HUNG"
    STALE = "STALE"
    """The old text is not in the module, or not once."""


class Trial(NamedTuple):
    """One mutation, tried."""

    mutation: Mutation
    outcome: Outcome
    seconds: float = 0.0
    told: str = ""
    """The test that saw it, or why there is none."""


class PytestRun(NamedTuple):
    """The result of one pytest process."""

    code: int | None
    """Its exit status; None if it took too long."""
    output: str


class CopiedTree:
    """A copy of a tree, in which one module at a time is changed."""

    def __init__(self, root: Path, *, longest: float = LONGEST) -> None:
        self._root = root
        self._longest = longest

    def run(self, tests: Sequence[str], *, longest: float = 0.0) -> PytestRun:
        """Run tests until one fails, in the order of the files; once without a mutation, before all with one."""
        return self._run(tests, longest or self._longest, {})

    def _run(self, tests: Sequence[str], longest: float, environ: Mapping[str, str]) -> PytestRun:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-ra", "-p", "no:cacheprovider", *tests]
        # Processes that tests start have to find this package, too, and not the installed one. No plugin is needed, and
        # their imports take as long as most tests.
        always = {"PYTHONPATH": str(self._root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        with subprocess.Popen(
            command,
            cwd=self._root,
            env={**os.environ, **always, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as running:
            try:
                output, _ = running.communicate(timeout=longest)
            except subprocess.TimeoutExpired:
                return PytestRun(None, "")
            finally:
                # Whatever a failed test left behind ends with it.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
        return PytestRun(running.returncode, output.decode("utf-8", "replace"))

    def attempt(self, mutation: Mutation) -> Trial:
        """Plant a mutation, run its tests, and take it out again."""
        began = time.monotonic()
        module = self._root / mutation.module
        source, times = module.read_text(), module.stat()
        try:
            module.write_text(mutation.planted(source))
        except StaleMutation as why:
            return Trial(mutation, Outcome.STALE, told=str(why))
        try:
            # Bytecode has the source's time in seconds and its size: that of one mutation could be taken for the next.
            outcome, told = _judged(self._run(mutation.tests, self._longest, {"PYTHONDONTWRITEBYTECODE": "1"}))
        finally:
            module.write_text(source)
            os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
        return Trial(mutation, outcome, time.monotonic() - began, told)


def _judged(result: PytestRun) -> tuple[Outcome, str]:
    if result.code is None:
        return Outcome.HUNG, "the tests did not end"
    if result.code == _PASSED:
        return Outcome.MISSED, "all tests passed"
    if result.code != _FAILED or _NOT_COLLECTED in result.output:
        return Outcome.BROKEN, result.output.strip().rpartition("\n")[2]
    found = _TOLD.search(result.output)
    return Outcome.SEEN, found[1] if found else ""


@contextlib.contextmanager
def copied(root: Path = ROOT) -> Iterator[CopiedTree]:
    """A copy of the tree, for as long as the context lasts."""
    with TemporaryDirectory(prefix="mutations-") as directory:
        copy = Path(directory, "tree")
        shutil.copytree(root, copy, ignore=_LEFT_OUT, symlinks=True)
        yield CopiedTree(copy)
