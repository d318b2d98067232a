"""IP addresses. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.ip import IP, IP_FUNCTIONS, parse_ip
from tests.unit.schema.cel.library.calling import Refused, judge, untested

CASES: list[tuple[Any, ...]] = [
    (
        "string_to_ip",
        ("192.168.0.01",),
        Refused(
            'IP Address "192.168.0.01" parse error during conversion from string: ParseAddr("192.168.0.01"): IPv4 field has octet with leading zero'
        ),
        2,
        (2, 2),
    ),
    ("string_to_ip", ("fe80::1%eth0",), Refused('IP address "fe80::1%eth0" with zone value is not allowed'), 2, (2, 2)),
    (
        "string_to_ip",
        ("::ffff:1.2.3.4",),
        Refused('IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        2,
        (2, 2),
    ),
    (
        "string_to_ip",
        ("",),
        Refused('IP Address "" parse error during conversion from string: ParseAddr(""): unable to parse IP'),
        0,
        (0, 0),
    ),
    ("ip_family", (parse_ip("1.2.3.4"),), 4, 1, (1, 1)),
    ("ip_family", (parse_ip("2001:db8::abcd"),), 6, 1, (1, 1)),
    ("ip_is_canonical", ("127.0.0.1",), True, 2, (2, 2)),
    ("ip_is_canonical", ("2001:DB8::ABCD",), False, 3, (3, 3)),
    ("ip_is_canonical", ("2001:db8:0:0:0:0:0:1",), False, 4, (4, 4)),
    (
        "ip_is_canonical",
        ("x",),
        Refused('IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP'),
        1,
        (1, 1),
    ),
    ("ip_is_unspecified", (parse_ip("::"),), True, 1, (1, 1)),
    ("ip_is_unspecified", (parse_ip("1.1.1.1"),), False, 1, (1, 1)),
    ("ip_is_loopback", (parse_ip("127.0.0.1"),), True, 1, (1, 1)),
    ("ip_is_loopback", (parse_ip("126.0.0.1"),), False, 1, (1, 1)),
    ("ip_is_loopback", (parse_ip("::1"),), True, 1, (1, 1)),
    ("ip_is_loopback", (parse_ip("::2"),), False, 1, (1, 1)),
    ("ip_is_link_local_multicast", (parse_ip("224.0.0.1"),), True, 1, (1, 1)),
    ("ip_is_link_local_multicast", (parse_ip("224.0.1.1"),), False, 1, (1, 1)),
    ("ip_is_link_local_multicast", (parse_ip("ff02::1"),), True, 1, (1, 1)),
    ("ip_is_link_local_multicast", (parse_ip("fd00::1"),), False, 1, (1, 1)),
    ("ip_is_link_local_unicast", (parse_ip("169.254.169.254"),), True, 1, (1, 1)),
    ("ip_is_link_local_unicast", (parse_ip("192.168.0.1"),), False, 1, (1, 1)),
    ("ip_is_link_local_unicast", (parse_ip("fe80::1"),), True, 1, (1, 1)),
    ("ip_is_link_local_unicast", (parse_ip("fd80::1"),), False, 1, (1, 1)),
    ("ip_is_global_unicast", (parse_ip("192.168.0.1"),), True, 1, (1, 1)),
    ("ip_is_global_unicast", (parse_ip("255.255.255.255"),), False, 1, (1, 1)),
    ("ip_is_global_unicast", (parse_ip("2001:db8::1"),), True, 1, (1, 1)),
    ("ip_is_global_unicast", (parse_ip("ff00::1"),), False, 1, (1, 1)),
    ("ip_is_global_unicast", (parse_ip("127.0.0.1"),), False, 1, (1, 1)),
    ("ip_is_unspecified", (IP(0, 32),), True, 1, (1, 1)),
    ("is_ip", ("127.0.0.1",), True, 1, (1, 1)),
    ("is_ip", ("not.an.ip",), False, 1, (1, 1)),
    ("is_ip", ("::1.2.3",), False, 1, (1, 1)),
    ("ip_to_string", (parse_ip("0:0:0:1:0:0:0:2"),), "::1:0:0:0:2", 1, (1, 1)),
    ("ip_to_string", (parse_ip("10.0.0.1"),), "10.0.0.1", 1, (1, 1)),
    ("ip_to_string", (parse_ip("1:0:0:2::"),), "1:0:0:2::", 1, (1, 1)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(IP_FUNCTIONS, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(IP_FUNCTIONS, CASES) == set()


def test_addresses_are_equal_by_family_and_number() -> None:
    assert parse_ip("::1") == parse_ip("0:0::1")
    assert hash(parse_ip("::1")) == hash(parse_ip("0:0::1"))
    assert parse_ip("0.0.0.1") != parse_ip("::1")
    assert (parse_ip("0.0.0.1").cel_size(), parse_ip("::1").cel_size()) == (4, 16)
    with pytest.raises(EvaluationError, match="no such overload"):
        _ = parse_ip("::1") == "::1"
