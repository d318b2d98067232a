from __future__ import annotations

import json

import pytest

from extapi.errors import Expired, InternalError
from extapi.http.response import PIECE
from extapi.watch.cachedobject import CachedObject, CacheSource
from extapi.watch.encoding import ObjectEncoder, encode_event, frame, to_chunks
from extapi.watch.events import DELETED, WatchEvent
from tests.unit.watch.store import LAYOUT, PREFIX, V1, Pizzas, pizza


def cached(size: int = 1) -> CachedObject:
    return CachedObject(PREFIX + b"a/one", 7, pizza("one", size=size), {}, CacheSource(LAYOUT, Pizzas()))


def test_an_event_is_one_line_around_the_object() -> None:
    data = V1.event(DELETED, cached(), 9)
    assert data.startswith(b'{"type":"DELETED","object":{"apiVersion":"food.example/v1","kind":"Pizza","metadata":{')
    assert data.count(b"\n") == 1
    assert json.loads(data)["object"]["metadata"]["resourceVersion"] == "9"
    assert frame("ADDED", b"{}") == b'{"type":"ADDED","object":{}}\n'


def test_a_bookmark_carries_nothing_but_the_revision() -> None:
    assert json.loads(V1.bookmark(12, initial_end=False)) == {
        "type": "BOOKMARK",
        "object": {"kind": "Pizza", "apiVersion": "food.example/v1", "metadata": {"resourceVersion": "12"}},
    }


def test_an_error_is_a_status() -> None:
    assert json.loads(
        ObjectEncoder("v2", "food.example/v2", "Pizza").error(Expired("too old resource version: 1 (2)"))
    ) == {
        "type": "ERROR",
        "object": {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "too old resource version: 1 (2)",
            "reason": "Expired",
            "code": 410,
        },
    }


def test_the_error_of_a_conversion_comes_out() -> None:
    with pytest.raises(InternalError, match="no such size in v2"):
        encode_event(ObjectEncoder("v2", "food.example/v2", "Pizza"), WatchEvent(DELETED, cached(13), 9))


def test_events_are_joined_to_chunks_but_never_cut() -> None:
    small, large = b"s" * 1000, b"l" * (PIECE + 1)
    chunks = list(to_chunks([small] * 70 + [large, small]))
    assert [len(chunk.data) for chunk in chunks] == [65_000, 5_000, PIECE + 1, 1000]
    assert list(to_chunks([])) == []
    assert chunks[0].framed == b"fde8\r\n" + small * 65 + b"\r\n"
