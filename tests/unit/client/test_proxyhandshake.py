"""What is said to a proxy, byte for byte: RFC 9110 (section 9.3.6), RFC 1928 and RFC 1929."""

from __future__ import annotations

import re

import pytest

from extapi.client.proxy import parse_proxy
from extapi.client.proxyhandshake import ProxyHandshakeError, connect, said, socks5
from tests.unit.client.building import run


class Scripted:
    """A proxy that says ``answer``, whatever it is told."""

    def __init__(self, answer: bytes) -> None:
        self.left = answer
        self.told = b""

    def write(self, data: bytes) -> None:
        self.told += data

    async def exactly(self, size: int) -> bytes:
        taken, self.left = self.left[:size], self.left[size:]
        if len(taken) < size:
            raise ProxyHandshakeError("closed the connection instead of answering")
        return taken

    async def head(self, pattern: re.Pattern[bytes], limit: int, start: bytes) -> bytes:
        end = pattern.search(self.left, 0, limit)
        if end is None or not self.left.startswith(start):
            raise ProxyHandshakeError("closed the connection instead of answering")
        return await self.exactly(end.end())


@pytest.mark.parametrize(
    ("host", "where"), [("k.example.com", b"k.example.com:443"), ("10.0.0.1", b"10.0.0.1:443"), ("::1", b"[::1]:443")]
)
def test_connect_names_the_server_twice(host: str, where: bytes) -> None:
    proxy = Scripted(b"HTTP/1.1 200 Connection established\r\n\r\n\x16")
    run(connect(proxy, parse_proxy("http://proxy"), host, 443))
    assert proxy.told == b"CONNECT " + where + b" HTTP/1.1\r\nHost: " + where + b"\r\n\r\n"
    assert proxy.left == b"\x16"


def test_connect_logs_in_as_the_proxys_url_says() -> None:
    """The example of RFC 7617, section 2."""
    proxy = Scripted(b"HTTP/1.0 204 OK\r\n\r\n")
    run(connect(proxy, parse_proxy("http://Aladdin:open%20sesame@proxy"), "k", 443))
    assert b"\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n" in proxy.told


@pytest.mark.parametrize(
    ("url", "login"), [("http://:secret@proxy", b"OnNlY3JldA=="), ("http://token@proxy", b"dG9rZW46")]
)
def test_connect_logs_in_with_half_a_login(url: str, login: bytes) -> None:
    """RFC 7617, section 2: either part may be empty. Some proxies take a token for the one or the other."""
    proxy = Scripted(b"HTTP/1.1 200 OK\r\n\r\n")
    run(connect(proxy, parse_proxy(url), "k", 443))
    assert b"\r\nProxy-Authorization: Basic " + login + b"\r\n" in proxy.told


@pytest.mark.parametrize(
    ("url", "answer", "why"),
    [
        ("http://proxy", b"HTTP/1.1 403 No\x07 way\r\n\r\n", "^answered CONNECT k:443 with 403 No way$"),
        ("http://proxy", b"HTTP/1.1 407 Who\r\n\r\n", "407 Who; its URL has to hold a user and a password$"),
        ("http://u:p@proxy", b"HTTP/1.1 407 Who\r\n\r\n", "it does not take the user and password in its URL$"),
        # RFC 9110, 11.7.1: in one field or several, which may have parameters
        (
            "http://u:p@proxy",
            b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Negotiate\r\nproxy-authenticate: NTLM TlRM=\r\n\r\n",
            "; it wants Negotiate or NTLM, and only Basic is supported: let it take Basic, or this host without a login$",
        ),
        (
            "http://proxy",
            b'HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm="p", nonce="n"\r\n\r\n',
            "; it wants Digest, and only Basic is supported",
        ),
        (
            "http://proxy",
            b'HTTP/1.1 407 Who\r\nProxy-Authenticate: Negotiate, basic realm="p"\r\n\r\n',
            "its URL has to hold a user and a password$",
        ),
        ("http://proxy", b"HTTP/1.1 302 Found\r\nLocation: https://login\r\n\r\n", "with 302 Found$"),
        ("http://proxy", b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "with 101 Switching Protocols$"),
        ("http://proxy", b"HTTP/2 200\r\n\r\n", "^answered CONNECT k:443 with no HTTP/1.1: 'HTTP/2 200"),
    ],
)
def test_connect_refused(url: str, answer: bytes, why: str) -> None:
    with pytest.raises(ProxyHandshakeError, match=why):
        run(connect(Scripted(answer), parse_proxy(url), "k", 443))


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("k.example.com", b"\x03\x0dk.example.com"),
        ("10.0.0.1", b"\x01\x0a\x00\x00\x01"),
        ("::1", b"\x04" + b"\x00" * 15 + b"\x01"),
    ],
)
def test_socks5_asks_for_the_server_by_its_type_of_address(host: str, address: bytes) -> None:
    proxy = Scripted(b"\x05\x00" + b"\x05\x00\x00\x01\x0a\x00\x00\x02\x1f\x90" + b"\x16")
    run(socks5(proxy, parse_proxy("socks5://proxy"), host, 443))
    assert proxy.told == b"\x05\x01\x00" + b"\x05\x01\x00" + address + b"\x01\xbb"
    assert proxy.left == b"\x16"


def test_socks5_logs_in() -> None:
    proxy = Scripted(b"\x05\x02" + b"\x01\x00" + b"\x05\x00\x00\x03\x01k\x00\x50")
    run(socks5(proxy, parse_proxy("socks5://me:secret@proxy"), "k", 443))
    assert proxy.told.startswith(b"\x05\x02\x00\x02" + b"\x01\x02me\x06secret" + b"\x05\x01\x00\x03")
    assert proxy.left == b""


@pytest.mark.parametrize(
    ("url", "answer", "why"),
    [
        ("socks5://proxy", b"HT", "does not speak SOCKS5: it answered with version 72 instead of 5"),
        ("socks5://proxy", b"\x05\xff", "wants a user and a password in its URL"),
        ("socks5://me:secret@proxy", b"\x05\xff", "takes none of our ways to log in"),
        ("socks5://me:secret@proxy", b"\x05\x02\x01\x01", "refused user and password"),
        ("socks5://proxy", b"\x05\x00\x05\x05\x00\x01", "did not connect to k:443: connection refused"),
        ("socks5://proxy", b"\x05\x00\x05\x09\x00\x01", "did not connect to k:443: reply 9"),
        ("socks5://proxy", b"\x05\x00\x05\x00\x00\x02", "answered with an address of the unknown type 2"),
    ],
)
def test_socks5_refused(url: str, answer: bytes, why: str) -> None:
    with pytest.raises(ProxyHandshakeError, match=why):
        run(socks5(Scripted(answer), parse_proxy(url), "k", 443))


def test_only_the_beginning_of_what_a_proxy_says_is_told() -> None:
    assert said(b"<html>\r\n" + b"x" * 1000) == repr("<html>\r\n" + "x" * 52)
