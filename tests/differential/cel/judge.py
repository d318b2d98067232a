"""The judge: the Go program of ``tests/kubernetes/cel``, which answers with kube-apiserver's own code."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kubernetes import golang

Request = dict[str, Any]
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks the program, many requests at a time."""

    program: Path

    def ask(self, requests: Iterable[Request]) -> list[Answer]:
        """The answer to each request. One with ``failure`` says that the question makes no sense to it."""
        lines = "".join(f"{json.dumps(request)}\n" for request in requests)
        run = subprocess.run([self.program], input=lines, capture_output=True, text=True, check=True)
        # Not splitlines: texts hold other ends of lines.
        return [json.loads(line) for line in run.stdout.split("\n") if line]

    def expressions(self, texts: Iterable[str], **also: Any) -> list[Answer]:
        """Of expressions without variables."""
        return self.ask({"op": "expression", "text": text, **also} for text in texts)


def judge() -> Judge:
    """The judge, compiled if it is not yet."""
    return Judge(golang.cel())
