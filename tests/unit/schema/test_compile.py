from __future__ import annotations

import datetime as dt
import decimal
import enum
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Dict, List, Literal, NewType  # noqa: UP035 - what authors still write

import msgspec
import pytest

from extapi import Api, Column, Group, Kind, Version
from extapi.api import markers as m
from extapi.api.declaration import DeclarationError, Problem
from extapi.api.rule import Rule
from extapi.api.types import Object, ObjectMeta, Struct
from extapi.schema.compile import compile_type
from extapi.schema.schema import Schema
from extapi.schema.structural import from_openapi
from extapi.testing import serve
from extapi.testing.roundtrip import check_round_trip

Percent = NewType("Percent", int)


class Size(enum.Enum):
    """How big."""

    SMALL = "small"
    LARGE = "large"


class Topping(Struct):
    """One kind of topping.

    And how much of it.
    """

    name: Annotated[str, m.MinLength(1)]
    quantity: Annotated[int, m.Minimum(1)] = 1


class PizzaSpec(Struct):
    toppings: Annotated[list[Topping], m.ListMap("name"), m.Description("What is on it.")] = msgspec.field(
        default_factory=lambda: [Topping(name=name) for name in ("tomato", "mozzarella", "salami")]
    )
    extra_notes: str | None = None
    tags: list[str] = []  # noqa: RUF012  msgspec copies it


class PizzaStatus(Struct):
    cost: str = ""


class Pizza(Object):
    """A pizza."""

    spec: PizzaSpec = msgspec.field(default_factory=PizzaSpec)
    status: PizzaStatus = msgspec.field(default_factory=PizzaStatus)


def test_the_pizza_of_the_design() -> None:
    assert compile_type(Pizza).to_openapi() == {
        "description": "A pizza.",
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "default": {},
                "properties": {
                    "toppings": {
                        "description": "What is on it.",
                        "type": "array",
                        "default": [{"name": "tomato"}, {"name": "mozzarella"}, {"name": "salami"}],
                        "items": {
                            "description": "One kind of topping.\n\nAnd how much of it.",
                            "type": "object",
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string", "minLength": 1},
                                "quantity": {"type": "integer", "format": "int64", "default": 1, "minimum": 1},
                            },
                        },
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                    },
                    "extraNotes": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
            },
            "status": {"type": "object", "properties": {"cost": {"type": "string", "default": ""}}},
        },
    }


@pytest.mark.parametrize("given", [{}, {"spec": None}, {"spec": {}}, {"spec": {"toppings": None}}])
def test_an_absent_and_a_null_spec_lead_to_the_default_toppings(given: dict[str, Any]) -> None:
    schema = Schema(compile_type(Pizza))
    assert schema.prune_and_default(given) == []
    names = ("tomato", "mozzarella", "salami")
    assert given == {"spec": {"toppings": [{"name": name, "quantity": 1} for name in names]}}
    assert schema.validate(given) == []


def one(annotation: Any, **default: Any) -> dict[str, Any]:
    """The schema of one field."""
    cls = type(
        "Thing",
        (Object,),
        {"__annotations__": {"field": annotation}, **({"field": default["default"]} if default else {})},
    )
    out = compile_type(cls).to_openapi()
    assert out.get("required", []) == ([] if default else ["field"])
    field: dict[str, Any] = out["properties"]["field"]
    return field


INT = {"type": "integer", "format": "int64"}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (int, INT),
        (float, {"type": "number", "format": "double"}),
        (bytes, {"type": "string", "format": "byte"}),
        (dt.datetime, {"type": "string", "format": "date-time"}),
        (dt.date, {"type": "string", "format": "date"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (dict, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (dict[str, int], {"type": "object", "additionalProperties": INT}),
        (Mapping[str, str], {"type": "object", "additionalProperties": {"type": "string"}}),
        (list[list[str]], {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}),
        (int | str, {"x-kubernetes-int-or-string": True}),
        (int | str | None, {"x-kubernetes-int-or-string": True}),
        (Annotated[Any, m.IntOrString()], {"x-kubernetes-int-or-string": True}),
        (Percent, INT),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2] | None, INT | {"enum": [1, 2]}),
        (Size, {"description": "How big.", "type": "string", "enum": ["small", "large"]}),
        (Annotated[str, m.Nullable()], {"type": "string", "nullable": True}),
        (Annotated[str | None, m.MaxLength(3), m.Pattern("^a")], {"type": "string", "maxLength": 3, "pattern": "^a"}),
        (Annotated[str, m.MaxLength(3)] | None, {"type": "string", "maxLength": 3}),
        (Annotated[int, m.Format("int32"), m.MultipleOf(2)], {"type": "integer", "format": "int32", "multipleOf": 2}),
        (
            Annotated[float, m.Minimum(0, exclusive=True), m.Maximum(1)],
            {"type": "number", "format": "double", "minimum": 0, "exclusiveMinimum": True, "maximum": 1},
        ),
        (Annotated[int, m.Maximum(1, exclusive=True)], INT | {"maximum": 1, "exclusiveMaximum": True}),
        (Annotated[str, m.OneOf(("a",)), "a foreign annotation"], {"type": "string", "enum": ["a"]}),
        (
            Annotated[list[Annotated[str, m.MinLength(1)]], m.MinItems(1), m.MaxItems(2), m.ListSet()],
            {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "maxItems": 2,
                "x-kubernetes-list-type": "set",
            },
        ),
        (
            Annotated[list[str], m.Atomic()],
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
        ),
        (
            Annotated[dict[str, str], m.Atomic(), m.MinProperties(1), m.MaxProperties(2)],
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "minProperties": 1,
                "maxProperties": 2,
                "x-kubernetes-map-type": "atomic",
            },
        ),
        (
            Annotated[dict[str, Any], m.EmbeddedResource(), m.PreserveUnknown()],
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-embedded-resource": True},
        ),
        (
            Annotated[Topping, m.PreserveUnknown(), m.Description("d")],
            {
                "description": "d",
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "quantity": INT | {"default": 1, "minimum": 1},
                },
                "x-kubernetes-preserve-unknown-fields": True,
            },
        ),
    ],
)
def test_annotations(annotation: Any, schema: dict[str, Any]) -> None:
    assert one(annotation) == schema


@pytest.mark.parametrize(
    ("annotation", "default", "wire"),
    [
        (int, 0, 0),
        (bool, False, False),
        (str, "", ""),
        (Size, Size.LARGE, "large"),
        (dt.date, dt.date(2020, 1, 2), "2020-01-02"),
        (list[str], msgspec.field(default_factory=lambda: ["a"]), ["a"]),
        (dict[str, int], msgspec.field(default_factory=lambda: {"a": 1}), {"a": 1}),
        (Topping, msgspec.field(default_factory=lambda: Topping(name="x")), {"name": "x"}),
        (Topping, msgspec.field(default_factory=lambda: Topping(name="x", quantity=2)), {"name": "x", "quantity": 2}),
    ],
)
def test_python_defaults(annotation: Any, default: Any, wire: Any) -> None:
    assert one(annotation, default=default)["default"] == wire


@pytest.mark.parametrize(
    ("annotation", "default"),
    [(str | None, None), (list[str], []), (dict[str, int], {}), (Annotated[str | None, m.Nullable()], None)],
)
def test_none_and_empty_containers_only_make_optional(annotation: Any, default: Any) -> None:
    assert "default" not in one(annotation, default=default)


class Odd(Struct):
    the_key: str = msgspec.field(default="x", name="the-key")


class OddSpec(Struct):
    dash_ed: str = msgspec.field(name="dash-ed", default="d")
    inside: Odd = msgspec.field(name="in side", default=Odd(the_key="y"))
    items: Annotated[list[Odd], m.ListMap("the-key")] = msgspec.field(name="x/items", default=[Odd(), Odd(the_key="z")])
    needed: int = msgspec.field(name="Needed")


class OddThing(Object):
    spec: OddSpec


def test_a_field_may_have_any_name_on_the_wire() -> None:
    key = {"type": "object", "properties": {"the-key": {"type": "string", "default": "x"}}}
    assert compile_type(OddThing).to_openapi()["properties"]["spec"] == {
        "type": "object",
        "required": ["Needed"],
        "properties": {
            "dash-ed": {"type": "string", "default": "d"},
            "in side": key | {"default": {"the-key": "y"}},
            "x/items": {
                "type": "array",
                "default": [{}, {"the-key": "z"}],
                "items": key,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["the-key"],
            },
            "Needed": INT,
        },
    }


def test_names_on_the_wire_go_through_errors_columns_selectors_and_conversion() -> None:
    """A differential twin (``tests/differential/dial.py``) has such fields too."""

    class Other(Object):
        spec: OddSpec

    versions = {
        "v1": Version(OddThing),
        "v2": Version(Other, to_hub=lambda o: OddThing(spec=o.spec), from_hub=lambda o: Other(spec=o.spec)),
    }
    columns = [
        Column("A", ".spec.dash-ed"),
        Column("B", ".spec['in side'].the-key"),
        Column("C", ".spec['x/items'][*].the-key"),
    ]
    kind = Kind(
        "Odd",
        storage="v1",
        hub=OddThing,
        versions=versions,
        columns=columns,
        selectable=[".spec.dash-ed", ".spec.Needed"],
    )
    check_round_trip(kind)
    with serve(Api(Group("odd.example.com", kind))) as server:
        path = "/apis/odd.example.com/{}/namespaces/default/odds"
        thing = {"apiVersion": "odd.example.com/v1", "kind": "Odd", "metadata": {"name": "a"}}
        refused = server.request("POST", path.format("v1"), body=thing | {"spec": {"dash-ed": 1, "in side": {}}})
        assert [cause["field"] for cause in refused.json()["details"]["causes"]] == ["spec.dash-ed", "spec.Needed"]
        made = server.request("POST", path.format("v1"), body=thing | {"spec": {"Needed": 1, "dashEd": "x"}})
        assert made.headers["warning"] == '299 - "unknown field \\"spec.dashEd\\""'
        spec = {
            "Needed": 1,
            "dash-ed": "d",
            "in side": {"the-key": "y"},
            "x/items": [{"the-key": "x"}, {"the-key": "z"}],
        }
        assert made.json()["spec"] == spec
        query = {"fieldSelector": "spec.dash-ed=d,spec.Needed=1"}
        assert [item["spec"] for item in server.request("GET", path.format("v2"), query).json()["items"]] == [spec]
        table = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
        (row,) = server.request("GET", path.format("v2"), {}, table).json()["rows"]
        assert row["cells"] == ["a", "d", "y", "x,z"]


def test_a_default_marker_makes_optional() -> None:
    class Thing(Object):
        field: Annotated[dict[str, Any], m.Default({"a": 1})]

    out = compile_type(Thing).to_openapi()
    assert out["properties"]["field"]["default"] == {"a": 1}
    assert "required" not in out


class Inner(Struct):
    status: PizzaStatus = msgspec.field(default_factory=PizzaStatus)


class Outer(Object):
    spec: Inner = msgspec.field(default_factory=Inner)
    status: PizzaStatus = msgspec.field(default_factory=PizzaStatus)


def test_status_is_left_absent_only_at_the_root() -> None:
    properties = compile_type(Outer).properties
    assert "default" not in properties["status"].to_openapi()
    assert properties["spec"].properties["status"].to_openapi()["default"] == {}


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (decimal.Decimal, r"Thing.field: Decimal has no structural schema; write Annotated\[str, Pattern"),
        (
            dt.timedelta,
            r'Thing.field: timedelta has no structural schema; write Annotated\[str, Format\("duration"\)\]',
        ),
        (dt.time, "Thing.field: time has no structural schema"),
        (list, r"Thing.field: list has no structural schema; write list\[...\] with the type of its items"),
        (set[str], r"Thing.field: set\[str\] has no structural schema; write Annotated\[list\[...\], ListSet\(\)\]"),
        (tuple[int, str], r"Thing.field: tuple\[int, str\] has no structural schema; write list\[...\]"),
        (None, "Thing.field: NoneType has no structural schema; a field that is always null"),
        (ObjectMeta, "Thing.field: ObjectMeta has no structural schema; metadata is possible only at the root"),
        (complex, "Thing.field: complex has no structural schema; write str, int"),
        (list[complex], r"Thing.field\[\]: complex has no structural schema"),
        (dict[str, list[complex]], r"Thing.field\[\]\[\]: complex"),
        (int | list[str], r"Thing.field: a union of int, list\[str\] has no structural schema; write one type"),
        (dict[int, str], r"Thing.field: keys of JSON objects are strings; write dict\[str, ...\]"),
        (Literal["a", 1], "Thing.field: the allowed values must be all strings or all integers"),
        (Annotated[int, m.MinLength(1)], "Thing.field: MinLength is for str; move it"),
        (Annotated[str, m.Minimum(1)], "Thing.field: Minimum is for int, float; move it"),
        (Annotated[list[str], m.MinLength(1)], "Thing.field: MinLength is for str; move it"),
        (
            Annotated[dict[str, str], m.PreserveUnknown()],
            r"Thing.field: PreserveUnknown keeps values of any type; write it on dict\[str, Any\]",
        ),
        (Annotated[int, msgspec.Meta(ge=1)], "Thing.field: msgspec.Meta is not supported; write markers of extapi"),
        (Annotated[str, m.Nullable], r"Thing.field: Nullable needs parentheses; write Nullable\(...\)"),
        (Annotated[str, m.Marker()], "Thing.field: Marker is not a marker of extapi"),
    ],
)
def test_what_has_no_schema_is_refused_with_what_to_write_instead(annotation: Any, text: str) -> None:
    with pytest.raises(DeclarationError, match=text):
        one(annotation)


def test_a_type_that_cannot_be_found_is_refused() -> None:
    class Hidden(Struct):
        pass

    class Thing(Object):
        spec: Hidden

    with pytest.raises(
        DeclarationError, match=r"Thing.spec: name 'Hidden' is not defined; define the types .* at the top of a module"
    ):
        compile_type(Thing)


def test_an_annotation_that_cannot_be_hashed_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"Thing.field: .* has no structural schema"):
        one(Callable[[list[Any]], int])


VALIDATIONS = "x-kubernetes-validations"


def test_rules_keep_their_order_and_say_only_what_was_written() -> None:
    full = Rule(
        "self == oldSelf.orValue('a')",
        message="no",
        message_expression="'no'",
        reason="FieldValueForbidden",
        optional_old_self=True,
    )
    assert one(Annotated[str, Rule("self != 'b'"), m.MaxLength(9), full])[VALIDATIONS] == [
        {"rule": "self != 'b'"},
        {
            "rule": "self == oldSelf.orValue('a')",
            "message": "no",
            "messageExpression": "'no'",
            "reason": "FieldValueForbidden",
            "optionalOldSelf": True,
        },
    ]


@Rule("self.low <= self.high", field_path=".low")
@Rule("self.low >= 0")
class Range(Struct):
    low: int = 0
    high: int = 1


@Rule("self.high < 100")
class Percentage(Range):
    step: int = 1


def test_rules_about_a_struct_are_those_of_its_bases_too() -> None:
    class Thing(Object):
        range: Range = Range()
        share: Annotated[Percentage, Rule("self.step > 0")] = Percentage()

    fields = compile_type(Thing).to_openapi()["properties"]
    of_range = [{"rule": "self.low <= self.high", "fieldPath": ".low"}, {"rule": "self.low >= 0"}]
    assert fields["range"][VALIDATIONS] == of_range
    assert fields["share"][VALIDATIONS] == [*of_range, {"rule": "self.high < 100"}, {"rule": "self.step > 0"}]
    assert Range(low=2) == Range(low=2)


@Rule("self.metadata.name == self.name")
class Named(Object):
    name: Annotated[str, m.MaxLength(20)]


def test_rules_about_a_whole_object_see_its_name() -> None:
    assert compile_type(Named).to_openapi()[VALIDATIONS] == [{"rule": "self.metadata.name == self.name"}]


class Short(Object):
    metadata: Annotated[ObjectMeta, m.Property("name", m.MaxLength(20), Rule("self != 'all'", message="is a word"))] = (
        ObjectMeta()
    )


def test_a_rule_about_names() -> None:
    schema = Schema(compile_type(Short))
    assert schema.rules is not None
    (error,) = schema.rules.validate({"metadata": {"name": "all"}}).errors
    assert error.text() == 'metadata.name: Invalid value: "all": is a word'


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        (Rule(""), "rule: Required value: rule is not specified"),
        (Rule("self == 'a'", message=" "), 'message: Invalid value: " ": must be non-empty if specified'),
        (
            Rule("self == 'a'", reason="Because"),
            (
                'reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", '
                '"FieldValueInvalid", "FieldValueRequired"'
            ),
        ),
        (Rule("self == 'a'", field_path=".b"), 'fieldPath: Invalid value: ".b": must be a valid path'),
        (
            Rule("self == 'a'", optional_old_self=True),
            "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
        (
            Rule("self == 1"),
            (
                'rule: Invalid value: {"Rule":"self == 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"",'
                "\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:6: found no matching overload for '_==_' applied to "
                "'(string, int)'\n | self == 1\n | .....^"
            ),
        ),
    ],
)
def test_a_wrong_rule_is_refused_with_class_and_field(rule: Rule, wanted: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        one(Annotated[str, m.MaxLength(9), rule])
    assert refused.value.problems == (f"Thing.field: x-kubernetes-validations[0].{wanted}",)


def test_a_wrong_rule_about_a_class_names_it() -> None:
    @Rule("self.nope > 1")
    class Thing(Object):
        field: int = 0

    with pytest.raises(DeclarationError, match=r"^Thing: x-kubernetes-validations\[0\].rule: .*undefined field 'nope'"):
        compile_type(Thing)


def test_a_rule_needs_a_value_whose_type_is_known() -> None:
    with pytest.raises(DeclarationError, match=r"Thing.field: Rule is for values whose type is known"):
        one(Annotated[Any, Rule("true")])


def test_rules_are_not_allowed_inside_of_alternatives() -> None:
    with pytest.raises(DeclarationError, match=r"Thing.field: AllOf: Rule is not allowed inside; put it beside"):
        one(Annotated[str, m.AllOf(Rule("true"))])


def test_a_default_must_keep_the_rules() -> None:
    with pytest.raises(DeclarationError) as refused:
        one(Annotated[str, m.MaxLength(9), Rule("self == 'a'", message="must be a")], default="b")
    assert refused.value.problems == ('Thing.field: default: Invalid value: "b": must be a',)


def test_two_defaults_are_refused() -> None:
    with pytest.raises(
        DeclarationError, match=r"Thing.field: has a Default marker and a Python default; write one of them"
    ):
        one(Annotated[str, m.Default("a")], default="b")


class Node(Struct):
    children: list[Node] = []  # noqa: RUF012  msgspec copies it


class Tree(Object):
    spec: Node = msgspec.field(default_factory=Node)


def test_a_type_that_refers_to_itself_is_refused() -> None:
    with pytest.raises(
        DeclarationError, match=r"Node > Node: schemas cannot refer to themselves; write dict\[str, Any\]"
    ):
        compile_type(Tree)


def test_only_objects_are_compiled() -> None:
    with pytest.raises(DeclarationError, match=r"Topping: the type of a version must be a subclass of extapi.Object"):
        compile_type(Topping)  # type: ignore[arg-type]  # what an author may hand over


def test_what_check_finds_is_told_with_class_and_field() -> None:
    class Thing(Object):
        items: Annotated[list[Topping], m.ListMap("quantity", "size")] = []  # noqa: RUF012  msgspec copies it
        port: Annotated[int, m.Minimum(5)] = 1

    with pytest.raises(DeclarationError, match=r"Thing\.items: ") as caught:
        compile_type(Thing)
    assert str(caught.value).splitlines() == [
        (
            'Thing.items: x-kubernetes-list-map-keys: Invalid value: ["quantity","size"]: '
            "entries must all be names of item properties"
        ),
        "Thing.port: default: Invalid value: 1:  in body should be greater than or equal to 5",
    ]


def test_merge_keys_are_published_but_no_manifest_may_have_them() -> None:
    """What a strategic merge patch goes by is for the kinds of Kubernetes itself (``kube-openapi`` extensions)."""

    class Merged(Object):
        items: Annotated[list[Topping] | None, m.MergeKey("name")] = None
        words: Annotated[list[str] | None, m.MergeKey()] = None

    schema = compile_type(Merged)
    written = schema.to_openapi()["properties"]
    assert written["items"]["x-kubernetes-patch-merge-key"] == "name"
    assert written["items"]["x-kubernetes-patch-strategy"] == "merge"
    assert written["words"]["x-kubernetes-patch-strategy"] == "merge"
    assert "x-kubernetes-patch-merge-key" not in written["words"]
    assert from_openapi(schema.to_openapi()).properties["words"].unsupported == {"x-kubernetes-patch-strategy": "merge"}


def test_only_lists_have_merge_keys() -> None:
    class Wrong(Object):
        name: Annotated[str, m.MergeKey("name")] = ""

    with pytest.raises(DeclarationError, match=r"Wrong.name: MergeKey is for list\[\.\.\.\]"):
        compile_type(Wrong)


class Tip(Struct):
    percent: Annotated[int, m.Maximum(30)] = 50


class Bill(Struct):
    amount: Annotated[int, m.Minimum(5)] = 1
    tips: list[Tip] = [Tip(percent=40)]  # noqa: RUF012  a field
    paid: complex
    table: set[str]
    when: Annotated[str, m.Minimum(1)] = ""


class Dinner(Object):
    spec: Bill
    broken: int = msgspec.field(default_factory=lambda: 1 // 0)
    odd: Any = object


def test_every_faulty_field_is_named_at_once_by_class_and_field() -> None:
    with pytest.raises(DeclarationError) as caught:
        compile_type(Dinner)
    assert [text.partition("; write")[0] for text in caught.value.problems] == [
        "Bill.paid: complex has no structural schema",
        "Bill.table: set[str] has no structural schema",
        "Bill.when: Minimum is for int, float; move it to the part of the annotation that it is about",
        "Dinner.broken: its default cannot be made: ZeroDivisionError: integer division or modulo by zero",
        "Dinner.odd: its default has no JSON: Encoding objects of type type is unsupported",
        "Bill.amount: default: Invalid value: 1:  in body should be greater than or equal to 5",
        "Bill.tips: default.[0].percent: Invalid value: 40: [0].percent in body should be less than or equal to 30",
        "Tip.percent: default: Invalid value: 50:  in body should be less than or equal to 30",
    ]
    assert {(text.owner, text.field) for text in caught.value.problems if isinstance(text, Problem)} >= {
        (Bill, "paid"),
        (Dinner, "odd"),
        (Tip, "percent"),
    }


class Called(Object):
    least: Annotated[int, m.Minimum(5, foo=1)]  # the mistake
    most: Annotated[int, m.Maximum("a")]  # the mistake
    kept: Annotated[list[str], m.ListMap(["name"])]  # the mistake
    name: Nowhere  # type: ignore[name-defined]  # noqa: F821 - the mistake
    fine: int


def test_annotations_that_cannot_be_read_are_named_field_by_field() -> None:
    with pytest.raises(DeclarationError) as caught:
        compile_type(Called)
    assert list(caught.value.problems) == [
        "Called.least: TypeError: Minimum.__init__() got an unexpected keyword argument 'foo'",
        "Called.most: Maximum: value must be a number, not 'a'",
        "Called.kept: ListMap: keys must be names, at least one, not (['name'],)",
        "Called.name: name 'Nowhere' is not defined; define the types that annotations name at the top of a module",
    ]


def test_a_field_that_hides_a_type_says_so() -> None:
    class When(Struct):
        """Not at the top of the module."""

    class Later(Object):
        first: When | None = None
        second: When
        When: int = 0

    with pytest.raises(DeclarationError) as caught:
        compile_type(Later)
    hides = (
        "When is a field here, not a type; define the type When at the top of the module, or call the field When_ and write "
        'msgspec.field(name="When")'
    )
    assert list(caught.value.problems) == [f"Later.first: {hides}", f"Later.second: {hides}"]


class Builtins(Struct):
    float: float = 1.0
    rate: float | None = None  # type: ignore[valid-type]  # mypy reads as the class would
    bytes: bytes = b"a"
    more: bytes | None = None  # type: ignore[valid-type]  # mypy reads as the class would
    int: int
    ints: list[int]  # type: ignore[valid-type]  # mypy reads as the class would
    list: list[str]
    names: list[str]  # type: ignore[valid-type]  # mypy reads as the class would
    str: str = ""
    dict: dict[str, str]  # type: ignore[valid-type]  # mypy reads as the class would
    counts: dict[str, int]  # type: ignore[valid-type]  # mypy reads as the class would
    bool: bool = False
    Size: Size | None = None
    uuid: uuid.UUID | None = None


class Hiding(Object):
    spec: Builtins

    def set(self) -> None:
        """A method hides a builtin, too."""


def test_a_field_may_have_the_name_of_a_type() -> None:
    """With ``from __future__ import annotations``, as here, a field would hide its own type from the others."""
    properties = {name: node.types for name, node in compile_type(Hiding).properties["spec"].properties.items()}
    assert properties == {
        "float": ("number",),
        "rate": ("number",),
        "bytes": ("string",),
        "more": ("string",),
        "int": ("integer",),
        "ints": ("array",),
        "list": ("array",),
        "names": ("array",),
        "str": ("string",),
        "dict": ("object",),
        "counts": ("object",),
        "bool": ("boolean",),
        "Size": ("string",),
        "uuid": ("string",),
    }
    spec = {
        "int": 1,
        "ints": [],
        "rate": 2.5,
        "list": ["a"],
        "names": [],
        "Size": "small",
        "dict": {},
        "counts": {"a": 1},
    }
    made: Any = msgspec.convert({"spec": spec}, Hiding).spec
    assert (made.rate, made.Size) == (2.5, Size.SMALL)


@pytest.mark.parametrize("bare", [List, Dict, Sequence, Mapping])  # noqa: UP006 - see above
def test_containers_without_the_type_of_their_items_are_refused(bare: Any) -> None:
    with pytest.raises(DeclarationError, match=r"^Thing\.field: .* has no structural schema; write "):
        one(bare)
