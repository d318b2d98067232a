"""IP addresses. Texts are Go's: ``net/netip`` and its tests."""

from __future__ import annotations

import pytest

from extapi.schema.cel.library.addresses import AddressError, parse_address, written


@pytest.mark.parametrize(
    ("text", "number", "bits", "zone"),
    [
        ("1.2.3.4", 0x01020304, 32, ""),
        ("255.255.255.255", 2**32 - 1, 32, ""),
        ("::", 0, 128, ""),
        ("::1", 1, 128, ""),
        ("1::", 1 << 112, 128, ""),
        ("1:2:3:4:5:6:7:8", 0x00010002000300040005000600070008, 128, ""),
        ("1:2:3:4:5:6:1.2.3.4", 0x00010002000300040005000601020304, 128, ""),
        ("::ffff:1.2.3.4", 0xFFFF01020304, 128, ""),
        ("FE80::A%eth0", 0xFE80 << 112 | 10, 128, "eth0"),
        ("::%a%b", 0, 128, "a%b"),
    ],
)
def test_an_address_is_read(text: str, number: int, bits: int, zone: str) -> None:
    assert parse_address(text) == (number, bits, zone)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "unable to parse IP"),
        ("%", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("1.2.3.04", "IPv4 field has octet with leading zero"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        (".1.2.3", 'IPv4 field must have at least one digit (at ".1.2.3")'),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1.2.3.x", 'unexpected character (at "x")'),
        ("1.2.3.4%a", 'unexpected character (at "%a")'),
        ("::1%", "zone must be a non-empty string"),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        (":1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("1:2.3.4.5", 'embedded IPv4 address must replace the final 2 fields of the address (at "2.3.4.5")'),
        (
            "1:2:3:4:5:6:7::1.2.3.4",
            'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
        ),
        ("::1.2.3", "IPv4 address too short"),
        ("1g::", 'unexpected character, want colon (at "g::")'),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3", "address string too short"),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
    ],
)
def test_what_is_no_address(text: str, reason: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert str(caught.value) == f'ParseAddr("{text}"): {reason}'


@pytest.mark.parametrize(
    "text",
    ["1.2.3.4", "::", "::1", "1::", "1:0:0:2::3", "1:2:0:3:4:5:6:7", "a:b:c:d:e:f:1:0", "0:0:1::", "::2:0:0:3:0:0"],
)
def test_a_canonical_address_is_written_as_it_was_read(text: str) -> None:
    number, bits, _ = parse_address(text)
    assert written(number, bits) == text
