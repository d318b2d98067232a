"""``extapi doctor`` as an operator runs it: a process, its two outputs, its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 60


@dataclass(frozen=True)
class Examination:
    """One run with ``--output json``."""

    status: int
    report: dict[str, Any]

    def finding(self, check: str, subject: str) -> dict[str, Any]:
        """The finding of ``check`` about ``subject``; an AssertionError shows what there is instead."""
        about = [each for each in self.report["findings"] if subject in each["subjects"]]
        found = [each for each in about if each["check"] == check]
        assert len(found) == 1, about or self.report["findings"]
        first: dict[str, Any] = found[0]
        return first

    def wrong(self) -> list[dict[str, Any]]:
        """All errors and warnings."""
        return [each for each in self.report["findings"] if each["severity"] in {"error", "warning"}]


def start(kubeconfig: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start it."""
    return subprocess.Popen(
        [sys.executable, "-m", "extapi", "doctor", "--kubeconfig", str(kubeconfig), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its status and what it printed. It must not have complained."""
    output, errors = process.communicate(timeout=SECONDS)
    assert errors == ""
    return process.returncode, output


def examine(kubeconfig: Path, *arguments: str) -> Examination:
    """Run it to its end; requests may take long, since the machine may be busy."""
    status, output = finished(start(kubeconfig, "--output=json", "--timeout=30", *arguments))
    return Examination(status, parsed(output))


def parsed(output: str) -> dict[str, Any]:
    """What was printed, which has to be a JSON object."""
    found: dict[str, Any] = json.loads(output)
    return found
