"""Defaults at every place, on writes and on reads, and in a version that has others."""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, Step, fields, told
from tests.differential.side import get

OLD = Resource("defaulteds", "Defaulted")
NEW = OLD.through("v2")
BOTH = (OLD.see(), NEW.see(), OLD.all(), NEW.all())

VALUES: dict[str, list[Any]] = {
    "text": [None, "", "x", 1],
    "number": [None, 0, "1"],
    "whole": [None, 2.5],
    "flag": [None, True, "no"],
    "port": [None, 0, ""],
    "list": [None, [], [{}], [{"a": None}], [None], [{"b": None}, {"a": "", "c": 1}]],
    "map": [None, {}, {"y": {}}, {"y": None}, {"y": {"a": None}}, {"y": {"a": 0, "b": 1}}],
    "free": [None, {}, {"a": None}],
    "nullable": [None, "", "x"],
    "null": [None, "x"],
    "deep": [None, {}, {"a": None}, {"a": {}}, {"a": {"b": None}}, {"a": {"b": {}}}, {"a": {"b": {"d": None}}}],
    "empty": [None, ["a"]],
    "nothing": [None, "x"],
    "notDefaulted": [None, {}, {"a": None}],
}


def writes(through: Resource) -> dict[str, tuple[Step, ...]]:
    """What may be done through a version."""
    return {
        "create": (through.make(),),
        "create of an empty spec": (through.make(spec={}),),
        "create of a null": (through.make(spec=None),),
        "create of all that is there": (
            through.make(spec={"text": "a", "number": 1, "list": [{"a": "x"}, {}], "map": {"k": {}, "l": {"a": 2}}, "only1": "1", "only2": "2"}),
        ),
        "create with a status": (through.make(status={"ready": None, "list": [{}]}),),
        "update": (OLD.make(spec={"only1": "x", "list": [{}]}), through.see(), through.replace(spec={"text": "u"})),
        "update of nothing": (OLD.make(spec={"only1": "x", "list": [{}]}), through.see(), through.replace()),
        "merge": (OLD.make(spec={"only1": "x"}), through.change({"spec": {"text": "m", "only2": "y"}})),
        "merge of a null": (OLD.make(spec={"only1": "x"}), through.change({"spec": {"text": None, "number": None, "map": None}})),
        "empty merge": (OLD.make(spec={"only1": "x"}), through.change({})),
        "JSON patch": (OLD.make(), through.edit(("test", "/spec/number", 1.5)), through.edit(("test", "/spec/number", 3))),
        "JSON patch of a null": (OLD.make(), through.edit(("add", "/spec/map", {"k": None})), through.edit(("remove", "/spec"))),
        "status": (
            OLD.make(),
            through.change({"status": {}}, rest="/status"),
            through.change({"status": {"ready": True, "list": [{}]}}, rest="/status"),
            through.see(rest="/status"),
        ),
        "apply": (
            through.applied(spec={"text": "a"}),
            through.applied(spec={"text": "a", "map": {"k": {}}}),
            through.applied(manager="n", spec={"number": 4}),
            through.applied(spec={}),
        ),
        "apply onto the other": (
            OLD.make(spec={"text": "o"}),
            through.applied(spec={"number": 7}),
            NEW.applied(spec={"number": 8}),
            OLD.applied(manager="o", spec={"text": "p"}),
        ),
        "dry": (through.make("new", "?dryRun=All", spec={"text": "a"}), through.make("one", "?dryRun=All&fieldValidation=Strict", spec={"only2": "x", "only1": "y"})),
        "strict": (through.make("one", "?fieldValidation=Strict", spec={"flag": True, "map": {"k": {"z": 1}}}),),
        "delete": (OLD.make(meta={"finalizers": ["a/b"]}), through.drop(), through.change({"metadata": {"finalizers": None}})),
        "watch": (OLD.make(spec={"only1": "x"}), get(f"{through.path}?watch=1&timeoutSeconds=1")),
        "create again": (OLD.make(), through.make()),
    }  # fmt: skip


CASES = fields(OLD, VALUES) | {
    f"{how} as {through.version}": case
    for through in (OLD, NEW)
    for how, case in told(OLD, {name: (*steps, *BOTH) for name, steps in writes(through).items()}).items()
}
