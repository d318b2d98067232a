"""What is wrong with the rules of a schema.

``crd_cases.json`` has schemas, and what kube-apiserver 1.36.3 says of a CRD with each of them
(``apiextensions-apiserver/pkg/apis/apiextensions/validation`` ValidateCustomResourceDefinition), sorted; the generated
names of types are ``selfType1``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from extapi.schema.cel.checks import DefaultRules, check_rules
from extapi.schema.check import check
from extapi.schema.structural import Structural, from_openapi

CASES = json.loads(Path(__file__).with_name("crd_cases.json").read_text())
PATH = "spec.validation.openAPIV3Schema"


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_a_schema_has_the_errors_of_a_crd(case: dict[str, Any]) -> None:
    assert [error.text() for error in check(from_openapi(case["schema"]), PATH)] == case["errors"]


def test_a_member_that_rules_do_not_have_is_refused() -> None:
    schema = from_openapi({"type": "object", "x-kubernetes-validations": [{"rule": "true", "mesage": "no"}]})
    (error,) = check(schema)
    assert error.text() == "x-kubernetes-validations[0].mesage: Forbidden: is not a field of validation rules"


def test_rules_of_sound_parts_are_checked_at_once_where_asked() -> None:
    schema = from_openapi(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "nope"}], "default": "a"},
                "b": {"type": "array"},
                "c": {
                    "type": "string",
                    "maxLength": 9,
                    "x-kubernetes-validations": [{"rule": "self == 'c'"}],
                    "default": "d",
                },
            },
            "x-kubernetes-validations": [{"rule": "nope"}],
        }
    )
    paths = [(error.path, error.type.name) for error in check(schema, every_default=True)]
    assert paths == [
        ("properties[a].x-kubernetes-validations[0].rule", "INVALID"),
        ("properties[b].items", "REQUIRED"),
        ("properties[c].default", "INVALID"),
    ]
    assert [error.path for error in check(schema)] == ["properties[b].items"]


def test_a_default_is_judged_with_those_inside_of_it_where_asked() -> None:
    inside = {"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 1}}}
    schema = from_openapi(
        {
            "type": "object",
            "properties": {"o": {**inside, "x-kubernetes-validations": [{"rule": "self.a == 1"}]}},
        }
    )
    assert check(schema, every_default=True) == []
    (error,) = check(schema)
    assert error.text() == (
        'properties[o].default: Invalid value: "object": no such key: a evaluating rule: self.a == 1'
    )


def test_defaults_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.schema.cel.checks.OBJECT_BUDGET", 3)
    rules = DefaultRules()
    node = from_openapi({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]})
    assert rules.errors(node, 1, "a") == []
    (error,) = rules.errors(node, 1, "b")
    assert error.text().startswith('b: Invalid value: "integer": validation failed due to running out of cost budget')
    assert rules.errors(node, 0, "c") == []  # as in kube-apiserver, nothing more is checked
    assert DefaultRules().errors(Structural(type="integer"), 0, "d") == []


def test_parts_that_are_not_sound_are_not_compiled() -> None:
    schema = from_openapi({"type": "object", "x-kubernetes-validations": [{"rule": "nope"}]})
    assert check_rules(schema, "", lambda path: path != "") == []
