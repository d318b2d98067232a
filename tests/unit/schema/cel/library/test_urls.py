"""URLs. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.intervals import Interval
from extapi.schema.cel.library.urls import URLS, make_url
from extapi.schema.cel.types import STRING
from tests.unit.schema.cel.library.calling import Refused, Written, call, found, judge, untested

CASES: list[tuple[Any, ...]] = [
    (
        "string_to_url",
        ("not a url",),
        Refused('URL parse error during conversion from string: parse "not a url": invalid URI for request'),
        1,
        (1, 1),
    ),
    (
        "string_to_url",
        ("/a#%zz",),
        Refused('URL parse error during conversion from string: parse "/a#%zz": invalid URL escape "%zz"'),
        1,
        (1, 1),
    ),
    (
        "string_to_url",
        ("http://[::1",),
        Refused("URL parse error during conversion from string: parse \"http://[::1\": missing ']' in host"),
        2,
        (2, 2),
    ),
    (
        "url_get_scheme",
        (make_url("https://user:pw@Example.com:8080/a%2Fb%20c?x=1&x=2&y=%41+b&bad=%zz&q;r=1&&z#frag%20"),),
        "https",
        1,
        (1, 1),
    ),
    (
        "url_get_host",
        (make_url("https://user:pw@Example.com:8080/a%2Fb%20c?x=1&x=2&y=%41+b&bad=%zz&q;r=1&&z#frag%20"),),
        "Example.com:8080",
        1,
        (1, 1),
    ),
    (
        "url_get_hostname",
        (make_url("https://user:pw@Example.com:8080/a%2Fb%20c?x=1&x=2&y=%41+b&bad=%zz&q;r=1&&z#frag%20"),),
        "Example.com",
        1,
        (1, 1),
    ),
    (
        "url_get_port",
        (make_url("https://user:pw@Example.com:8080/a%2Fb%20c?x=1&x=2&y=%41+b&bad=%zz&q;r=1&&z#frag%20"),),
        "8080",
        1,
        (1, 1),
    ),
    (
        "url_get_escaped_path",
        (make_url("https://user:pw@Example.com:8080/a%2Fb%20c?x=1&x=2&y=%41+b&bad=%zz&q;r=1&&z#frag%20"),),
        "/a%2Fb%20c",
        1,
        (1, 1),
    ),
    (
        "url_get_query",
        (make_url("https://user:pw@Example.com:8080/a%2Fb%20c?x=1&x=2&y=%41+b&bad=%zz&q;r=1&&z#frag%20"),),
        {"x": ["1", "2"], "y": ["A b"], "z": [""]},
        1,
        (1, 1),
    ),
    ("url_get_hostname", (make_url("http://[fe80::1%25en0]:99/"),), "fe80::1%en0", 1, (1, 1)),
    ("url_get_host", (make_url("/just/a/path"),), "", 1, (1, 1)),
    ("url_get_escaped_path", (make_url("http://a/é b[]"),), "/%C3%A9%20b%5B%5D", 1, (1, 1)),
    ("url_get_query", (make_url("mailto:x"),), {}, 1, (1, 1)),
    ("url_get_port", (make_url("http://a:/"),), "", 1, (1, 1)),
    ("is_url_string", ("http://a/b?c#d",), True, 1, (1, 1)),
    ("is_url_string", ("a/b",), False, 1, (1, 1)),
    ("is_url_string", ("http://a:b/",), False, 1, (1, 1)),
    ("is_url_string", ("*",), True, 1, (1, 1)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(URLS, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(URLS, CASES) == set()


def test_what_is_no_url_says_why_in_words_of_go() -> None:
    assert call(URLS, "string_to_url", "a\tb") == Refused(
        'URL parse error during conversion from string: parse "a\\tb": net/url: invalid control character in URL'
    )


def test_urls_are_equal_if_they_are_written_the_same() -> None:
    assert make_url("HTTP://a/b") == make_url("http://a/b")
    assert hash(make_url("HTTP://a/b")) == hash(make_url("http://a/b"))
    assert make_url("http://a/b") != make_url("http://a/b#c")
    with pytest.raises(EvaluationError, match="no such overload"):
        _ = make_url("http://a") == "http://a"


def test_a_url_of_the_same_size_as_the_text_is_estimated() -> None:
    made = found(URLS, "string_to_url").estimate
    assert made is not None
    assert made(None, [Written(STRING, Interval(5, 21))]) == ((1, 3), (5, 21))
