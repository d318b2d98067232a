from __future__ import annotations

import pytest

from extapi.listener.network import network


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::", "2001:db8:1:2::"),
        ("::1", "::"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
        ("not:an:address", "not:an:address"),
    ],
)
def test_network(address: str, expected: str) -> None:
    assert network(address) == expected
