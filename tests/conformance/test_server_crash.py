"""A server is killed under concurrent writes, again and again; its clients lose nothing that they were told was written."""

from __future__ import annotations

import http.client
import json
import random
import signal
import threading
from collections import defaultdict
from itertools import count
from typing import Any

from tests.conformance.serving import HEADERS, TOPPINGS, Serving, exchange
from tests.waiting import until

KILLS = 20
WRITERS = 8
MERGE = "application/merge-patch+json"

Step = tuple[str, str]
"""What happened to a topping: the type of the watch event, and its cost."""


class Writer(threading.Thread):
    """Creates, changes and deletes a few toppings of its own until the connection breaks."""

    def __init__(self, serving: Serving, number: int, costs: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self._connection = serving.connect()
        self._names = [f"w{number}-{each}" for each in range(4)]
        self._costs = {name: costs[name] for name in self._names if name in costs}
        self._dice = random.Random()  # noqa: S311 - test data
        self.acknowledged: list[tuple[str, Step]] = []
        self.revisions: list[int] = []
        self.unknown: tuple[str, Step] | None = None
        """The write that was on its way when the server died."""
        self.failure: str = ""

    def run(self) -> None:
        try:
            for _ in count():
                self._write()
        except (OSError, http.client.HTTPException):
            pass
        except AssertionError as error:
            self.failure = str(error)
        finally:
            self._connection.close()

    def _write(self) -> None:
        name, cost = self._dice.choice(self._names), str(self._dice.randrange(10**9))
        path = f"{TOPPINGS}/{name}"
        if name not in self._costs:
            body = {"kind": "Topping", "apiVersion": "restaurant.programming-kubernetes.info/v1alpha1"}
            sent = ("POST", TOPPINGS, body | {"metadata": {"name": name}, "spec": {"cost": cost}})
            self.unknown = (name, ("ADDED", cost))
        elif self._dice.random() < 0.3:
            sent = ("DELETE", path, {})
            self.unknown = (name, ("DELETED", self._costs[name]))
        else:
            sent = ("PATCH", path, {"spec": {"cost": cost}})
            self.unknown = (name, ("MODIFIED", cost))
        status, answer = exchange(self._connection, *sent, MERGE if sent[0] == "PATCH" else "application/json")
        assert status in {200, 201}, answer
        name, step = self.unknown
        self.acknowledged.append(self.unknown)
        self.unknown = None
        if step[0] == "DELETED":
            del self._costs[name]
        else:
            self._costs[name] = cost
            self.revisions.append(int(answer["metadata"]["resourceVersion"]))


class Watcher(threading.Thread):
    """Follows all toppings from a revision until the connection breaks, or until it has seen ``last``."""

    def __init__(self, serving: Serving, after: int, last: str = "") -> None:
        super().__init__(daemon=True)
        self._connection = serving.connect()
        self._connection.request("GET", f"{TOPPINGS}?watch=1&resourceVersion={after}", headers=HEADERS)
        self._last = last
        self.seen = after
        self.steps: list[tuple[str, Step]] = []
        self.failure: str = ""

    def run(self) -> None:
        try:
            with self._connection.getresponse() as answer:
                for line in answer:
                    # The last line may be cut off where the server was killed: it was not received.
                    if not line.endswith(b"\n") or self._take(json.loads(line)):
                        return
        except (OSError, http.client.HTTPException):
            pass
        except AssertionError as error:
            self.failure = str(error)
        finally:
            self._connection.close()

    def _take(self, event: dict[str, Any]) -> bool:
        obj = event["object"]
        assert obj["kind"] == "Topping", event
        revision = int(obj["metadata"]["resourceVersion"])
        assert revision > self.seen, f"{revision} after {self.seen}"
        self.seen = revision
        name = obj["metadata"]["name"]
        if name == self._last:
            return True
        self.steps.append((name, (event["type"], obj["spec"]["cost"])))
        return False


def by_name(steps: list[tuple[str, Step]]) -> dict[str, list[Step]]:
    found = defaultdict(list)
    for name, step in steps:
        found[name].append(step)
    return found


def test_no_acknowledged_write_is_lost(serving: Serving) -> None:
    dice = random.Random()  # noqa: S311 - test data
    costs: dict[str, str] = {}
    revisions: set[int] = set()
    seen = 1
    serving.start()
    seen = int(serving.request("GET", TOPPINGS)[1]["metadata"]["resourceVersion"])
    for round_ in range(KILLS):
        watcher = Watcher(serving, seen)
        writers = [Writer(serving, number, costs) for number in range(WRITERS)]
        wanted = dice.randint(1, 120)
        for thread in (watcher, *writers):
            thread.start()
        until(lambda: sum(len(w.acknowledged) for w in writers) >= wanted or any(w.failure for w in writers), 30)  # noqa: B023 - asked within the round
        assert serving.end(signal.SIGKILL) == -signal.SIGKILL
        threads: list[Writer | Watcher] = [watcher, *writers]
        for thread in threads:
            thread.join(20)
            assert not thread.failure

        serving.start()
        told = [revision for writer in writers for revision in writer.revisions]
        assert len(set(told)) == len(told)
        assert revisions.isdisjoint(told)
        revisions.update(told)

        marker: dict[str, Any] = {"kind": "Topping", "apiVersion": "restaurant.programming-kubernetes.info/v1alpha1"}
        marker |= {"metadata": {"name": f"round-{round_}"}, "spec": {"cost": "1"}}
        status, made = serving.request("POST", TOPPINGS, marker)
        assert status == 201
        assert int(made["metadata"]["resourceVersion"]) > max(revisions, default=0)
        resumed = Watcher(serving, watcher.seen, last=f"round-{round_}")
        resumed.run()
        assert not resumed.failure
        assert resumed.seen == int(made["metadata"]["resourceVersion"])

        steps = watcher.steps + resumed.steps
        happened = by_name(steps)
        for writer in writers:
            expected = by_name(writer.acknowledged)
            if writer.unknown is not None:
                name, step = writer.unknown
                if happened[name] == [*expected[name], step]:
                    expected[name].append(step)
            for name, acknowledged in expected.items():
                assert happened.pop(name, []) == acknowledged, name
        assert not {name: found for name, found in happened.items() if found}

        for name, (kind, cost) in steps:
            if kind == "DELETED":
                del costs[name]
            else:
                costs[name] = cost
        listed = serving.request("GET", TOPPINGS)[1]["items"]
        there = {item["metadata"]["name"]: item["spec"]["cost"] for item in listed}
        assert {name: cost for name, cost in there.items() if name.startswith("w")} == costs
        seen = resumed.seen
