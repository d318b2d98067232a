"""What becomes of values that expressions make. Expected values are kube-apiserver 1.36.3's (tests/kubernetes/mutations.py)."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.admission.mutations.made import (
    MAX_MADE,
    Allowance,
    Foreign,
    MutationError,
    check_type_names,
    object_of,
    value_of,
)
from extapi.codec import strictjson
from extapi.schema.cel.types import struct
from extapi.schema.cel.values.made import MadeObject
from extapi.schema.cel.values.values import NONE, Duration, Timestamp, TypeValue, UInt, some


def made(name: str = "Object", **fields: Any) -> MadeObject:
    return MadeObject(struct(name), fields)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def doubled(times: int) -> Any:
    """A value that costs an expression next to nothing."""
    value: Any = ["x"]
    for _ in range(times):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1),
        (2.0, 2),
        (2.5, 2.5),
        (-0.0, 0),
        (1e30, 1e30),
        (some("x"), "x"),
        (NONE, None),
        (TypeValue("int"), "int"),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        (made("Object.a", b=1), {"b": 1}),
    ],
)
def test_fields(value: Any, expected: Any) -> None:
    found = object_of(made(a=value), Allowance())["a"]
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "go_type"),
    [
        (None, "structpb.NullValue"),
        (UInt(1), "uint64"),
        (b"x", "[]uint8"),
        (Timestamp(0), "time.Time"),
        (Duration(1), "time.Duration"),
        (made("Object.a", b={1: "x"}), "*types.Err"),
    ],
)
def test_fields_that_no_type_fits(value: Any, go_type: str) -> None:
    found = object_of(made(a=value), Allowance())["a"]
    assert isinstance(found, Foreign)
    assert str(found) == go_type


def test_an_object_with_numbers_for_names_is_none() -> None:
    with pytest.raises(MutationError, match=r"^invalid return type: \*dynamic\.ObjectVal$"):
        object_of(made(a={1: "x"}), Allowance())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (2**53 - 1, 2**53 - 1),
        (2**53, str(2**53)),
        (UInt(2**53 - 1), 2**53 - 1),
        (UInt(2**53), str(2**53)),
        (2.0, 2),
        (b"abc", "YWJj"),
        (Duration(5400 * 10**9), "5400s"),
        (Timestamp(0), "1970-01-01T00:00:00Z"),
        (some([1, True]), [1, True]),
        (made(a=2**53 + 1, b=UInt(3), c=b"abc", d=[1.5, {"e": "x"}]), {"a": 2**53, "b": 3, "c": "YWJj", "d": [1.5, {"e": "x"}]}),
    ],
)  # fmt: skip
def test_values_of_a_patch(value: Any, expected: Any) -> None:
    found = value_of(value, Allowance())
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (NONE, "optional.none() dereference"),
        (TypeValue("int"), "type conversion not supported for 'type'"),
        ({1: "x"}, "unsupported type conversion from 'int' to string"),
        ({True: "x"}, "type conversion error from bool to 'string'"),
        (float("inf"), "json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value: invalid +Inf value"),
        (made(a=float("nan")), "json: error calling MarshalJSON for type *structpb.Struct: proto: google.protobuf.Value.number_value: invalid NaN value"),
        (made(a=None), "proto: invalid type: structpb.NullValue"),
        (made(a=Timestamp(0)), "proto: invalid type: time.Time"),
        (made(a={1: "x"}), "fail to convert field \"a\": map key '\\x01' is of type types.Int, not string"),
    ],
)  # fmt: skip
def test_values_without_json(value: Any, why: str) -> None:
    with pytest.raises(MutationError) as caught:
        value_of(value, Allowance())
    assert str(caught.value) == f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}"


def test_types_are_named_after_the_fields_that_lead_to_them() -> None:
    check_type_names(
        made(spec=made("Object.spec", items=[made("Object.spec.items")], by={"k": made("Object.spec.by")})),
        Allowance(),
    )
    for wrong, path in (
        (made(spec=made("Object.specx")), 'unexpected type name "Object.specx", expected "Object.spec"'),
        (made(a=[made("Object.b")]), 'unexpected type name "Object.b", expected "Object.a"'),
        (made(a={"k": made("Object.a.k")}), 'unexpected type name "Object.a.k", expected "Object.a"'),
    ):
        with pytest.raises(MutationError) as caught:
            check_type_names(wrong, Allowance())
        assert str(caught.value) == f"type mismatch: {path}, which matches field name path from root Object type"


@pytest.mark.parametrize("value", ["x" * 10_000, doubled(40), {"k": doubled(40)}, [b"x" * 10_000], {"k" * 10_000: 1}])
def test_what_is_made_is_bounded(value: Any) -> None:
    with pytest.raises(MutationError, match="the expression makes more than 10000 bytes"):
        value_of(value, Allowance(most=10_000))
    with pytest.raises(MutationError, match=f"the expression makes more than {MAX_MADE} bytes"):
        value_of(["x" * 100_000] * 32, Allowance())


@pytest.mark.parametrize(
    "bounded", [check_type_names, object_of, value_of], ids=["check_type_names", "object_of", "value_of"]
)
def test_objects_are_bounded(bounded: Any) -> None:
    with pytest.raises(MutationError, match="the expression makes more than 10000 bytes"):
        bounded(made(a=doubled(40), b=made("Object.b", c=doubled(40))), Allowance(most=10_000))


def test_all_values_of_a_patch_share_their_room() -> None:
    allowance = Allowance()
    value_of("x" * (MAX_MADE // 2), allowance)
    with pytest.raises(MutationError):
        value_of("x" * (MAX_MADE // 2), allowance)


def test_depth_is_bounded() -> None:
    deep = nested(strictjson.MAX_DEPTH + 2)
    for bounded in (
        lambda: value_of(deep, Allowance()),
        lambda: object_of(made(a=deep), Allowance()),
        lambda: check_type_names(made(a=deep), Allowance()),
    ):
        with pytest.raises(MutationError, match="nested deeper than 200 levels"):
            bounded()


def test_the_clock_is_looked_at() -> None:
    with pytest.raises(MutationError, match="operation interrupted"):
        value_of(["x"] * 5000, Allowance(lambda: True))
    assert value_of(["x"] * 5000, Allowance(lambda: False))
