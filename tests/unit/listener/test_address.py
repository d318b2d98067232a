"""The expected values are what Go's net.ParseIP makes of the same texts."""

from __future__ import annotations

import pytest

from extapi.listener.address import parse_address


@pytest.mark.parametrize(
    ("text", "address", "everywhere"),
    [
        ("127.0.0.1", "127.0.0.1", False),
        ("0.0.0.0", "0.0.0.0", True),  # noqa: S104 - a text
        (" ::1\n", "::1", False),
        ("fd00:0::1", "fd00::1", False),
        ("::", "::", True),
        ("", "::", True),
        ("::ffff:10.0.0.1", "10.0.0.1", False),
        ("::ffff:0.0.0.0", "0.0.0.0", True),  # noqa: S104 - a text
    ],
)
def test_addresses(text: str, address: str, everywhere: bool) -> None:
    found = parse_address(text)
    assert (str(found), found.is_unspecified) == (address, everywhere)


@pytest.mark.parametrize("text", ["localhost", "[::1]", "10.0.0.1:443", "10.0.0.01", "::1/128"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=text.replace("[", r"\[")):
        parse_address(text)
