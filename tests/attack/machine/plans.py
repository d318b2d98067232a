"""What may happen, as hypothesis draws it: small choices, that a simulation makes calls of.

Pure. A choice is about numbers only, so that it means something whatever is there when its turn comes.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.attack.machine.calls import CLIENTS, KEEP, NAMES, NAMESPACES, Call, Key
from tests.attack.machine.model import State

VERBS: Final = (
    "create", "update", "merge", "label", "json", "apply", "force", "again", "status", "scale", "rescale", "delete",
    "create", "update", "merge", "json", "apply", "force", "strategic",
)  # fmt: skip
ACTIONS: Final = (
    "calls", "calls", "calls", "calls", "calls", "calls", "calls", "list", "watch", "hold", "go on", "age", "converge",
)  # fmt: skip
_REVISIONS: Final = ("any", "any", "present", "stale")


class Wish(NamedTuple):
    """A call to be: of which client, about which object; ``bits`` choose what it says."""

    verb: str
    client: str
    key: Key
    about: str
    bits: int


class Turn(NamedTuple):
    """One turn of a plan: something that is done, or the calls that are sent at the same time."""

    action: str
    wishes: list[Wish]
    number: int


class Plan(NamedTuple):
    """What happens, turn by turn."""

    turns: list[Turn]

    def __repr__(self) -> str:
        return f"a plan of {len(self.turns)} turns"  # a simulation tells of those before a fault


_KEYS: Final = [Key(namespace, name) for namespace in NAMESPACES for name in NAMES]


def plans(least: int, most: int) -> SearchStrategy[Plan]:
    """Plans of so many turns."""
    wish = st.builds(
        Wish,
        st.sampled_from(VERBS),
        st.sampled_from(CLIENTS),
        st.sampled_from(_KEYS),
        st.sampled_from(_REVISIONS),
        st.integers(0, 255),
    )
    wishes = st.one_of(st.lists(wish, min_size=1, max_size=1), st.lists(wish, min_size=1, max_size=5))
    turn = st.builds(Turn, st.sampled_from(ACTIONS), wishes, st.integers(0, 999))
    return st.builds(Plan, st.lists(turn, min_size=least, max_size=most))


def call_of(wish: Wish, step: int, state: State | None, last: Call | None) -> Call:
    """The call. ``state``: what is there; ``last``: what its client applied last to the same object."""
    verb, client, key, about, bits = wish
    if verb == "again" and last is not None:
        return last
    revision = uid = ""
    if state is not None and about != "any":
        uid = state.uid if about == "present" or bits & 1 else "00000000-0000-4000-8000-000000000000"
        revision = str(state.revision if about == "present" or not bits & 1 else state.revision - 1)
        if about == "stale" and not bits & 1:
            revision = "" if verb == "delete" else str(state.revision - 1)
            uid = "00000000-0000-4000-8000-000000000000" if verb == "delete" else uid
    made = {
        "create": lambda: Call("create", client, key, step, _object(step, bits)),
        "update": lambda: Call("update", client, key, step, _object(step, bits), (), revision, uid),
        "merge": lambda: Call("merge", client, key, step, _patch(step, bits), (), revision),
        "label": lambda: Call("merge", client, key, step, _labels(step, bits), (), revision),
        "json": lambda: Call("json", client, key, step, {}, _operations(step, bits, state)),
        "strategic": lambda: Call("strategic", client, key, step, _patch(step, bits)),
        "apply": lambda: Call("apply", client, key, step, _configuration(client, step, bits)),
        "status": lambda: Call("status", client, key, step, _status(step), (), revision),
        "scale": lambda: Call("scale", client, key, step, _replicas(step), (), revision),
        "rescale": lambda: Call("rescale", client, key, step, _replicas(step)),
        "delete": lambda: Call("delete", client, key, step, {}, (), revision, uid),
    }
    if verb in made:
        return made[verb]()
    return Call("apply", client, key, step, _forced(client, step, bits), force=True)


def _team(bits: int) -> str:
    return ("red", "blue")[bits & 1]


def _object(step: int, bits: int) -> dict[str, Any]:
    spec: dict[str, Any] = {"step": step, "options": {KEEP: "1"}, "tags": [KEEP]}
    labels = {KEEP: "1"}
    if bits & 2:
        spec["color"] = ("green", "gray")[bits & 1]
    if bits & 4:
        spec["size"] = bits & 3
    if bits & 8:
        spec["replicas"] = 0
    if bits & 16:
        spec["options"]["x"] = str(bits & 1)
    if bits & 32:
        spec["tags"].append(f"t{bits & 1}")
    if bits & 64:
        labels["team"] = _team(bits)
    return {"metadata": {"labels": labels, "annotations": {KEEP: "1"}}, "spec": spec}


def _patch(step: int, bits: int) -> dict[str, Any]:
    spec: dict[str, Any] = {"step": step}
    if bits & 2:
        spec["color"] = ("green", None)[bits & 1]
    if bits & 4:
        spec["size"] = (3, None)[bits & 1]
    if bits & 8:
        spec["options"] = {"x": ("2", None)[bits & 1], "y": "1", KEEP: "1"}
    if bits & 16:
        spec["tags"] = [KEEP, f"t{bits & 1}"]
    if bits & 32:
        spec["replicas"] = None
    return {"spec": spec}


def _labels(step: int, bits: int) -> dict[str, Any]:
    return {
        "metadata": {
            "labels": {"team": (_team(bits), None)[bits >> 1 & 1], KEEP: "1"},
            "annotations": {"step": str(step)},
        }
    }


def _operations(step: int, bits: int, state: State | None) -> tuple[dict[str, Any], ...]:
    found: list[dict[str, Any]] = []
    if bits & 1:
        found.append({"op": "test", "path": "/spec/size", "value": 1})
    found.append({"op": "add", "path": "/spec/step", "value": step})
    if bits & 2:
        found.append({"op": "remove", "path": "/spec/color"})
    if bits & 4:
        found.append(
            {
                "op": "replace" if state and "x" in state.content["spec"].get("options", {}) else "add",
                "path": "/spec/options/x",
                "value": "3",
            }
        )
    return tuple(found)


def _configuration(client: str, step: int, bits: int) -> dict[str, Any]:
    """What gets into nobody's way: an option of the client's own, and perhaps more."""
    spec: dict[str, Any] = {"options": {KEEP: "1", client: str(step)}, "tags": [KEEP]}
    metadata: dict[str, Any] = {"labels": {KEEP: "1"}}
    if bits & 2:
        spec["tags"].append(f"t{bits & 1}")
    if bits & 4:
        spec["size"] = 1 + (bits & 1)
    if bits & 24 == 24:
        spec["color"] = ("green", "gray")[bits & 1]
    if bits & 96 == 96:
        metadata["labels"]["team"] = _team(bits)
    return {"metadata": metadata, "spec": spec}


def _forced(client: str, step: int, bits: int) -> dict[str, Any]:
    found = _configuration(client, step, bits)
    found["spec"]["step"] = step
    if bits & 128:
        found["spec"]["replicas"] = 0
    return found


def _status(step: int) -> dict[str, Any]:
    """With something that this endpoint does not write."""
    return {"status": {"step": step}, "spec": {"color": "ignored"}}


def _replicas(step: int) -> dict[str, Any]:
    return {"spec": {"replicas": step}}


def steps_in(state: State | None) -> set[int]:
    """The numbers of calls that an object shows."""
    if state is None:
        return set()
    spec, metadata = state.content.get("spec", {}), state.content["metadata"]
    found = [spec.get("step"), spec.get("replicas"), state.content.get("status", {}).get("step")]
    found.append(metadata.get("annotations", {}).get("step"))
    found += [spec.get("options", {}).get(client) for client in CLIENTS]
    return {int(each) for each in found if each is not None and int(each) > 0}
