"""Applies and other writes through several versions of made-up kinds, to kube-apiserver and to this project.

Each step is sent to a real kube-apiserver, to a server in memory, and to the built-in control plane, whose webhooks are one
server on loopback. Some kinds are of Python types: in memory they are served as they are, elsewhere as definitions with
``extapi webhooks``. The answers have to be the same: the object with its managed fields, or the error; and so has the object in
every version that is served.

The long form: ``.venv/bin/python -m tests.differential.appliedversions --steps 30000``. It prints each difference as the steps that
show it, and ends with status 1 if there is one. ``--seed`` repeats a run. The short form is ``test_appliedversions.py``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any, Final, Protocol

from extapi.api.definition import Api, Group
from extapi.managedfields.items import TypedError
from extapi.managedfields.validation import check
from extapi.testing.memory import InMemoryServer, serve
from tests.differential import madeversions, managedkinds
from tests.differential.madeversions import GROUP, MadeKind
from tests.differential.managedfields import has
from tests.differential.typedversions import TypedKind
from tests.differential.verdicts import Asked, Definition, Kube, asking, causes, path_of
from tests.kubernetes.control_plane import running
from tests.webhooks.answers import http
from tests.webhooks.server import Call, certified, serving

APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"
JSON: Final = "application/json"
_MISFIT: Final = re.compile(
    r"^failed to (prune fields|convert|create manager for existing fields|compare objects|merge config|create typed live object|update ManagedFields)"
)
APPLIERS: Final = ("me", "other", "third")
TYPED: Final = 10
"""Of so many kinds one is of Python types; as a definition, `extapi webhooks` converts its objects."""
_LARGEST: Final = 8
"""Differences after which a run ends."""


class Side(Protocol):
    """Somebody who serves the kinds."""

    def send(self, method: str, path: str, query: str, content_type: str, body: Any) -> tuple[int, Any]:
        """The code and the content."""
        ...


class Remote:
    """A control plane."""

    def __init__(self, kube: Kube) -> None:
        self.kube = kube

    def send(self, method: str, path: str, query: str, content_type: str, body: Any) -> tuple[int, Any]:
        """See :class:`Side`."""
        code, _, content = self.kube.ask(Asked(method, path, body, query), content_type)
        return code, json.loads(content)


class Memory:
    """A server in memory."""

    def __init__(self, server: InMemoryServer) -> None:
        self._server = server

    def send(self, method: str, path: str, query: str, content_type: str, body: Any) -> tuple[int, Any]:
        """See :class:`Side`."""
        pairs = dict(pair.split("=", 1) for pair in query.split("&") if pair)
        answer = self._server.request(method, path, pairs, {"Content-Type": content_type}, body)
        return answer.status, json.loads(answer.body)


@dataclass(frozen=True, slots=True)
class Step:
    """One write. ``change``: makes the body of a PUT of the object as it is."""

    method: str
    version: str
    subresource: str
    manager: str
    content_type: str = JSON
    body: Any = None
    change: Callable[[Any], Any] | None = None
    force: bool = False

    def __str__(self) -> str:
        body = "PUT" if self.body is None else json.dumps(self.body)
        return f"{self.method} {self.version} {self.subresource} by {self.manager} force={self.force} {body}"


@dataclass
class Run:
    """What was compared."""

    sides: Mapping[str, Side]
    """The first is kube-apiserver."""
    random: Random
    steps: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    """Differences on purpose, by name."""
    differences: list[str] = field(default_factory=list)

    def sequence(self, made: MadeKind, definition: Definition, name: str, length: int) -> None:
        """Some writes of one object."""
        done: list[str] = []
        live: Any = None
        configs: dict[tuple[str, str], Any] = {}
        for _ in range(length):
            step = self._step(made, live, configs, name)
            done.append(str(step))
            answers = {side: _written(each, definition, name, step) for side, each in self.sides.items()}
            self.steps += 1
            empty = _has_empty_item([step.body, *configs.values()])
            if not self._same(made, definition, live, done, answers, step, empty=empty):
                return
            code, content = answers[next(iter(answers))]
            self.codes[f"{step.method} {code}"] += 1
            if code >= 300:
                continue
            live = content
            if step.content_type == APPLY:
                configs[step.manager, step.subresource] = step.body
            for version in made.served:
                shown = {side: _read(each, definition, version, name) for side, each in self.sides.items()}
                if not self._same(made, definition, live, [*done, f"GET {version}"], shown, step, empty=empty):
                    return

    def _same(
        self,
        made: MadeKind,
        definition: Definition,
        live: Any,
        done: Sequence[str],
        answers: Mapping[str, Any],
        step: Step,
        *,
        empty: bool,
    ) -> bool:
        """Whether a sequence goes on: all say the same. ``empty``: an item without any field was applied."""
        (first, theirs), *others = answers.items()
        for side, ours in others:
            if _neutral(theirs) == _neutral(ours):
                continue
            why = _named(made, live, theirs, ours, step, empty=empty)
            if why:
                self.named[why] += 1
                return False
            shown = "\n    ".join(
                (*_unlike(_neutral(theirs), _neutral(ours), side), f"{first}: {_told(theirs)}", *done)
            )
            schemas = {version: each["properties"] for version, each in made.schemas.items()}
            hooked = f"hooked {made.hooked} renamed {made.renamed} lost {made.lost} storage {made.storage}"
            self.differences.append(
                f"{definition['metadata']['name']}\n    {shown}\n    {hooked}\n    {json.dumps(schemas)}"
            )
            return False
        return True

    # -- steps ----------------------------------------------------------------------------------------------------------

    def _step(self, made: MadeKind, live: Any, configs: Mapping[tuple[str, str], Any], name: str) -> Step:
        random = self.random
        version = random.choice(made.served)
        schema = made.schemas[version]
        if not live:
            return self._apply(made, version, schema, None, None, name, "")
        now = made.converted(live, f"{GROUP}/{version}")
        chance = random.random()
        if made.scale and chance < 0.06:
            return self._scale(version, name)
        subresource = "status" if chance < 0.25 else ""
        if random.random() < 0.65:
            who = random.choice(APPLIERS)
            before = configs.get((who, subresource))
            return self._apply(made, version, schema, now, before, name, subresource, who)
        who = random.choice(("u", "controller"))
        part = subresource or "spec"
        if random.random() < 0.1:
            return Step("PUT", version, "", who, change=partial(_with_other_version, made=made, seed=random.random()))
        if random.random() < 0.5:
            patch = managedkinds.changed(now.get(part) or {}, schema["properties"][part], random)
            body: dict[str, Any] = {part: patch}
            if not subresource and random.random() < 0.2:
                body["metadata"] = {"labels": {random.choice("ab"): random.choice(("x", "y", None))}}
            return Step("PATCH", version, subresource, who, MERGE, made.tidied(body))
        seed = random.random()

        def change(obj: Any) -> Any:
            new = managedkinds.changed(obj.get(part) or {}, schema["properties"][part], Random(seed))  # noqa: S311 - the same on all sides
            return made.tidied({**obj, part: new})

        return Step("PUT", version, subresource, who, change=change)

    def _apply(
        self,
        made: MadeKind,
        version: str,
        schema: Any,
        live: Any,
        before: Any,
        name: str,
        subresource: str,
        who: str = "me",
    ) -> Step:
        random = self.random
        part = subresource or "spec"
        api_version = f"{GROUP}/{version}"
        if before is not None and random.random() < 0.7:
            config = made.converted(before, api_version)
            if random.random() < 0.6:
                config = managedkinds.config_of({part: config.get(part, {})}, schema, random)
            content = config.get(part)
        else:
            content = managedkinds.config_of(live, schema, random).get(part)
        body: dict[str, Any] = {"apiVersion": api_version, "kind": made.kind, "metadata": {"name": name}}
        if isinstance(content, dict):
            body[part] = content
        if random.random() < 0.3:
            body["metadata"]["labels"] = {
                each: random.choice("xy") for each in random.sample("abc", random.randint(0, 2))
            }
        if random.random() < 0.15:
            body["metadata"]["annotations"] = {random.choice("ab"): random.choice("xy")}
        return Step("PATCH", version, subresource, who, APPLY, made.tidied(body), force=random.random() < 0.5)

    def _scale(self, version: str, name: str) -> Step:
        random = self.random
        spec = {"spec": {"replicas": random.randint(0, 3)}}
        if random.random() < 0.5:
            return Step("PATCH", version, "scale", "scaler", MERGE, spec)
        body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, **spec}
        return Step("PATCH", version, "scale", "scaler", APPLY, body, force=True)


def _with_other_version(obj: Any, *, made: MadeKind, seed: float) -> Any:
    """The object, one of whose managers has it in another version, which may be one that is not served."""
    random = Random(seed)  # noqa: S311 - the same on all sides
    entries = sorted(
        obj["metadata"].get("managedFields", ()), key=lambda each: json.dumps({**each, "time": ""}, sort_keys=True)
    )
    if entries:
        other = random.choice(list(made.schemas))
        entries[random.randrange(len(entries))]["apiVersion"] = f"{GROUP}/{other}"
        obj["metadata"]["managedFields"] = entries
    return obj


def _written(side: Side, definition: Definition, name: str, step: Step) -> tuple[int, Any]:
    """The answer of one side to a step."""
    path = f"{path_of(definition, step.version)}/{name}"
    query = f"fieldManager={step.manager}"
    if step.force:
        query += "&force=true"
    body = step.body
    if step.change is not None:
        code, now = side.send("GET", path, "", JSON, None)
        if code != 200:
            return code, now
        body = step.change(now)
    if step.subresource:
        path += f"/{step.subresource}"
    return side.send(step.method, path, query, step.content_type, body)


def _read(side: Side, definition: Definition, version: str, name: str) -> tuple[int, Any]:
    return side.send("GET", f"{path_of(definition, version)}/{name}", "", JSON, None)


# -- what is compared ---------------------------------------------------------------------------------------------------


def _neutral(answer: tuple[int, Any]) -> Any:
    """An answer without what no two servers have in common, and without the order of Go's maps."""
    code, content = answer
    if code >= 300:
        return code, content.get("reason"), _texts(content)
    metadata = {
        name: value
        for name, value in content["metadata"].items()
        if name not in {"uid", "resourceVersion", "creationTimestamp", "managedFields"}
    }
    return code, {**content, "metadata": metadata}, _managers(content)


def _texts(status: Any) -> Any:
    """The causes of an error. The original's texts of values that do not fit print its own structs."""
    if status.get("reason") == "Conflict":
        found = status.get("details", {}).get("causes", ())
        return sorted((each.get("message"), each.get("field")) for each in found)
    if status["code"] == 422 and "details" in status:
        return causes(status)
    return re.sub(r", got .*|expected .*", "", status["message"]) if status["code"] != 500 else ""


def _managers(content: Any) -> list[Any]:
    entries = content["metadata"].get("managedFields", ())
    return sorted(json.dumps({**each, "time": ""}, sort_keys=True) for each in entries)


def _told(answer: tuple[int, Any]) -> str:
    code, content = answer
    if code >= 300:
        return f"{code} {json.dumps(content)}"
    parts = {name: value for name, value in content.items() if name in {"spec", "status"}}
    labels = {name: content["metadata"].get(name) for name in ("labels", "annotations", "generation")}
    return f"{code} {json.dumps(parts)} {json.dumps(labels)} {_managers(content)}"


def _unlike(theirs: Any, ours: Any, path: str) -> Iterator[str]:
    """The parts that differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in {**theirs, **ours}:
            yield from _unlike(theirs.get(name, "absent"), ours.get(name, "absent"), f"{path}.{name}")
    elif isinstance(theirs, tuple) and isinstance(ours, tuple) and len(theirs) == len(ours):
        for index, pair in enumerate(zip(theirs, ours, strict=True)):
            yield from _unlike(*pair, f"{path}.{index}")
    elif isinstance(theirs, list) and isinstance(ours, list) and path.endswith(".2"):
        yield f"{path}: only theirs {[each for each in theirs if each not in ours]}"
        yield f"{path}: only ours {[each for each in ours if each not in theirs]}"
    elif theirs != ours:
        yield f"{path}: theirs {theirs!r} ours {ours!r}"


def _named(
    made: MadeKind, live: Any, theirs: tuple[int, Any], ours: tuple[int, Any], step: Step, *, empty: bool
) -> str:
    """The name of a difference on purpose, which ends a sequence; empty if it is none. All else has to be the same.

    Where the original refuses an apply, the object has to have what was applied, unless it is refused here for another reason.
    """
    one, two = _neutral(theirs), _neutral(ours)
    # Metadata are not written through a subresource.
    sent = {part: step.body[part] for part in ("spec", "status") if part in (step.body or ())}
    if one[0] == 500:
        message = theirs[1]["message"]
        if step.subresource == "scale" and step.content_type == APPLY and "Kind=Scale" in message:
            return "an apply of a scale is 500" if two[0] == 200 else ""
        if two[0] not in (409, 422) and not (two[0] in (200, 201) and has(ours[1], sent)):
            return ""
        if made.hooked and "invalid metadata of type <nil> in input object" in message:
            return "an apply is refused, since all metadata were taken away"
        if "may not have a null element" in message:
            return "an apply is refused, since an item of defaulted keys is null"
        if (
            isinstance(made, TypedKind)
            and "duplicate entries" in message
            and two[0] in (409, 422)
            and _has_null(step.body)
        ):
            return "a key that is null is filled in by the webhook, and doubled"
        if _MISFIT.search(message) and _misfits(made, live, step.body, ours[1]):
            return "an apply is refused, since the object does not fit the type of another version"
        return ""
    if isinstance(made, TypedKind) and one[0] in (200, 201) and two[0] == 422:
        missing = all(each["reason"] == "FieldValueRequired" for each in ours[1]["details"]["causes"])
        return "a required field that is missing is filled in by the webhook" if missing else ""
    if one[0] == 422 and two[0] == 200 and _is_emptied_item(theirs[1], step.body) and has(ours[1], sent):
        return "an apply is refused, since an item of defaulted keys is null"
    if one[0] != two[0] or one[0] >= 300:
        return ""
    parts = [{name: each[1].get(name) for name in ("spec", "status")} for each in (ours, theirs)]
    if empty and has(ours[1], sent) and has(*parts):
        return "an item of defaulted keys is lost"
    if isinstance(made, TypedKind) and _without_empty(one) == _without_empty(two):
        return "types leave out an empty object that is their default"
    if one[1] == two[1] and not one[2] and _misfits(made, live, ours[1]):
        return "managers are forgotten, since the object does not fit the type of another version"
    if one[2] == two[2] and (_has_empty_metadata(step.body) or _has_null(step.body)):
        theirs[1]["metadata"]["generation"] -= 1
        if _neutral(theirs) == two:
            return "an apply of what is dropped is a change"
    return ""


def _without_empty(neutral: Any) -> Any:
    """An answer without empty parts, and without managers of nothing else."""
    code, obj, entries = neutral
    parts = {name: value for name, value in obj.items() if value != {}}
    return code, parts, [each for each in entries if json.loads(each).get("fieldsV1") != {"f:status": {}}]


def _misfits(made: MadeKind, *objects: Any) -> bool:
    """Whether one of the objects does not fit the type of one of the versions."""
    for obj in objects:
        if not obj or obj.get("kind") != made.kind:
            continue
        for api_version, atom in made.atoms.items():
            try:
                check(made.converted(obj, api_version), atom)
            except TypedError:
                return True
    return False


def _is_emptied_item(status: Any, config: Any) -> bool:
    """Whether all that is wrong is that a list is null, where an item without any field was applied."""
    wrong = [each["message"] for each in status["details"].get("causes", ())]
    return (
        bool(wrong)
        and all(each.endswith('must be of type array: "null"') for each in wrong)
        and _has_empty_item(config)
    )


def _has_empty_item(value: Any) -> bool:
    if isinstance(value, list):
        return {} in value or any(map(_has_empty_item, value))
    return isinstance(value, dict) and any(map(_has_empty_item, value.values()))


def _has_null(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_null, value.values() if isinstance(value, dict) else value))
    return value is None


def _has_empty_metadata(value: Any) -> bool:
    """Whether there is an embedded object with empty lists or maps in its metadata, which are dropped."""
    if isinstance(value, dict):
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and any(each in ([], {}) for each in metadata.values()):
            return True
        return any(map(_has_empty_metadata, value.values()))
    return isinstance(value, list) and any(map(_has_empty_metadata, value))


# -- sides --------------------------------------------------------------------------------------------------------------


@contextmanager
def webhook_of(kinds: Sequence[MadeKind]) -> Iterator[tuple[str, bytes]]:
    """The URL and the authority of a webhook that converts the objects of the kinds."""
    by_plural = {each.plural: each for each in kinds}
    alone = Lock()  # one at a time: what answers is not for threads

    def answer(call: Call) -> bytes:
        with alone:
            return http(json.dumps(by_plural[call.target.partition("?")[0].lstrip("/")].review(call.review)))

    certificates = certified()
    with tempfile.TemporaryDirectory() as directory:
        context = certificates.context(Path(directory))
        with serving(dict.fromkeys(by_plural, answer), context) as webhook:
            yield webhook.url(""), certificates.ca.pem


def play(theirs: Kube, builtin: Kube | None = None, *, steps: int, seed: str, each: int = 40, length: int = 10) -> Run:
    """Compare so many steps; ``each``: kinds at a time, each with objects that are written ``length`` times."""
    random = Random(seed)  # noqa: S311 - the same each time
    run = Run({}, random)
    number = 0
    while run.steps < steps and len(run.differences) < _LARGEST:
        kinds = [
            TypedKind(number + index) if index % TYPED == 0 else madeversions.kind(number + index, random)
            for index in range(each)
        ]
        number += each
        with ExitStack() as stack:
            url, ca = stack.enter_context(webhook_of(kinds))
            named = {f"{made.plural}.{GROUP}": made for made in kinds}
            definitions = [made.definition(url, ca) for made in kinds]
            refused = theirs.install(definitions)
            definitions = [found for found in definitions if found["metadata"]["name"] not in refused]
            served = [named[found["metadata"]["name"]].served_kind(found) for found in definitions]
            server = stack.enter_context(serve(Api(Group(GROUP, *served))))
            sides: dict[str, Side] = {"kube": Remote(theirs), "memory": Memory(server)}
            if builtin is not None:
                assert not builtin.install(definitions)
                sides["builtin"] = Remote(builtin)
            run.sides = sides
            for found in definitions:
                made = named[found["metadata"]["name"]]
                for index in range(4):
                    if run.steps < steps and len(run.differences) < _LARGEST:
                        run.sequence(made, found, f"o{index}", length)
            for plane in (theirs, builtin):
                if plane is not None:
                    plane.remove(found["metadata"]["name"] for found in definitions)
            run.named["definitions refused"] += len(refused)
    return run


def main(arguments: Sequence[str]) -> int:
    """The long form."""
    parser = argparse.ArgumentParser(description="Compare applies through several versions with kube-apiserver.")
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--memory", action="store_true", help="only in memory, not on the built-in control plane")
    chosen = parser.parse_args(arguments)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        planes: list[Kube] = []
        for name in ("kube",) if chosen.memory else ("kube", "builtin"):
            plane = stack.enter_context(running(directory / name, name))
            (directory / f"{name}-keys").mkdir()
            planes.append(stack.enter_context(asking(plane, directory / f"{name}-keys")))
        run = play(planes[0], *planes[1:], steps=chosen.steps, seed=chosen.seed)
    for each in run.differences:
        print(each)  # noqa: T201 - a command's output
    told = f"{dict(run.codes)}; named: {dict(run.named)}; seed {chosen.seed}"
    print(f"{run.steps} steps, {len(run.differences)} differences; {told}")  # noqa: T201 - the same
    return 1 if run.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
