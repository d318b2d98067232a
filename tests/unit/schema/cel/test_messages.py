"""Messages of protobuf in expressions. Expected values are cel-go 0.26's, asked of Kubernetes 1.36.3's environment."""

from __future__ import annotations

import math
from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.messages import make_message, message_type
from extapi.schema.cel.types import BYTES, DOUBLE, INT, Type, format_type, list_of
from extapi.schema.cel.values.values import Duration, Timestamp, UInt
from tests.unit.schema.cel.compiling import compiled, refusal

PREFIX = "google.protobuf."


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("BoolValue{}", "wrapper(bool)", False),
        ("BoolValue{value: true}", "wrapper(bool)", True),
        ("BytesValue{}", "wrapper(bytes)", b""),
        ("BytesValue{value: b'a'}", "wrapper(bytes)", b"a"),
        ("DoubleValue{}", "wrapper(double)", 0.0),
        ("DoubleValue{value: 1.5}", "wrapper(double)", 1.5),
        ("FloatValue{value: 0.1}", "wrapper(double)", 0.10000000149011612),
        ("FloatValue{value: 3.4028235677973362e+38}", "wrapper(double)", 3.4028234663852886e38),
        ("FloatValue{value: 3.4028235677973366e+38}", "wrapper(double)", math.inf),
        ("FloatValue{value: -1e300}", "wrapper(double)", -math.inf),
        ("Int32Value{}", "wrapper(int)", 0),
        ("Int32Value{value: -2147483648}", "wrapper(int)", -(2**31)),
        ("Int64Value{value: 9223372036854775807}", "wrapper(int)", 2**63 - 1),
        ("Int64Value{?value: optional.of(1)}", "wrapper(int)", 1),
        ("Int64Value{?value: optional.none()}", "wrapper(int)", 0),
        ("StringValue{}", "wrapper(string)", ""),
        ("StringValue{value: 'a'}", "wrapper(string)", "a"),
        ("UInt32Value{value: 4294967295u}", "wrapper(uint)", UInt(2**32 - 1)),
        ("UInt64Value{value: 18446744073709551615u}", "wrapper(uint)", UInt(2**64 - 1)),
        ("Duration{}", "duration", Duration(0)),
        ("Duration{seconds: 1, nanos: 5}", "duration", Duration(1_000_000_005)),
        ("Timestamp{seconds: 1, nanos: 5}", "timestamp", Timestamp(1_000_000_005)),
        ("Struct{}", "map(string, dyn)", {}),
        ("Struct{fields: {'a': 1}}", "map(string, dyn)", {"a": 1.0}),
        ("ListValue{}", "list(dyn)", []),
        ("ListValue{values: [1, 2]}", "list(dyn)", [1.0, 2.0]),
        ("Value{}", "dyn", None),
        ("Value{number_value: 1.0}", "dyn", 1.0),
        ("Value{string_value: 'a'}", "dyn", "a"),
        ("Value{bool_value: true}", "dyn", True),
        ("Value{null_value: 0}", "dyn", None),
        ("Value{null_value: google.protobuf.NullValue.NULL_VALUE}", "dyn", None),
        ("Value{list_value: [1]}", "dyn", [1.0]),
        ("Value{struct_value: {'a': 1}}", "dyn", {"a": 1.0}),
        ("NullValue.NULL_VALUE", "int", 0),
    ],
)
def test_the_value_of_a_message(text: str, type_: str, value: Any) -> None:
    made = compiled(PREFIX + text)
    found = made.evaluate(())
    assert (format_type(made.type), type(found.value), found.value) == (type_, type(value), value)
    assert (found.error, found.cost) == (None, 0 if text.startswith("Null") else 40 + text.count("optional."))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "Int32Value{value: 2147483648}",
            "field type conversion error for google.protobuf.Int32Value.value value type: integer overflow",
        ),
        (
            "Int32Value{value: -2147483649}",
            "field type conversion error for google.protobuf.Int32Value.value value type: integer overflow",
        ),
        (
            "UInt32Value{value: 4294967296u}",
            "field type conversion error for google.protobuf.UInt32Value.value value type: unsigned integer overflow",
        ),
        ("Any{}", "unsupported conversion to ref.Val: (*dynamicpb.Message)"),
    ],
)
def test_messages_without_a_value(text: str, error: str) -> None:
    found = compiled(PREFIX + text).evaluate(())
    assert (found.value, str(found.error), found.cost) == (None, error, 40)


@pytest.mark.parametrize(
    ("text", "column", "error"),
    [
        ("Int64Value{value: 'a'}", 33, "expected type of field 'value' is 'int' but provided type is 'string'"),
        ("Int64Value{value: null}", 33, "expected type of field 'value' is 'int' but provided type is 'null'"),
        ("Value{number_value: 1}", 35, "expected type of field 'number_value' is 'double' but provided type is 'int'"),
        ("Any{value: 'a'}", 26, "expected type of field 'value' is 'bytes' but provided type is 'string'"),
        ("Int64Value{valu: 1}", 32, "undefined field 'valu'"),
        ("Nope{}", 21, "undeclared reference to 'google.protobuf.Nope' (in container '')"),
    ],
)
def test_messages_that_are_refused(text: str, column: int, error: str) -> None:
    assert refusal(PREFIX + text).startswith(f"ERROR: <input>:1:{column}: {error}\n")


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("google.protobuf.Int64Value{value: 1} == 1", 41),
        ("google.protobuf.Int64Value{value: 1} != null", 41),
        ("google.protobuf.ListValue{values: [1]}[0] == 1.0", 43),
        ("google.protobuf.Struct{fields: {'a': 1}}.a == 1.0", 43),
        ("google.protobuf.Struct{fields: {'a': 1u}}['a'] == 1.0", 43),
    ],
)
def test_a_message_is_the_value_that_it_holds(text: str, cost: int) -> None:
    assert compiled(text).evaluate(()) == (True, None, cost)


@pytest.mark.parametrize(
    ("message", "field", "wanted"),
    [
        ("google.protobuf.Any", "value", BYTES),
        ("google.protobuf.Duration", "nanos", INT),
        ("google.protobuf.FloatValue", "value", DOUBLE),
        ("google.protobuf.ListValue", "values", list_of(Type("dyn", "dyn"))),
        ("google.protobuf.Int64Value", "values", None),
        ("google.protobuf.Nope", "value", None),
    ],
)
def test_the_types_of_fields(message: str, field: str, wanted: Type | None) -> None:
    assert message_type(message, field) == wanted


def test_numbers_deep_in_a_message_become_doubles() -> None:
    made = make_message("google.protobuf.Struct", {"fields": {"a": [1, {"b": UInt(2)}], "c": "1", "d": True}})
    assert repr(made) == "{'a': [1.0, {'b': 2.0}], 'c': '1', 'd': True}"


def test_what_has_no_value_is_an_error_of_the_evaluation() -> None:
    with pytest.raises(EvaluationError, match="unsupported conversion"):
        make_message("google.protobuf.Any", {})
