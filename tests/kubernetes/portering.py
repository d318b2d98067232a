"""A running kopf operator of crates (``porter.py``), and the crates that it carries while their objects move."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.kubernetes.calling import MERGE, Answer, Caller
from tests.kubernetes.moving import crate, crates
from tests.kubernetes.porter import ASKS, CHANGES, FINALIZER, STATE
from tests.waiting import until

ROOT = Path(__file__).parents[2]
CHANGED, DELETED, NEW = "parcel-changed", "parcel-deleted", "parcel-new"
SECONDS = 60.0
"""How long something may take: kopf tries refused requests again after up to 21 seconds."""


class KopfPorter:
    """The operator, in a process of its own, with the rights of ``kubeconfig``."""

    def __init__(self, kubeconfig: Path, caller: Caller, namespace: str, directory: Path) -> None:
        self._output = directory / "porter.jsonl"
        self._log = directory / "porter.log"
        self._caller = caller
        self._namespace = namespace
        command = [
            sys.executable,
            "-m",
            "kopf",
            "run",
            "--standalone",
            "-n",
            namespace,
            "-m",
            "tests.kubernetes.porter",
        ]
        with self._output.open("wb") as output, self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdout=output, stderr=log, env=os.environ | {"KUBECONFIG": str(kubeconfig)}
            )

    def said(self) -> list[dict[str, Any]]:
        """All complete lines so far; it has to be running still."""
        assert self._process.poll() is None, self.log
        return [json.loads(text) for text in self._output.read_text().split("\n")[:-1]]

    @property
    def log(self) -> str:
        """What kopf has logged."""
        return self._log.read_text()

    def queries(self) -> list[tuple[str, int]]:
        """Its requests for crates and the codes of the answers."""
        return [(each["query"], each["status"]) for each in self.said() if each["what"] == "request"]

    def view(self) -> dict[str, int]:
        """Names and steps, as it has seen them last. kopf tells of no object that went while nobody watched."""
        found: dict[str, int] = {}
        for each in self.said():
            if each["what"] == "event" and each["type"] == "DELETED":
                found.pop(each["name"], None)
            elif each["what"] == "event":
                found[each["name"]] = each["step"]
        return found

    def make(self) -> None:
        """Before the move: crates that it is to carry, and does."""
        for name in (CHANGED, DELETED):
            self._make(name)
        self._change(CHANGED, 2)
        until(lambda: self._annotations(CHANGED).get(CHANGES) == "1", SECONDS)

    def check(self) -> None:
        """After the move: it goes on where it was, and learns of what is changed, deleted and made since."""
        self._change(CHANGED, 3)
        until(lambda: self._annotations(CHANGED).get(CHANGES) == "2", SECONDS)
        for name in (DELETED, CHANGED):
            self._drop(name)
        self.meet()

    def meet(self) -> None:
        """A crate that is new: it sees that it is made, changed and deleted."""
        self._make(NEW)
        self._change(NEW, 2)
        until(lambda: self._annotations(NEW).get(CHANGES) == "1", SECONDS)
        self._drop(NEW)

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()

    def _make(self, name: str) -> None:
        answer = self._caller("POST", crates(self._namespace), crate(name, 1, labels=ASKS))
        assert answer.status == 201, answer
        until(lambda: self._annotations(name).get(STATE) == "carried", SECONDS)
        assert self._read(name).json["metadata"]["finalizers"] == [FINALIZER]

    def _change(self, name: str, step: int) -> None:
        answer = self._caller("PATCH", crates(self._namespace, name), {"spec": {"step": step}}, content_type=MERGE)
        assert answer.status == 200, answer

    def _drop(self, name: str) -> None:
        assert self._caller("DELETE", crates(self._namespace, name)).status == 200
        until(lambda: self._read(name).status == 404, SECONDS)
        assert [each for each in self.said() if each == {"what": "let go", "name": name}]
        until(lambda: name not in self.view(), SECONDS)

    def _read(self, name: str) -> Answer:
        self.said()
        return self._caller("GET", crates(self._namespace, name))

    def _annotations(self, name: str) -> dict[str, str]:
        found: dict[str, str] = self._read(name).json["metadata"].get("annotations", {})
        return found
