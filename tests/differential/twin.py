"""Some kinds with something of everything, served twice: by us, and by kube-apiserver as custom resources.

The custom resource definitions are made of the schemas that the Python types are compiled to, so that both sides enforce
the same rules. ``extapi serve tests.differential.twin:api`` serves ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from extapi import (
    CLUSTER,
    Api,
    Column,
    EmbeddedResource,
    Format,
    Group,
    IntOrString,
    Kind,
    ListMap,
    ListSet,
    Maximum,
    MaxItems,
    MaxLength,
    MaxProperties,
    Minimum,
    MinItems,
    MinLength,
    MinProperties,
    MultipleOf,
    Nullable,
    Object,
    Pattern,
    PreserveUnknown,
    Struct,
    Version,
)
from extapi.crd.export import export_kind
from tests.differential.dial import DIAL
from tests.differential.ruling import GAUGE
from tests.differential.scaling import FLOCK

OURS = "ours.differential.test"
THEIRS = "kube.differential.test"
"""As long as the other name: errors quote the first bytes of a body, and tables have widths."""


class Part(Struct):
    """An item of a list that is a map."""

    name: Annotated[str, MinLength(1)]
    count: int = 1
    note: str | None = None


class Depth(Struct):
    """An object in an object, with a default inside."""

    mode: Literal["slow", "fast"] = "slow"
    level: Annotated[int | None, Minimum(0), Maximum(9)] = None


class ProbeSpec(Struct):
    """One field of each sort."""

    size: Annotated[int, Minimum(1), Maximum(100)]
    text: Annotated[str | None, MinLength(2), MaxLength(8)] = None
    code: Annotated[str | None, Pattern("^[a-z]+$")] = None
    on: bool | None = None
    weight: Annotated[float | None, Minimum(0, exclusive=True), Maximum(10, exclusive=True)] = None
    even: Annotated[int | None, MultipleOf(2)] = None
    small: Annotated[int | None, Format("int32")] = None
    color: Literal["red", "green"] = "red"
    level: Literal[1, 2] | None = None
    tags: Annotated[list[str] | None, ListSet(), MaxItems(3)] = None
    parts: Annotated[list[Part] | None, ListMap("name")] = None
    plain: Annotated[list[int] | None, MinItems(1)] = None
    labels: Annotated[dict[str, str] | None, MinProperties(1), MaxProperties(2)] = None
    maybe: Annotated[str | None, Nullable()] = None
    port: Annotated[int | str | None, IntOrString()] = None
    free: Annotated[dict[str, Any] | None, PreserveUnknown()] = None
    inner: Annotated[dict[str, Any] | None, EmbeddedResource(), PreserveUnknown()] = None
    deep: Depth = Depth()
    when: Annotated[str | None, Format("date-time")] = None
    address: Annotated[str | None, Format("ipv4")] = None
    bits: Annotated[str | None, Format("byte")] = None


class ProbeStatus(Struct):
    """What was found out."""

    ready: bool | None = None
    seen: Annotated[int | None, Minimum(0)] = None


class Probe(Object):
    """A namespaced kind."""

    spec: ProbeSpec
    status: ProbeStatus | None = None


class Beacon(Object):
    """A kind of the cluster, without a status subresource."""

    size: int | None = None
    status: ProbeStatus | None = None


COLUMNS = [
    Column("Size", ".spec.size", "integer", description="How large."),
    Column("Ready", ".status.ready", "boolean"),
    Column("Part", ".spec.parts[0].name", priority=1),
    Column("Weight", ".spec.weight", "number"),
    Column("Code", ".spec.port", "integer"),
    Column("Whole", ".spec.free.x", "integer", priority=1),
    Column("Real", ".spec.free.x", "number", priority=1),
    Column("Words", ".spec.free.x", priority=1),
    Column("Truth", ".spec.free.x", "boolean", priority=1),
    Column("Since", ".spec.free.x", "date", priority=1),
    Column("Age", ".metadata.creationTimestamp", "date"),
]

SELECTABLE = [".spec.color", ".spec.even", ".spec.on", ".spec.deep.mode"]

PROBE = Kind(
    "Probe",
    short_names=["pb"],
    categories=["twins"],
    storage="v1",
    versions={"v1": Version(Probe), "v1beta1": Version(Probe, deprecated=True, columns=[])},
    columns=COLUMNS,
    selectable=SELECTABLE,
)
BEACON = Kind("Beacon", scope=CLUSTER, storage="v1", versions={"v1": Version(Beacon)}, status=False)


def knob(defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of one version of a knob: the same fields in each, and other defaults."""
    fields = {name: {"type": "integer"} for name in ("low", "high", "step")}
    spec = {
        name: {**schema, "default": defaults[name]} if name in defaults else schema for name, schema in fields.items()
    }
    parts = {"type": "array", "items": {"type": "object", "properties": spec}}
    status = {
        "type": "object",
        "properties": {"seen": {"type": "integer", **({"default": 7} if "low" in defaults else {})}},
    }
    return {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "default": {}, "properties": {**spec, "parts": parts}},
            "status": status,
        },
    }


KNOB = Kind(
    "Knob",
    storage="v1",
    versions={
        "v1": Version(knob({"low": 1, "step": 10})),
        "v1beta1": Version(knob({"high": 2, "step": 20})),
    },
)
KINDS = (PROBE, BEACON, DIAL, KNOB, FLOCK, GAUGE)

api = Api(Group(OURS, *KINDS))


def definitions() -> Iterator[dict[str, Any]]:
    """A CustomResourceDefinition of each kind, in the group of theirs: as ``extapi crd export`` prints it."""
    for kind in KINDS:
        exported = export_kind(kind, THEIRS)
        if exported.manifest is None:
            raise ValueError(f"{exported.kind}: {'; '.join(exported.notes)}")
        yield exported.manifest
