"""A client that writes lines of the ledger whatever happens to the server, and remembers what it was told is written."""

from __future__ import annotations

import http.client
import random
import threading
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.kubernetes.calling import MERGE, Answer, Caller
from tests.kubernetes.ledger import PLURAL, line, lines_path
from tests.waiting import until

NAMES = [f"line-{number}" for number in range(8)]
_PAUSE = 0.1
"""Seconds between two writes: those who follow them share the machine with the servers."""


@dataclass(frozen=True)
class Change:
    """What a watch tells of one write: the type of the event, the object's name, and the step that it shows."""

    event: str
    name: str
    step: int


class WrongAnswer(Exception):
    """One that no outage explains."""


class Writer(threading.Thread):
    """Creates, changes and deletes a few lines until it is told to end; one that fails is tried until it is done.

    Each step is written once, and later ones are greater; an object that is deleted shows its last one.
    """

    def __init__(self, caller: Caller, namespace: str) -> None:
        super().__init__(daemon=True)
        self.caller = caller
        """May be replaced meanwhile: whom it talks to."""
        self.changes: list[Change] = []
        """What was acknowledged, in order."""
        self.there: dict[str, int] = {}
        """What has to be there after that: names and steps."""
        self.failure = ""
        self._path = lines_path(namespace)
        self._dice = random.Random()  # noqa: S311 - test data
        self._ended = threading.Event()
        self._tried = False

    def run(self) -> None:
        """Write until the end."""
        try:
            for step in count(1):
                self._write(self._next(step))
                if self._ended.wait(_PAUSE):
                    return
        except (WrongAnswer, AssertionError) as error:
            self.failure = str(error)

    def end(self) -> None:
        """Make it end, and wait until it has; a write that has begun is finished first."""
        self._ended.set()
        self.join(60)
        assert not self.is_alive()
        assert not self.failure

    def _next(self, step: int) -> Change:
        name = self._dice.choice(NAMES)
        if name not in self.there:
            return Change("ADDED", name, step)
        if self._dice.random() < 0.25:
            return Change("DELETED", name, self.there[name])
        return Change("MODIFIED", name, step)

    def _write(self, change: Change) -> None:
        self._tried = False
        until(lambda: self._acknowledged(change), 60)
        if change.event == "DELETED":
            del self.there[change.name]
        else:
            self.there[change.name] = change.step
        self.changes.append(change)

    def _acknowledged(self, change: Change) -> bool:
        """Try to write it; whether it is known to be written."""
        tried, self._tried = self._tried, True
        try:
            answer = self._attempt(change)
        except (OSError, http.client.HTTPException):
            return False
        if answer.status in {200, 201}:
            return True
        # Nobody else writes: what is there, or gone, already is the work of an attempt whose answer was lost.
        if tried and _already(change, answer):
            return True
        if answer.status not in {429, 500, 502, 503, 504}:
            raise WrongAnswer(f"{change}: {answer}")
        return False

    def _attempt(self, change: Change) -> Answer:
        at = f"{self._path}/{change.name}"
        if change.event == "ADDED":
            return self.caller("POST", self._path, line(change.name, change.step))
        if change.event == "DELETED":
            return self.caller("DELETE", at)
        return self.caller("PATCH", at, {"spec": {"step": change.step}}, content_type=MERGE)


def _already(change: Change, answer: Answer) -> bool:
    status: dict[str, Any] = answer.json if answer.status in {404, 409} else {}
    reason = {"ADDED": "AlreadyExists", "DELETED": "NotFound"}.get(change.event)
    details = status.get("details", {})
    return status.get("reason") == reason and (details.get("kind"), details.get("name")) == (PLURAL, change.name)
