"""Texts and shapes are those of k8s.io/apimachinery/pkg/api/errors and pkg/util/validation/field."""

from __future__ import annotations

import datetime as dt
import json
import math
import uuid
from collections.abc import Iterator
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import pytest

from extapi import Object, Quantity, Struct
from extapi.codec.strictjson import encode_status
from extapi.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Expired,
    FieldError,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    RequestTooLarge,
    ServerTimeout,
    ServiceUnavailable,
    StatusCause,
    StorageError,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
    aggregate,
    go_quote,
    qualified,
)
from extapi.fielderrors import MOST_TEXT

IN = {"name": "a", "group": "example.com", "kind": "probes"}


@pytest.mark.parametrize(
    ("error", "code", "reason", "message", "details"),
    [
        (BadRequest("odd"), 400, "BadRequest", "odd", None),
        (Unauthorized(), 401, "Unauthorized", "Unauthorized", None),
        (
            Forbidden.on("probes", "example.com", "a", "no"),
            403,
            "Forbidden",
            'probes.example.com "a" is forbidden: no',
            IN,
        ),
        (NotFound.named("probes", "example.com", "a"), 404, "NotFound", 'probes.example.com "a" not found', IN),
        (
            NotFound.named("namespaces", "", "x"),
            404,
            "NotFound",
            'namespaces "x" not found',
            {"name": "x", "kind": "namespaces"},
        ),
        (NotFound.path(), 404, "NotFound", "the server could not find the requested resource", {}),
        (
            MethodNotAllowed.on("probes", "example.com", "patch"),
            405,
            "MethodNotAllowed",
            'patch is not supported on resources of kind "probes.example.com"',
            {"group": "example.com", "kind": "probes"},
        ),
        (NotAcceptable("only these"), 406, "NotAcceptable", "only these", None),
        (
            AlreadyExists.named("probes", "example.com", "a"),
            409,
            "AlreadyExists",
            'probes.example.com "a" already exists',
            IN,
        ),
        (
            AlreadyExists.named("probes", "example.com", "a", terminating=True),
            409,
            "AlreadyExists",
            'object is being deleted: probes.example.com "a" already exists',
            IN,
        ),
        (
            Conflict.on("probes", "example.com", "a", Conflict.MODIFIED),
            409,
            "Conflict",
            'Operation cannot be fulfilled on probes.example.com "a": the object has been modified; please apply your changes to the latest version and try again',
            IN,
        ),
        (Gone("gone"), 410, "Gone", "gone", None),
        (Expired("too old"), 410, "Expired", "too old", None),
        (
            RequestTooLarge("limit is 3145728"),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728",
            None,
        ),
        (
            UnsupportedMediaType.accepting(["a/b", "c/d"]),
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: a/b, c/d",
            None,
        ),
        (TooManyRequests("later", retry_after=1), 429, "TooManyRequests", "later", {"retryAfterSeconds": 1}),
        (
            InternalError.because("it broke"),
            500,
            "InternalError",
            "Internal error occurred: it broke",
            {"causes": [{"message": "it broke"}]},
        ),
        (
            ServerTimeout.on("probes", "example.com", "list"),
            500,
            "ServerTimeout",
            "The list operation against probes.example.com could not be completed at this time, please try again.",
            {"name": "list", "group": "example.com", "kind": "probes", "retryAfterSeconds": 2},
        ),
        (ServiceUnavailable("not now"), 503, "ServiceUnavailable", "not now", None),
        (
            Timeout.too_large_resource_version(9, 5),
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 5",
            {
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
        ),
    ],
)
def test_each_error_is_the_status_that_kube_apiserver_answers(
    error: ApiError, code: int, reason: str, message: str, details: dict[str, Any] | None
) -> None:
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    if details is not None:
        status["details"] = details
    assert error.status() == status
    assert str(error) == message
    assert isinstance(error, ApiError)


def test_an_error_without_reason_or_message_leaves_them_out() -> None:
    status = StorageError("").status()
    assert status == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 500}


def test_details_can_be_forced_in_or_out_and_metadata_carries_a_continue_token() -> None:
    assert BadRequest("x", with_details=True).status()["details"] == {}
    assert "details" not in BadRequest("x", name="a", with_details=False).status()
    assert Expired("x", metadata={"continue": "t"}).status()["metadata"] == {"continue": "t"}
    assert BadRequest("x", uid="u").status()["details"] == {"uid": "u"}


def test_field_errors_are_said_once_and_kept_among_the_causes() -> None:
    required = FieldError.required("spec.a")
    invalid = FieldError.invalid("spec.b", 5, "must be less")
    assert (
        Invalid.of("Probe", "example.com", "a", [required]).message
        == 'Probe.example.com "a" is invalid: spec.a: Required value'
    )
    error = Invalid.of("Probe", "example.com", "a", iter([required, invalid, required]))
    status = error.status()
    assert status["code"] == 422
    assert status["message"] == (
        'Probe.example.com "a" is invalid: [spec.a: Required value, spec.b: Invalid value: 5: must be less]'
    )
    assert status["details"] == {
        "name": "a",
        "group": "example.com",
        "kind": "Probe",
        "causes": [
            {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"},
            {"reason": "FieldValueInvalid", "message": "Invalid value: 5: must be less", "field": "spec.b"},
            {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"},
        ],
    }
    assert Invalid.of("Probe", "", "", []).message == 'Probe "" is invalid'


def test_what_an_answer_tells_is_bounded() -> None:
    """A value is quoted by each of its errors: together they may be far longer than the request was."""
    asked = []

    def texts() -> Iterator[str]:
        for index in range(1000):
            asked.append(index)
            yield f"{index:04}" + "x" * 10_000

    assert aggregate(texts()).endswith("x, and more]")
    assert len(asked) < MOST_TEXT // 10_000 + 3
    errors = [FieldError.invalid(f"a[{index}]", "x" * 10_000, "no") for index in range(1000)]
    error = Invalid.of("Probe", "example.com", "a", errors)
    assert MOST_TEXT < len(error.message) < MOST_TEXT + 20_000
    assert error.message.endswith(": no, and more]")
    assert 100 < len(error.causes) < 110
    one = Invalid.of("Probe", "example.com", "a", [FieldError.invalid("a", "x" * 2 * MOST_TEXT, "no")])
    assert one.message.endswith('x": no')
    assert len(one.causes) == 1


@pytest.mark.parametrize(
    ("error", "text", "reason"),
    [
        (FieldError.invalid("a", "x", "no"), 'a: Invalid value: "x": no', "FieldValueInvalid"),
        (FieldError.invalid("", None, ""), "<nil>: Invalid value: null", "FieldValueInvalid"),
        # As Go's json.Marshal has it, which escapes for HTML.
        (
            FieldError.invalid("a", {"b": [1, "<é>&\u2028"]}, ""),
            r'a: Invalid value: {"b":[1,"\u003cé\u003e\u0026\u2028"]}',
            "FieldValueInvalid",
        ),
        (FieldError.invalid("a", True, ""), "a: Invalid value: true", "FieldValueInvalid"),
        (FieldError.type_invalid("a", "x", "no"), 'a: Invalid value: "x": no', "FieldValueTypeInvalid"),
        (FieldError.required("a", "must"), "a: Required value: must", "FieldValueRequired"),
        (
            FieldError.not_supported("a", "x", ["b", "c"]),
            'a: Unsupported value: "x": supported values: "b", "c"',
            "FieldValueNotSupported",
        ),
        (FieldError.not_supported("a", "x", []), 'a: Unsupported value: "x"', "FieldValueNotSupported"),
        (FieldError.forbidden("a", "no"), "a: Forbidden: no", "FieldValueForbidden"),
        (FieldError.duplicate("a[1]", "x"), 'a[1]: Duplicate value: "x"', "FieldValueDuplicate"),
        (FieldError.too_long("a", 5), "a: Too long: may not be more than 5 bytes", "FieldValueTooLong"),
        (FieldError.too_many("a", 6, 5), "a: Too many: 6: must have at most 5 items", "FieldValueTooMany"),
        (FieldError.not_found("a", "x"), 'a: Not found: "x"', "FieldValueNotFound"),
    ],
)
def test_field_errors_read_as_in_go(error: FieldError, text: str, reason: str) -> None:
    assert error.text() == text
    assert error.type.reason == reason


class Color(Enum):
    RED = "red"
    GREEN = "green"


class Level(IntEnum):
    LOW = 1


class Part(Struct):
    name: str = "x"
    color: Color | None = None
    made: dt.datetime | None = None


class Whole(Object):
    spec: Part = Part()


class Own:
    def __init__(self, text: str = "") -> None:
        self.text = text

    def __str__(self) -> str:
        if not self.text:
            raise RuntimeError("the author's mistake")
        return self.text


NOON = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        # What field.Error of k8s.io/apimachinery v0.36.3 prints for the same values in Go.
        (Color.RED, '"red"'),
        (Quantity.parse("1500m"), '"1500m"'),
        ([Quantity.parse("1500m")], '["1500m"]'),
        (b"abc", '"YWJj"'),
        (NOON, '"2020-01-01T12:00:00Z"'),
        (Part(name="a", color=Color.GREEN, made=NOON), '{"color":"green","made":"2020-01-01T12:00:00Z","name":"a"}'),
        # What Go has no type for: JSON as well, and the text of what has none.
        (Level.LOW, "1"),
        ({"level": [Level.LOW, Color.RED]}, '{"level":[1,"red"]}'),
        (Whole(spec=Part(name="a")), '{"metadata":{},"spec":{"name":"a"}}'),
        (dt.date(2020, 1, 2), '"2020-01-02"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (Decimal("1.50"), '"1.50"'),
        ({3, 1, 2}, "[1,2,3]"),
        (frozenset({"b", Color.RED, 1}), '["b","red",1]'),
        ((1, None), "[1,null]"),
        (10**30, "1e+30"),
        (math.nan, "NaN"),
        ("\ud800", r'"\ud800"'),
        (["\ud800"], '["?"]'),
        (Own("mine"), '"mine"'),
        ([Own("mine")], '["mine"]'),
        (Own(), '"Own object"'),
        (ValueError("bad"), '"bad"'),
        (HOLDS_ITSELF, '"[[...]]"'),
        ({1: 2, "a": 3}, "\"{1: 2, 'a': 3}\""),
    ],
)
def test_any_value_of_python_is_told(value: Any, shown: str) -> None:
    """An error that cannot be told would be a 500 in place of the 422."""
    for error, text in (
        (FieldError.invalid("a", value, "no"), f"Invalid value: {shown}: no"),
        (FieldError.type_invalid("a", value, "no"), f"Invalid value: {shown}: no"),
        (FieldError.duplicate("a", value), f"Duplicate value: {shown}"),
        (FieldError.not_found("a", value), f"Not found: {shown}"),
        (FieldError.not_supported("a", value, ["b"]), f'Unsupported value: {shown}: supported values: "b"'),
    ):
        assert error.body() == text
        answered = Invalid.of("Probe", "example.com", "p", [error])
        assert answered.message == f'Probe.example.com "p" is invalid: a: {text}'
        assert answered.status()["details"]["causes"][0]["message"] == text
        assert json.loads(encode_status(answered.status())) == answered.status()


def test_supported_values_are_told_as_they_stand_in_json() -> None:
    error = FieldError.not_supported("a", Color.RED, Color)
    assert error.body() == 'Unsupported value: "red": supported values: "red", "green"'
    error = FieldError.not_supported("a", 9, (Level.LOW, 2, 2.5, True, None))
    assert error.body() == 'Unsupported value: 9: supported values: "1", "2", "2.5", "true", "null"'


def test_a_status_is_written_in_the_order_of_gos_fields() -> None:
    """``metav1.Status``, ``StatusDetails`` and ``StatusCause``; clients of Kubernetes compare such texts."""
    causes = [StatusCause("R", "<m>", "f")]
    error = Conflict("why", name="n", group="g", kind="k", uid="u", causes=causes, retry_after=1)
    assert encode_status(error.status()) == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"why","reason":"Conflict",'
        b'"details":{"name":"n","group":"g","kind":"k","uid":"u",'
        b'"causes":[{"reason":"R","message":"\\u003cm\\u003e","field":"f"}],"retryAfterSeconds":1},"code":409}'
    )
    assert b'"message":"\xef\xbf\xbd"' in encode_status(BadRequest("\udc00").status())


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("é ü", '"é ü"'),
        ('"\\', r'"\"\\"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x7f", r'"\x00\x7f"'),
        ("\u00a0\u2028", r'"\u00a0\u2028"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_strings_are_quoted_as_by_go(text: str, quoted: str) -> None:
    assert go_quote(text) == quoted


def test_the_core_group_has_no_name() -> None:
    assert qualified("pods", "") == "pods"
    assert qualified("probes", "example.com") == "probes.example.com"
    assert StatusCause("R", "m", "f").to_dict() == {"reason": "R", "message": "m", "field": "f"}
    assert StatusCause().to_dict() == {}
