from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from twisted.internet.defer import Deferred

from extapi.codec.strictjson import encode_parts
from extapi.errors import ApiError, ServerTimeout, Timeout
from extapi.storage.base import Compacted, Future, RevisionConflict, TooLarge, Uncertain
from extapi.watch.selection import Selection
from extapi.watch.snapshot import ObjectPage
from tests.unit.watch.store import PREFIX, Kitchen, caught, now, over, pizza, select


@pytest.fixture
def kitchen() -> Iterator[Kitchen]:
    kitchen = Kitchen()
    yield kitchen
    now(kitchen.cacher.stop())
    assert kitchen.clock.getDelayedCalls() == []


@pytest.fixture
def menu(kitchen: Kitchen) -> Kitchen:
    """Three pizzas in a, one in aa, two in b; those with an odd number are hot."""
    for number, place in enumerate(["a/p1", "a/p2", "a/p3", "aa/p4", "b/p5", "b/p6"], 1):
        namespace, _, name = place.partition("/")
        kitchen.put(name, namespace, labels={"hot": "yes" if number % 2 else "no"})
    return kitchen


def names(page: ObjectPage) -> list[str]:
    return [cached.name for cached in page.objects]


def shown(page: ObjectPage) -> tuple[list[str], bool, int | None]:
    return names(page), page.more, page.remaining


# -- freshness


def test_a_fresh_read_does_not_wait_when_nothing_is_missing(menu: Kitchen) -> None:
    assert now(menu.cache.fresh()) == menu.cache.revision == menu.first + 6
    assert now(menu.cache.at_least(menu.first + 6)) == menu.first + 6


def test_a_store_that_does_not_answer_is_a_server_timeout(menu: Kitchen) -> None:
    now(menu.backend.close())
    menu.cacher._position.ready = True  # the log has not broken off yet
    with pytest.raises(ServerTimeout) as raised:
        now(menu.cache.fresh("list"))
    status = raised.value.status()
    assert status["reason"] == "ServerTimeout"
    assert status["details"] == {
        "name": "list",
        "group": "food.example",
        "kind": "pizzas",
        "retryAfterSeconds": 2,
    }
    with pytest.raises(ServerTimeout):
        now(menu.cache.page_at(menu.first + 3, "", b"", 0, Selection()))


def test_a_read_waits_for_a_revision_that_is_to_come(menu: Kitchen) -> None:
    waiting = Deferred.fromCoroutine(menu.cache.at_least(menu.first + 7))
    assert not over(waiting)
    menu.put("p7")
    assert over(waiting)


def test_and_not_longer_than_three_seconds(menu: Kitchen) -> None:
    waiting = Deferred.fromCoroutine(menu.cache.at_least(menu.first + 9))
    errors = caught(waiting)
    menu.tick(3)
    assert isinstance(errors[0], Timeout)
    assert f"{menu.first + 9}, current: {menu.first + 6}" in str(errors[0])


# -- get and pages


def test_get_finds_by_namespace_and_name(menu: Kitchen) -> None:
    cached = menu.cache.get("aa", "p4")
    assert cached is not None
    assert json.loads(cached.serialized("v1").with_revision(cached.revision))["metadata"] == {
        "name": "p4",
        "namespace": "aa",
        "labels": {"hot": "no"},
        "resourceVersion": str(menu.first + 4),
    }
    assert menu.cache.get("a", "p4") is None
    assert menu.cache.peek("aa", "p4") is cached


def test_a_namespace_is_not_mixed_up_with_one_that_it_begins(menu: Kitchen) -> None:
    assert names(menu.cache.page("a", b"", 0, select("a"))) == ["p1", "p2", "p3"]
    assert names(menu.cache.page("aa", b"", 0, select("aa"))) == ["p4"]


@pytest.mark.parametrize(
    ("namespace", "after", "limit", "expected"),
    [
        ("", b"", 0, (["p1", "p2", "p3", "p4", "p5", "p6"], False, 0)),
        (None, b"", 2, (["p1", "p2"], True, 4)),
        ("", PREFIX + b"a/p2\0", 2, (["p3", "p4"], True, 2)),
        ("", (PREFIX + b"a/p2").decode(), 2, (["p3", "p4"], True, 2)),
        ("", PREFIX + b"aa/p4", 2, (["p5", "p6"], False, 0)),
        ("a", b"", 2, (["p1", "p2"], True, 1)),
        ("a", PREFIX + b"a/p2", 2, (["p3"], False, 0)),
        ("b", PREFIX + b"a/p2", 9, (["p5", "p6"], False, 0)),
        ("none", b"", 5, ([], False, 0)),
    ],
)
def test_pages(
    menu: Kitchen, namespace: str | None, after: bytes | str, limit: int, expected: tuple[list[str], bool, int]
) -> None:
    assert shown(menu.cache.page(namespace, after, limit, select(namespace or ""))) == expected


@pytest.mark.parametrize(
    ("labels", "fields", "limit", "expected"),
    [
        ("hot=yes", "", 0, (["p1", "p3", "p5"], False, None)),
        ("hot=yes", "", 2, (["p1", "p3"], True, None)),
        # One more object follows. Whether it is selected as well is for the next page to find out.
        ("hot=yes", "", 3, (["p1", "p3", "p5"], True, None)),
        ("hot=no", "", 3, (["p2", "p4", "p6"], False, None)),
        ("", "metadata.namespace=b", 0, (["p5", "p6"], False, None)),
        ("", "metadata.name=p4", 0, (["p4"], False, None)),
        ("hot=yes", "metadata.name=p4", 0, ([], False, None)),
    ],
)
def test_pages_of_selected_objects_say_nothing_of_what_remains(
    menu: Kitchen, labels: str, fields: str, limit: int, expected: tuple[list[str], bool, None]
) -> None:
    assert shown(menu.cache.page("", b"", limit, select("", labels, fields))) == expected


@pytest.mark.parametrize(
    ("after", "labels", "name", "expected"),
    [
        (b"", "", "p2", ["p2"]),
        (b"", "hot=no", "p2", ["p2"]),
        (b"", "hot=yes", "p2", []),
        (b"", "", "p5", []),
        (PREFIX + b"a/p1", "", "p2", ["p2"]),
        (PREFIX + b"a/p2", "", "p2", []),
    ],
)
def test_a_list_by_name_is_that_one_object(
    menu: Kitchen, after: bytes, labels: str, name: str, expected: list[str]
) -> None:
    page = menu.cache.page("a", after, 5, select("a", labels, f"metadata.name={name}"))
    assert shown(page) == (expected, False, None)


# -- the past


def test_the_past_is_as_it_was(menu: Kitchen) -> None:
    menu.remove("p1")
    menu.put("p2", size=9)
    menu.put("p9")
    past = now(menu.cache.page_at(menu.first + 6, "a", b"", 2, select("a")))
    assert shown(past) == (["p1", "p2"], True, 1)
    assert [cached.revision for cached in past.objects] == [menu.first + 1, menu.first + 2]
    assert past.objects[1].value == pizza("p2", "a", labels={"hot": "no"})
    rest = now(menu.cache.page_at(menu.first + 6, "a", past.objects[1].key.decode() + "\0", 2, select("a")))
    assert shown(rest) == (["p3"], False, 0)


@pytest.mark.parametrize(
    ("labels", "limit", "expected"),
    [
        ("hot=yes", 1, (["p1"], True, None)),
        ("hot=yes", 2, (["p1", "p3"], True, None)),
        ("hot=yes", 3, (["p1", "p3", "p5"], True, None)),
        ("hot=no", 3, (["p2", "p4", "p6"], False, None)),
        ("hot=yes", 0, (["p1", "p3", "p5"], False, None)),
        ("hot=never", 2, ([], False, None)),
    ],
)
def test_pages_of_the_past_are_filled_to_their_limit(
    menu: Kitchen, labels: str, limit: int, expected: tuple[list[str], bool, None]
) -> None:
    revision = menu.cache.revision
    menu.remove("p1")
    assert shown(now(menu.cache.page_at(revision, "", b"", limit, select("", labels)))) == expected


def test_what_has_not_changed_since_comes_from_memory(menu: Kitchen) -> None:
    revision = menu.cache.revision
    now(menu.backend.commit(b"/registry/food.example/ovens/big", b"{}", expected=0))
    past = now(menu.cache.page_at(revision, "a", b"", 0, select("a")))
    assert past.objects[0] is menu.cache.get("a", "p1")


def test_the_past_that_is_forgotten_and_the_future_are_refused(menu: Kitchen) -> None:
    menu.put("p1", size=2)
    now(menu.backend.compact(menu.first + 5, expected=menu.first))
    with pytest.raises(Compacted):
        now(menu.cache.page_at(menu.first + 4, "", b"", 0, Selection()))
    with pytest.raises(Future):
        now(menu.cache.page_at(menu.first + 8, "", b"", 0, Selection()))


# -- what writers know


def test_what_a_writer_hands_over_is_not_made_again(kitchen: Kitchen) -> None:
    value = pizza("one", size=3)
    kitchen.cache.expect(value, {"v2": (b'{"metadata":{', b'"given":true}}')})
    kitchen.put("one", size=3)
    cached = kitchen.cache.get("a", "one")
    assert cached is not None
    assert cached.serialized("v2").with_revision(1) == b'{"metadata":{"resourceVersion":"1","given":true}}'
    assert kitchen.projector.projected == []
    cached.serialized("v1")
    assert kitchen.projector.projected == ["v1"]


def test_what_is_handed_over_as_it_is_stored_is_kept_once(kitchen: Kitchen) -> None:
    value = pizza("one", size=3)
    kitchen.cache.expect(value, {"v1": encode_parts(json.loads(value))})
    revision = now(kitchen.backend.commit(PREFIX + b"a/one", value, expected=0))
    cached = kitchen.cache.get("a", "one")
    assert cached is not None
    assert cached.serialized("v1").without_revision == value
    assert cached.serialized("v1").data == cached.serialized("v1").with_revision(revision)
    assert cached.stored is None
    assert json.loads(cached.serialized("v1").with_revision(revision))["metadata"]["resourceVersion"] == str(revision)
    assert kitchen.projector.projected == []


def test_an_expectation_is_used_once(kitchen: Kitchen) -> None:
    kitchen.cache.expect(pizza("one"), {})
    kitchen.cache.expect(pizza("one"), {})
    kitchen.put("other")
    kitchen.put("one")
    kitchen.remove("one")
    kitchen.put("one")
    cached = kitchen.cache.get("a", "one")
    assert cached is not None
    cached.serialized("v1")
    assert kitchen.projector.projected == ["v1"]
    assert kitchen.cache._expected.size == 0


@pytest.mark.parametrize("failure", [RevisionConflict, ServerTimeout])
def test_a_commit_that_fails_is_no_longer_expected(kitchen: Kitchen, failure: type[Exception]) -> None:
    """Its bytes would stay until many others have failed."""
    kitchen.put("one")
    value = pizza("one", size=2)
    kitchen.cache.expect(value, {})
    if failure is ServerTimeout:
        now(kitchen.backend.close())
    with pytest.raises(failure):
        now(kitchen.cache.commit("update", PREFIX + b"a/one", value, expected=kitchen.first + 9))
    assert kitchen.cache._expected.commits == {}
    assert kitchen.cache._expected.size == 0


@pytest.mark.parametrize(
    ("raised", "code", "reason", "message"),
    [
        (
            Uncertain("the connection is lost"),
            504,
            "Timeout",
            "Timeout: request did not complete within requested timeout - context deadline exceeded",
        ),
        (
            TooLarge("etcdserver: request is too large"),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: etcdserver: request is too large",
        ),
    ],
)
def test_a_write_that_may_have_been_done_and_one_that_never_is(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch, raised: Exception, code: int, reason: str, message: str
) -> None:
    async def refuse(key: bytes, value: bytes | None, *, expected: int) -> int:
        raise raised

    monkeypatch.setattr(kitchen.backend, "commit", refuse)
    with pytest.raises(ApiError) as refused:
        now(kitchen.cache.commit("create", PREFIX + b"a/one", pizza("one"), expected=0))
    status = refused.value.status()
    assert (status["code"], status["reason"], status["message"]) == (code, reason, message)
