"""Kinds with rules, for ``extapi serve tests.kubernetes.rulekinds:api``, and the same as custom resources.

The first four have the patterns of immutability that Kubernetes' documentation shows; a Timetable has its examples of rules,
and a Banquet is a pizza.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from extapi import Api, Group, Kind, ListMap, ListSet, MaxItems, MaxLength, MaxProperties, Object, Rule, Struct, Version
from extapi.pizza.v1beta1 import Pizza
from extapi.schema.compile import compile_type

OURS = "stable.example.com"
THEIRS = "custom.example.com"
"""As long as the other name."""

SET_ONCE = Rule("!has(oldSelf.value) || has(self.value)", message="Value is required once set")
IMMUTABLE = Rule("self == oldSelf", message="Value is immutable")


@SET_ONCE
class ImmutableSinceFirstWrite(Object):
    """Its value can be set later, but once only."""

    value: Annotated[str | None, MaxLength(512), IMMUTABLE] = None


class ImmutableSinceCreation(Object):
    """Its value stays as it was created."""

    value: Annotated[str, MaxLength(512), IMMUTABLE]


class Container(Struct):
    """An item of a list."""

    name: str
    image: str = ""


@SET_ONCE
class AppendOnlyList(Object):
    """No item can be removed."""

    value: Annotated[
        list[Container] | None, MaxItems(100), Rule("oldSelf.all(x, x in self)", message="Values may only be added")
    ] = None


KEYS = Rule(
    "oldSelf.all(key, key in self && self[key] == oldSelf[key])",
    message="Keys may not be removed and their values must stay the same",
)


@Rule("!has(oldSelf.values) || has(self.values)", message="Value is required once set")
class MapAppendOnlyKeys(Object):
    """No key can be removed or changed."""

    values: Annotated[dict[str, str] | None, MaxProperties(10), KEYS] = None


Short = Annotated[str, MaxLength(20)]


class Named(Struct):
    """An item with a name."""

    name: Short
    value: Short = ""


@Rule("self.minReplicas <= self.replicas", message="replicas should be greater than or equal to minReplicas.")
@Rule("self.replicas <= self.maxReplicas", message="replicas should be smaller than or equal to maxReplicas.")
@Rule("!has(self.states) || 'Available' in self.states", reason="FieldValueRequired", field_path=".states")
@Rule(
    "!has(self.health) || self.health.startsWith('ok')",
    field_path=".health",
    message_expression="self.health + ' is not ok'",
)
@Rule("!has(self.left) || !has(self.right) || self.left.all(e, !(e in self.right))", message="left and right overlap")
@Rule(
    "!has(self.primary) || !has(self.envars) || self.envars.filter(e, e.name == self.primary).size() == 1",
    message="primary is not there",
)
class TimetableSpec(Struct):
    """Fields for the examples."""

    minReplicas: int  # noqa: N815 - as in JSON
    replicas: int
    maxReplicas: int  # noqa: N815
    limit: Annotated[int | None, Rule("self < 1000")] = None
    states: Annotated[dict[str, int] | None, MaxProperties(10)] = None
    health: Short | None = None
    left: Annotated[list[Short] | None, ListSet(), MaxItems(10)] = None
    right: Annotated[list[Short] | None, ListSet(), MaxItems(10)] = None
    primary: Short | None = None
    envars: Annotated[
        list[Annotated[Named, Rule("self.name != 'MY_ENV' || self.value.matches('^[a-zA-Z]*$')")]] | None,
        ListMap("name"),
        MaxItems(10),
    ] = None
    level: Annotated[
        str,
        MaxLength(10),
        Rule("!(self == 'high' && oldSelf == 'low')", message="cannot transition directly between 'low' and 'high'"),
    ] = "low"
    prefix: Short | None = None


@Rule("!has(self.spec.prefix) || self.metadata.name.startsWith(self.spec.prefix)")
class Timetable(Object):
    """Rules about several fields."""

    spec: TimetableSpec


class Banquet(Pizza):
    """A pizza for many."""


TYPES: tuple[type[Object], ...] = (
    ImmutableSinceFirstWrite,
    ImmutableSinceCreation,
    AppendOnlyList,
    MapAppendOnlyKeys,
    Timetable,
    Banquet,
)
KINDS = [Kind(each.__name__, storage="v1", versions={"v1": Version(each)}, status=False) for each in TYPES]
api = Api(Group(OURS, *KINDS))


def definition(plural: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A CustomResourceDefinition in the group of theirs."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{THEIRS}"},
        "spec": {
            "group": THEIRS,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


def definitions() -> Iterator[dict[str, Any]]:
    """A CustomResourceDefinition of each kind."""
    for kind, each in zip(KINDS, TYPES, strict=True):
        yield definition(kind.plural, kind.name, compile_type(each).to_openapi())
