"""Reads by client-go, without a pause worth mentioning, and which of them failed after its own retries."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.kubernetes import golang


class GoReader:
    """The program in ``informer/reader``: two that get the objects ``names``, one that lists, of a group, version and resource."""

    def __init__(
        self, kubeconfig: Path, output: Path, namespace: str, names: Sequence[str], resource: tuple[str, str, str]
    ) -> None:
        self._output = output
        command = [
            str(golang.reader()),
            f"--kubeconfig={kubeconfig}",
            f"--namespace={namespace}",
            f"--names={','.join(names)}",
            *resource,
        ]
        with output.open("wb") as written:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=written)

    def failures(self) -> list[dict[str, Any]]:
        """The reads that failed so far."""
        return [each for each in self._lines() if "verb" in each]

    def end(self) -> dict[str, int]:
        """End it; how many reads there were, by verb."""
        if self._process.poll() is None:
            self._process.communicate(timeout=60)
        return next(each for each in self._lines() if "gets" in each)

    def _lines(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self._output.read_text().split("\n")[:-1]]
