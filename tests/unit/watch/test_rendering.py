from __future__ import annotations

import json

import pytest

from extapi.errors import Expired, InternalError
from extapi.watch.entry import Entry, Source
from extapi.watch.rendering import DELETED, ObjectRenderer, Occurrence, frame, render
from tests.unit.watch.store import PREFIX, V1, Pizzas, pizza


def entry(size: int = 1) -> Entry:
    return Entry(PREFIX + b"a/one", 7, pizza("one", size=size), {}, Source(PREFIX, True, Pizzas()))


def test_an_event_is_one_line_around_the_object() -> None:
    data = V1.event(DELETED, entry(), 9)
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
        ObjectRenderer("v2", "food.example/v2", "Pizza").error(Expired("too old resource version: 1 (2)"))
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
        render(ObjectRenderer("v2", "food.example/v2", "Pizza"), Occurrence(DELETED, entry(13), 9))
