"""Semantic versions. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.semver import SEMVER_FUNCTIONS, parse_semver
from tests.unit.schema.cel.library.calling import Refused, judge, untested

CASES: list[tuple[Any, ...]] = [
    ("string_to_semver", ("",), Refused("Version string empty"), 0, (0, 0)),
    ("string_to_semver", ("1.0",), Refused("No Major.Minor.Patch elements found"), 1, (1, 1)),
    ("string_to_semver", ("v1.0.0",), Refused('Invalid character(s) found in major number "v1"'), 1, (1, 1)),
    ("string_to_semver", ("1.a.0",), Refused('Invalid character(s) found in minor number "a"'), 1, (1, 1)),
    ("string_to_semver", ("1.02.3",), Refused('Minor number must not contain leading zeroes "02"'), 1, (1, 1)),
    ("string_to_semver", ("1.0.0-",), Refused("Prerelease is empty"), 1, (1, 1)),
    (
        "string_to_semver",
        ("1.0.0-01",),
        Refused('Numeric PreRelease version must not contain leading zeroes "01"'),
        1,
        (1, 1),
    ),
    ("string_to_semver", ("1.0.0-a_b",), Refused('Invalid character(s) found in prerelease "a_b"'), 1, (1, 1)),
    ("string_to_semver", ("1.0.0+",), Refused("Build meta data is empty"), 1, (1, 1)),
    ("string_to_semver", ("1.0.0+a_b",), Refused('Invalid character(s) found in build meta data "a_b"'), 1, (1, 1)),
    (
        "string_to_semver",
        ("18446744073709551616.0.0",),
        Refused('strconv.ParseUint: parsing "18446744073709551616": value out of range'),
        3,
        (3, 3),
    ),
    ("string_to_semver", (".1.2",), Refused('strconv.ParseUint: parsing "": invalid syntax'), 1, (1, 1)),
    ("string_to_semver", ("1.2.3é",), Refused('Invalid character(s) found in patch number "3é"'), 1, (1, 1)),
    (
        "string_bool_to_semver",
        ("1.0-a", True),
        Refused("short version cannot contain PreRelease/Build meta data"),
        1,
        (1, 1),
    ),
    ("string_bool_to_semver", ("x", True), Refused('Invalid character(s) found in major number "x"'), 1, (1, 1)),
    (
        "string_bool_to_semver",
        ("1.2.3.4", True),
        Refused('Invalid character(s) found in patch number "3.4"'),
        1,
        (1, 1),
    ),
    ("string_bool_to_semver", ("v1", False), Refused("No Major.Minor.Patch elements found"), 1, (1, 1)),
    ("is_semver_string", ("1.0.0",), True, 1, (1, 1)),
    ("is_semver_string", ("1.0",), False, 1, (1, 1)),
    ("is_semver_string", ("1.0.0-rc.1+b.2",), True, 2, (2, 2)),
    ("is_semver_string_bool", ("v01.002", True), True, 1, (1, 1)),
    ("is_semver_string_bool", ("0.0", True), True, 1, (1, 1)),
    ("is_semver_string_bool", ("v", True), False, 1, (1, 1)),
    ("is_semver_string_bool", ("1.0.0.0", True), False, 1, (1, 1)),
    ("is_semver_string_bool", ("v1.0.0", False), False, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("1.0.0-1"), parse_semver("1.0.0-2")), -1, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("1.0.0-2"), parse_semver("1.0.0-a")), -1, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("1.0.0-a"), parse_semver("1.0.0-a.1")), -1, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("1.0.0-a.1"), parse_semver("1.0.0-a.b")), -1, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("1.0.0-a.b"), parse_semver("1.0.0-b")), -1, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("1.0.0-b"), parse_semver("1.0.0")), -1, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("1.0.0"), parse_semver("1.0.1-0")), -1, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("1.0.1-0"), parse_semver("1.2.0")), -1, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("1.2.0"), parse_semver("2.0.0")), -1, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("1.0.0+a"), parse_semver("1.0.0+b")), 0, 1, (1, 1)),
    ("semver_compare_to", (parse_semver("2.0.0"), parse_semver("1.9.9")), 1, 1, (1, 1)),
    ("semver_is_greater_than", (parse_semver("1.0.1"), parse_semver("1.0.0")), True, 1, (1, 1)),
    ("semver_is_less_than", (parse_semver("1.0.0-a"), parse_semver("1.0.0")), True, 1, (1, 1)),
    ("semver_major", (parse_semver("1.2.3"),), 1, 1, (1, 1)),
    ("semver_minor", (parse_semver("1.2.3"),), 2, 1, (1, 1)),
    ("semver_patch", (parse_semver("1.2.18446744073709551615"),), -1, 1, (1, 1)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(SEMVER_FUNCTIONS, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(SEMVER_FUNCTIONS, CASES) == set()


def test_build_metadata_does_not_count() -> None:
    assert parse_semver("1.2.3+a") == parse_semver("1.2.3+b")
    assert hash(parse_semver("1.2.3+a")) == hash(parse_semver("1.2.3+b"))
    assert parse_semver("v01.2", True) == parse_semver("1.2.0")
    with pytest.raises(EvaluationError, match="no such overload"):
        _ = parse_semver("1.2.3") == "1.2.3"
