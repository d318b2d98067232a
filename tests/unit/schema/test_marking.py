"""Junctors, and bounds on what is int or string: types come out as the manifests that kube-apiserver takes."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from extapi import Api, Group, Kind, Version
from extapi.api import markers as m
from extapi.api.declaration import DeclarationError
from extapi.api.types import Object, ObjectMeta, Struct
from extapi.schema.check import check
from extapi.schema.compile import compile_type
from extapi.schema.schema import Schema
from extapi.schema.structural import from_openapi
from extapi.testing import serve


class Image(Struct):
    tag: str | None = None


class Source(Struct):
    kind: str | None = None
    git: str | None = None
    image: Image | None = None
    ports: list[int] | None = None


SOURCE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"type": "string"},
        "git": {"type": "string"},
        "image": {"type": "object", "properties": {"tag": {"type": "string"}}},
        "ports": {"type": "array", "items": {"type": "integer", "format": "int64"}},
    },
}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}

CASES = [
    (Annotated[int | str, m.Maximum(10), m.Minimum(1)], {**INT_OR_STRING, "maximum": 10, "minimum": 1}),
    (Annotated[int | str, m.Pattern("^[0-9]+%$")], {**INT_OR_STRING, "pattern": "^[0-9]+%$"}),
    (
        Annotated[int | str, m.AnyOf(m.Maximum(10), (m.Pattern("^a"), m.MaxLength(3)))],
        {**INT_OR_STRING, "anyOf": [{"maximum": 10}, {"pattern": "^a", "maxLength": 3}]},
    ),
    (
        Annotated[int, m.AllOf(m.Minimum(1), m.Not(m.OneOf((7,))))],
        {"type": "integer", "format": "int64", "allOf": [{"minimum": 1}, {"not": {"enum": [7]}}]},
    ),
    (Annotated[int, m.Format("")], {"type": "integer"}),
    (Annotated[float, m.Format(""), m.Minimum(0)], {"type": "number", "minimum": 0}),
    (
        Annotated[Source, m.ExactlyOneOf(m.Required("git"), m.Required("image"))],
        {**SOURCE, "oneOf": [{"required": ["git"]}, {"required": ["image"]}]},
    ),
    (
        Annotated[
            Source,
            m.AnyOf(
                (m.Property("kind", m.OneOf(("git",))), m.Required("kind", "git")),
                m.Property("image", m.Property("tag", m.MinLength(1)), m.Required("tag")),
            ),
            m.Not(m.Required("git"), m.Required("image")),
            m.AllOf(m.Property("ports", m.Items(m.Maximum(9)), m.MinItems(1))),
        ],
        {
            **SOURCE,
            "anyOf": [
                {"required": ["kind", "git"], "properties": {"kind": {"enum": ["git"]}}},
                {"properties": {"image": {"required": ["tag"], "properties": {"tag": {"minLength": 1}}}}},
            ],
            "not": {"required": ["git", "image"]},
            "allOf": [{"properties": {"ports": {"minItems": 1, "items": {"maximum": 9}}}}],
        },
    ),
    (Annotated[Source, m.Required("kind")], {**SOURCE, "required": ["kind"]}),
    (
        Annotated[dict[str, str], m.Required("a"), m.AnyOf(m.Required("b"), m.MaxProperties(1))],
        {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "required": ["a"],
            "anyOf": [{"required": ["b"]}, {"maxProperties": 1}],
        },
    ),
    (
        Annotated[list[str], m.AnyOf(m.Items(m.Pattern("^a")), m.MinItems(3))],
        {
            "type": "array",
            "items": {"type": "string"},
            "anyOf": [{"items": {"pattern": "^a"}}, {"minItems": 3}],
        },
    ),
    (
        Annotated[Any, m.AnyOf(m.Minimum(1), m.Pattern("^a"))],
        {"x-kubernetes-preserve-unknown-fields": True, "anyOf": [{"minimum": 1}, {"pattern": "^a"}]},
    ),
]


def thing(annotation: Any) -> type[Object]:
    return type("Thing", (Object,), {"__annotations__": {"field": annotation}})


@pytest.mark.parametrize(("annotation", "schema"), CASES)
def test_a_type_is_the_schema_of_a_manifest(annotation: Any, schema: dict[str, Any]) -> None:
    """As trees, not only as data: a ready schema and a type are the same to the server."""
    ready = from_openapi({"type": "object", "required": ["field"], "properties": {"field": schema}})
    assert check(ready) == []
    assert compile_type(thing(annotation)) == ready


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (Annotated[int | str, m.Maximum(10), m.Pattern("^a")], [10, "abc", -5], [11, "b"]),
        (Annotated[int | str, m.AnyOf(m.Maximum(10), m.Pattern("^a"))], [11, 10, "abc", "b"], [1.5, True]),
        (Annotated[str, m.Not(m.Pattern("^a"))], ["b"], ["a"]),
        (Annotated[int, m.ExactlyOneOf(m.Minimum(5), m.Maximum(10))], [4, 11], [5, 10]),
        (
            Annotated[Source, m.ExactlyOneOf(m.Required("git"), m.Required("image"))],
            [{"git": "x"}, {"image": {}}],
            [{}, {"git": "x", "image": {}}],
        ),
    ],
)
def test_they_hold(annotation: Any, good: list[Any], bad: list[Any]) -> None:
    """``maximum`` says nothing of strings, nor ``pattern`` of numbers: with both in ``anyOf``, one of them is met always."""
    schema = Schema(compile_type(thing(annotation)))
    assert [value for value in good if schema.validate({"field": value})] == []
    assert [value for value in bad if not schema.validate({"field": value})] == []


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (
            Annotated[Source, m.Property("git", m.MinLength(1))],
            r"Thing.field: Property cannot stand alone; write AllOf\(",
        ),
        (Annotated[list[int], m.Items(m.Minimum(1))], r"Thing.field: Items cannot stand alone; write AllOf\(Items"),
        (Annotated[int, m.AnyOf(m.MinLength(1))], "Thing.field: AnyOf: MinLength is for str; move it"),
        (Annotated[int, m.AnyOf()], "Thing.field: AnyOf is empty"),
        (Annotated[int, m.AnyOf(m.Nullable())], "Thing.field: AnyOf: Nullable is not allowed inside; put it beside"),
        (Annotated[int, m.AllOf(m.Default(1))], "Thing.field: AllOf: Default is not allowed inside"),
        (Annotated[int, m.AnyOf((1, 2))], "Thing.field: AnyOf takes markers, and 1 is not one"),  # type: ignore[arg-type]  # what an author may write
        (
            Annotated[int, m.AnyOf(m.Minimum(1)), m.AnyOf(m.Maximum(5))],
            r"Thing.field: AnyOf occurs twice; write AllOf\(AnyOf\(...\), AnyOf\(...\)\)",
        ),
        (Annotated[int, m.Not(m.Minimum(1)), m.Not(m.Maximum(5))], "Thing.field: Not occurs twice"),
        (
            Annotated[Source, m.AnyOf(m.Required("gut"))],
            "Thing.field: AnyOf: Required: there is no field 'gut'; its fields are kind, git, image, ports in JSON",
        ),
        (Annotated[dict[str, str], m.Required()], r"Thing.field: Required takes names; write Required\('a', 'b'\)"),
        (Annotated[dict[str, str], m.Required(("a",))], "Thing.field: Required takes names"),  # type: ignore[arg-type]  # what an author may write
        (Annotated[Source, m.Required("gut")], "Thing.field: Required: there is no field 'gut'"),
        (Annotated[Source, m.Not(m.Property("x"))], "Thing.field: Not: Property: there is no field 'x'"),
        (Annotated[dict[str, str], m.Not(m.Property("x"))], "Thing.field: Not: Property: .*; it has no fields"),
        (
            Annotated[Source, m.AllOf((m.Property("git"), m.Property("git")))],
            r"Thing.field: AllOf: Property\('git'\) occurs twice",
        ),
        (Annotated[Source, m.AllOf(m.Property("git", m.Minimum(1)))], r"AllOf: Property\('git'\): Minimum is for int"),
        (Annotated[Any, m.AnyOf(m.Items(m.Minimum(1)))], "Thing.field: AnyOf: Items needs a list whose items"),
    ],
)
def test_what_has_no_place_is_refused(annotation: Any, text: str) -> None:
    with pytest.raises(DeclarationError, match=text):
        compile_type(thing(annotation))


def named(*markers: Any) -> type[Object]:
    return type(
        "Thing", (Object,), {"__annotations__": {"metadata": Annotated[ObjectMeta, *markers]}, "metadata": ObjectMeta()}
    )


def test_rules_on_names_are_those_of_a_manifest() -> None:
    made = compile_type(
        named(
            m.Property("name", m.MaxLength(8), m.Not(m.Pattern("^bad"))),
            m.Property("generateName", m.Pattern("^ok")),
            "x",
        )
    )
    names = {
        "name": {"type": "string", "maxLength": 8, "not": {"pattern": "^bad"}},
        "generateName": {"type": "string", "pattern": "^ok"},
    }
    ready = from_openapi({"type": "object", "properties": {"metadata": {"type": "object", "properties": names}}})
    assert check(ready) == []
    assert made == ready
    assert [
        error.text() for error in Schema(made).validate({"metadata": {"name": "bad-and-long", "generateName": "no"}})
    ] == [
        '<nil>: Invalid value: "": "metadata.name" must not validate the schema (not)',
        "metadata.name: Too long: may not be more than 8 bytes",
        "metadata.generateName: Invalid value: \"no\": metadata.generateName in body should match '^ok'",
    ]


def test_an_annotation_without_markers_says_nothing_of_metadata() -> None:
    assert "metadata" not in compile_type(named("a foreign annotation")).properties


def test_a_generated_name_is_judged_as_it_was_made() -> None:
    """The rule on ``name`` holds for what the server has made of ``generateName`` (observed on 1.36.3)."""
    kind = Kind("Thing", storage="v1", versions={"v1": Version(named(m.Property("name", m.MaxLength(8))))})
    with serve(Api(Group("names.example.com", kind))) as server:
        path = "/apis/names.example.com/v1/namespaces/default/things"
        body = {"apiVersion": "names.example.com/v1", "kind": "Thing"}
        assert server.request("POST", path, body=body | {"metadata": {"generateName": "abc"}}).status == 201
        refused = server.request("POST", path, body=body | {"metadata": {"generateName": "abcd"}})
        assert refused.status == 422
        (cause,) = refused.json()["details"]["causes"]
        assert (cause["field"], cause["reason"]) == ("metadata.name", "FieldValueTooLong")
        assert server.request("GET", f"{path}").json()["items"][0]["metadata"]["name"].startswith("abc")


@pytest.mark.parametrize(
    "marker",
    [m.Description("x"), m.MaxProperties(3), m.Property("labels", m.MaxProperties(3)), m.Required("name"), m.AllOf()],
)
def test_a_schema_says_nothing_else_of_metadata(marker: Any) -> None:
    with pytest.raises(
        DeclarationError, match=r"Thing.metadata: a schema can constrain only the names in metadata; write Property\("
    ):
        compile_type(named(marker))


def test_rules_on_names_stand_on_the_type_of_names() -> None:
    with pytest.raises(DeclarationError, match=r"Thing.metadata: Property\('name'\): Minimum is for int"):
        compile_type(named(m.Property("name", m.Minimum(1))))
    with pytest.raises(ValueError, match=r"must not be set in top-level metadata"):
        compile_type(named(m.Property("name", m.Default("x"))))
