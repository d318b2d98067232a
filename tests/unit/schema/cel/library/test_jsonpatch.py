"""``jsonpatch.escapeKey``. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.library.jsonpatch import JSON_PATCH
from tests.unit.schema.cel.library.calling import judge, untested

CASES: list[tuple[Any, ...]] = [
    ("string_jsonpatch_escapeKey_string", ("plain",), "plain", 1, (1, 1)),
    ("string_jsonpatch_escapeKey_string", ("a~/b",), "a~0~1b", 1, (1, 1)),
    ("string_jsonpatch_escapeKey_string", ("~1",), "~01", 1, (1, 1)),
    ("string_jsonpatch_escapeKey_string", ("a.test/" + "x" * 13,), "a.test~1" + "x" * 13, 2, (2, 2)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(JSON_PATCH, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(JSON_PATCH, CASES) == set()
