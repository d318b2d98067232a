"""The expected texts are what Go's net.JoinHostPort returns."""

from __future__ import annotations

import pytest

from extapi.client.authority import authority


@pytest.mark.parametrize(
    ("host", "port", "text"),
    [
        ("srv.test.svc", 443, "srv.test.svc:443"),
        ("127.0.0.1", 0, "127.0.0.1:0"),
        ("::1", 6443, "[::1]:6443"),
        ("fe80::1%eth0", 1, "[fe80::1%eth0]:1"),
    ],
)
def test_an_ipv6_address_stands_in_brackets(host: str, port: int, text: str) -> None:
    assert authority(host, port) == text
