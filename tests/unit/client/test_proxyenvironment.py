"""HTTPS_PROXY and NO_PROXY. What is expected was said by Go: golang.org/x/net/http/httpproxy v0.49.0, asked for each row."""

from __future__ import annotations

import pytest

from extapi.client.proxy import ProxyError, ProxyURL
from extapi.client.proxyenvironment import environment_proxy

PROXY = ProxyURL("http", "proxy", 3128)
SVC = "https://kubernetes.default.svc"
API = "https://api.example.com:6443"


@pytest.mark.parametrize(
    ("server", "exceptions"),
    [
        # Names: itself and everything below; with a dot or "*." before it only what is below.
        (API, "example.com"),
        (API, ".example.com"),
        (API, "*.example.com"),
        (API, "EXAMPLE.com "),
        (API, "api.example.com:6443"),
        (API, "example.com:"),
        ("https://EXAMPLE.com", "example.com"),
        (SVC, "other, .svc"),
        (SVC, ".svc:443"),
        ("https://www.示例.com", "xn--fsq092h.com"),
        ("https://www.xn--fsq092h.com", ".示例.com"),
        # Addresses and networks.
        ("https://10.0.0.1", "10.0.0.1"),
        ("https://10.0.0.1", "[10.0.0.1]:443"),
        ("https://10.0.0.1:6443", "192.168.0.0/16,10.0.0.0/8"),
        ("https://10.0.0.1", "10.1.2.3/8"),
        ("https://10.0.0.1", "::ffff:10.0.0.1"),
        ("https://[::ffff:10.0.0.1]", "10.0.0.0/8"),
        ("https://[2001:db8::1]", "2001:db8::1"),
        ("https://[2001:db8::1]:6443", "[2001:db8:0::1]:6443"),
        ("https://[2001:db8::1]", "2001:db8::/32"),
        ("https://[fe80::1%25eth0]", "fe80::1"),
        (API, "*"),
        ("https://10.0.0.1", "a, * ,b"),
        # This host, whatever is said.
        ("https://localhost:6443", ""),
        ("https://127.0.0.1:6443", ""),
        ("https://127.8.0.1", ""),
        ("https://[::1]:6443", ""),
        ("https://[::ffff:127.0.0.1]", ""),
    ],
)
def test_exceptions(server: str, exceptions: str) -> None:
    assert environment_proxy(server, {"HTTPS_PROXY": "proxy:3128", "NO_PROXY": exceptions}) is None


@pytest.mark.parametrize(
    ("server", "exceptions"),
    [
        (API, ""),
        (API, "ample.com"),
        (API, "com.example"),
        (API, "*example.com"),
        (API, "api.example.com:443"),
        (API, ":6443"),
        (API, "*:6443"),
        (API, "a:b:c,]:1"),
        ("https://example.com", ".example.com"),
        ("https://example.com", "*.example.com"),
        ("https://notexample.com", "example.com"),
        ("https://foo.localhost", "localhost.foo"),
        ("https://10.0.0.1", "10.0.0"),
        ("https://10.0.0.1", "10.0.0.1:6443"),
        ("https://10.0.0.1", "10.0.0.0/99"),
        ("https://10.0.0.1", "10.0.0.0/255.0.0.0"),
        ("https://10.0.0.1", "2001:db8::/32"),
        ("https://[2001:db8::1]", "[2001:db8::1]"),
        ("https://[1000::%25.example.com]:123", "example.com"),
        ("https://0.0.0.0", "localhost"),
        (API, "10.0.0.0/8"),
        (API, f"{'ä' * 80}.com"),
    ],
)
def test_no_exceptions(server: str, exceptions: str) -> None:
    assert environment_proxy(server, {"HTTPS_PROXY": "proxy:3128", "NO_PROXY": exceptions}) == PROXY


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": ""}, None),
        ({"HTTP_PROXY": "proxy:3128"}, None),
        ({"https_proxy": "http://proxy:3128"}, PROXY),
        ({"HTTPS_PROXY": "proxy:3128", "https_proxy": "other"}, PROXY),
        ({"HTTPS_PROXY": "", "https_proxy": "proxy:3128"}, PROXY),
        ({"HTTPS_PROXY": "proxy:3128", "no_proxy": "example.com"}, None),
        ({"HTTPS_PROXY": "proxy:3128", "NO_PROXY": "other.com", "no_proxy": "example.com"}, PROXY),
        ({"HTTPS_PROXY": "proxy"}, ProxyURL("http", "proxy", 80)),
        ({"HTTPS_PROXY": "https://proxy"}, ProxyURL("https", "proxy", 443)),
        ({"HTTPS_PROXY": "socks5://proxy"}, ProxyURL("socks5", "proxy", 1080)),
        ({"HTTPS_PROXY": "socks5h://proxy:1"}, ProxyURL("socks5", "proxy", 1)),
        ({"HTTPS_PROXY": "me:secret@proxy:3128"}, ProxyURL("http", "proxy", 3128, "me", "secret")),
        ({"HTTPS_PROXY": "[2001:db8::2]:80"}, ProxyURL("http", "2001:db8::2", 80)),
    ],
)
def test_variables(environ: dict[str, str], proxy: ProxyURL | None) -> None:
    assert environment_proxy(API, environ) == proxy


def test_plain_http_has_a_variable_of_its_own() -> None:
    environ = {"HTTP_PROXY": "proxy:3128", "HTTPS_PROXY": "other:1"}
    assert environment_proxy("http://api.example.com", environ) == PROXY
    assert environment_proxy("http://api.example.com", {**environ, "NO_PROXY": "example.com:80"}) is None
    assert environment_proxy("ftp://api.example.com", environ) is None


@pytest.mark.parametrize("value", ["ftp://me:hush@proxy", "http://me:hush@proxy:x", "http://[me:hush"])
def test_a_variable_that_names_no_proxy(value: str) -> None:
    """Go's net/http ignores some of these. A server that connects past the proxy would be worse than one that does not start."""
    with pytest.raises(
        ProxyError, match=r"the environment variable https_proxy (is no URL|has an unsupported)"
    ) as caught:
        environment_proxy(API, {"https_proxy": value})
    assert "hush" not in str(caught.value)
    assert environment_proxy("https://localhost", {"https_proxy": value}) is None
