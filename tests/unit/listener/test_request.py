"""Expected values: Go's net/url and its tests."""

from __future__ import annotations

import pytest

from extapi.listener.request import PAIRS, BadTarget, parse_query, split_target, time_allowed


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"/a/b?c=d?e", ("/a/b", "c=d?e")),
        (b"/a%2Fb%20c%25+%C3%BC", ("/a/b c%+\xfc", "")),
        (b"/a%252e", ("/a%2e", "")),
        (b"//a/./..//b/", ("//a/./..//b/", "")),
        (b"/a%2e%2e/b", ("/a../b", "")),
        (b"*", ("*", "")),
        (b"http://host/a?b", ("/a", "b")),
        (b"HTTPS://host:1?b=/c", ("", "b=/c")),
        (b"http://host", ("", "")),
    ],
)
def test_split(target: bytes, expected: tuple[str, str]) -> None:
    assert split_target(target) == expected


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (b"/%zz", 'invalid URL escape "%zz"'),
        (b"/a%2", 'invalid URL escape "%2"'),
        (b"/%", 'invalid URL escape "%"'),
        (b"/%ff", "the path is not UTF-8"),
        (b"a/b", "malformed request target"),
        (b"ftp://a/b", "malformed request target"),
    ],
)
def test_bad_targets(target: bytes, text: str) -> None:
    with pytest.raises(BadTarget) as caught:
        split_target(target)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {}),
        ("a=1", {"a": ["1"]}),
        ("a=1&b=2", {"a": ["1"], "b": ["2"]}),
        ("a=1&a=2&a=banana", {"a": ["1", "2", "banana"]}),
        ("ascii=%3Ckey%3A+0x90%3E", {"ascii": ["<key: 0x90>"]}),
        ("a=1;b=2", {}),
        ("a;b=1", {}),
        ("a=%3B", {"a": [";"]}),
        ("a%3Bb=1", {"a;b": ["1"]}),
        ("a=1&b=2;c=3&d=4", {"a": ["1"], "d": ["4"]}),
        ("a=1&b=%zz&c=2", {"a": ["1"], "c": ["2"]}),
        ("=", {"": [""]}),
        ("&&a", {"a": [""]}),
        ("a==b", {"a": ["=b"]}),
        ("a=%ff", {"a": ["\ufffd"]}),
        ("a+b=c%2Bd", {"a b": ["c+d"]}),
    ],
)
def test_query(query: str, expected: dict[str, list[str]]) -> None:
    assert parse_query(query) == expected


def test_query_is_bounded() -> None:
    assert len(parse_query("&".join(f"a{number}" for number in range(PAIRS)))) == PAIRS
    with pytest.raises(BadTarget):
        parse_query("&".join(f"a{number}" for number in range(PAIRS + 1)))


@pytest.mark.parametrize(
    ("timeout", "allowed"), [("", 60), ("0s", 60), ("-1s", 60), ("60s", 60), ("2m", 60), ("1s", 1), ("59.5s", 59.5)]
)
def test_time_allowed(timeout: str, allowed: float) -> None:
    assert time_allowed(timeout, 60) == allowed


def test_bad_timeout() -> None:
    with pytest.raises(
        ValueError, match=r'^invalid timeout specified in the request URL - time: invalid duration "x"$'
    ):
        time_allowed("x", 60)
