"""Lists in pages, of a server whose answers are too large, too slow or too old."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.paging import Pages
from extapi.client.transport import AnswerTooLong, ClientRequest
from extapi.errors import Expired
from tests.unit.client.kubernetes import Answer, Kubernetes, status

PODS = ResourceName("", "v1", "pods")


class Collection:
    """Objects, of which ``most`` fit into an answer; ``expires``: no token is good for the next page."""

    def __init__(self, count: int, most: int, *, expires: bool = False) -> None:
        self.count, self.most, self.expires = count, most, expires
        self.kubernetes = Kubernetes(self.page)
        self.pages = Pages(Client(self.kubernetes), PODS, "", {"labelSelector": "a=b"})

    def page(self, request: ClientRequest) -> Any:
        query = dict(request.query)
        assert query["labelSelector"] == "a=b"
        limit, first = int(query.get("limit", self.count)), int(query.get("continue", 0))
        if first and self.expires:
            return status(410, "Expired")
        if min(limit, self.count - first) > self.most:
            return AnswerTooLong("more than 64 MiB")
        last = min(first + limit, self.count)
        metadata = {"resourceVersion": "7", "continue": str(last) if last < self.count else ""}
        return Answer(
            200, {"items": [{"metadata": {"name": str(n)}} for n in range(first, last)], "metadata": metadata}
        )

    @property
    def limits(self) -> list[str]:
        return [dict(each.query).get("limit", "") for each in self.kubernetes.requests]


def _read(pages: Pages, limit: int = 0, arrived: Callable[[], None] = lambda: None) -> tuple[list[Obj], str]:
    results: list[Any] = []
    Deferred.fromCoroutine(pages.read(limit, arrived=arrived)).addBoth(results.append)
    if not isinstance(results[0], tuple):
        results[0].raiseException()
    found: tuple[list[Obj], str] = results[0]
    return found


def test_pages_that_are_too_much_are_halved() -> None:
    """And stay so: the next list begins with what was good."""
    collection = Collection(520, 130)
    found, version = _read(collection.pages)
    assert ([each["metadata"]["name"] for each in found], version) == ([str(n) for n in range(520)], "7")
    assert collection.limits == ["500", "250", *["125"] * 5]
    assert len(_read(collection.pages)[0]) == 520
    assert collection.limits[7:] == ["125"] * 5


def test_an_object_that_is_too_much_is_an_error() -> None:
    collection = Collection(3, 0)
    with pytest.raises(AnswerTooLong):
        _read(collection.pages)
    assert collection.limits[-1] == "1"


def test_a_history_that_is_gone_between_two_pages_is_read_at_once() -> None:
    """``k8s.io/client-go/tools/pager``: FullListIfExpired."""
    collection = Collection(1200, 1200, expires=True)
    assert len(_read(collection.pages)[0]) == 1200
    assert collection.limits == ["500", "500", ""]


def test_a_history_that_is_gone_from_the_begin_is_an_error() -> None:
    collection = Collection(1, 1)
    collection.kubernetes.react = lambda _: status(410, "Expired")
    with pytest.raises(Expired):
        _read(collection.pages)


def test_a_limit_is_kept() -> None:
    collection = Collection(1200, 1200)
    arrived: list[int] = []
    found, _ = _read(collection.pages, 600, lambda: arrived.append(1))
    assert (len(found), collection.limits, len(arrived)) == (600, ["500", "100"], 2)
