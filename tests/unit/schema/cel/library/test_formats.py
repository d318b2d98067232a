"""Named formats. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.formats import FORMAT_FUNCTIONS, NAMED_FORMATS, NamedFormat
from tests.unit.schema.cel.library.calling import call, cost, judge, untested

CASES: list[tuple[Any, ...]] = [
    ("format-validate", (NAMED_FORMATS["dns1123Label"], "my-label"), "none", 8, (32, 32)),
    ("format-validate", (NAMED_FORMATS["dns1123Subdomain"], "a.b-c"), "none", 15, (32, 32)),
    ("format-validate", (NAMED_FORMATS["dns1035Label"], "a1"), "none", 8, (32, 32)),
    ("format-validate", (NAMED_FORMATS["qualifiedName"], "example.com/name"), "none", 30, (64, 64)),
    ("format-validate", (NAMED_FORMATS["dns1123LabelPrefix"], "a-"), "none", 8, (32, 32)),
    ("format-validate", (NAMED_FORMATS["dns1123SubdomainPrefix"], "a.b-"), "none", 15, (32, 32)),
    ("format-validate", (NAMED_FORMATS["dns1035LabelPrefix"], "a-"), "none", 8, (32, 32)),
    ("format-validate", (NAMED_FORMATS["labelValue"], "a_b"), "none", 10, (32, 32)),
    ("format-validate", (NAMED_FORMATS["uri"], "http://a/b"), "none", 552, (32, 32)),
    ("format-validate", (NAMED_FORMATS["uuid"], "123e4567-e89b-12d3-a456-426614174000"), "none", 72, (128, 128)),
    ("format-validate", (NAMED_FORMATS["byte"], "aGk="), "none", 21, (32, 32)),
    ("format-validate", (NAMED_FORMATS["date"], "2024-02-29"), "none", 36, (32, 32)),
    ("format-validate", (NAMED_FORMATS["datetime"], "2024-02-29T00:00:00Z"), "none", 54, (64, 64)),
    (
        "format-validate",
        (NAMED_FORMATS["dns1123Label"], "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        (
            "some",
            [
                "must be no more than 63 characters",
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            ],
        ),
        56,
        (224, 224),
    ),
    (
        "format-validate",
        (NAMED_FORMATS["dns1123Subdomain"], "a..b"),
        (
            "some",
            [
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ],
        ),
        15,
        (32, 32),
    ),
    (
        "format-validate",
        (NAMED_FORMATS["dns1035Label"], "1a"),
        (
            "some",
            [
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
            ],
        ),
        8,
        (32, 32),
    ),
    (
        "format-validate",
        (NAMED_FORMATS["qualifiedName"], "a/b/c"),
        (
            "some",
            [
                "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ],
        ),
        15,
        (32, 32),
    ),
    (
        "format-validate",
        (NAMED_FORMATS["dns1123LabelPrefix"], "-"),
        (
            "some",
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ],
        ),
        8,
        (32, 32),
    ),
    ("format-validate", (NAMED_FORMATS["dns1123SubdomainPrefix"], ".-"), "none", 15, (32, 32)),
    ("format-validate", (NAMED_FORMATS["dns1035LabelPrefix"], "1-"), "none", 8, (32, 32)),
    (
        "format-validate",
        (NAMED_FORMATS["labelValue"], "a/b"),
        (
            "some",
            [
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ],
        ),
        10,
        (32, 32),
    ),
    (
        "format-validate",
        (NAMED_FORMATS["uri"], "a b"),
        ("some", ['parse "a b": invalid URI for request']),
        276,
        (32, 32),
    ),
    ("format-validate", (NAMED_FORMATS["uuid"], "123"), ("some", ["does not match the UUID format"]), 18, (32, 32)),
    ("format-validate", (NAMED_FORMATS["byte"], "aGk"), ("some", ["invalid base64"]), 21, (32, 32)),
    ("format-validate", (NAMED_FORMATS["date"], "2023-02-29"), ("some", ["invalid date"]), 36, (32, 32)),
    ("format-validate", (NAMED_FORMATS["datetime"], "2024-02-29"), ("some", ["invalid datetime"]), 36, (32, 32)),
    ("format-named", ("nope",), "none", 1, (1, 1)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(FORMAT_FUNCTIONS, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(FORMAT_FUNCTIONS, CASES) == {f"format.{name}" for name in NAMED_FORMATS}


def test_a_format_is_found_by_its_name() -> None:
    for name, value in NAMED_FORMATS.items():
        named = call(FORMAT_FUNCTIONS, "format-named", name)
        assert named.value is call(FORMAT_FUNCTIONS, f"format.{name}") is value
    assert cost(FORMAT_FUNCTIONS, "format-named", "uri") == 1


def test_formats_are_equal_by_name() -> None:
    assert NAMED_FORMATS["uri"] == NamedFormat("URI", lambda _: (), 1)
    assert hash(NAMED_FORMATS["uri"]) == hash(NamedFormat("URI", lambda _: (), 1))
    assert NAMED_FORMATS["uri"] != NAMED_FORMATS["date"]
    with pytest.raises(EvaluationError, match="no such overload"):
        _ = NAMED_FORMATS["uri"] == "URI"
