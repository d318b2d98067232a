"""Networks. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.cidr import CIDR_FUNCTIONS, parse_cidr
from extapi.schema.cel.library.ip import parse_ip
from extapi.schema.cel.types import CIDR
from tests.unit.schema.cel.library.calling import Refused, Written, call, cost, estimate, judge, untested

CASES: list[tuple[Any, ...]] = [
    (
        "string_to_cidr",
        ("10.0.0.0",),
        Refused(
            "network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"10.0.0.0\"): no '/'"
        ),
        1,
        (1, 1),
    ),
    (
        "string_to_cidr",
        ("10.0.0.0/33",),
        Refused(
            'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range'
        ),
        2,
        (2, 2),
    ),
    (
        "string_to_cidr",
        ("10.0.0.0/08",),
        Refused(
            'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/08"): bad bits after slash: "08"'
        ),
        2,
        (2, 2),
    ),
    (
        "string_to_cidr",
        ("10.0.0.0/x",),
        Refused(
            'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/x"): bad bits after slash: "x"'
        ),
        1,
        (1, 1),
    ),
    (
        "string_to_cidr",
        ("fe80::1%a/64",),
        Refused(
            'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("fe80::1%a/64"): IPv6 zones cannot be present in a prefix'
        ),
        2,
        (2, 2),
    ),
    (
        "string_to_cidr",
        ("::ffff:10.0.0.0/120",),
        Refused(
            'network address parse error during conversion from string: IPv4-mapped IPv6 address "::ffff:10.0.0.0/120" is not allowed'
        ),
        2,
        (2, 2),
    ),
    (
        "string_to_cidr",
        ("x/8",),
        Refused(
            'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("x/8"): ParseAddr("x"): unable to parse IP'
        ),
        1,
        (1, 1),
    ),
    (
        "string_to_cidr",
        ("1.2.3.4/99999999999999999999",),
        Refused(
            'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("1.2.3.4/99999999999999999999"): bad bits after slash: "99999999999999999999"'
        ),
        3,
        (3, 3),
    ),
    ("cidr_contains_ip_string", (parse_cidr("10.0.0.0/8"), "10.1.2.3"), True, 2, (2, 5)),
    ("cidr_contains_ip_string", (parse_cidr("10.0.0.0/8"), "::1"), False, 2, (2, 5)),
    ("cidr_contains_ip_string", (parse_cidr("10.0.0.0/8"), "x"), Refused("no such overload"), 2, (2, 5)),
    ("cidr_contains_ip_ip", (parse_cidr("fe80::/10"), parse_ip("fe80::1")), True, 1, (1, 4)),
    ("cidr_contains_ip_ip", (parse_cidr("0.0.0.0/0"), parse_ip("::1")), False, 0, (1, 4)),
    ("cidr_contains_cidr_string", (parse_cidr("10.0.0.0/8"), "10.1.0.0/16"), True, 5, (5, 9)),
    ("cidr_contains_cidr_string", (parse_cidr("10.0.0.0/8"), "10.0.0.0/7"), False, 4, (4, 8)),
    (
        "cidr_contains_cidr_string",
        (parse_cidr("10.0.0.0/8"), "10.0.0.0"),
        Refused(
            "network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"10.0.0.0\"): no '/'"
        ),
        4,
        (4, 8),
    ),
    ("cidr_contains_cidr", (parse_cidr("2001:db8::/32"), parse_cidr("2001:db8:1::/48")), True, 3, (3, 7)),
    ("cidr_contains_cidr", (parse_cidr("::/0"), parse_cidr("0.0.0.0/0")), False, 1, (3, 7)),
    ("cidr_prefix_length", (parse_cidr("10.0.0.0/8"),), 8, 1, (1, 1)),
    ("is_cidr", ("10.0.0.0/8",), True, 1, (1, 1)),
    ("is_cidr", ("10.0.0.0",), False, 1, (1, 1)),
    ("cidr_to_string", (parse_cidr("10.1.2.3/8"),), "10.1.2.3/8", 1, (1, 1)),
    ("cidr_to_string", (parse_cidr("2001:DB8::/32"),), "2001:db8::/32", 1, (1, 1)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(CIDR_FUNCTIONS, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(CIDR_FUNCTIONS, CASES) == {"cidr_ip", "cidr_masked"}


def test_a_network_has_an_address_and_a_masked_form() -> None:
    network = parse_cidr("10.1.2.3/12")
    assert call(CIDR_FUNCTIONS, "cidr_ip", network) == parse_ip("10.1.2.3")
    assert call(CIDR_FUNCTIONS, "cidr_masked", network) == parse_cidr("10.0.0.0/12")
    assert network.cel_size() == 2
    for identifier in ("cidr_ip", "cidr_masked"):
        assert cost(CIDR_FUNCTIONS, identifier, network) == 1
        assert estimate(CIDR_FUNCTIONS, identifier, Written(CIDR)) == (1, 1)


def test_networks_are_equal_by_address_and_prefix() -> None:
    assert parse_cidr("10.0.0.0/8") == parse_cidr("10.0.0.0/8")
    assert hash(parse_cidr("::/8")) == hash(parse_cidr("0::/8"))
    assert parse_cidr("10.0.0.0/8") != parse_cidr("10.0.0.0/9")
    with pytest.raises(EvaluationError, match="no such overload"):
        _ = parse_cidr("10.0.0.0/8") == "10.0.0.0/8"
