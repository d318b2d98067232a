"""Rules of one node, compiled."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.declared import declare
from extapi.schema.cel.rules import NEW, STORED, CompiledRule, ValidationRule, compile_rules
from extapi.schema.structural import from_openapi


def compiled(schema: dict[str, Any], *rules: dict[str, Any], stored: bool = False) -> list[CompiledRule]:
    structural = from_openapi({**schema, "x-kubernetes-validations": list(rules)})
    declared = declare(structural)
    assert declared is not None
    return list(compile_rules(structural, declared, stored=STORED if stored else NEW))


STRING = {"type": "string"}
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def test_an_error_shows_the_whole_rule() -> None:
    rule = ValidationRule.read({"rule": 'self == "<&>"', "message": "é\n", "reason": None, "optionalOldSelf": True})
    assert rule.shown() == (
        '{"Rule":"self == \\"\\u003c\\u0026\\u003e\\"","Message":"é\\n","MessageExpression":"","Reason":null,'
        '"FieldPath":"","OptionalOldSelf":true}'
    )
    rule = ValidationRule.read({"rule": "a", "messageExpression": "b", "reason": "c", "fieldPath": ".d"})
    assert rule.shown() == (
        '{"Rule":"a","Message":"","MessageExpression":"b","Reason":"c","FieldPath":".d","OptionalOldSelf":null}'
    )


def test_a_rule_is_called_by_its_message() -> None:
    assert ValidationRule(" a \n").text == "a"
    assert ValidationRule("a", message=" b ").text == "b"
    assert ValidationRule("a\x1f").text == "a\x1f"  # no space to Go


def test_an_empty_rule_is_not_compiled() -> None:
    (rule,) = compiled(STRING, {"rule": " \n"})
    assert (rule.expression, rule.error) == (None, "")


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        ("self", "cel expression must evaluate to a bool"),
        (
            "self == true",
            (
                "compilation failed: ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(string, bool)'\n"
                " | self == true\n"
                " | .....^"
            ),
        ),
    ],
)
def test_what_does_not_compile(rule: str, wanted: str) -> None:
    (made,) = compiled(STRING, {"rule": rule, "messageExpression": "also wrong"})
    assert (made.expression, made.error, made.message_error) == (None, wanted, "")


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("1", "messageExpression must evaluate to a string"),
        (
            "nope",
            (
                "messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n"
                " | nope\n"
                " | ^"
            ),
        ),
    ],
)
def test_a_message_that_does_not_compile(expression: str, wanted: str) -> None:
    (made,) = compiled(STRING, {"rule": "self == 'a'", "messageExpression": expression})
    assert made.expression is not None
    assert (made.message, made.message_error) == (None, wanted)


def test_old_self_is_found_where_it_is_used() -> None:
    found = compiled(STRING, {"rule": "self == oldSelf"}, {"rule": "self == 'oldSelf'"})
    assert [rule.uses_old_self for rule in found] == [True, False]


def test_old_self_is_an_optional_if_the_rule_says_so() -> None:
    (with_it, without) = compiled(
        STRING, {"rule": "oldSelf.hasValue()", "optionalOldSelf": True}, {"rule": "oldSelf.hasValue()"}
    )
    assert with_it.error == ""
    assert "found no matching overload for 'hasValue'" in without.error


def test_cost_and_cardinality() -> None:
    # 3 MiB over "a", its quotes, colon, comma, digit and braces, and a comma between two objects.
    (rule,) = compiled(OBJECT, {"rule": "self.a > 0", "messageExpression": "'a'"})
    assert (rule.cost, rule.cardinality, rule.message_cost) == (3, 3 * 1024 * 1024 // 9, 0)


def test_the_field_path_is_normalized() -> None:
    found = compiled(OBJECT, {"rule": "true", "fieldPath": "['a']"}, {"rule": "true", "fieldPath": ".b"})
    assert [rule.field_path for rule in found] == ["a", ""]


@pytest.mark.parametrize("where", ["", "properties", "items", "additionalProperties", "allOf"])
def test_rules_are_found_anywhere(where: str) -> None:
    rules = {"x-kubernetes-validations": [{"rule": "true"}]}
    places: dict[str, dict[str, Any]] = {
        "": rules,
        "properties": {"properties": {"a": {"properties": {"b": rules}}}},
        "items": {"items": rules},
        "additionalProperties": {"additionalProperties": rules},
        "allOf": {"allOf": [rules]},
    }
    assert from_openapi(places[where]).has_rules
    assert not from_openapi({"properties": {"a": {"items": {}}}}).has_rules
