"""What must come of each call, in the words of Kubernetes' documentation.

Pure, and with nothing of extapi in it. It follows the kind of :mod:`tests.attack.machine.api` only: fields of maps whose
members are scalars, one set, one default. Fields are named as in ``fieldsV1``; a map that came to be counts as a field of its
own, as there.

Sources: https://kubernetes.io/docs/reference/using-api/api-concepts/ (resourceVersion, watches, preconditions),
https://kubernetes.io/docs/reference/using-api/server-side-apply/ (managers, conflicts, what an apply removes).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from tests.attack.machine.api import DEFAULT_SIZE
from tests.attack.machine.calls import Call, Key

Path = tuple[str, ...]


class Manager(NamedTuple):
    """Who manages fields."""

    name: str
    operation: str
    subresource: str = ""


Owners = Mapping[Manager, frozenset[Path]]


@dataclass(frozen=True)
class State:
    """One object. ``content``: its labels, annotations, spec and status; sets are sorted."""

    key: Key
    uid: str
    revision: int
    generation: int
    content: Mapping[str, Any]
    owners: Owners

    def same(self, other: State) -> bool:
        """Whether nothing differs but uid and resourceVersion."""
        return replace(self, uid=other.uid, revision=other.revision) == other


class Outcome(NamedTuple):
    """What a call must be answered, and what must be there afterwards: None for nothing.

    Uid and revision of ``after`` are those of before; of a new object, empty and 0.
    """

    status: int
    after: State | None


_REPLICAS: Final = ("f:spec", "f:replicas")


def read(found: Mapping[str, Any]) -> State:
    """The state that an object in JSON shows."""
    metadata = found["metadata"]
    content: dict[str, Any] = {"metadata": {}}
    for name in ("labels", "annotations"):
        if name in metadata:
            content["metadata"][name] = metadata[name]
    for name in ("spec", "status"):
        if name in found:
            content[name] = dict(found[name])
    if "tags" in content.get("spec", {}):
        content["spec"]["tags"] = sorted(content["spec"]["tags"])
    owners = {
        Manager(entry["manager"], entry["operation"], entry.get("subresource", "")): frozenset(
            _fields(entry["fieldsV1"])
        )
        for entry in metadata.get("managedFields", ())
    }
    if len(owners) != len(metadata.get("managedFields", ())):
        raise ValueError(f"one manager twice in {metadata['managedFields']}")
    key = Key(metadata["namespace"], metadata["name"])
    return State(key, metadata["uid"], int(metadata["resourceVersion"]), metadata["generation"], content, owners)


def _fields(found: Mapping[str, Any], path: Path = ()) -> Iterator[Path]:
    for element, below in found.items():
        if element == ".":
            yield path
        elif below:
            yield from _fields(below, (*path, element))
        else:
            yield (*path, element)


def outcome(call: Call, state: State | None) -> Outcome:
    """What must come of a call if this is there."""
    if call.verb == "strategic":
        return Outcome(415, state)  # custom resources have none
    if call.verb == "create":
        return Outcome(409, state) if state is not None else _created(call)
    if call.verb == "apply":
        return _applied(call, state)
    if state is None:
        return Outcome(404, None)
    if call.verb == "update" and not call.revision:
        return Outcome(422, state)  # a custom resource is not updated unconditionally
    if (call.revision and call.revision != str(state.revision)) or (call.uid and call.uid != state.uid):
        return Outcome(409, state)
    if call.verb == "delete":
        return Outcome(200, None)
    after = _changed(call, state.content)
    return Outcome(422, state) if after is None else Outcome(200, _updated(call, state, after))


def _created(call: Call) -> Outcome:
    empty = State(call.key, "", 0, 1, {"metadata": {}}, {})
    content = _defaulted(copy.deepcopy(call.content))
    return Outcome(
        201, replace(empty, content=content, owners=_after_update(empty, content, Manager(call.client, "Update")))
    )


def _changed(call: Call, old: Mapping[str, Any]) -> dict[str, Any] | None:
    """The content after an update or a patch; None if the patch cannot be applied."""
    content: dict[str, Any] = copy.deepcopy(dict(old))
    if call.verb == "update":
        kept = {"status": content["status"]} if "status" in content else {}
        content = copy.deepcopy(call.content) | kept
    elif call.verb == "merge":
        _merge(content, call.content)
    elif call.verb == "json":
        try:
            _operate(content, call.operations)
        except KeyError:
            return None
    elif call.verb == "status":
        _merge(content, {"status": call.content["status"]})
    else:
        content["spec"]["replicas"] = call.content["spec"]["replicas"]
    return _defaulted(content)


def _merge(into: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """RFC 7386, for members that are objects on both sides or on none."""
    for name, value in patch.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, Mapping):
            _merge(into.setdefault(name, {}), value)
        else:
            into[name] = value


def _operate(content: dict[str, Any], operations: tuple[dict[str, Any], ...]) -> None:
    """RFC 6902; KeyError where an operation fails."""
    for each in operations:
        *path, last = each["path"].split("/")[1:]
        into = content
        for name in path:
            into = into[name]
        if each["op"] == "test":
            if last not in into or into[last] != each["value"]:
                raise KeyError(last)
        elif each["op"] == "remove":
            del into[last]
        else:
            into[last] = each["value"]


def _updated(call: Call, state: State, content: dict[str, Any]) -> State:
    subresource = {"status": "status", "scale": "scale", "rescale": "scale"}.get(call.verb, "")
    owners = _after_update(state, content, Manager(call.client, "Update", subresource))
    if subresource == "scale" and not any(_REPLICAS in fields for fields in state.owners.values()):
        # A Scale shows the managers of the number alone. Where there is none, the Scale is not tracked, and only an apply
        # would begin to: apimachinery/pkg/util/managedfields/internal/skipnonapplied.go.
        owners = state.owners
    return replace(state, content=content, owners=owners, generation=_generation(state, content))


def _generation(state: State, content: Mapping[str, Any]) -> int:
    return state.generation + (content.get("spec") != state.content.get("spec"))


def _defaulted(content: dict[str, Any]) -> dict[str, Any]:
    content["spec"].setdefault("size", DEFAULT_SIZE)
    if "tags" in content["spec"]:
        content["spec"]["tags"] = sorted(content["spec"]["tags"])
    return content


# -- managers


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What an applied configuration has; a scalar, and each item of a set."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _leaves(member, (*path, f"f:{name}"))
    elif isinstance(value, list):
        for item in value:
            yield (*path, "v:" + json.dumps(item)), item
    else:
        yield path, value


def _nodes(content: Mapping[str, Any]) -> dict[Path, Any]:
    """All fields with what they are: also each map and the set, but for metadata, which nobody manages."""
    found = dict(_leaves(content))
    for path in list(found):
        for length in range(1, len(path)):
            found[path[:length]] = "there"
    found.pop(("f:metadata",), None)
    return found


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[frozenset[Path], frozenset[Path]]:
    """What was set, and what was removed."""
    before, after = _nodes(old), _nodes(new)
    changed = frozenset(path for path, value in after.items() if path not in before or before[path] != value)
    return changed, frozenset(before.keys() - after.keys())


def _after_update(state: State, content: Mapping[str, Any], writer: Manager) -> Owners:
    """Whoever sets a field has it, and nobody has what is gone."""
    changed, removed = _difference(state.content, content)
    owners = {manager: fields - changed - removed for manager, fields in state.owners.items()}
    owners[writer] = (state.owners.get(writer, frozenset()) - removed) | changed
    return {manager: fields for manager, fields in owners.items() if fields}


def _applied(call: Call, state: State | None) -> Outcome:
    """The configuration merged in, without what its manager applied before, alone, and no more."""
    live = State(call.key, "", 0, 1, {"metadata": {}}, {}) if state is None else state
    writer = Manager(call.client, "Apply")
    others = {manager: fields for manager, fields in live.owners.items() if manager != writer}
    mine = frozenset(path for path, _ in _leaves(call.content))
    content: dict[str, Any] = copy.deepcopy(dict(live.content))
    tags = {*content.get("spec", {}).get("tags", ()), *call.content["spec"].get("tags", ())}
    _merge(content, copy.deepcopy(call.content))
    if tags:
        content["spec"]["tags"] = sorted(tags)
    for path in live.owners.get(writer, frozenset()) - mine - frozenset().union(*others.values()):
        _remove(content, path)
    changed, removed = _difference(live.content, content)
    if not call.force and any(fields & changed for fields in others.values()):
        return Outcome(409, state)
    owners = {manager: fields - changed - removed for manager, fields in others.items()}
    owners = {manager: fields for manager, fields in {**owners, writer: mine}.items() if fields}
    content = _defaulted(content)
    generation = 1 if state is None else _generation(live, content)
    after = replace(live, content=content, owners=owners, generation=generation)
    return Outcome(201 if state is None else 200, after)


def _remove(content: dict[str, Any], path: Path) -> None:
    *above, last = path
    into: Any = content
    for element in above:
        into = into.get(element[2:], {})
    if isinstance(into, list):
        into[:] = [item for item in into if "v:" + json.dumps(item) != last]
    else:
        into.pop(last[2:], None)


# -- what has happened


class Change(NamedTuple):
    """One change of one object; ``revision`` 0: not known yet, as of a delete, whose answer does not say it."""

    key: Key
    before: State | None
    after: State | None
    revision: int


class History:
    """All objects, and how they came to be so."""

    def __init__(self, revision: int, objects: Mapping[Key, State]) -> None:
        self.begin = revision
        """Of the store, with :attr:`initial` there, before anything else here."""
        self.initial = dict(objects)
        self.objects = dict(objects)
        self.changes: list[Change] = []
        self.uids = {each.uid for each in objects.values()}

    @property
    def newest(self) -> int:
        """The highest revision that is known."""
        return next((each.revision for each in reversed(self.changes) if each.revision), self.begin)

    def add(self, key: Key, after: State | None, revision: int) -> None:
        """It has changed.

        Raises:
            AssertionError: So it cannot have changed.
        """
        before = self.objects.get(key)
        assert not revision or revision > self.newest, f"{key} changed at {revision}, after {self.newest}"
        if after is None:
            del self.objects[key]
        else:
            assert after.revision == revision, (after, revision)
            if before is None:
                assert after.uid not in self.uids, f"a second object with the uid of {after}"
                self.uids.add(after.uid)
            else:
                assert after.uid == before.uid, (after, before)
            self.objects[key] = after
        self.changes.append(Change(key, before, after, revision))

    def learn(self, index: int, revision: int) -> None:
        """The revision of a change that was not known."""
        self.changes[index] = self.changes[index]._replace(revision=revision)

    def states(self, revision: int) -> Iterator[tuple[int, dict[Key, State]]]:
        """What may have been there at a revision, and after how many changes.

        More than one state if it is not known which changes came before.
        """
        state = dict(self.initial)
        certain = max(
            (index + 1 for index, each in enumerate(self.changes) if 0 < each.revision <= revision), default=0
        )
        for index in range(len(self.changes) + 1):
            if index >= certain:
                yield index, dict(state)
            if index == len(self.changes):
                return
            change = self.changes[index]
            if change.revision > revision:
                return
            if change.after is None:
                del state[change.key]
            else:
                state[change.key] = change.after
