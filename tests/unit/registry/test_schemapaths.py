"""Columns and parts that no object of a version could ever fill."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from extapi import CLUSTER, Api, Column, Group, Kind, Object, Struct, Subresource, Version
from extapi.api.declaration import DeclarationError
from extapi.api.markers import EmbeddedResource, PreserveUnknown
from extapi.registry.kinds import serve_kinds


class Condition(Struct):
    type: str
    status: str = ""


class Spec(Struct):
    size: int = 1
    ratio: float = 1.0
    ready: bool = False
    since: str = ""
    port: int | str = 0
    names: list[str] = []  # noqa: RUF012 - a field
    labels: dict[str, str] = {}  # noqa: RUF012 - a field
    free: dict[str, Any] = {}  # noqa: RUF012 - a field
    anything: Any = None
    embedded: Annotated[dict[str, Any], EmbeddedResource(), PreserveUnknown()] = {}  # noqa: RUF012 - a field
    conditions: list[Condition] = []  # noqa: RUF012 - a field
    open: Annotated[Condition | None, PreserveUnknown()] = None


class Thing(Object):
    spec: Spec = Spec()


def problems(column: Column, form: Any = Thing, **given: Any) -> list[str]:
    kind = Kind("Thing", storage="v1", scope=CLUSTER, versions={"v1": Version(form)}, columns=[column], **given)
    try:
        serve_kinds(Api(Group("a.example.com", kind)))
    except DeclarationError as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize(
    "path",
    [
        ".spec.size",
        "{.spec.size}",
        ".spec['size']",
        ".metadata.creationTimestamp",
        ".metadata.labels.app",
        ".metadata.ownerReferences[0].name",
        ".apiVersion",
        ".spec.names[*]",
        ".spec.names[0:2]",
        ".spec.labels.any",
        ".spec.labels['a.b/c']",
        ".spec.free.any.thing[0]",
        ".spec.anything.at.all",
        ".spec.embedded.metadata.name",
        ".spec.embedded.spec.x",
        ".spec.open.more",
        '.spec.conditions[?(@.type=="Ready")].status',
        "..status",
        "..whatever",
        ".spec.*",
        ".spec.conditions[*].type",
    ],
)
def test_a_path_that_may_lead_somewhere_is_taken(path: str) -> None:
    assert problems(Column("X", path)) == []


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".spec.sise", "leads nowhere: there is no 'sise'; did you mean 'size'?"),
        (".spek.size", "leads nowhere: there is no 'spek'; did you mean 'spec'?"),
        (".metadata.creationTimestmap", "leads nowhere: there is no 'creationTimestmap'; did you mean 'creationTimestamp'?"),
        (".spec.size.x", "leads nowhere: there is no 'x'"),
        (".spec.size[0]", "leads nowhere: there is no list"),
        (".spec.size.*", "leads nowhere: there is nothing below"),
        (".spec.conditions.type", "leads nowhere: there is no 'type'"),
        (".spec.conditions[0].state", "leads nowhere: there is no 'state'; did you mean 'status'?"),
        ('.spec.conditions[?(@.typ=="Ready")].status', "never holds: there is no 'typ'; did you mean 'type'?"),
    ],
)  # fmt: skip
def test_a_path_that_leads_nowhere_is_refused(path: str, why: str) -> None:
    assert problems(Column("X", path)) == [f"kind Thing: version v1: column X: {path} {why}"]


@pytest.mark.parametrize(
    ("kind", "field", "fits"),
    [
        ("integer", "size", True),
        ("integer", "ratio", True),
        ("integer", "port", True),
        ("integer", "anything", True),
        ("integer", "since", False),
        ("number", "size", True),
        ("boolean", "ready", True),
        ("boolean", "size", False),
        ("date", "since", True),
        ("date", "size", False),
        ("string", "conditions", True),
    ],
)
def test_a_column_of_a_type_that_never_shows_the_field_is_refused(kind: str, field: str, fits: bool) -> None:
    found = problems(Column("X", f".spec.{field}", kind))
    assert (found == []) is fits
    assert all(f"and a column of type {kind} shows none of that" in problem for problem in found)


def test_a_path_that_cannot_be_read_is_refused() -> None:
    assert problems(Column("X", ".spec[")) == [
        'kind Thing: version v1: column X: unrecognized column definition ".spec["'
    ]


def test_columns_of_several_versions_are_looked_at_in_each() -> None:
    class Old(Object):
        size: int = 0

    def to_hub(old: Old) -> Thing:
        return Thing(spec=Spec(size=old.size))

    def from_hub(thing: Thing) -> Old:
        return Old(size=thing.spec.size)

    def kind(**given: Any) -> Api:
        versions = {"v1": Version(Thing), "v1alpha1": Version(Old, to_hub=to_hub, from_hub=from_hub, **given)}
        columns = [Column("Size", ".spec.size", "integer")]
        return Api(Group("a.example.com", Kind("Thing", storage="v1", hub=Thing, versions=versions, columns=columns)))

    with pytest.raises(DeclarationError) as caught:
        serve_kinds(kind())
    assert str(caught.value) == (
        "kind Thing: version v1alpha1: column Size: .spec.size leads nowhere: there is no 'spec' beside size, apiVersion, kind, "
        "metadata; give version v1alpha1 columns= of its own"
    )
    assert serve_kinds(kind(columns=[Column("Size", ".size", "integer")]))


READY = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}


def test_columns_of_a_ready_schema_are_as_those_of_a_crd() -> None:
    """kube-apiserver takes every path that it can read (``apiextensions`` ValidateCustomResourceColumnDefinition)."""
    assert problems(Column("X", ".spec.b"), READY) == []
    assert problems(Column("X", ".spec["), READY) != []


def test_a_ready_schema_is_judged_as_that_of_a_crd() -> None:
    broken = {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}, "b": {"type": "odd"}}}
    assert [
        problem.partition(": Invalid")[0].partition(": Uns")[0] for problem in problems(Column("X", ".a"), broken)
    ] == [
        "kind Thing: version v1: properties[a].pattern",
        "kind Thing: version v1: properties[b].type",
    ]
    assert problems(Column("X", ".a"), {"type": 5}) == ["kind Thing: version v1: type: must be a string"]


def test_a_subresource_of_a_field_that_no_version_has_is_refused() -> None:
    column = Column("X", ".spec.size")
    assert problems(column, subresources={"seal": Subresource(field="spek")}) == [
        "kind Thing: subresource seal: there is no 'spek'; did you mean 'spec'?"
    ]
    assert problems(column, subresources={"seal": Subresource(field="spec")}) == []


def test_the_type_of_a_subresource_is_compiled_with_the_others() -> None:
    class Ticket(Object):
        price: complex

    class Sells:
        async def create(self, asked: Any, obj: Any) -> Any:
            return obj

    ticket = Subresource(rest=Sells(), kind="Ticket", type=Ticket)
    found = problems(Column("X", ".spec.sise"), subresources={"ticket": ticket})
    assert len(found) == 1  # the kind's own mistakes first
    found = problems(Column("X", ".spec.size"), subresources={"ticket": ticket})
    assert found[0].startswith("Ticket.price: complex has no structural schema")
