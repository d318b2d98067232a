"""Versions without a hub: what a change of apiVersion alone would lose, in words an author understands."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from extapi import Api, Group, Kind, Object, Struct, Version
from extapi.api.declaration import DeclarationError
from extapi.api.markers import Description, Format, Maximum, MinLength, Nullable, PreserveUnknown
from extapi.conversion.difference import Difference
from extapi.registry.kinds import serve_kinds
from extapi.schema.compile import compile_type
from extapi.testing import serve


class Spec(Struct):
    size: int = 1
    name: str | None = None
    mode: Literal["a", "b"] = "a"
    items: list[str] = []  # noqa: RUF012 - a field
    labels: dict[str, int] = {}  # noqa: RUF012 - a field


class Thing(Object):
    spec: Spec = Spec()


def against(**fields: Any) -> list[str]:
    """What differs between Thing and the same with other fields; None: without it."""
    annotations = {name: field for name, field in Spec.__annotations__.items() if name not in fields}
    defaults = {name: getattr(Spec(), name) for name in annotations}
    other = {name: field for name, field in fields.items() if field is not None}
    made = {name: field[1] for name, field in other.items() if isinstance(field, tuple)}
    read = {name: field[0] if isinstance(field, tuple) else field for name, field in other.items()}
    module = {"__module__": __name__}
    spec = type("OtherSpec", (Struct,), {"__annotations__": {**annotations, **read}, **defaults, **made, **module})
    form = type(
        "Other", (Object,), {"__annotations__": {"spec": spec}, "spec": spec() if len(made) == len(read) else None}
    )
    one, other_schema = compile_type(Thing), compile_type(form)
    return list(Difference("v1", "v2").between(one.properties["spec"], other_schema.properties["spec"], "spec"))


@pytest.mark.parametrize(
    ("fields", "differences"),
    [
        ({}, []),
        ({"size": None}, ["spec.size is only in v1"]),
        ({"extra": (bool, False)}, ["spec.extra is only in v2"]),
        ({"size": (str, "")}, ["spec.size is integer (int64) in v1 and string in v2"]),
        ({"size": (Annotated[int, Format("int32")], 1)}, ["spec.size is integer (int64) in v1 and integer (int32) in v2"]),
        ({"size": (int | str, 1)}, ["spec.size is integer (int64) in v1 and an integer or a string in v2"]),
        ({"size": (Any, 1)}, ["spec.size is integer (int64) in v1 and anything in v2"]),
        ({"name": (Annotated[str | None, Nullable()], None)}, ["spec.name may be null only in v2"]),
        ({"mode": (Literal["a", "c"], "a")}, ['spec.mode may be "b" only in v1', 'spec.mode may be "c" only in v2']),
        ({"mode": (str, "a")}, ["spec.mode may have any value only in v2"]),
        ({"items": (list[int], [])}, ["spec.items[] is string in v1 and integer (int64) in v2"]),
        ({"labels": (dict[str, str], {})}, ["spec.labels{} is integer (int64) in v1 and string in v2"]),
        ({"labels": (dict[str, Any], {})}, ["spec.labels is object with any keys in v1 and object with unknown fields in v2"]),
        ({"name": str}, ["spec.name is required only in v2"]),
        # Harmless: other texts, limits and defaults, and a field that a default fills in.
        ({"size": (Annotated[int, Maximum(5), Description("how large")], 3)}, []),
        ({"name": (Annotated[str | None, MinLength(2)], None)}, []),
        ({"size": int}, []),
    ],
)  # fmt: skip
def test_differences_are_named_by_field(fields: dict[str, Any], differences: list[str]) -> None:
    assert against(**fields) == differences


class Renamed(Object):
    """The same schema, and another class."""

    spec: Spec = Spec()


class Other(Object):
    spec: Spec = Spec()
    extra: str = ""


def kind(**versions: Version) -> Kind:
    return Kind("Thing", storage="v1", status=False, versions=versions)


def test_a_write_that_would_lose_data_in_silence_is_refused_at_start() -> None:
    with pytest.raises(DeclarationError) as caught:
        serve_kinds(Api(Group("a.example.com", kind(v1=Version(Thing), v2=Version(Other)))))
    assert str(caught.value) == (
        "kind Thing: versions v1 and v2 differ, and without a hub a write through one loses or breaks what the other says: "
        "extra is only in v2. Write hub= with to_hub and from_hub of each version, or give both the same fields"
    )


def test_many_differences_are_counted() -> None:
    fields = {f"field{index}": str for index in range(20)}
    large = type("Large", (Object,), {"__annotations__": fields, "spec": Spec(), "__module__": __name__})
    with pytest.raises(DeclarationError, match=r"field10 is only in v2; and 9 more\. Write hub="):
        serve_kinds(Api(Group("a.example.com", kind(v1=Version(Thing), v2=Version(large)))))


def test_other_classes_with_the_same_fields_are_one_form() -> None:
    path = "/apis/a.example.com/{}/namespaces/default/things"
    with serve(Api(Group("a.example.com", kind(v1=Version(Thing), v2=Version(Renamed))))) as server:
        body = {"apiVersion": "a.example.com/v2", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": 7}}
        assert server.request("POST", path.format("v2"), body=body).status == 201
        assert server.request("GET", path.format("v1") + "/a").json()["spec"]["size"] == 7


def test_ready_schemas_may_differ_as_those_of_a_crd() -> None:
    """The strategy None of a CRD (``apiextensions-apiserver`` nopConverter): each version prunes what it does not know."""
    one = {"type": "object", "properties": {"a": {"type": "string"}}}
    other = {"type": "object", "properties": {"b": {"type": "string"}}}
    assert serve_kinds(Api(Group("a.example.com", kind(v1=Version(one), v2=Version(other)))))


class Open(Object):
    spec: Annotated[Spec, PreserveUnknown()] = Spec()


def test_what_keeps_unknown_fields_differs_from_what_does_not() -> None:
    with pytest.raises(DeclarationError, match="spec is object in v1 and object with unknown fields in v2"):
        serve_kinds(Api(Group("a.example.com", kind(v1=Version(Thing), v2=Version(Open)))))
