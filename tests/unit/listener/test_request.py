"""Expected values: Go's net/url and its tests."""

from __future__ import annotations

import uuid

import pytest

from extapi.http.request import NoBody, Peer, Request
from extapi.listener.parsing import Head
from extapi.listener.request import (
    PAIRS,
    TARGET_LENGTH,
    TARGETS,
    BadTarget,
    _read_cached,
    audit_id,
    make_request,
    parse_query,
    split_target,
    time_allowed,
)


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


def made(target: bytes, method: str = "GET", received: float = 0.0) -> Request:
    head = Head(method, target, {}, http10=False)
    return make_request(head, NoBody(), Peer(), identity="id", received=received, longest=60)


def test_requests_for_one_target_share_what_it_says_and_nothing_else() -> None:
    target = b"/api/v1/pods?labelSelector=a%3Db&timeout=5s"
    first, second = made(target), made(target, received=100.0)
    assert first.info == second.info
    assert (first.target, first.first("labelSelector"), first.deadline, second.deadline) == (
        target.decode(),
        "a=b",
        5,
        105,
    )
    first.warnings.append("for the first")
    first.log["reason"] = "of the first"
    assert (second.warnings, second.log) == ([], {})
    assert [made(target, method).info.verb for method in ("GET", "POST", "DELETE", "GET")] == [
        "list",
        "create",
        "deletecollection",
        "list",
    ]


def test_a_bad_target_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(BadTarget):
            made(b"/%zz")


def test_targets_are_kept_within_bounds() -> None:
    _read_cached.cache_clear()
    made(b"/" + b"x" * (TARGET_LENGTH - 1))
    made(b"/" + b"x" * TARGET_LENGTH)
    assert _read_cached.cache_info().currsize == 1
    for number in range(TARGETS * 2):
        made(b"/%d" % number)
    assert _read_cached.cache_info().currsize == TARGETS


def test_a_new_audit_id_is_a_random_uuid() -> None:
    assert audit_id({"audit-id": ["chosen", "another"]}) == "chosen"
    found = {audit_id({"audit-id": [""]}) for _ in range(200)}
    assert len(found) == 200
    parsed = [uuid.UUID(each) for each in found]
    assert {(each.version, each.variant, str(each)) for each in parsed} == {(4, uuid.RFC_4122, each) for each in found}
    # Of the 128 bits, all but those of version and variant take both values.
    ones, zeros = (
        sum(1 << bit for bit in range(128) if any(each.int >> bit & 1 == value for each in parsed)) for value in (1, 0)
    )
    assert (ones & zeros).bit_count() == 122
