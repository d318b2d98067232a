"""Clients that write the same few lines of the ledger at the same time, and what each of them was told about it.

Every write that puts something there has a step of its own, so that wherever that step shows up later, its write is known.
"""

from __future__ import annotations

import http.client
import itertools
import random
import threading
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.serving import Serving, exchange
from tests.kubernetes.ledger import line, lines_path
from tests.waiting import until

LINES = lines_path("bench")
TARGET = "tests.kubernetes.ledger:api"
NAMES = [f"line-{number}" for number in range(6)]
MARKER = "marker"
MERGE = "application/merge-patch+json"

UNAVAILABLE = frozenset({429, 500, 503, 504})
"""Answers that only a server in trouble gives."""


@dataclass(slots=True)
class Attempt:
    """One write. ``status`` 0: no answer came, and nobody can say whether it happened."""

    verb: str
    name: str
    step: int
    expected: int = 0
    """The revision that it insists on; 0: any."""
    status: int = 0
    revision: int = 0
    uid: str = ""
    """What a successful answer tells of the object."""
    reason: str = ""

    @property
    def acknowledged(self) -> bool:
        """It was told to have happened."""
        return self.status in {200, 201}

    @property
    def refused(self) -> bool:
        """It was told not to have happened."""
        return self.status >= 400


@dataclass
class Ledger:
    """All attempts of one store, by all writers."""

    seed: int
    attempts: list[Attempt] = field(default_factory=list)
    known: dict[str, tuple[int, str]] = field(default_factory=dict)
    """What writers believe to be there: the revision and the uid; often out of date, so that some of them collide."""
    steps: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    strange: list[str] = field(default_factory=list)
    """Answers that nothing explains."""

    def acknowledged(self) -> int:
        """How many writes were."""
        return sum(each.acknowledged for each in self.attempts)

    def refused(self) -> list[Attempt]:
        """Writes that a server in trouble refused."""
        return [each for each in list(self.attempts) if each.status in UNAVAILABLE]


class Writer(threading.Thread):
    """Writes until :meth:`end`. A connection that breaks, or cannot be made yet, is made again."""

    def __init__(self, serving: Serving, ledger: Ledger, number: int) -> None:
        super().__init__(daemon=True)
        self._serving = serving
        self._ledger = ledger
        self._dice = random.Random(f"{ledger.seed} {number} {len(ledger.attempts)}")  # noqa: S311 - test data
        self._ended = threading.Event()

    def end(self) -> None:
        """Write no more; what has been sent is waited for."""
        self._ended.set()

    def run(self) -> None:
        """Write, one request after the other."""
        while not self._ended.is_set():
            connection = self._serving.connect()
            try:
                connection.connect()
                while not self._ended.is_set():
                    attempt, body, content_type = self._next()
                    self._ledger.attempts.append(attempt)
                    try_(connection, attempt, body, content_type, self._ledger)
            except (OSError, http.client.HTTPException):
                self._ended.wait(0.01)
            finally:
                connection.close()

    def _next(self) -> tuple[Attempt, Any, str]:
        dice, name = self._dice, self._dice.choice(NAMES)
        step = next(self._ledger.steps)
        revision, uid = self._ledger.known.get(name, (0, ""))
        if not uid:
            return Attempt("create", name, step), line(name, step), "application/json"
        verb = dice.choices(["create", "update", "patch", "delete"], [1, 4, 4, 2])[0]
        insists = revision if verb == "update" or (verb != "create" and dice.random() < 0.5) else 0
        attempt = Attempt(verb, name, step, insists)
        if verb == "create":
            return attempt, line(name, step), "application/json"
        if verb == "update":
            body = line(name, step)
            body["metadata"]["resourceVersion"] = str(revision)
            return attempt, body, "application/json"
        if verb == "patch":
            metadata = {"metadata": {"resourceVersion": str(revision)}} if insists else {}
            return attempt, {"spec": {"step": step}, **metadata}, MERGE
        conditions = {"preconditions": {"resourceVersion": str(revision)}} if insists else {}
        return attempt, {"kind": "DeleteOptions", "apiVersion": "v1", **conditions}, "application/json"


METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}


def try_(
    connection: http.client.HTTPSConnection, attempt: Attempt, body: Any, content_type: str, ledger: Ledger
) -> None:
    """Send it, and note what is answered. Raises OSError or HTTPException where nothing is."""
    path = LINES if attempt.verb == "create" else f"{LINES}/{attempt.name}"
    status, answer = exchange(connection, METHODS[attempt.verb], path, body, content_type)
    attempt.reason = answer.get("reason", "") if isinstance(answer, dict) else str(answer)
    if status in {200, 201}:
        if attempt.verb == "delete":
            attempt.uid = answer["details"]["uid"]
            ledger.known.pop(attempt.name, None)
        else:
            metadata = answer["metadata"]
            attempt.revision, attempt.uid = int(metadata["resourceVersion"]), metadata["uid"]
            ledger.known[attempt.name] = (attempt.revision, attempt.uid)
    elif status in {404, 409}:
        _, found = exchange(connection, "GET", f"{LINES}/{attempt.name}")
        if isinstance(found, dict) and found.get("kind") == "Line":
            ledger.known[attempt.name] = (int(found["metadata"]["resourceVersion"]), found["metadata"]["uid"])
        else:
            ledger.known.pop(attempt.name, None)
    elif status not in UNAVAILABLE or not isinstance(answer, dict) or answer.get("kind") != "Status":
        ledger.strange.append(f"{attempt.verb} {attempt.name}: {status} {answer}")
    attempt.status = status


def mark(serving: Serving, ledger: Ledger) -> int:
    """Write the marker; the revision that it got. Whoever has seen that has seen all that was written before."""

    def marked() -> int:
        there = serving.request("GET", f"{LINES}/{MARKER}")[0] == 200
        attempt = Attempt("patch" if there else "create", MARKER, next(ledger.steps))
        ledger.attempts.append(attempt)
        connection = serving.connect()
        try:
            body = {"spec": {"step": attempt.step}} if there else line(MARKER, attempt.step)
            try_(connection, attempt, body, MERGE if there else "application/json", ledger)
        finally:
            connection.close()
        assert attempt.acknowledged, attempt
        return attempt.revision

    return until(marked, 30)
