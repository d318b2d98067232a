"""Rules and texts are those of ValidateLabelSelector and LabelSelectorAsSelector of k8s.io/apimachinery v0.36.3."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.api.labelselectors import operator_problems, requirement_problems, selector_of, selector_problems
from extapi.errors import BadRequest


def texts(selector: dict[str, Any]) -> list[str]:
    return [problem.text().partition(" regex used")[0] for problem in selector_problems(selector, "spec.selector")]


@pytest.mark.parametrize(
    ("selector", "labels", "chosen"),
    [
        ({}, {"a": "b"}, True),
        ({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"}, True),
        ({"matchLabels": {"a": "b", "c": "e"}}, {"a": "b", "c": "d"}, False),
        ({"matchLabels": {"a": ""}}, {}, False),
        ({"matchLabels": None, "matchExpressions": None}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["c", "b", "c"]}]}, {"a": "b"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, {"a": "b"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": "b"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": "b"}, False),
        (
            {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists", "values": []}]},
            {"a": "b"},
            False,
        ),
    ],
)
def test_what_is_selected(selector: dict[str, Any], labels: dict[str, str], chosen: bool) -> None:
    assert selector_of(selector).matches(labels) is chosen
    assert texts(selector) == []


def test_labels_are_checked() -> None:
    assert texts({"matchLabels": {"a b": "c", "d": "e,!f"}}) == [
        (
            'spec.selector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '
            "'-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyName',  or 'my.name',  or '123-abc',"
        ),
        (
            'spec.selector.matchLabels: Invalid value: "e,!f": a valid label must be an empty string or consist of '
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyValue',  or 'my_value',  or '12345',"
        ),
    ]


def test_expressions_are_checked() -> None:
    expressions = [
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["b"]},
        {"key": "a", "operator": "Gt", "values": ["1"]},
        {"key": "", "operator": "In", "values": ["-"]},
        {"key": "a", "operator": "NotIn", "values": []},
    ]
    where = "spec.selector.matchExpressions"
    found = texts({"matchExpressions": expressions})
    assert found[:4] == [
        f"{where}[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        f"{where}[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        f'{where}[2].operator: Invalid value: "Gt": not a valid selector operator',
        f'{where}[3].key: Invalid value: "": name part must be non-empty',
    ]
    assert found[-2].startswith(f'{where}[3].values[0]: Invalid value: "-": a valid label must be')
    assert found[-1] == f"{where}[4].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"


def test_an_operator_of_a_later_release_is_no_mistake_where_that_is_said() -> None:
    later = {"key": "a", "operator": "Like", "values": ["b"]}
    assert list(requirement_problems(later, "at", any_operator=True)) == []
    assert list(operator_problems(later, "at", any_operator=True)) == []
    assert [problem.path for problem in operator_problems(later, "at")] == ["at.operator"]


def test_what_is_not_valid_selects_nothing() -> None:
    with pytest.raises(BadRequest, match=r'selector\.matchExpressions\[0\]\.operator: Invalid value: "~"'):
        selector_of({"matchExpressions": [{"key": "a", "operator": "~"}]})
