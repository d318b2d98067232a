"""A third kind of the twins, with what CRDs can say beyond a field's own type: alternatives, names, versions."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from extapi import (
    AllOf,
    AnyOf,
    Column,
    ExactlyOneOf,
    Format,
    Items,
    Kind,
    Maximum,
    MaxLength,
    Minimum,
    MinItems,
    MinLength,
    Not,
    Object,
    ObjectMeta,
    OneOf,
    Pattern,
    Property,
    Required,
    Struct,
    Version,
)
from tests.differential.cases import cases
from tests.differential.side import MERGE, Step

QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


class Source(Struct):
    """One of some members."""

    kind: str | None = None
    git: str | None = None
    image: str | None = None
    ports: list[int] | None = None


class DialSpec(Struct):
    """Mostly alternatives."""

    amount: Annotated[int | str | None, Minimum(1), Maximum(100), Pattern(QUANTITY)] = None
    either: Annotated[int | str | None, AnyOf(Maximum(10), (Pattern("^a"), MaxLength(3)))] = None
    share: Annotated[int | str | None, AllOf((Minimum(0), Maximum(100)), Pattern("^[0-9]+%$"))] = None
    whole: Annotated[int | None, Format("")] = None
    real: Annotated[float | None, Format("")] = None
    word: Annotated[str | None, Not(OneOf(("no", "never"))), AnyOf(MinLength(3), Pattern("^[a-z]$"))] = None
    source: Annotated[Source | None, ExactlyOneOf(Required("git"), Required("image"))] = None
    strict: Annotated[
        Source | None,
        AnyOf(
            (Property("kind", OneOf(("git",))), Required("kind", "git")),
            (Property("kind", OneOf(("image",)), MinLength(1)), Required("kind", "image")),
        ),
        Not(Required("git", "image")),
        AllOf(Property("ports", MinItems(1), Items(Maximum(9)))),
    ] = None
    map: Annotated[dict[str, str] | None, Required("a"), AnyOf(Required("b"), Required("c"))] = None
    dashed: str = msgspec.field(name="dash-ed", default="one")
    dotted: Annotated[int | None, Maximum(5)] = msgspec.field(name="Odd_name", default=None)


class Dial(Object):
    """A kind whose names are bounded."""

    metadata: Annotated[
        ObjectMeta,
        Property("name", MaxLength(12), Not(Pattern("^bad"))),
        Property("generateName", Pattern("^(gen|ok)"), MaxLength(6)),
    ] = ObjectMeta()
    spec: DialSpec = DialSpec()


class NewerDial(Dial):
    """The same in another version: a CRD whose versions have one schema cannot give one of them fields of its own."""


DIAL = Kind(
    "Dial",
    storage="v0",
    versions={
        "v1": Version(Dial),
        "v2": Version(NewerDial, selectable=[".spec.Odd_name", ".spec.word"]),
        "v0": Version(Dial, served=False),
    },
    selectable=[".spec.dash-ed"],
    columns=[Column("Dashed", ".spec.dash-ed"), Column("Odd", ".spec['Odd_name']", "integer")],
)

DIALS = "/apis/{g}/v1/namespaces/{ns}/dials"
NEWER = "/apis/{g}/v2/namespaces/{ns}/dials"
GROUP = "/apis/{g}"


def dial(name: str = "new", *, version: str = "v1", meta: Any = None, **spec: Any) -> dict[str, Any]:
    """A dial."""
    metadata = {**({"name": name} if name else {}), **(meta or {})}
    return {"apiVersion": f"{{g}}/{version}", "kind": "Dial", "metadata": metadata, "spec": spec}


def make(obj: Any, path: str = DIALS) -> Step:
    """A create of a dial."""
    return Step("POST", path, obj, {"Content-Type": "application/json"})


def change(name: str, patch: Any, path: str = DIALS) -> Step:
    """A merge patch of a dial."""
    return Step("PATCH", f"{path}/{name}", patch, {"Content-Type": MERGE})


def see(path: str, accept: str = "") -> Step:
    """A read of anything."""
    return Step("GET", path, None, {"Accept": accept} if accept else {})


VALUES: dict[str, list[Any]] = {
    "amount": [1, 0, 100, 101, "1", "1.5Gi", "x", "", "1000", 1.5, 2.0, True, None, [], -1, 1e30, "-1"],
    "either": [10, 11, "abc", "b", "abcd", 1.5, True],
    "share": [0, 100, 101, -1, "5%", "5", "500%", {}],
    "whole": [1, 2**31, 2**63, -(2**63), 1.0, 1.5, "1", 1e18, 1e19],
    "real": [1, 1.5, 1e300, "1", 2**63, True],
    "word": ["no", "never", "yes", "ab", "a", "", 1],
    "source": [
        {},
        {"git": "a"},
        {"image": "a"},
        {"git": "a", "image": "b"},
        {"kind": "x"},
        "x",
        None,
        {"git": None},
        {"git": 1},
    ],
    "strict": [
        {},
        {"kind": "git", "git": "a"},
        {"kind": "image", "git": "a"},
        {"kind": "image", "image": "a"},
        {"kind": "git", "git": "a", "image": "b"},
        {"kind": "git", "git": "a", "ports": []},
        {"kind": "git", "git": "a", "ports": [9, 10, 11]},
        {"kind": "other", "git": "a"},
        {"kind": "", "image": "a"},
        {"kind": "git", "image": "a", "ports": [10], "x": 1},
        [],
    ],
    "map": [{}, {"a": "x"}, {"a": "x", "b": "y"}, {"b": "y"}, {"a": "x", "c": None}, {"a": 1, "b": "x"}],
    "dash-ed": ["x", 1, None, ""],
    "dashed": ["x"],
    "Odd_name": [5, 6, "x", None],
}
NAMES: list[Any] = [
    {"name": "fine"}, {"name": "bad"}, {"name": "x" * 13}, {"name": "bad" + "x" * 10}, {"name": "A_b"}, {"name": ""}, {},
    {"name": "a", "generateName": "no"}, {"name": "a", "generateName": "gen-"}, {"name": "a", "generateName": "gengengen"},
    {"name": 1}, {"name": "a", "generateName": "gen/"},
]  # fmt: skip


def _fields() -> dict[str, tuple[Step, ...]]:
    made: dict[str, tuple[Step, ...]] = {}
    for field, values in VALUES.items():
        for position, value in enumerate(values):
            steps = [make(dial(f"new-{position}", **{field: value}))]
            if value is not None:
                steps += [make(dial("one")), change("one", {"spec": {field: value}}), see(f"{DIALS}/one")]
            made[f"{field} {position}"] = tuple(steps)
    return made


ONE: dict[str, Any] = {"dash-ed": "x", "Odd_name": 1, "word": "word"}
FIRST = (make(dial("one", **ONE)), make(dial("two", Odd_name=2)))
SELECTED = (
    "spec.dash-ed=x",
    "spec.dash-ed!=x",
    "spec.Odd_name=1",
    "spec.word=word",
    "spec.word!=word,spec.Odd_name=2",
    "spec.size=1",
)

CASES = cases(
    {
        **_fields(),
        **{f"name {position}": (make(dial("", meta=meta)), see(DIALS)) for position, meta in enumerate(NAMES)},
        "two wrong": make(dial("bad-and-too-long", amount=0, either=11, source={})),
        "all wrong": make(dial("bad", amount="x", share=200, word="no", strict={"git": "a", "image": "b"}, map={})),
        "ratcheting": (*FIRST, change("one", {"spec": {"source": {}}}), change("one", {"spec": {"word": "other"}})),
        **{
            f"{version} {selector}": (*FIRST, see(f"{path}?fieldSelector={selector.replace('=', '%3D').replace('!', '%21')}"))
            for version, path in (("v1", DIALS), ("v2", NEWER))
            for selector in SELECTED
        },
        "deletecollection by a field": (*FIRST, Step("DELETE", f"{NEWER}?fieldSelector=spec.word%3Dword", None, {}), see(DIALS)),
        "table": (*FIRST, see(DIALS, "application/json;as=Table;g=meta.k8s.io;v=v1")),
        "both versions": (*FIRST, see(NEWER), make(dial("three", version="v2", word="abc"), NEWER), see(f"{DIALS}/three")),
        "what is not served, in a body": make(dial(version="v0")),
        "resources": (see("/apis/{g}/v1"), see("/apis/{g}/v2"), see("/apis/{g}/v1beta1")),
    }
)  # fmt: skip
