"""What is expected was said by labels.Parse and fields.ParseSelector of k8s.io/apimachinery v0.36.3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extapi.api.requirements import FieldRequirement, Requirement
from extapi.api.selectors import (
    escaped,
    label_selector,
    parse_field_selector,
    parse_label_selector,
    unsupported,
)
from extapi.errors import BadRequest

RECORDED: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "go_cases.json").read_text())
_SIGNS = {"In": "=", "NotIn": "!=", "Gt": ">", "Lt": "<"}
KEY = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
VALUE = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", []),
        (" \t\r\n", []),
        ("a", [Requirement("a", "Exists")]),
        ("!a", [Requirement("a", "DoesNotExist")]),
        ("! a", [Requirement("a", "DoesNotExist")]),
        ("a=b", [Requirement("a", "In", ("b",))]),
        ("a==b", [Requirement("a", "In", ("b",))]),
        ("a!=b", [Requirement("a", "NotIn", ("b",))]),
        ("a=", [Requirement("a", "In", ("",))]),
        ("a=,b", [Requirement("a", "In", ("",)), Requirement("b", "Exists")]),
        ("a in (c,b,c)", [Requirement("a", "In", ("b", "c"))]),
        ("a notin (b)", [Requirement("a", "NotIn", ("b",))]),
        ("a in ()", [Requirement("a", "In", ("",))]),
        ("a in (,)", [Requirement("a", "In", ("",))]),
        ("a in (b,)", [Requirement("a", "In", ("", "b"))]),
        ("a in (b,,c)", [Requirement("a", "In", ("", "b", "c"))]),
        ("in in (in,notin)", [Requirement("in", "In", ("in", "notin"))]),
        ("notin", [Requirement("notin", "Exists")]),
        ("a>1,b<2", [Requirement("a", "Gt", ("1",)), Requirement("b", "Lt", ("2",))]),
        ("z,example.com/a=b", [Requirement("example.com/a", "In", ("b",)), Requirement("z", "Exists")]),
        ("a\0", [Requirement("a", "Exists")]),
        ("a=\0b", [Requirement("a", "In", ("b",))]),
    ],
)
def test_label_selectors_are_understood(text: str, requirements: list[Requirement]) -> None:
    selector = parse_label_selector(text)
    assert list(selector.requirements) == requirements
    assert selector.empty is (not requirements)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        (
            "a/b/c",
            f"unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        ),
        (
            "/",
            f'unable to parse requirement: <nil>: Invalid value: "/": prefix part must be non-empty; name part must be non-empty; name part {KEY}',
        ),
        ("a=é", f'unable to parse requirement: values[0][a]: Invalid value: "é": {VALUE}'),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "a>99999999999999999999",
            "unable to parse requirement: values[0]: Invalid value: \"99999999999999999999\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "a<",
            "unable to parse requirement: values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "a in (_,b-)",
            f'unable to parse requirement: [values[0][a]: Invalid value: "_": {VALUE}, values[1][a]: Invalid value: "b-": {VALUE}]',
        ),
    ],
)
def test_label_selectors_that_make_no_sense_are_bad_requests(text: str, error: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_label_selector(text)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("text", "matching", "others"),
    [
        ("", [{}, {"a": "b"}], []),
        ("a", [{"a": ""}], [{}, {"b": "a"}]),
        ("!a", [{}, {"b": ""}], [{"a": ""}]),
        ("a=b", [{"a": "b", "c": "d"}], [{}, {"a": "c"}]),
        ("a=", [{"a": ""}], [{}, {"a": "c"}]),
        ("a!=b", [{}, {"a": "c"}], [{"a": "b"}]),
        ("a in (b,c)", [{"a": "b"}, {"a": "c"}], [{}, {"a": ""}]),
        ("a notin (b,c)", [{}, {"a": ""}], [{"a": "b"}, {"a": "c"}]),
        ("a>5", [{"a": "6"}], [{}, {"a": "5"}, {"a": "x"}, {"a": "99999999999999999999"}]),
        ("a<5", [{"a": "4"}, {"a": "-9"}], [{}, {"a": "5"}, {"a": ""}, {"a": "1_0"}, {"a": "\u0661"}]),
        ("a,b", [{"a": "", "b": ""}], [{"a": ""}, {"b": ""}]),
        ("a,b,c=d", [{"a": "", "b": "", "c": "d"}], [{"a": "", "b": ""}, {"b": "", "c": "d"}]),
    ],
)
def test_labels_match(text: str, matching: list[dict[str, str]], others: list[dict[str, str]]) -> None:
    matches = parse_label_selector(text).matches
    assert [labels for labels in matching if not matches(labels)] == []
    assert [labels for labels in others if matches(labels)] == []


@pytest.mark.parametrize("value", ["0" * 5000, "-" + "0" * 5000, "9" * 5000])
def test_a_bound_of_thousands_of_digits_is_a_bad_request(value: str) -> None:
    """Python refuses to read them as a number, zeros included; no label is that long."""
    with pytest.raises(BadRequest, match="must be no more than 63"):
        parse_label_selector(f"a>{value}")


def test_ready_requirements_make_a_selector() -> None:
    selector = label_selector([Requirement("b", "Exists"), Requirement("a", "In", ("x",))])
    assert selector == parse_label_selector("b,a=x")
    assert selector.matches({"a": "x", "b": ""})


def test_the_same_text_is_parsed_once_unless_it_is_long() -> None:
    assert parse_label_selector("cached=yes") is parse_label_selector("cached=yes")
    assert parse_field_selector("cached=yes") is parse_field_selector("cached=yes")
    long = "a in (" + ",".join(f"v{number}" for number in range(1000)) + ")"
    assert len(long) > 4096
    assert parse_label_selector(long) is not parse_label_selector(long)
    assert parse_label_selector(long).matches({"a": "v999"})
    field = "a=" + "x" * 5000
    assert parse_field_selector(field) is not parse_field_selector(field)


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", []),
        (",", []),
        ("a=b", [FieldRequirement("a", "=", "b")]),
        ("a==b", [FieldRequirement("a", "=", "b")]),
        ("z!=b,,a=", [FieldRequirement("a", "=", ""), FieldRequirement("z", "!=", "b")]),
        (r"a=x\,y\=z\\", [FieldRequirement("a", "=", r"x,y=z" + "\\")]),
        ("a= b ", [FieldRequirement("a", "=", " b ")]),
        ("a=b\n", [FieldRequirement("a", "=", "b\n")]),
    ],
)
def test_field_selectors_are_understood(text: str, requirements: list[FieldRequirement]) -> None:
    selector = parse_field_selector(text)
    assert list(selector.requirements) == requirements
    assert selector.empty is (not requirements)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\b", r"invalid field selector: invalid escape sequence: \b"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_field_selectors_that_make_no_sense_are_bad_requests(text: str, error: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_field_selector(text)
    assert str(caught.value) == error


def test_fields_match_and_absent_ones_are_empty() -> None:
    matches = parse_field_selector("metadata.name=a,spec.x!=b").matches
    assert matches({"metadata.name": "a"})
    assert matches({"metadata.name": "a", "spec.x": "c"})
    assert not matches({"metadata.name": "a", "spec.x": "b"})
    assert not matches({"spec.x": "c"})
    assert parse_field_selector("spec.x=").matches({})


def test_the_one_value_a_field_must_have() -> None:
    selector = parse_field_selector("metadata.name=a,metadata.namespace!=b")
    assert selector.exact("metadata.name") == "a"
    assert selector.exact("metadata.namespace") is None
    assert selector.exact("other") is None


def test_fields_that_are_not_selectable_are_found() -> None:
    keys = {"metadata.name", "metadata.namespace"}
    assert unsupported(parse_field_selector("metadata.name=a,metadata.namespace!=b"), keys) is None
    assert unsupported(parse_field_selector("metadata.name=a,spec.size=3"), keys) == "spec.size"
    assert unsupported(parse_field_selector("=a"), keys) == ""
    for text in ("=", "==", "!=", "=,metadata.name=a"):
        assert unsupported(parse_field_selector(text), keys) is None
    assert parse_field_selector("=,==").empty, "nothing compared with nothing selects everything"


def said(requirement: Requirement) -> str:
    """A requirement as ``labels.Requirement.String`` writes it."""
    key, operator, values = requirement
    if operator in {"Exists", "DoesNotExist"}:
        return key if operator == "Exists" else f"!{key}"
    if len(values) == 1:
        return f"{key}{_SIGNS[operator]}{values[0]}"
    return f"{key} {operator.lower()} ({','.join(values)})"


@pytest.mark.parametrize(("text", "expected"), RECORDED["labels"].items())
def test_apimachinery_reads_labels_as_we_do(text: str, expected: str) -> None:
    try:
        found = ",".join(map(said, parse_label_selector(text).requirements))
    except BadRequest as error:
        found = f"error {error.message}"
    # It remembers how "equal" was written.
    assert found == (expected if expected.startswith("error") else expected.replace("==", "="))


@pytest.mark.parametrize(("text", "expected"), RECORDED["exact_name"].items())
def test_apimachinery_finds_the_same_name(text: str, expected: str) -> None:
    try:
        name = parse_field_selector(text).exact("metadata.name")
    except BadRequest:
        found = "error "
    else:
        found = "false " if name is None else f"true {name}"
    assert found == expected


@pytest.mark.parametrize("digits", ["0" * 5000 + "5", "9" * 5000])
def test_more_digits_than_python_reads_are_refused(digits: str) -> None:
    with pytest.raises(BadRequest, match="must be no more than 63 bytes"):
        parse_label_selector(f"a > {digits}")
    selector = parse_label_selector("a > 5")
    assert not selector.matches({"a": digits[:-1]})
    assert not selector.matches({"a": "9" * 5000})


def test_a_value_of_a_field_is_escaped() -> None:
    value = "a,b=c\\d"
    assert escaped(value) == "a\\,b\\=c\\\\d"
    assert parse_field_selector(f"x={escaped(value)}").exact("x") == value
