"""URLs. Expected values are Kubernetes 1.36.3's, asked of its functions of URLs, and of the format ``uri``."""

from __future__ import annotations

import pytest

from extapi.schema.cel.library.neturl import URLError, parse_url, text_of, uri_problem
from extapi.schema.uri import is_uri

PROBLEMS: list[tuple[str, str | None]] = [
    ("", 'parse "": empty url'),
    ("*", None),
    ("/", None),
    ("//a", None),
    ("a b", 'parse "a b": invalid URI for request'),
    ("a\x7f", 'parse "a\\x7f": net/url: invalid control character in URL'),
    (":a", 'parse ":a": missing protocol scheme'),
    ("1a:b", 'parse "1a:b": invalid URI for request'),
    ("mailto:x@y", None),
    ("http:", None),
    ("http://", None),
    ("HTTP://A/b", None),
    ("http:a", None),
    ("http:/a", None),
    ("x:a?b#c", None),
    ("/a:b", None),
    ("?x", 'parse "?x": invalid URI for request'),
    ("a:b:c", None),
    ("http://[", "parse \"http://[\": missing ']' in host"),
    ("http://a[b]", 'parse "http://a[b]": invalid IP-literal'),
    ("http://[::1", "parse \"http://[::1\": missing ']' in host"),
    ("http://[::1]", None),
    ("http://[::1]:80", None),
    ("http://[::1]x", 'parse "http://[::1]x": invalid port "x" after host'),
    ("http://[1.2.3.4]", 'parse "http://[1.2.3.4]": invalid IP-literal'),
    ("http://[::1%25a%20b]/", None),
    ("http://[::1%25%41]", None),
    ("http://[x]", 'parse "http://[x]": invalid host: ParseAddr("x"): unable to parse IP'),
    ("http://a:b", 'parse "http://a:b": invalid port ":b" after host'),
    ("http://a:1:2", 'parse "http://a:1:2": invalid port ":1:2" after host'),
    ("ftp://a:1:2", None),
    ("http://a:80:", 'parse "http://a:80:": invalid port ":80:" after host'),
    ("http://a%20b", 'parse "http://a%20b": invalid URL escape "%20"'),
    ("http://%c3%a9", None),
    ("http://%", 'parse "http://%": invalid URL escape "%"'),
    ("http://%4", 'parse "http://%4": invalid URL escape "%4"'),
    ("http://a b", 'parse "http://a b": invalid character " " in host name'),
    ("http://u:p%@a", 'parse "http://u:p%@a": invalid URL escape "%"'),
    ("http://u p@a", 'parse "http://u p@a": net/url: invalid userinfo'),
    ("http://u:p@w@a", None),
    ("http://%zz@a", 'parse "http://%zz@a": invalid URL escape "%zz"'),
    ("/%", 'parse "/%": invalid URL escape "%"'),
    ("/%4", 'parse "/%4": invalid URL escape "%4"'),
    ("/%zz", 'parse "/%zz": invalid URL escape "%zz"'),
    ("/a%2fb", None),
    ("/%é", 'parse "/%é": invalid URL escape "%é"'),
    ("http://a?b?c", None),
    ("http://a?", None),
    ("http://a/?#", None),
    ("/é", None),
]
PARTS: list[tuple[str, tuple[str, str, str, str, str], str]] = [
    (
        "http://user:p%40w@Ex.com:80/a%2Fb?x=1#f",
        ("http", "Ex.com:80", "Ex.com", "80", "/a%2Fb"),
        "http://user:p%40w@Ex.com:80/a%2Fb?x=1#f",
    ),
    ("/a b", ("", "", "", "", "/a%20b"), "/a%20b"),
    ("http://a", ("http", "a", "a", "", ""), "http://a"),
    ("mailto:x@y?z", ("mailto", "", "", "", ""), "mailto:x@y?z"),
    ("http://[fe80::1%25en0]:8/", ("http", "[fe80::1%en0]:8", "fe80::1%en0", "8", "/"), "http://[fe80::1%25en0]:8/"),
    ("http://a/é", ("http", "a", "a", "", "/%C3%A9"), "http://a/%C3%A9"),
    ("http://a/%e9", ("http", "a", "a", "", "/%e9"), "http://a/%e9"),
    ("http:///x", ("http", "", "", "", "/x"), "http:///x"),
    ("x:/y", ("x", "", "", "", "/y"), "x:/y"),
    ("http://a?", ("http", "a", "a", "", ""), "http://a?"),
    ("http://a/[x]!|", ("http", "a", "a", "", "/%5Bx%5D%21%7C"), "http://a/%5Bx%5D%21%7C"),
    ("//h/p", ("", "h", "h", "", "/p"), "//h/p"),
    ("/%2F%61", ("", "", "", "", "/%2F%61"), "/%2F%61"),
    ("http://a:/", ("http", "a:", "a", "", "/"), "http://a:/"),
    ("http://a/b#%e9%20!", ("http", "a", "a", "", "/b"), "http://a/b#%e9%20!"),
    ("http://%e4:80/", ("http", "�:80", "�", "80", "/"), "http://%E4:80/"),
    ("/*", ("", "", "", "", "/*"), "/*"),
]


@pytest.mark.parametrize(("text", "problem"), PROBLEMS)
def test_what_is_wrong_with_a_uri(text: str, problem: str | None) -> None:
    assert uri_problem(text) == problem
    assert is_uri(text) is (problem is None)


@pytest.mark.parametrize(("text", "parts", "again"), PARTS)
def test_a_url_has_parts_and_is_written_again(text: str, parts: tuple[str, ...], again: str) -> None:
    url = parse_url(text)
    found = (url.scheme, text_of(url.host), *url.hostname_and_port(), url.escaped_path())
    assert found == parts
    assert str(url) == again


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("/?a=1&a=2&b=%41+c", {"a": ["1", "2"], "b": ["A c"]}),
        ("/?a&=b&&c=%", {"a": [""], "": ["b"]}),
        ("/?a;b=1&c=%3B", {"c": [";"]}),
        ("/?" + "a&" * 10_000, {}),
    ],
)
def test_a_query_has_parameters(text: str, query: dict[str, list[str]]) -> None:
    assert parse_url(text).query() == query


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:b#%zz", 'parse "a:b#%zz": invalid URL escape "%zz"'),
        ("http://a b#c", 'parse "http://a b": invalid character " " in host name'),
        ("a:b", None),
        ("1:b", 'parse "1:b": first path segment in URL cannot contain colon'),
    ],
)
def test_a_fragment_is_read_apart(text: str, message: str | None) -> None:
    if message is None:
        parse_url(text)
        return
    with pytest.raises(URLError) as caught:
        parse_url(text)
    assert str(caught.value) == message


def test_a_relative_url_with_a_colon_is_written_so_that_it_is_no_scheme() -> None:
    assert str(parse_url("./a:b")) == "./a:b"
