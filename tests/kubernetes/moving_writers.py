"""Writers that go on while their objects move: each keeps account of what was acknowledged, and of how long it had to wait."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any

from tests.kubernetes.calling import MERGE, Answer, Caller
from tests.kubernetes.moving import crate, crates
from tests.waiting import until

NAMES = 6
PAUSE = 0.25
"""Seconds until a writer tries again, as clients back off."""
PASSING = {403, 409, 429, 500, 502, 503, 504}
"""Refusals of a freeze, of an old resourceVersion, and of a server that is just not there: a writer tries again."""


class WrongAnswer(Exception):
    """One that no move explains."""


@dataclass(frozen=True)
class Written:
    """An acknowledged write: when, of what, and the uid and resourceVersion that came back."""

    at: float
    name: str
    step: int
    uid: str
    version: int


class Writer(threading.Thread):
    """Creates, replaces, patches and deletes its own objects until it is told to end.

    Nobody else writes them, so that what was acknowledged last has to be there. Replacing is read, change, write: with an
    old resourceVersion it is refused.
    """

    def __init__(self, number: int, caller: Caller, namespace: str) -> None:
        super().__init__(daemon=True)
        self.name = f"writer-{number}"
        self.there: dict[str, int] = {}
        """Names and steps."""
        self.log: list[Written] = []
        self.refused: dict[int, int] = {}
        """How often each status came."""
        self.failure = ""
        self._caller = caller
        self._namespace = namespace
        self._dice = random.Random(number)  # noqa: S311 - test data
        self._ended = threading.Event()
        self._held: dict[str, dict[str, Any]] = {}
        """Objects as they were read last: the next replacement starts from there, as a controller's does from its cache."""

    def run(self) -> None:
        """Write until the end."""
        try:
            for step in count(1):
                if self._ended.is_set():
                    return
                self._write(f"{self.name}-{self._dice.randrange(NAMES)}", step)
        except (WrongAnswer, AssertionError) as error:
            self.failure = str(error)

    def end(self) -> None:
        """Make it end; a write that has begun is finished first."""
        self._ended.set()
        self.join(120)
        assert not self.is_alive()
        assert not self.failure, self.failure

    def _write(self, name: str, step: int) -> None:
        if name not in self.there:
            self._until_written(name, step, self._make)
        elif self._dice.random() < 0.15:
            self._until_written(name, None, self._drop)
        else:
            self._until_written(name, step, self._patch if self._dice.random() < 0.3 else self._replace)

    def _until_written(self, name: str, step: int | None, write: Callable[[str, int], Answer]) -> None:
        """Try it until it is known to be written."""

        def done() -> bool:
            try:
                answer = write(name, step or 0)
            except (OSError, http.client.HTTPException):
                return self._is_there(name, step)
            if answer.status in {200, 201}:
                metadata = answer.json["metadata"] if step is not None else {"uid": "", "resourceVersion": "0"}
                self._note(name, step, metadata)
                return True
            self.refused[answer.status] = self.refused.get(answer.status, 0) + 1
            if answer.status not in PASSING:
                raise WrongAnswer(f"{write.__name__} {name} {step}: {answer}")
            self._held.pop(name, None)
            # A server that broke off may have written it all the same.
            return answer.status >= 500 and self._is_there(name, step)

        until(done, 120, interval=PAUSE)

    def _note(self, name: str, step: int | None, metadata: dict[str, Any]) -> None:
        self.log.append(Written(time.monotonic(), name, step or 0, metadata["uid"], int(metadata["resourceVersion"])))
        if step is None:
            del self.there[name]
            self._held.pop(name, None)
        else:
            self.there[name] = step

    def _is_there(self, name: str, step: int | None) -> bool:
        """Whether an attempt without an answer was written: asked until there is an answer."""
        found: list[Answer] = []

        def asked() -> bool:
            try:
                found[:] = [self._caller("GET", crates(self._namespace, name))]
            except (OSError, http.client.HTTPException):
                return False
            return found[0].status in {200, 404}

        until(asked, 120)
        if found[0].status == 404:
            if step is None:
                self._note(name, None, {"uid": "", "resourceVersion": "0"})
            return step is None
        if step is None or found[0].json["spec"]["step"] != step:
            return False
        self._note(name, step, found[0].json["metadata"])
        return True

    def _make(self, name: str, step: int) -> Answer:
        return self._caller("POST", crates(self._namespace), crate(name, step, self.name))

    def _drop(self, name: str, _: int) -> Answer:
        return self._caller("DELETE", crates(self._namespace, name))

    def _patch(self, name: str, step: int) -> Answer:
        self._held.pop(name, None)
        return self._caller("PATCH", crates(self._namespace, name), {"spec": {"step": step}}, content_type=MERGE)

    def _replace(self, name: str, step: int) -> Answer:
        held = self._held.get(name)
        if held is None:
            read = self._caller("GET", crates(self._namespace, name))
            if read.status != 200:
                return read
            held = read.json
        answer = self._caller("PUT", crates(self._namespace, name), {**held, "spec": {**held["spec"], "step": step}})
        if answer.status == 200:
            self._held[name] = answer.json
        return answer


@dataclass
class Writers:
    """Several writers at once."""

    all: list[Writer] = field(default_factory=list)

    def start(self, number: int, caller: Caller, namespace: str) -> None:
        """Start so many."""
        self.all = [Writer(each, caller, namespace) for each in range(number)]
        for each in self.all:
            each.start()

    def check(self) -> None:
        """None has failed so far."""
        for each in self.all:
            assert not each.failure, each.failure

    def end(self) -> None:
        """End all."""
        for each in self.all:
            each.end()

    @property
    def written(self) -> int:
        """How many writes were acknowledged."""
        return sum(len(each.log) for each in self.all)

    def more(self, number: int) -> None:
        """Until so many more were acknowledged."""
        wanted = self.written + number

        def there() -> bool:
            self.check()
            return self.written >= wanted

        until(there, 120)

    @property
    def there(self) -> dict[str, int]:
        """Names and steps of what has to be there."""
        return {name: step for each in self.all for name, step in each.there.items()}

    @property
    def refused(self) -> dict[int, int]:
        """How often each status came."""
        found: dict[int, int] = {}
        for each in self.all:
            for status, times in each.refused.items():
                found[status] = found.get(status, 0) + times
        return found

    def longest_gap(self) -> float:
        """The longest time in which no writer had a write acknowledged, in seconds."""
        moments = sorted(each.at for writer in self.all for each in writer.log)
        return max((after - before for before, after in pairwise(moments)), default=0.0)
