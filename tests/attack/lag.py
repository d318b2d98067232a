"""Two servers on one store that sees everything late, and clients that may never notice: any sequence of requests.

Servers are asked at any moment to read, write and watch, while their stores pause, break off and come again, and while the
past is compacted. Each answer is compared with the log itself:

- A consistent read shows one state of the log, and none that is older than what any client had seen before it was asked
  (linearizability). Other reads show one state too, as old as they may.
- A write that succeeds is in the log, made on the state before it; one that is refused was refused for a reason that held.
- A watch that is resumed wherever it ended has every event once, in order; a bookmark is never ahead of what came before.
- Once the trouble is over, everything is answered, and everybody knows the same.

The short form is a test. The long one::

    python -m tests.attack.lag --runs 1000 --steps 500 --seed 100
"""

from __future__ import annotations

import argparse
import itertools
import traceback
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from extapi.authentication.loopback import APISERVER
from extapi.client.transport import ClientRequest
from extapi.storage.base import LogEvent
from extapi.testing import InMemoryServer, ServerResponse, Stream
from extapi.testing.memory import START
from extapi.testing.stories import Follower
from tests.lagging import LaggingBackend
from tests.laggingserver import LaggingServer
from tests.unit.verbs.sample import GROUP, WIDGETS, Plugin, shop, widget

Obj = dict[str, Any]
PREFIX = f"/registry/{GROUP}/widgets/default/".encode()
MERGE = {"Content-Type": "application/merge-patch+json"}
WATCH_LIST = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
NAMES = ("a", "b")
COMES_AGAIN = 15.0
"""Seconds after which a cache has been filled anew: the longest pause between attempts, and what an attempt takes."""
TROUBLE = frozenset({429, 504})
"""What a read may be told while the log does not come."""


class Truth:
    """The log as it is, and what objects were at each revision."""

    def __init__(self, server: LaggingServer, first: int) -> None:
        self.first = first
        self._log = server.log
        self._follower = Follower(server.log.tail(first))

    @property
    def oldest(self) -> int:
        """The oldest revision that can be read; the servers compact the log, too."""
        answer: list[int] = []
        Deferred.fromCoroutine(self._log.oldest()).addCallback(answer.append)
        return answer[0]

    @property
    def changes(self) -> list[LogEvent]:
        """All commits of widgets."""
        return [change for change in self._follower.changes if change.key.startswith(PREFIX)]

    @property
    def now(self) -> int:
        """The last revision."""
        batches = self._follower.batches
        return batches[-1].progress if batches else self.first

    def of(self, name: str) -> list[LogEvent]:
        """The commits of one widget."""
        return [change for change in self.changes if change.key == PREFIX + name.encode()]

    def state(self, revision: int) -> dict[str, Obj]:
        """All widgets by name, as of a revision."""
        state: dict[str, Obj] = {}
        for change in self.changes:
            if change.revision <= revision:
                name = change.key.removeprefix(PREFIX).decode()
                state.pop(name, None)
                if change.value is not None:
                    state[name] = shown(change.value, change.revision)
        return dict(sorted(state.items()))

    def between(self, name: str, first: int) -> list[Obj | None]:
        """Each state that a widget had at ``first`` or later; None where there was none."""
        changes = self.of(name)
        start = bisect_right([change.revision for change in changes], first) - 1
        states: list[Obj | None] = [None] if start < 0 else []
        return states + [
            None if change.value is None else shown(change.value, change.revision)
            for change in changes[max(start, 0) :]
        ]


def shown(value: bytes, revision: int) -> Obj:
    """A stored widget, as clients see it."""
    obj: Obj = msgspec.json.decode(value)
    obj["metadata"]["resourceVersion"] = str(revision)
    return obj


def revision_of(obj: Obj) -> int:
    """The resourceVersion."""
    return int(obj["metadata"]["resourceVersion"])


Judge = Callable[[ServerResponse, int], None]
"""Compares an answer with the log; gets what clients had seen when the request was sent."""


class Informer:
    """A client that follows all widgets, wherever it can, and resumes where it was."""

    def __init__(self, machine: Simulation, by: str) -> None:
        self._machine = machine
        self._by = by
        self._stream: Stream | None = None
        self._read = 0
        self._opening = False
        self._initial: dict[str, Obj] | None = None
        self._floor = 0
        self.last = 0
        self.mirror: dict[str, Obj] = {}

    def follow(self, server: InMemoryServer) -> None:
        """Go on: read what has come, and open a watch if there is none."""
        stream = self._stream
        if stream is not None:
            for line in stream.lines[self._read :]:
                event = msgspec.json.decode(line)
                self._take(event["type"], event["object"])
            self._read = len(stream.lines)
            if stream.ended:
                self._stream = None
        if self._stream is None and not self._opening:
            self._opening = True
            self._open(server)

    def _open(self, server: InMemoryServer) -> None:
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "300"}
        self._initial = None
        self._floor = self._machine.seen
        if self.last:
            query["resourceVersion"] = str(self.last)
        elif self._by == "list":
            request = ClientRequest("GET", WIDGETS)
            self._machine.begin(server, request, self._listed)
            return
        else:
            query |= WATCH_LIST
            self._initial = {}

        async def opened() -> None:
            request = ClientRequest("GET", WIDGETS, query=tuple(query.items()))
            reply = await server.server.transport().send(request)
            self._opening = False
            if reply.status == 200:
                self._stream, self._read = Stream(reply), 0
                await self._stream.read()
            else:
                self._machine.check(reply.status in TROUBLE, f"a watch got {reply.status}")
                reply.close()

        self._machine.background(opened())

    def _listed(self, answer: ServerResponse, floor: int) -> None:
        self._opening = False
        self._machine.judge_list(answer, floor)
        if answer.status == 200:
            listed = answer.json()
            self.last = revision_of(listed)
            self.mirror = {item["metadata"]["name"]: item for item in listed["items"]}

    def _take(self, kind: str, obj: Obj) -> None:
        machine, truth = self._machine, self._machine.truth
        if kind == "ERROR":
            self._stream = None
            if obj["code"] == 410:
                machine.check(self.last < truth.oldest, f"410 for {self.last}, the oldest is {truth.oldest}")
                self.last = 0
            else:
                machine.check(obj["code"] in TROUBLE, f"the watch ended in {obj}")
            return
        revision = revision_of(obj)
        if self._initial is not None:
            if kind == "ADDED":
                self._initial[obj["metadata"]["name"]] = obj
                return
            machine.check(kind == "BOOKMARK" and "annotations" in obj["metadata"], f"{kind} instead of the end")
            machine.check(self._floor <= revision <= truth.now, f"initial events of {revision}, not {self._floor}")
            machine.check(self._initial == truth.state(revision), f"initial events do not show {revision}")
            self.mirror, self._initial = self._initial, None
        else:
            self._live(kind, obj, revision)
        self.last = revision
        machine.saw(revision)

    def _live(self, kind: str, obj: Obj, revision: int) -> None:
        machine, truth = self._machine, self._machine.truth
        missed = [change for change in truth.changes if self.last < change.revision <= revision]
        if kind == "BOOKMARK":
            machine.check(not missed and revision >= self.last, f"a bookmark of {revision} after {self.last}: {missed}")
            return
        machine.check([change.revision for change in missed] == [revision], f"{kind} {revision} after {self.last}")
        if len(missed) != 1:
            return
        (change,) = missed
        expected = "DELETED" if change.value is None else "MODIFIED" if change.previous is not None else "ADDED"
        value = change.previous if change.value is None else change.value
        machine.check(kind == expected and obj == shown(value or b"{}", revision), f"{kind} {obj} is not {change}")
        self.mirror.pop(obj["metadata"]["name"], None)
        if kind != "DELETED":
            self.mirror[obj["metadata"]["name"]] = obj


class Simulation:
    """Everything together. ``dice`` choose what clients, stores and time do next."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.dice = Random(seed)  # noqa: S311 - repeatable, not secret
        self.done: deque[str] = deque([""], maxlen=40)
        """What was done last, for whoever looks for a fault."""
        self.faults: list[str] = []
        self.tokens = itertools.count()
        self.server = LaggingServer(shop(Plugin()), seed=self.dice, longest=self.dice.choice([0.001, 0.02, 0.1]))
        self.truth = Truth(self.server, self.server.run(self.server.log.revision()))
        self.server.start()
        self.seen = self.truth.now
        """The newest revision that any client has seen."""
        self.pending = 0
        self.deleted = 0
        self.informers: list[Informer] = [Informer(self, "list"), Informer(self, "watch")]
        self.trouble: dict[InMemoryServer, float] = {}
        """Until when reads of a server may fail."""
        self._actions: dict[Callable[[], None], int] = {
            self.advance: 40,
            self.patch: 25,
            self.get: 15,
            self.list_all: 10,
            self.list_a_page: 3,
            self.list_the_past: 3,
            self.create: 8,
            self.put: 8,
            self.delete: 3,
            self.hold: 3,
            self.flow: 3,
            self.cut: 2,
            self.break_now_and_then: 1,
            self.compact: 2,
        }
        """How often each of them comes."""

    def run(self, steps: int) -> None:
        """Do ``steps`` things, then let the trouble end.

        Raises:
            AssertionError: Something was wrong.
        """
        actions, weights = [*self._actions], [*self._actions.values()]
        for _ in range(steps):
            (action,) = self.dice.choices(actions, weights)
            self.done.append(f"{self.server.clock.seconds() - START:.4f} {action.__name__}")
            action()
            self.check_faults()
        self.end()
        self.check_faults()

    def check_faults(self) -> None:
        """Fail if there is a fault."""
        if self.faults:
            done, faults = "\n".join(self.done), "\n".join(self.faults)
            raise AssertionError(f"seed {self.seed}:\n{done}\n{faults}")

    def note(self, text: str) -> None:
        """Say more of what is being done."""
        self.done[-1] += f" {text}"

    # -- what is noticed

    def check(self, holds: bool, why: str) -> None:
        """Keep a fault: some are found where nobody would see an exception."""
        if not holds:
            self.faults.append(why)

    def saw(self, revision: int) -> None:
        """A client has seen a revision."""
        self.seen = max(self.seen, revision)

    def background(self, coroutine: Any) -> None:
        """Run something whose failure is a fault."""

        def failed(failure: Failure) -> None:
            self.faults.append("".join(traceback.format_exception(failure.value)))

        Deferred.fromCoroutine(coroutine).addErrback(failed)

    def begin(self, server: InMemoryServer, request: ClientRequest, judge: Judge) -> None:
        """Send a request now, and judge its answer when it comes."""
        floor, troubled = self.seen, self.is_troubled(server)
        self.pending += 1

        async def ask() -> None:
            reply = await server.server.transport(APISERVER).send(request)
            answer = ServerResponse(reply.status, reply.headers, await reply.read())
            self.pending -= 1
            if answer.status in TROUBLE and request.method == "GET":
                self.check(troubled or self.is_troubled(server), f"{request} got {answer} without any trouble")
            judge(answer, floor)

        self.background(ask())

    def is_troubled(self, server: InMemoryServer) -> bool:
        """Whether the log does not come."""
        return self.server.clock.seconds() < self.trouble.get(server, 0.0)

    def make_trouble(self, server: InMemoryServer, seconds: float = COMES_AGAIN) -> None:
        self.trouble[server] = max(self.trouble.get(server, 0.0), self.server.clock.seconds() + seconds)

    def pick(self) -> tuple[InMemoryServer, LaggingBackend]:
        """One of the servers and its store."""
        far = self.dice.random() < 0.4
        self.note("there" if far else "here")
        return (self.server.other, self.server.far) if far else (self.server, self.server.near)

    def name(self) -> str:
        """One of the widgets."""
        name = self.dice.choice(NAMES)
        self.note(name)
        return name

    # -- reads

    def get(self) -> None:
        name, since = self.name(), self.dice.choice(["", "", "0", "seen"])
        query = self._since(since)

        def judge(answer: ServerResponse, floor: int) -> None:
            if answer.status not in TROUBLE:
                states = self.truth.between(name, 0 if since == "0" else floor)
                found = answer.json() if answer.status == 200 else None
                self.check(answer.status in (200, 404) and found in states, f"{name} was {states}, not {answer}")
                if found is not None and not since:
                    self.saw(revision_of(found))

        self.begin(self.pick()[0], ClientRequest("GET", f"{WIDGETS}/{name}", query=query), judge)

    def _since(self, since: str) -> Sequence[tuple[str, str]]:
        return (("resourceVersion", str(self.seen) if since == "seen" else since),) if since else ()

    def list_all(self) -> None:
        since = self.dice.choice(["", "", "0", "seen"])

        def judge(answer: ServerResponse, floor: int) -> None:
            self.judge_list(answer, 0 if since == "0" else floor)

        self.begin(self.pick()[0], ClientRequest("GET", WIDGETS, query=self._since(since)), judge)

    def list_a_page(self) -> None:
        limit = self.dice.randint(1, 2)

        def judge(answer: ServerResponse, floor: int) -> None:
            self.judge_list(answer, floor, limit=limit)

        self.begin(self.pick()[0], ClientRequest("GET", WIDGETS, query=(("limit", str(limit)),)), judge)

    def list_the_past(self) -> None:
        wanted = max(self.seen - self.dice.randint(0, 12), self.truth.first)
        query = (("resourceVersion", str(wanted)), ("resourceVersionMatch", "Exact"))

        def judge(answer: ServerResponse, floor: int) -> None:
            del floor
            if answer.status == 410:
                self.check(wanted < self.truth.oldest, f"410 for {wanted}, the oldest is {self.truth.oldest}")
            else:
                self.judge_list(answer, wanted, at=wanted)

        self.begin(self.pick()[0], ClientRequest("GET", WIDGETS, query=query), judge)

    def judge_list(self, answer: ServerResponse, floor: int, *, at: int = 0, limit: int | None = None) -> None:
        """A list shows one state, not older than ``floor``."""
        if answer.status in TROUBLE:
            return
        self.check(answer.status == 200, f"a list got {answer}")
        listed = answer.json()
        revision = revision_of(listed)
        self.check(floor <= revision <= self.truth.now, f"a list of {revision}, not {floor} to {self.truth.now}")
        self.check(not at or revision == at, f"a list of {revision}, not exactly {at}")
        state = [*self.truth.state(revision).values()][:limit]
        self.check(listed["items"] == state, f"a list of {revision}: {listed['items']}, not {state}")
        if floor >= self.seen:
            self.saw(revision)

    # -- writes

    def create(self) -> None:
        name = self.name()

        def judge(answer: ServerResponse, floor: int) -> None:
            states = self.truth.between(name, floor)
            if answer.status == 409:
                self.check(any(state is not None for state in states), f"{name} was never there, but {answer}")
                return
            change = self._written(answer, name, 201)
            self.check(change is not None and change.previous is None, f"{name} was created over {change}")

        body = msgspec.json.encode(widget(name, labels={"token": f"t{next(self.tokens)}"}))
        self.begin(self.pick()[0], ClientRequest("POST", WIDGETS, body=body), judge)

    def _written(self, answer: ServerResponse, name: str, status: int = 200) -> LogEvent | None:
        """The commit that an answer shows."""
        self.check(answer.status == status, f"a write of {name} got {answer}")
        if answer.status != status:
            return None
        obj = answer.json()
        found = [change for change in self.truth.of(name) if change.revision == revision_of(obj)]
        if len(found) != 1 or found[0].value is None or shown(found[0].value, found[0].revision) != obj:
            self.check(False, f"{obj} is not in the log: {found}")
            return None
        self.saw(found[0].revision)
        return found[0]

    def patch(self) -> None:
        """Some patches change nothing, or would not if the object were the cached one."""
        token = {"token": f"t{next(self.tokens)}"}
        name, labels = self.name(), self.dice.choice([{}, {"spice": "hot"}, {"spice": "mild"}, token, token])
        self.note(str(labels))

        def judge(answer: ServerResponse, floor: int) -> None:
            states = self.truth.between(name, floor)
            if answer.status == 404:
                self.check(None in states, f"{name} was always there, but {answer}")
                return
            change = self._written(answer, name)
            if change is None:
                return
            now = answer.json()
            self.check(now in states, f"{name} was not {now} any more")
            self.check(now["metadata"]["labels"].items() >= labels.items(), f"{now} without {labels}")
            if "token" in labels:
                before: Obj = msgspec.json.decode(change.previous or b"{}")
                kept = {**before["metadata"]["labels"], **labels}
                self.check(now["metadata"]["labels"] == kept, f"{before} became {now}")

        body = msgspec.json.encode({"metadata": {"labels": labels}})
        self.begin(self.pick()[0], ClientRequest("PATCH", f"{WIDGETS}/{name}", headers=MERGE, body=body), judge)

    def put(self) -> None:
        """The live object with a change, or the one before it."""
        name, back = self.name(), self.dice.randint(0, 1)
        versions = [state for state in self.truth.between(name, 0) if state is not None][-1 - back :]
        if not versions:
            return
        base = versions[0]
        obj = {**base, "metadata": {**base["metadata"], "labels": {"token": f"t{next(self.tokens)}"}}}

        def judge(answer: ServerResponse, floor: int) -> None:
            states = self.truth.between(name, floor)
            if answer.status == 404:
                self.check(None in states, f"{name} was always there, but {answer}")
            elif answer.status == 409:
                self.check(any(state != base for state in states), f"{name} was always {base}, but {answer}")
            else:
                change = self._written(answer, name)
                previous = {**base, "metadata": {**base["metadata"]}}
                del previous["metadata"]["resourceVersion"]
                same = change is not None and msgspec.json.decode(change.previous or b"{}") == previous
                self.check(same, f"{base} was overwritten, which was {change}")

        request = ClientRequest("PUT", f"{WIDGETS}/{name}", body=msgspec.json.encode(obj))
        self.begin(self.pick()[0], request, judge)

    def delete(self) -> None:
        name = self.name()

        def judge(answer: ServerResponse, floor: int) -> None:
            if answer.status == 404:
                self.check(None in self.truth.between(name, floor), f"{name} was always there, but {answer}")
            else:
                self.check(answer.status == 200, f"a delete of {name} got {answer}")
                self.deleted += 1

        self.begin(self.pick()[0], ClientRequest("DELETE", f"{WIDGETS}/{name}"), judge)

    # -- the stores, and time

    def hold(self) -> None:
        server, store = self.pick()
        store.hold()
        self.make_trouble(server, float("inf"))

    def flow(self) -> None:
        self.rest(*self.pick())

    def rest(self, server: InMemoryServer, store: LaggingBackend) -> None:
        """Let the trouble of a store end."""
        store.flow()
        store.breaks = 0.0
        self.trouble.pop(server, None)
        self.make_trouble(server)

    def cut(self) -> None:
        server, store = self.pick()
        store.cut(compacted=self.dice.random() < 0.3)
        self.make_trouble(server)

    def break_now_and_then(self) -> None:
        server, store = self.pick()
        store.breaks = 0.1
        self.make_trouble(server, float("inf"))

    def compact(self) -> None:
        to = max(self.truth.now - self.dice.choice([0, 0, 2, 10]), self.truth.oldest)
        self.server.run(self.server.log.compact(to, expected=self.truth.oldest))
        for server in (self.server, self.server.other):
            self.make_trouble(server)  # one that is being filled begins again

    def advance(self) -> None:
        self.pass_time(self.dice.choice([0.0, 0.0005, 0.005, 0.02, 0.02, 0.1, 0.1, 1.0, 5.0, 61.0]))

    def pass_time(self, seconds: float) -> None:
        """Let time go on, and the clients that follow."""
        self.note(str(seconds))
        self.server.clock.advance(seconds)
        for informer in self.informers:
            informer.follow(self.pick()[0])

    # -- the end

    def end(self) -> None:
        """Everything comes to rest, and then is what it should be."""
        self.informers += [Informer(self, "list"), Informer(self, "watch")]
        for server, store in ((self.server, self.server.near), (self.server.other, self.server.far)):
            self.rest(server, store)
        for _ in range(40):
            self.pass_time(1.0)
        for server in (self.server, self.server.other):
            self.check(server.request("GET", "/readyz").status == 200, "a server does not get ready")
            self.begin(server, ClientRequest("GET", WIDGETS), self.judge_list)
        self.pass_time(1.0)
        self.check(self.pending == 0, f"{self.pending} requests are not answered")
        last = self.truth.state(self.truth.now)
        for informer in self.informers:
            self.check(informer.mirror == last, f"a client knows {informer.mirror}, not {last}")
        gone = sum(change.value is None for change in self.truth.changes)
        self.check(self.deleted == gone, f"{self.deleted} deletes succeeded, {gone} are in the log")
        self.server.stop()


def main() -> None:
    """The long form."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.lag")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each run has the next one")
    args = parser.parse_args()
    for seed in range(args.seed, args.seed + args.runs):
        Simulation(seed).run(args.steps)
    print(f"{args.runs} runs of {args.steps} steps, and nobody noticed")


if __name__ == "__main__":
    main()
