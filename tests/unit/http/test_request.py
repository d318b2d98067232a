from __future__ import annotations

import pytest

from extapi.http.request import NoBody, client_network


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
def test_client_network(address: str, expected: str) -> None:
    assert client_network(address) == expected


def test_no_body() -> None:
    with pytest.raises(StopIteration) as stop:
        NoBody().read(1).send(None)
    assert stop.value.value == b""
