"""Readers wait for a conversion together, and for no other's failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs

from extapi.errors import ApiError, InternalError, TooManyRequests
from extapi.watch.cachedobject import CachedObject, NotPrepared
from tests.unit.watch.bakery import Bakery
from tests.unit.watch.store import caught, now, over


@pytest.fixture
def bakery() -> Iterator[Bakery]:
    bakery = Bakery()
    for size, name in enumerate(("one", "two", "three"), 1):
        bakery.put(name, size=size)
    bakery.put("bad", size=13)
    yield bakery
    bakery.close()


def test_many_objects_are_one_call(bakery: Bakery) -> None:
    waiting = bakery.ask("one", "two", "three")
    (call,) = bakery.projector.calls
    assert call.names == ["one", "two", "three"]
    assert not over(waiting)
    call.finish()
    assert over(waiting)
    assert [bakery.shown(name) for name in call.names] == ["1", "2", "3"]


def test_what_is_prepared_is_not_asked_for_again(bakery: Bakery) -> None:
    bakery.ask("one")
    bakery.projector.calls[0].finish()
    now(bakery.cache.prepare(bakery.cached("one"), "v2"))
    bakery.ask("one", "two")
    assert bakery.projector.calls[1].names == ["two"]
    bakery.projector.calls[1].finish()


def test_what_is_stored_in_the_version_needs_nobody(bakery: Bakery) -> None:
    now(bakery.cache.prepare(bakery.cached("one", "two"), "v1"))
    assert bakery.projector.calls == []
    assert bakery.shown("one", "v1") == 1


def test_readers_of_one_object_share_one_conversion(bakery: Bakery) -> None:
    first = bakery.ask("one", "two")
    second = bakery.ask("two")
    third = bakery.ask("two", version="v3")
    assert [(call.names, call.version) for call in bakery.projector.calls] == [
        (["one", "two"], "v2"),
        (["two"], "v3"),
    ]
    bakery.projector.calls[0].finish()
    assert (over(first), over(second), over(third)) == (True, True, False)
    bakery.projector.calls[1].finish()


def test_a_new_revision_is_another_object(bakery: Bakery) -> None:
    old = bakery.ask("one")
    bakery.put("one", size=8)
    new = bakery.ask("one")
    bakery.projector.calls[1].finish()
    assert (over(old), over(new)) == (False, True)
    assert bakery.shown("one") == "8"
    bakery.projector.calls[0].finish()
    assert bakery.shown("one") == "8"


def test_answers_may_come_out_of_order(bakery: Bakery) -> None:
    waiting = [bakery.ask(name) for name in ("one", "two", "three")]
    for number in (2, 0, 1):
        bakery.projector.calls[number].finish()
        assert over(waiting[number])
    assert [bakery.shown(name) for name in ("one", "two", "three")] == ["1", "2", "3"]


def test_the_failure_of_one_is_its_own(bakery: Bakery) -> None:
    with_bad = caught(bakery.ask("one", "bad"))
    good = bakery.ask("one")
    bad = caught(bakery.ask("bad"))
    bakery.projector.calls[0].finish()
    assert over(good)
    assert good.result is None
    for errors in (with_bad, bad):
        (error,) = errors
        assert isinstance(error, InternalError)
        assert error.message == "no such size in v2"
    assert with_bad[0] is not bad[0], "an exception that is raised twice would keep all frames it passed"
    assert bakery.shown("one") == "1"


@pytest.mark.parametrize(
    "failure", [InternalError("no"), ZeroDivisionError("secret"), CancelledError("secret"), SystemExit("secret")]
)
def test_a_failure_as_a_whole_is_that_of_each_and_is_not_kept(bakery: Bakery, failure: BaseException) -> None:
    errors = [caught(bakery.ask(name, "two")) for name in ("one", "three")]
    with capturedLogs() as logs:
        for call in bakery.projector.open:
            call.fail(failure)
    assert all(isinstance(error, ApiError) and error.code == 500 for (error,) in errors)
    assert "secret" not in str(errors)
    assert bool([log for log in logs if "log_failure" in log]) == (not isinstance(failure, InternalError))
    again = bakery.ask("one", "two")
    bakery.projector.open[0].finish()
    assert over(again)
    assert bakery.shown("two") == "2"


def test_a_converter_that_never_answers_is_given_up_in_time_and_asked_again_later(bakery: Bakery) -> None:
    errors = caught(bakery.ask("one"))
    bakery.tick(30)
    assert errors == []
    bakery.tick(1)
    (error,) = errors
    assert isinstance(error, InternalError)
    assert "longer than 31 s" in error.message
    assert bakery.projector.calls[0].cancelled
    again = bakery.ask("one")
    bakery.projector.calls[1].finish()
    assert over(again)


def test_a_reader_that_leaves_does_not_take_the_others_along(bakery: Bakery) -> None:
    leaving, staying = bakery.ask("one"), bakery.ask("one")
    errors = caught(leaving)
    leaving.cancel()
    assert isinstance(errors[0], CancelledError)
    assert not bakery.projector.calls[0].cancelled
    bakery.projector.calls[0].finish()
    assert over(staying)
    assert bakery.shown("one") == "1"


def test_what_nobody_waits_for_any_more_is_cancelled(bakery: Bakery) -> None:
    leaving = [bakery.ask("one"), bakery.ask("one", "two")]
    for waiting in leaving:
        caught(waiting)
        waiting.cancel()
    assert [call.cancelled for call in bakery.projector.calls] == [True, True]
    again = bakery.ask("one")
    bakery.projector.calls[2].finish()
    assert over(again)


def test_a_call_that_ends_long_after_it_was_given_up_disturbs_nobody(bakery: Bakery) -> None:
    late: Deferred[None] = Deferred()
    convert = bakery.projector.project_many

    async def stubborn(values: Sequence[bytes], version: str) -> Sequence[Any]:
        try:
            return await convert(values, version)
        except CancelledError:
            await late
            return [bakery.projector._converted(version, value) for value in values]

    bakery.projector.project_many = stubborn  # type: ignore[method-assign]
    leaving = bakery.ask("one")
    errors = caught(leaving)
    leaving.cancel()
    assert isinstance(errors[0], CancelledError)
    staying = bakery.ask("one")
    assert len(bakery.projector.calls) == 2
    bakery.projector.calls[1].finish()
    assert over(staying)
    late.callback(None)
    (cached,) = bakery.cached("one")
    assert cached.first is not None
    assert cached.first.next is None, "the object is there twice"


def test_what_was_not_prepared_cannot_be_read_and_is_not_remembered(bakery: Bakery) -> None:
    (cached,) = bakery.cached("one")
    with pytest.raises(NotPrepared):
        cached.serialized("v2").with_revision(1)
    assert cached.first is None


def test_a_reader_of_the_past_shares_it_too(bakery: Bakery) -> None:
    (cached,) = bakery.cached("one")
    copy = CachedObject(cached.key, cached.revision, cached.value, cached.labels, cached.source)
    waiting = Deferred.fromCoroutine(bakery.cache.prepare([copy], "v2"))
    bakery.ask("one")
    (call,) = bakery.projector.calls
    call.finish()
    assert over(waiting)
    assert copy.find("v2") is not None
    assert cached.find("v2") is not None


# -- bounds


def test_calls_are_bounded_in_objects() -> None:
    bakery = Bakery(objects=2)
    names = [f"p{number}" for number in range(5)]
    for name in names:
        bakery.put(name)
    waiting = bakery.ask(*names)
    assert [call.names for call in bakery.projector.calls] == [["p0", "p1"], ["p2", "p3"], ["p4"]]
    for call in bakery.projector.calls:
        call.finish()
    assert over(waiting)


def test_calls_are_bounded_in_bytes() -> None:
    bakery = Bakery(size=1000)
    for name, size in (("p0", 10), ("p1", 600), ("p2", 600), ("p3", 5000), ("p4", 10)):
        bakery.put(name, labels={"x": "y" * size})
    bakery.ask("p0", "p1", "p2", "p3", "p4")
    assert [call.names for call in bakery.projector.calls] == [["p0", "p1"], ["p2"], ["p3"], ["p4"]]


def test_a_reader_of_very_many_asks_for_some_at_a_time() -> None:
    bakery = Bakery(objects=1, calls=100)
    names = [f"p{number}" for number in range(10)]
    for name in names:
        bakery.put(name)
    waiting = bakery.ask(*names)
    while bakery.projector.open:
        assert len(bakery.projector.open) <= 4
        bakery.projector.open[0].finish()
    assert over(waiting)
    assert len(bakery.projector.calls) == 10


def test_those_who_wait_for_their_turn_are_put_together() -> None:
    bakery = Bakery(calls=1, objects=3)
    for number in range(6):
        bakery.put(f"p{number}")
    waiting = [bakery.ask(f"p{number}") for number in range(6)]
    bakery.projector.calls[0].finish()
    assert bakery.projector.calls[1].names == ["p1", "p2", "p3"]
    bakery.projector.calls[1].finish()
    assert bakery.projector.calls[2].names == ["p4", "p5"]
    bakery.projector.calls[2].finish()
    assert all(over(each) for each in waiting)


def test_too_many_that_wait_are_told_so_and_nothing_of_them_stays() -> None:
    bakery = Bakery(calls=1, objects=1, waiting=1)
    for number in range(3):
        bakery.put(f"p{number}")
    waiting = [bakery.ask("p0"), bakery.ask("p1")]
    (error,) = caught(bakery.ask("p2"))
    assert isinstance(error, TooManyRequests)
    assert len(bakery.cache._preparation) == 2
    for _ in waiting:
        bakery.projector.open[0].finish()
    assert len(bakery.cache._preparation) == 0
    again = bakery.ask("p2")
    bakery.projector.open[0].finish()
    assert over(again)
