"""URLs of proxies: what is taken, and what is said about the rest without repeating it."""

from __future__ import annotations

import pytest

from extapi.client.proxy import ProxyError, ProxyURL, parse_proxy


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        # Default ports: canonicalAddr of Go's net/http.
        ("http://proxy.example.com", ProxyURL("http", "proxy.example.com", 80)),
        ("https://proxy.example.com/", ProxyURL("https", "proxy.example.com", 443)),
        ("socks5://proxy.example.com", ProxyURL("socks5", "proxy.example.com", 1080)),
        ("HTTP://Proxy:3128", ProxyURL("http", "proxy", 3128)),
        ("http://[2001:db8::1]:3128", ProxyURL("http", "2001:db8::1", 3128)),
        ("http://u%40x:p%3A%2F@proxy:1", ProxyURL("http", "proxy", 1, "u@x", "p:/")),
        ("socks5://u@proxy", ProxyURL("socks5", "proxy", 1080, "u")),
        (f"socks5://{'u' * 255}:{'p' * 255}@proxy", ProxyURL("socks5", "proxy", 1080, "u" * 255, "p" * 255)),
    ],
)
def test_urls(url: str, proxy: ProxyURL) -> None:
    assert parse_proxy(url) == proxy


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://u:hush@proxy:port", "is no URL"),
        ("http://u:hush@[::1", "is no URL"),
        ("ftp://u:hush@proxy", 'has an unsupported scheme "ftp", must be http, https, or socks5'),
        ("socks5h://u:hush@proxy", 'has an unsupported scheme "socks5h"'),
        ("hush:hush@proxy", "has an unsupported scheme, must be"),
        ("u:hush@proxy:3128", "has an unsupported scheme, must be"),
        ("", "has an unsupported scheme, must be"),
        ("http://u:hush@", "names no host"),
        ("http://u:hush@pro xy", "names no host"),
        ("socks5://:hush@proxy", "needs a user"),
        (f"socks5://u:{'hush' * 64}@proxy", "more than 255 bytes"),
        (f"socks5://{'ü' * 128}:hush@proxy", "more than 255 bytes"),
    ],
)
def test_what_is_refused_is_not_repeated(url: str, text: str) -> None:
    with pytest.raises(ProxyError) as caught:
        parse_proxy(url)
    assert text in str(caught.value)
    assert "hush" not in str(caught.value)


def test_as_text_it_has_no_password() -> None:
    proxy = parse_proxy("http://me:hush@[::1]:3128")
    assert str(proxy) == "http://[::1]:3128"
    assert "hush" not in repr(proxy)
