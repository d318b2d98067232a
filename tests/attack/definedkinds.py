"""The worst definitions and objects, sent to the built-in control plane, while somebody else reads another kind.

``python -m tests.attack.definedkinds [CASE...]``: prints the answer of each request, how long it took, and the longest time
that the others had to wait. Ends with status 1 if an answer is not as it should be.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.attack.definitions import definition, nested, versions
from tests.attack.table import say
from tests.kubernetes.calling import JSON_PATCH, MERGE, Answer, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, running
from tests.waiting import until

GROUP: Final = "attack.test"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
OTHER: Final = "/api/v1/namespaces/default/configmaps?limit=1"
CREATE: Final = f"{THINGS}?fieldValidation=Ignore"
"""Without a warning for each unknown field."""
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
    method: str
    path: str
    make: Callable[[], Any] = bytes
    """Its body: made before the time is taken."""
    status: int = 200
    says: str = ""
    content_type: str = "application/json"


@dataclass(frozen=True)
class Outcome:
    """What came of a step."""

    step: Step
    answer: Answer
    seconds: float
    cpu: float
    """Seconds of CPU time that the control plane has used meanwhile."""
    stall: float
    """The longest wait of somebody else, in seconds."""
    answered: int
    """How often somebody else was answered meanwhile."""
    failure: str

    @property
    def good(self) -> bool:
        """Whether it is as it should be."""
        found, wanted = self.answer, self.step
        return found.status == wanted.status and wanted.says in found.body.decode() and not self.failure


@contextmanager
def control_plane() -> Iterator[tuple[ControlPlane, Caller]]:
    """A built-in control plane in a process of its own, and its administrator."""
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch), "builtin") as plane:
        keys = plane.certificates
        signed = user_certificate(authority(keys, "cluster-ca"), "root", "system:masters")
        caller = Caller(plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, Path(scratch)))
        until(lambda: caller("GET", "/api/v1/namespaces/default").status == 200)
        yield plane, caller


def attempt(plane: ControlPlane, caller: Caller, step: Step) -> Outcome:
    """Send a step's request while somebody else reads."""
    made = step.make()
    body = made if isinstance(made, bytes) else _written(made)
    with bystander(caller) as other:
        other.longest, before, used = 0.0, other.answered, _cpu(plane)
        began = time.monotonic()
        answer = caller(step.method, step.path, body, content_type=step.content_type)
        seconds, answered = time.monotonic() - began, other.answered - before
        used = _cpu(plane) - used
    return Outcome(step, answer, seconds, used, other.longest, answered, other.failure)


def _cpu(plane: ControlPlane) -> float:
    """Seconds of CPU time that the control plane has used."""
    (pid,) = (each.process.pid for each in plane.processes._children if each.name == "control-plane")
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _written(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


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


@cache
def _largest(make: Callable[[int], dict[str, Any]], size: int = LARGEST - 4096) -> dict[str, Any]:
    """The greatest of these whose JSON has no more than ``size`` bytes."""

    def fits(count: int) -> bool:
        return len(_written(make(count))) <= size

    high = 1
    while fits(high):
        high *= 2
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
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


def established(caller: Caller) -> None:
    """Wait until the kind is served."""
    until(lambda: caller("GET", THINGS).status == 200, 120)


def _define(schema: Any) -> list[Step]:
    return [Step("define", "POST", DEFINITIONS, lambda: definition(schema), 201)]


def _writes(make: Callable[[], Any], other: Callable[[], Any]) -> list[Step]:
    """Each way to write an object."""

    def put() -> Any:
        return thing(other(), uid="")

    def apply(name: str, spec: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: thing(spec(), name=name)

    def patch() -> Any:
        return [{"op": "replace", "path": "/spec", "value": other()}]

    def applying(name: str, to: str, manager: str, spec: Callable[[], Any], status: int) -> Step:
        path = f"{THINGS}/{to}?fieldManager={manager}&force=true&fieldValidation=Ignore"
        return Step(name, "PATCH", path, apply(to, spec), status, content_type=APPLY)

    return [
        Step("create", "POST", CREATE, lambda: thing(make()), 201),
        Step(
            "merge patch", "PATCH", f"{THINGS}/a?fieldValidation=Ignore", lambda: {"spec": make()}, content_type=MERGE
        ),
        Step("JSON patch", "PATCH", f"{THINGS}/a?fieldValidation=Ignore", patch, content_type=JSON_PATCH),
        Step("update", "PUT", f"{THINGS}/a?fieldValidation=Ignore", put, 422, "must be specified for an update"),
        applying("apply a new one", "b", "x", make, 201),
        applying("apply the same", "b", "x", make, 200),
        applying("apply another", "b", "y", other, 200),
        applying("apply to the created one", "a", "z", make, 200),
        Step("list", "GET", THINGS),
        Step("delete", "DELETE", f"{THINGS}/a"),
    ]


def _objects(schema: Any, make: Callable[[], Any], other: Callable[[], Any] | None = None) -> list[Step]:
    """All writes of an object of this schema."""
    return [*_define(schema), *_writes(make, other or make)]


def _too_large(schema: Any, make: Callable[[], Any]) -> list[Step]:
    """An object with too many owned fields."""
    apply = f"{THINGS}/b?fieldManager=x&fieldValidation=Ignore"
    return [
        *_define(schema),
        Step("create", "POST", CREATE, lambda: thing(make()), 413, "Request entity too large"),
        Step("apply", "PATCH", apply, lambda: thing(make(), name="b"), 413, "Request entity too large", APPLY),
    ]


def _judged(make: Callable[[], Any], status: int, says: str = "") -> list[Step]:
    """Only what comes of the definition."""
    return [Step("define", "POST", DEFINITIONS, make, status, says)]


def _served(make: Callable[[], Any]) -> list[Step]:
    """A definition that is served."""
    return [
        *_judged(make, 201),
        Step("create", "POST", CREATE, lambda: thing({}), 201),
        Step("OpenAPI v3", "GET", f"/openapi/v3/apis/{GROUP}/v1"),
        Step("OpenAPI v2", "GET", "/openapi/v2"),
        Step("discovery", "GET", "/apis"),
    ]


def _refused(schema: Any, spec: Callable[[], Any], says: str) -> list[Step]:
    """An object that breaks its schema."""
    return [*_define(schema), Step("create", "POST", CREATE, lambda: thing(spec()), 422, says)]


def rules(count: int) -> dict[str, Any]:
    """A schema with so many rules, all different."""
    of = {"type": "object", "properties": {"a": {**_TEXT, "maxLength": 5}}}
    return {**of, "x-kubernetes-validations": [{"rule": f"self.a.size() < {n + 5}"} for n in range(count)]}


_QUADRATIC: Final = {
    "type": "object",
    "properties": {
        "l": {
            "type": "array",
            "maxItems": 1000,
            "items": {**_TEXT, "maxLength": 4},
            "x-kubernetes-validations": [{"rule": "self.all(a, self.exists(b, a == b))"}],
        }
    },
}


CASES: Final[Mapping[str, Callable[[], Sequence[Step]]]] = {
    "a schema of 3 MiB": lambda: _served(lambda: definition(_largest(wide))),
    "a description of 3 MiB": lambda: _served(
        lambda: definition({"type": "object", "description": "x" * (LARGEST - 4096)})
    ),
    "an enum of 3 MiB": lambda: _served(lambda: definition(_largest(enum))),
    "more than 3 MiB": lambda: _judged(
        lambda: definition({"type": "object", "description": "x" * (LARGEST + 4096)}), 413
    ),
    "a schema 5,000 deep": lambda: _judged(
        lambda: json.dumps(definition("X")).replace('"X"', '{"items": ' * 5000 + "{}" + "}" * 5000).encode(),
        400,
        "max depth",
    ),
    "a schema as deep as a body may be": lambda: _served(lambda: definition(nested(95))),
    "10,000 columns": lambda: _served(_columns),
    "10,000 selectable fields": lambda: _judged(_selectable, 422, "Too many"),
    "10,000 versions": lambda: _judged(lambda: definition(versions=versions(10_000)), 201),
    "10,000 short names": lambda: _served(
        lambda: definition(names={"plural": "things", "kind": "Thing", "shortNames": [f"s{n}" for n in range(10_000)]})
    ),
    "patterns that backtrack": lambda: _refused(
        wide(1000, of={**_TEXT, "pattern": "^(a+)+$"}),
        lambda: {f"p{n}": "a" * 2500 + "!" for n in range(1000)},
        "should match",
    ),
    "a long text against a pattern that backtracks": lambda: _refused(
        wide(1, of={**_TEXT, "pattern": "^((a|b|ab)*c?)*d$"}), lambda: {"p0": "ab" * 1_400_000}, "should match"
    ),
    "a pattern of large repetitions": lambda: _refused(
        wide(1, of={**_TEXT, "pattern": "^(([a-z]{0,30}x){0,30})$"}), lambda: {"p0": "ab" * 1_400_000}, "should match"
    ),
    "2,000 rules": lambda: [
        *_define(rules(2000)),
        Step("create", "POST", CREATE, lambda: thing({"a": "x"}), 201),
        Step("merge patch", "PATCH", f"{THINGS}/a", lambda: {"spec": {"a": "y"}}, content_type=MERGE),
    ],
    "rules of 3 MiB": lambda: _judged(lambda: definition(_largest(rules)), 422, "must have at most 5000 items"),
    "a rule of nearly the greatest cost": lambda: [
        *_define(_QUADRATIC),
        Step("create", "POST", CREATE, lambda: thing({"l": [f"{n}" for n in range(400)]}), 201),
    ],
    "300 properties": lambda: _objects(wide(300), lambda: filled(LARGEST - 8192, 300), lambda: {"p0": "y"}),
    "3,000 properties": lambda: _objects(
        wide(3000), lambda: filled(LARGEST - 60_000, 3000), lambda: filled(20_000, 1500)
    ),
    "a map list of 10,000": lambda: _objects(_MAP_LIST, lambda: items(10_000)),
    "deep unknown fields": lambda: _objects(_OPEN, lambda: open_deep(190)),
    "a map list of 3 MiB": lambda: _too_large(_MAP_LIST, lambda: _largest(items)),
    "a set of 3 MiB": lambda: _too_large(_SET, lambda: _largest(a_set)),
    "unknown fields of 3 MiB": lambda: _too_large(_OPEN, lambda: _largest(open_wide)),
    "deep unknown fields of 3 MiB": lambda: _too_large(_OPEN, lambda: _largest(bushes)),
    "unknown fields that are pruned": lambda: [
        *_define(wide(1)),
        Step("create", "POST", CREATE, lambda: thing(_largest(open_wide)), 201),
    ],
    "a million lists": lambda: _objects(_OPEN, lambda: {"l": [[] for _ in range(1_000_000)]}, lambda: {"a": 1}),
}


def enum(count: int) -> dict[str, Any]:
    """A schema with an enum of so many."""
    return {"type": "object", "properties": {"e": {**_TEXT, "enum": [f"{n:x}" for n in range(count)]}}}


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


def run(plane: ControlPlane, caller: Caller, name: str) -> Iterator[Outcome]:
    """The steps of a case, one after the other, and then away with the definition."""
    for step in CASES[name]():
        if step.path == CREATE:
            established(caller)
        yield attempt(plane, caller, step)
    path = f"{DEFINITIONS}/things.{GROUP}"
    caller("DELETE", path)
    until(lambda: caller("GET", path).status == 404, 120)


def main(names: Sequence[str]) -> int:
    """Try all, or those that are named."""
    wrong = 0
    with control_plane() as (plane, caller):
        for name in names or CASES:
            for found in run(plane, caller, name):
                step, answer = found.step, found.answer
                shown = (
                    ""
                    if found.good
                    else f"; wanted {step.status} {step.says!r}, got {answer.body[:300]!r} {found.failure}"
                )
                wrong += not found.good
                say(
                    f"{name}: {step.name}: {answer.status}, {found.seconds:.2f} s, CPU {found.cpu:.2f} s; others waited for "
                    f"{found.stall:.2f} s, and were answered {found.answered} times{shown}"
                )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
