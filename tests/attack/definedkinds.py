"""The worst definitions and objects, sent to the built-in control plane, while somebody else reads another kind.

``python -m tests.attack.definedkinds [CASE...]``: prints the answer of each request, how long it took, and the longest time
that the others had to wait. Ends with status 1 if an answer is not as it should be.
"""

from __future__ import annotations

import http.client
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.attack.definitions import definition, nested, versions
from tests.attack.table import say
from tests.kubernetes.calling import MERGE, Answer, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, running
from tests.waiting import until

GROUP: Final = "attack.test"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
OTHER: Final = "/api/v1/namespaces/default/configmaps?limit=1"
APPLY: Final = "application/apply-patch+yaml"
LARGEST: Final = 3 * 1024 * 1024
_TEXT: Final = {"type": "string"}
_OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class Bystander(threading.Thread):
    """Reads another kind all the time, on a connection of its own, and knows the longest wait."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(daemon=True)
        self._caller = caller
        self._ended = threading.Event()
        self.longest = 0.0
        self.answered = 0
        self.failure = ""

    def run(self) -> None:
        """Read until the end."""
        connection = self._caller.connect(300)
        try:
            while not self._ended.is_set():
                began = time.monotonic()
                connection.request("GET", OTHER)
                answer = connection.getresponse()
                answer.read()
                self.longest = max(self.longest, time.monotonic() - began)
                self.answered += 1
                if answer.status != 200:
                    self.failure = f"{answer.status}"
                self._ended.wait(0.01)
        except (OSError, http.client.HTTPException) as error:
            self.failure = repr(error)
        finally:
            connection.close()

    def end(self) -> None:
        """End it."""
        self._ended.set()
        self.join(300)


@contextmanager
def bystander(caller: Caller) -> Iterator[Bystander]:
    """Somebody who reads another kind meanwhile."""
    made = Bystander(caller)
    made.start()
    until(lambda: made.answered or made.failure)
    try:
        yield made
    finally:
        made.end()


@dataclass(frozen=True)
class Step:
    """A request, and what has to come of it: a status, and a text in the answer."""

    name: str
    send: Callable[[Caller], Answer]
    status: int
    says: str = ""


@dataclass
class Outcome:
    """What came of a step: seconds of it, and of the longest wait of somebody else."""

    step: Step
    answer: Answer
    seconds: float
    stall: float
    answered: int
    failure: str = field(default="")

    @property
    def good(self) -> bool:
        """Whether it is as it should be."""
        return (
            self.answer.status == self.step.status and self.step.says in self.answer.body.decode() and not self.failure
        )


@contextmanager
def control_plane() -> Iterator[tuple[ControlPlane, Caller]]:
    """A built-in control plane in a process of its own, and its administrator."""
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch), "builtin") as plane:
        keys = plane.certificates
        signed = user_certificate(authority(keys, "cluster-ca"), "root", "system:masters")
        caller = Caller(plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, Path(scratch)))
        until(lambda: caller("GET", "/api/v1/namespaces/default").status == 200)
        yield plane, caller


def send(method: str, path: str, make: Callable[[], Any], content_type: str = "application/json") -> Callable[[Caller], Answer]:
    """A step's request; its body is made when it is sent."""

    def sent(caller: Caller) -> Answer:
        body = make()
        return caller(method, path, body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode(), content_type=content_type)

    return sent


def attempt(caller: Caller, step: Step) -> Outcome:
    """Send a step's request while somebody else reads."""
    with bystander(caller) as other:
        other.longest, before = 0.0, other.answered
        began = time.monotonic()
        answer = step.send(Caller(caller.port, caller.tls, caller.headers))
        seconds = time.monotonic() - began
    return Outcome(step, answer, seconds, other.longest, other.answered - before, other.failure)


def wide(properties: int, *, of: Mapping[str, Any] = _TEXT) -> dict[str, Any]:
    """A schema of so many properties."""
    return {"type": "object", "properties": {f"p{n}": of for n in range(properties)}}


def thing(spec: Any, **metadata: Any) -> dict[str, Any]:
    """An object."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "a", **metadata}, "spec": spec}


def filled(size: int, properties: int) -> dict[str, Any]:
    """A spec of so many properties that fill ``size`` bytes."""
    each = max(1, (size - properties * 12) // properties)
    return {f"p{n}": "x" * each for n in range(properties)}


def _largest(make: Callable[[int], dict[str, Any]], size: int = LARGEST - 4096) -> dict[str, Any]:
    """The greatest of these whose JSON has no more than ``size`` bytes."""
    low, high = 1, 1_000_000
    while low < high:
        middle = (low + high + 1) // 2
        if len(json.dumps(make(middle), separators=(",", ":"))) <= size:
            low = middle
        else:
            high = middle - 1
    return make(low)


def items(count: int) -> dict[str, Any]:
    """A map list of so many."""
    return {"list": [{"k": f"{n:x}"} for n in range(count)]}


def open_wide(count: int) -> dict[str, Any]:
    """So many unknown fields."""
    return {f"{n:x}": {} for n in range(count)}


def open_deep(depth: int) -> dict[str, Any]:
    """A chain of maps."""
    made: dict[str, Any] = {}
    for _ in range(depth):
        made = {"a": made}
    return made


def bushes(count: int, depth: int = 190) -> dict[str, Any]:
    """So many chains of maps: as many levels of fields as fit."""
    return {f"{n:x}": open_deep(depth) for n in range(count)}


_MAP_LIST: Final = {
    "type": "object",
    "properties": {
        "list": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": _TEXT}},
        }
    },
}
_SET: Final = {
    "type": "object",
    "properties": {"list": {"type": "array", "x-kubernetes-list-type": "set", "items": _TEXT}},
}


def a_set(count: int) -> dict[str, Any]:
    """A set of so many."""
    return {"list": [f"{n:x}" for n in range(count)]}


def _define(schema: Any) -> list[Step]:
    return [Step("define", send("POST", DEFINITIONS, lambda: definition(schema)), 201), Step("established", _established, 200)]


def _established(caller: Caller) -> Answer:
    found: list[Answer] = []

    def served() -> bool:
        found[:] = [caller("GET", THINGS)]
        return found[0].status == 200

    until(served, 120)
    return found[0]


def _writes(make: Callable[[], Any], other: Callable[[], Any] | None = None, created: int = 201) -> list[Step]:
    """Each way to write an object."""
    changed = other or make
    return [
        Step("create", send("POST", THINGS, lambda: thing(make())), created),
        Step("update", _replace(changed), 200),
        Step("patch", send("PATCH", f"{THINGS}/a", lambda: {"spec": make()}, MERGE), 200),
        Step("json patch", send("PATCH", f"{THINGS}/a", lambda: [{"op": "replace", "path": "/spec", "value": changed()}], "application/json-patch+json"), 200),
        Step("apply, new", send("PATCH", f"{THINGS}/b?fieldManager=x", lambda: thing(make(), name="b"), APPLY), 201),
        Step("apply, same", send("PATCH", f"{THINGS}/b?fieldManager=x", lambda: thing(make(), name="b"), APPLY), 200),
        Step("apply, another", send("PATCH", f"{THINGS}/b?fieldManager=y&force=true", lambda: thing(changed(), name="b"), APPLY), 200),
        Step("apply to created", send("PATCH", f"{THINGS}/a?fieldManager=z&force=true", lambda: thing(make()), APPLY), 200),
        Step("read", send("GET", f"{THINGS}/b", lambda: b""), 200),
        Step("list", send("GET", THINGS, lambda: b""), 200),
        Step("delete", send("DELETE", f"{THINGS}/a", lambda: b""), 200),
        Step("delete all", send("DELETE", THINGS, lambda: b""), 200),
    ]


def _replace(make: Callable[[], Any]) -> Callable[[Caller], Answer]:
    def sent(caller: Caller) -> Answer:
        return caller("PUT", f"{THINGS}/a", json.dumps(thing(make()), separators=(",", ":")).encode())

    return sent


def _objects(schema: Any, make: Callable[[], Any], other: Callable[[], Any] | None = None) -> list[Step]:
    return [*_define(schema), *_writes(make, other)]


def _sent(make: Callable[[], Any], status: int, says: str = "") -> list[Step]:
    steps = [Step("define", send("POST", DEFINITIONS, make), status, says)]
    if status == 201:
        steps += [Step("established", _established, 200), Step("create", send("POST", THINGS, lambda: thing({})), 201)]
        steps += [Step("openapi", send("GET", f"/openapi/v3/apis/{GROUP}/v1", lambda: b""), 200), Step("discovery", send("GET", "/apis", lambda: b""), 200)]
    return steps


def _rules(count: int, of: Any, text: str) -> dict[str, Any]:
    return {**of, "x-kubernetes-validations": [{"rule": f"{text} || {n} < 0"} for n in range(count)]}


CASES: Final[dict[str, Callable[[], Sequence[Step]]]] = {
    "a wide schema of 3 MiB": lambda: _sent(
        lambda: definition(_largest(lambda n: wide(n), LARGEST - 4096)), 201
    ),
    "a description of 3 MiB": lambda: _sent(lambda: definition({"type": "object", "description": "x" * (LARGEST - 4096)}), 201),
    "an enum of 3 MiB": lambda: _sent(
        lambda: definition(_largest(lambda n: {"type": "object", "properties": {"e": {**_TEXT, "enum": [f"{k:x}" for k in range(n)]}}})), 201
    ),
    "more than 3 MiB": lambda: _sent(lambda: definition({"type": "object", "description": "x" * (LARGEST + 4096)}), 413),
    "a schema 5,000 deep": lambda: _sent(
        lambda: json.dumps(definition("X")).replace('"X"', '{"items": ' * 5000 + "{}" + "}" * 5000).encode(), 400, "max depth"
    ),
    "a schema as deep as a body may be": lambda: _sent(lambda: definition(nested(95)), 201),
    "10,000 columns": lambda: _sent(_columns, 201),
    "10,000 selectable fields": lambda: _sent(_selectable, 422, "Too many"),
    "10,000 versions": lambda: _sent(lambda: definition(versions=versions(10_000)), 201),
    "10,000 short names": lambda: _sent(
        lambda: definition(names={"plural": "things", "kind": "Thing", "shortNames": [f"s{n}" for n in range(10_000)]}), 201
    ),
    "patterns that backtrack": lambda: [
        *_define(wide(1000, of={**_TEXT, "pattern": "^(a+)+$"})),
        Step("create", send("POST", THINGS, lambda: thing({f"p{n}": "a" * 2500 + "!" for n in range(1000)})), 422, "should match"),
    ],
    "one long text against a pattern that backtracks": lambda: [
        *_define(wide(1, of={**_TEXT, "pattern": "^((a|b|ab)*c?)*d$"})),
        Step("create", send("POST", THINGS, lambda: thing({"p0": "ab" * 1_400_000 + "!"})), 422, "should match"),
    ],
    "a pattern of a large repetition": lambda: [
        *_define(wide(1, of={**_TEXT, "pattern": "^(([a-z]{0,30}x){0,30})$"})),
        Step("create", send("POST", THINGS, lambda: thing({"p0": "ab" * 1_400_000 + "!"})), 422, "should match"),
    ],
    "many rules of a cheap kind": lambda: [
        *_define(_rules(2000, {"type": "object", "properties": {"a": {**_TEXT, "maxLength": 5}}}, "self.a.size() < 5")),
        Step("create", send("POST", THINGS, lambda: thing({"a": "x"})), 201),
    ],
    "rules of the greatest cost": lambda: [
        *_define(
            {
                "type": "object",
                "properties": {
                    f"l{n}": {
                        "type": "array",
                        "maxItems": 1000,
                        "items": {**_TEXT, "maxLength": 10},
                        "x-kubernetes-validations": [{"rule": "self.all(a, self.exists(b, b == a + ''))"}],
                    }
                    for n in range(1)
                },
            }
        ),
        Step("create", send("POST", THINGS, lambda: thing({"l0": [f"{n}" for n in range(1000)]})), 201),
    ],
    "an object of 300 properties": lambda: _objects(wide(300), lambda: filled(LARGEST - 8192, 300), lambda: {"p0": "y"}),
    "an object of 3,000 properties": lambda: _objects(wide(3000), lambda: filled(LARGEST - 60_000, 3000), lambda: filled(20_000, 1500)),
    "a map list": lambda: _objects(_MAP_LIST, lambda: _largest(items, LARGEST // 4)),
    "a map list of 3 MiB": lambda: _objects(_MAP_LIST, lambda: _largest(items)),
    "a set of 3 MiB": lambda: _objects(_SET, lambda: _largest(a_set)),
    "unknown fields of 3 MiB": lambda: _objects(_OPEN, lambda: _largest(open_wide)),
    "deep unknown fields": lambda: _objects(_OPEN, lambda: open_deep(190)),
    "many deep unknown fields of 3 MiB": lambda: _objects(_OPEN, lambda: _largest(bushes)),
    "unknown fields, pruned": lambda: _objects(wide(1), lambda: _largest(open_wide)),
    "a list of lists": lambda: _objects(
        _OPEN, lambda: {"l": [[] for _ in range(1_000_000)]}
    ),
}


def _columns() -> dict[str, Any]:
    made = definition()
    made["spec"]["versions"][0]["additionalPrinterColumns"] = [
        {"name": f"c{n}", "type": "string", "jsonPath": f".spec.c{n}"} for n in range(10_000)
    ]
    return made


def _selectable() -> dict[str, Any]:
    made = definition(wide(10_000))
    made["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": f".spec.p{n}"} for n in range(10_000)]
    return made


def clear(caller: Caller) -> None:
    """Take the definition away, and wait until it is gone."""
    caller("DELETE", f"{DEFINITIONS}/things.{GROUP}")
    until(lambda: caller("GET", f"{DEFINITIONS}/things.{GROUP}").status == 404, 120)


def main(names: Sequence[str]) -> int:
    """Try all, or those that are named."""
    wrong = 0
    with control_plane() as (_, caller):
        for name in names or CASES:
            say(name)
            for step in CASES[name]():
                try:
                    found = attempt(caller, step)
                except (OSError, http.client.HTTPException, AssertionError) as error:
                    say(f"  {step.name}: {error!r:.300}")
                    wrong += 1
                    break
                shown = "" if found.good else f"; wanted {step.status} {step.says!r}, got {found.answer.body[:300]!r} {found.failure}"
                wrong += not found.good
                say(f"  {step.name}: {found.answer.status} after {found.seconds:.2f} s; longest wait {found.stall:.2f} s, {found.answered} answers{shown}")
            clear(caller)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
