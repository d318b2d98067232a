"""The load: writers, readers and watchers of the API, each a thread, which record what they sent and were told.

What a client sends is bounded by a pace, so that the machine is mostly idle.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any
from urllib.parse import urlencode

from tests.conformance.serving import TOPPINGS
from tests.ha.cluster import GROUP
from tests.ha.connection import Connection, Lost, NotSent
from tests.ha.judging.history import (
    Bookmark,
    Ended,
    Event,
    Get,
    Gone,
    Item,
    Listed,
    Opened,
    Result,
    Verb,
    Watch,
    Write,
)
from tests.ha.log import content_of
from tests.waiting import until

KEYS = tuple(f"k{number}" for number in range(8))
FINAL = "final"
_SILENCE = 4.0
"""Seconds without an event until a watcher gives up."""
_LEAVES, _LOOKS = 60.0, 0.05
"""Seconds in which a watcher has gone, and after which one that is away looks whether it may return."""
_DONE, _UNCERTAIN = (200, 201), (0, 504)
_MERGE = "application/merge-patch+json"


class Load:
    """What all clients have in common: where the replicas are, when to stop, and what was recorded."""

    def __init__(self, addresses: Sequence[str], tls: ssl.SSLContext, seed: int, pace: float) -> None:
        self.addresses = addresses
        self.tls = tls
        self.seed = seed
        self.pace = pace
        """Seconds between two requests of one client, on average."""
        self.started = time.monotonic()
        self.stopping = threading.Event()
        self.final = threading.Event()
        """Set when ``last`` is known."""
        self.last = 0
        """The revision that watchers have to see before they end."""
        self.away = threading.Event()
        """Set while those watchers stay away that do so now and then."""
        self.writes: list[Write] = []
        self.gets: list[Get] = []
        self.lists: list[Listed] = []
        self.watches: list[Watch] = []
        self.watchers: list[Watcher] = []
        self.tally: Counter[str] = Counter()
        self.failures: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started

    def connection(self, first: int) -> Connection:
        """A client's."""
        return Connection(self.addresses, self.tls, first)

    def dice(self, name: str) -> Random:
        """A client's own, of the run's seed."""
        return Random(f"{self.seed} {name}")  # noqa: S311 - a seed is what it is for

    def pause(self, dice: Random) -> None:
        """Keep the pace."""
        self.stopping.wait(dice.uniform(0.5, 1.5) * self.pace)

    def run(self, client: Callable[[], None]) -> None:
        """Run a client in a thread; its failure is the run's."""

        def work() -> None:
            try:
                client()
            except BaseException as error:  # noqa: BLE001 - raised by wait()
                self.failures.append(error)

        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def send_away(self) -> int:
        """Let those watchers go who stay away now and then, until ``away`` is cleared; what all of them have seen by now."""
        self.away.set()
        leaving = [each for each in self.watchers if each.leaves]
        until(lambda: all(each.is_away for each in leaving), _LEAVES)
        return max((each.at for each in leaving), default=0)

    def wait(self, seconds: float) -> None:
        """Until all clients have ended.

        Raises:
            BaseException: What one of them failed with.
        """
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))
        if self.failures:
            raise self.failures[0]

    def count(self, what: str, status: int) -> None:
        """Count an answer."""
        self.tally[f"{what} {status}"] += 1


class Reader:
    """Reads that are recorded; a writer has one as well."""

    def __init__(self, load: Load, name: str, first: int) -> None:
        self.load = load
        self.dice = load.dice(name)
        self.connection = load.connection(first)

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Any]:
        """As :meth:`Connection.ask`; status 0 if there was no answer, -1 if nothing was sent."""
        try:
            return self.connection.ask(method, path, body, kind)
        except NotSent:
            self.load.stopping.wait(0.1)
            return -1, None
        except Lost:
            return 0, None

    def get(self, key: str, *, consistent: bool = True) -> Any:
        """Read an object; what is answered, None if it is not there or not known."""
        start = self.load.now()
        status, obj = self.ask("GET", f"{TOPPINGS}/{key}{'' if consistent else '?resourceVersion=0'}")
        end = self.load.now()
        self.load.count("get", status)
        if status == 200:
            revision = int(obj["metadata"]["resourceVersion"])
            self.load.gets.append(Get(key, start, end, consistent, revision, content_of(obj)))
            return obj
        if status == 404:
            self.load.gets.append(Get(key, start, end, consistent, 0, None))
        return None

    def listed(self, half: str = "", limit: int = 0, *, consistent: bool = True) -> Listed | None:
        """Read a list, in pages if it has a limit; None if that failed."""
        query = {"labelSelector": f"half={half}"} if half else {}
        query |= {"limit": str(limit)} if limit else {}
        query |= {} if consistent else {"resourceVersion": "0"}
        start = self.load.now()
        pages: list[int] = []
        items: list[Item] = []
        while True:
            status, answer = self.ask("GET", f"{TOPPINGS}?{urlencode(query)}")
            self.load.count("list", status)
            if status != 200:
                return None
            pages.append(int(answer["metadata"]["resourceVersion"]))
            for obj in answer["items"]:
                metadata = obj["metadata"]
                items.append(Item(metadata["name"], int(metadata["resourceVersion"]), content_of(obj)))
            if not answer["metadata"].get("continue"):
                return Listed(start, self.load.now(), consistent, tuple(pages), tuple(items), half)
            query["continue"] = answer["metadata"]["continue"]

    def read(self) -> None:
        """Go on reading until the run stops."""
        while not self.load.stopping.is_set():
            chance = self.dice.random()
            if chance < 0.55:
                self.get(self.dice.choice(KEYS), consistent=chance < 0.45)
            else:
                limit = 3 if chance > 0.9 else 0
                found = self.listed(self.dice.choice(("", "a")), limit, consistent=chance > 0.65)
                if found is not None:
                    self.load.lists.append(found)
            self.load.pause(self.dice)
        self.connection.close()


class Writer:
    """Creates, updates, patches and deletes, one after another, each recorded."""

    def __init__(self, load: Load, number: int) -> None:
        self._load = load
        self._name = f"w{number}"
        self._reader = Reader(load, self._name, number)
        self._count = 0
        self._known: dict[str, Any] = {}

    def write(self) -> None:
        """Go on writing until the run stops."""
        dice = self._reader.dice
        while not self._load.stopping.is_set():
            key = dice.choice(KEYS)
            if dice.random() < 0.6:
                self._known[key] = self._reader.get(key)
                self._load.pause(dice)
            self._known[key] = self._once(key, self._known.get(key))
            self._load.pause(dice)
        self.close()

    def close(self) -> None:
        """Write no more."""
        self._reader.connection.close()

    def final(self) -> int:
        """Create an object and move it to the other half, which all watchers see; its revision, 0 if that is not certain."""
        self._count += 2
        key, ops = f"{FINAL}-{self._count}", (f"{self._name}-{self._count}", f"{self._name}-{self._count + 1}")
        obj = self._send("create", key, 0, {"op": ops[0], "half": "b"}, None)
        if obj is not None:
            revision = int(obj["metadata"]["resourceVersion"])
            obj = self._send("update", key, revision, {"op": ops[1], "half": "a"}, obj)
        return int(obj["metadata"]["resourceVersion"]) if obj is not None else 0

    def _once(self, key: str, live: Any) -> Any:
        self._count += 1
        op = f"{self._name}-{self._count}"
        dice = self._reader.dice
        chance = dice.random()
        if live is None:
            return self._send("create", key, 0, {"op": op, "half": dice.choice("ab"), self._name: op}, None)
        if chance < 0.12:
            return self._send("delete", key, int(live["metadata"]["resourceVersion"]), {}, live, op)
        if chance < 0.55:
            sent = {**content_of(live), "op": op, "half": dice.choice("ab"), self._name: op}
            return self._send("update", key, int(live["metadata"]["resourceVersion"]), sent, live)
        half = {"half": dice.choice("ab")} if dice.random() < 0.3 else {}
        return self._send("patch", key, -1, {"op": op, self._name: op, **half}, live)

    def _send(self, verb: Verb, key: str, expected: int, sent: Mapping[str, str], live: Any, op: str = "") -> Any:
        start = self._load.now()
        status, answer = self._request(verb, key, expected, sent, live)
        end = self._load.now()
        self._load.count(verb, status)
        result: Result = "acknowledged" if status in _DONE else "uncertain" if status in _UNCERTAIN else "refused"
        made = status in _DONE and verb != "delete"
        revision = int(answer["metadata"]["resourceVersion"]) if made else 0
        name = op or sent["op"]
        self._load.writes.append(Write(name, verb, key, start, end, result, expected, sent, revision, max(status, 0)))
        return answer if made else None

    def _request(self, verb: Verb, key: str, expected: int, sent: Mapping[str, str], live: Any) -> tuple[int, Any]:
        path = f"{TOPPINGS}/{key}"
        ask = self._reader.ask
        annotations = {name: value for name, value in sent.items() if name != "half"}
        labels = {"labels": {"half": sent["half"]}} if "half" in sent else {}
        metadata: dict[str, Any] = {"annotations": annotations, **labels}
        if verb == "delete":
            return ask("DELETE", path, {"preconditions": {"resourceVersion": str(expected)}})
        if verb == "patch":
            return ask("PATCH", path, {"metadata": metadata}, _MERGE)
        if verb == "update":
            return ask("PUT", path, {**live, "metadata": {**live["metadata"], **metadata}})
        api_version = f"{GROUP}/v1alpha1"
        obj = {
            "apiVersion": api_version,
            "kind": "Topping",
            "metadata": {"name": key, **metadata},
            "spec": {"cost": "1"},
        }
        return ask("POST", TOPPINGS, obj)


class Watcher:
    """Lists, and watches from there on, on the next replica whenever a watch ends; lists again only after 410."""

    def __init__(
        self, load: Load, number: int, *, half: str = "", bookmarks: bool = True, seconds: int = 30, away: float = 0
    ) -> None:
        self._load = load
        self._reader = Reader(load, f"v{number}", number)
        self._half = half
        self._away = away
        self.is_away = False
        """Whether it stays away until it is called back."""
        self._query = {"watch": "1", "timeoutSeconds": str(seconds)}
        if half:
            self._query["labelSelector"] = f"half={half}"
        if bookmarks:
            self._query["allowWatchBookmarks"] = "true"
        self._at = -1
        self.watch = Watch(f"v{number}", half, [])
        load.watches.append(self.watch)
        load.watchers.append(self)

    @property
    def leaves(self) -> bool:
        """Whether it stays away now and then."""
        return self._away > 0

    @property
    def at(self) -> int:
        """What it has seen; -1: it is going to list."""
        return self._at

    def follow(self) -> None:
        """Go on watching until the last revision has been seen, or the run is given up."""
        entries = self.watch.entries
        while not self._done():
            if self._at < 0:
                listed = self._reader.listed(self._half)
                if listed is None:
                    self._load.stopping.wait(0.1)
                    continue
                entries.append(listed)
                self._at = listed.revision
            entries.append(Opened(self._load.now(), self._at))
            try:
                why = self._watch()
            except (NotSent, Lost, OSError, http.client.HTTPException) as error:
                why = repr(error)
                self._load.tally["watches broken"] += 1
                self._load.final.wait(0.1)
            if why == "410":
                entries.append(Gone(self._load.now()))
                self._at = -1
                self._load.tally["watches gone"] += 1
            else:
                entries.append(Ended(self._load.now(), why))
            self._reader.connection.leave()
            if self.leaves:
                self._stay_away()
        self._reader.connection.close()

    def _stay_away(self) -> None:
        """For a while, or until it is called back. It looks whether it may return once it has said that it does."""
        seconds = self._reader.dice.uniform(0, self._away)
        while True:
            self.is_away = True
            self._load.stopping.wait(seconds)
            self.is_away = False
            if self._load.stopping.is_set() or not self._load.away.is_set():
                return
            seconds = _LOOKS

    def _done(self) -> bool:
        return self._load.final.is_set() and self._at >= self._load.last

    def _watch(self) -> str:
        """One watch; why it ended."""
        query = urlencode({**self._query, "resourceVersion": str(self._at)})
        answer = self._reader.connection.begin("GET", f"{TOPPINGS}?{query}", seconds=_SILENCE)
        self._load.count("watch", answer.status)
        if answer.status != 200:
            return str(answer.status)
        for line in answer:
            event = json.loads(line)
            if event["type"] == "ERROR":
                self._load.tally[f"watch error {event['object']['code']}"] += 1
                return str(event["object"]["code"])
            self._take(event["type"], event["object"])
            if self._done() or (self.leaves and self._load.away.is_set()):
                break
        return ""

    def _take(self, kind: str, obj: Any) -> None:
        metadata = obj["metadata"]
        revision = int(metadata["resourceVersion"])
        now = self._load.now()
        if kind == "BOOKMARK":
            self.watch.entries.append(Bookmark(now, revision))
        else:
            self.watch.entries.append(Event(now, kind, metadata["name"], revision, content_of(obj)))
        self._at = revision


def start(load: Load) -> None:
    """Begin: eight writers, four readers, five watchers."""
    load.started = time.monotonic()
    for number in range(8):
        load.run(Writer(load, number).write)
    for number in range(4):
        load.run(Reader(load, f"r{number}", number).read)
    for watcher in (
        Watcher(load, 0),
        Watcher(load, 1, bookmarks=False, seconds=20),
        Watcher(load, 2, half="a", seconds=15),
        Watcher(load, 3, half="b", bookmarks=False, seconds=4, away=1),
        Watcher(load, 4, seconds=3, away=10),
    ):
        load.run(watcher.follow)
