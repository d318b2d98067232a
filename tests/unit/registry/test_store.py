"""What the store cannot do becomes an answer, and what is in it is never trusted blindly: behaviour K7, K9, K18, E35, J19."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from twisted.internet.task import Clock

from extapi import Review
from extapi.errors import RequestTooLarge
from extapi.registry.store import MAX_OBJECT, Store
from extapi.storage.base import KeyValue, Overloaded, Unavailable
from extapi.storage.memory import MemoryBackend
from extapi.testing import serve
from extapi.testing.memory import START
from tests.unit.verbs.sample import ALPHAS, GROUP, WIDGETS, Plugin, Shop, failure, shop, widget

KEY = b"/registry/shop.example.com/widgets/default/w"


class Moody(MemoryBackend):
    """A store in memory that can be told to fail."""

    unreadable = False
    unwritable = False
    trouble = Unavailable("no disk")

    async def get(self, key: bytes) -> KeyValue | None:
        if self.unreadable:
            raise Unavailable("no disk")
        return await super().get(key)

    async def revision(self) -> int:
        if self.unreadable:
            raise Unavailable("no disk")
        return await super().revision()

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        if self.unwritable:
            raise self.trouble
        return await super().commit(key, value, expected=expected)


class MoodyShop(Shop):
    backend: Moody


@pytest.fixture
def moody() -> Iterator[MoodyShop]:
    clock = Clock()
    clock.advance(START)
    plugin = Plugin()
    backend = Moody(clock)
    with serve(shop(plugin), clock=clock, backend=backend) as server:
        served = MoodyShop(server, plugin)
        served.backend = backend
        yield served
        backend.unreadable = backend.unwritable = False


def timeout(operation: str) -> dict[str, object]:
    """Behaviour E6."""
    return {
        "message": f"The {operation} operation against widgets.shop.example.com could not be completed at this time, "
        "please try again.",
        "reason": "ServerTimeout",
        "details": {"name": operation, "group": GROUP, "kind": "widgets", "retryAfterSeconds": 2},
    }


def test_a_store_that_takes_nothing_is_a_server_timeout(moody: MoodyShop) -> None:
    moody.create()
    moody.create("waits", finalizers=["shop.example.com/wait"])
    moody.backend.unwritable = True
    for answer, operation in (
        (moody.request("POST", WIDGETS, body=widget("x")), "create"),
        (moody.merge({"spec": {"size": 2}}), "update"),
        (moody.request("DELETE", f"{WIDGETS}/w"), "delete"),
        (moody.request("DELETE", f"{WIDGETS}/waits"), "delete"),
    ):
        assert answer.status == 500
        assert answer.headers["retry-after"] == "2"
        assert failure(answer) == timeout(operation)


def test_a_store_that_has_too_much_to_do_is_429(moody: MoodyShop) -> None:
    """A disk, or an etcd that has proposed more than it can apply (``etcdserver: too many requests``): nothing was written."""
    moody.create()
    moody.backend.unwritable, moody.backend.trouble = True, Overloaded("etcd: etcdserver: too many requests")
    for answer in (
        moody.request("POST", WIDGETS, body=widget("x")),
        moody.merge({"spec": {"size": 2}}),
        moody.request("DELETE", f"{WIDGETS}/w"),
    ):
        assert answer.status == 429
        assert answer.headers["retry-after"] == "1"
        assert failure(answer) == {
            "message": "Too many requests, please try again later.",
            "reason": "TooManyRequests",
            "details": {"retryAfterSeconds": 1},
        }


def test_a_store_that_cannot_be_read_is_a_server_timeout(moody: MoodyShop) -> None:
    """Also for a write whose object is not in the cache."""
    moody.create()
    moody.backend.unreadable = True
    for answer, operation in (
        (moody.request("GET", f"{WIDGETS}/w"), "get"),
        (moody.request("GET", WIDGETS), "list"),
        (moody.merge({"spec": {"size": 2}}, "other"), "update"),
        (moody.request("DELETE", f"{WIDGETS}/other"), "delete"),
        (moody.request("POST", WIDGETS, {"dryRun": "All"}, body=widget("x")), "create"),
    ):
        assert answer.status == 500
        assert failure(answer) == timeout(operation)


def test_any_revision_needs_no_store(moody: MoodyShop) -> None:
    created = moody.create()
    moody.backend.unreadable = True
    assert moody.request("GET", f"{WIDGETS}/w", {"resourceVersion": "0"}).json() == created


def test_a_refusal_stays_one_if_the_store_has_nothing_newer(moody: MoodyShop) -> None:
    """Behaviour K3: the newest object is asked for once."""
    moody.create()

    async def refuse(review: Review) -> None:
        review.refuse("no")

    moody.plugin.on_mutate = refuse
    assert moody.merge({"spec": {"size": 2}}).status == 403
    assert moody.request("DELETE", f"{WIDGETS}/w").status == 403
    assert len(moody.plugin.reviews) == 3


def test_a_refusal_of_an_old_object_is_judged_again_by_the_newest(moody: MoodyShop) -> None:
    """Behaviour K3: another server on the same store may have written in between."""
    moody.create()

    async def refuse_the_old(review: Review) -> None:
        if review.old is not None and not review.old["metadata"].get("labels"):
            entry = await moody.backend.get(KEY)
            assert entry is not None
            obj = msgspec.json.decode(entry.value)
            obj["metadata"]["labels"] = {"new": "yes"}
            await moody.backend.commit(KEY, msgspec.json.encode(obj), expected=entry.revision)
            review.refuse("it has no label")

    moody.plugin.on_mutate = refuse_the_old
    answer = moody.merge({"spec": {"size": 2}})
    assert answer.status == 200
    assert answer.json()["metadata"]["labels"] == {"new": "yes"}
    assert answer.json()["spec"]["size"] == 2


def test_an_object_above_the_bound_may_only_shrink() -> None:
    """One that was stored under another bound must stay writable."""
    store: Any = None  # which says nothing about sizes
    Store.check_size(store, b"x" * MAX_OBJECT)
    Store.check_size(store, b"x" * (MAX_OBJECT + 2), b"x" * (MAX_OBJECT + 2))
    for before in (b"", b"x" * MAX_OBJECT, b"x" * (MAX_OBJECT + 1)):
        with pytest.raises(RequestTooLarge, match=f"would take {MAX_OBJECT + 2} bytes, the limit is {MAX_OBJECT}"):
            Store.check_size(store, b"x" * (MAX_OBJECT + 2), before)


def test_what_the_system_sets_no_plugin_changes(shop_served: Shop) -> None:
    """Behaviour E12, E41: after each mutator these are as before."""

    async def meddle(review: Review) -> None:
        metadata = review.object.metadata
        metadata.generation, metadata.creation_timestamp = 9, "2001-01-01T00:00:00Z"
        if review.old is None:
            metadata.uid, metadata.deletion_timestamp = "mine", "2001-01-01T00:00:00Z"

    shop_served.plugin.on_mutate = meddle
    created = shop_served.create()["metadata"]
    assert (created["generation"], created["creationTimestamp"]) == (1, "2023-11-14T22:13:20Z")
    assert created["uid"] != "mine"
    assert "deletionTimestamp" not in created
    changed = shop_served.merge({"spec": {"size": 2}}).json()["metadata"]
    assert (changed["generation"], changed["creationTimestamp"]) == (2, created["creationTimestamp"])


def put(served: Shop, obj: dict[str, object], key: bytes = KEY) -> None:
    """Store something as an older server may have stored it."""

    async def commit() -> None:
        live = await served.server.backend.get(key)
        await served.server.backend.commit(key, msgspec.json.encode(obj), expected=live.revision if live else 0)

    served.server.run(commit())
    served.advance(0.1)


def stored(served: Shop, key: bytes = KEY) -> dict[str, object]:
    entry = served.server.run(served.server.backend.get(key))
    assert entry is not None
    value: dict[str, object] = msgspec.json.decode(entry.value)
    return value


def test_objects_are_stored_without_their_revision(shop_served: Shop) -> None:
    """Behaviour K4, K5."""
    created = shop_served.create()
    del created["metadata"]["resourceVersion"]
    assert stored(shop_served) == created


def test_what_is_stored_is_brought_into_todays_shape(shop_served: Shop) -> None:
    """Behaviour J19, K9: pruned and defaulted on every read, without a write."""
    old = {**widget(namespace="default", uid="u"), "spec": {"size": 4, "gone": True}}
    put(shop_served, old)
    assert shop_served.get()["spec"] == {"size": 4, "color": "red"}
    assert shop_served.request("GET", WIDGETS).json()["items"][0]["spec"] == {"size": 4, "color": "red"}
    assert stored(shop_served)["spec"] == {"size": 4, "gone": True}


def test_what_is_stored_in_another_version_is_converted(shop_served: Shop) -> None:
    """Behaviour K9."""
    put(shop_served, widget(version="v1alpha1", spec={"inches": "9in"}, namespace="default", uid="u"))
    assert shop_served.get()["spec"] == {"size": 9, "color": "red"}
    assert shop_served.request("GET", f"{ALPHAS}/w").json()["spec"] == {"inches": "9in"}


def test_writing_the_same_migrates_it(shop_served: Shop) -> None:
    """Behaviour K7: a write without a change rewrites an object that is stored in an old version."""
    put(shop_served, widget(version="v1alpha1", spec={"inches": "9in"}, namespace="default", uid="u"))
    before = shop_served.get()
    answer = shop_served.put(before)
    assert answer.status == 200
    assert answer.json()["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    assert stored(shop_served)["apiVersion"] == f"{GROUP}/v1"


def test_what_has_no_generation_is_deleted_without_one(shop_served: Shop) -> None:
    """Behaviour E48: generation + 1 only if there is one."""
    put(shop_served, widget(namespace="default", uid="u", finalizers=["shop.example.com/wait"]))
    answer = shop_served.request("DELETE", f"{WIDGETS}/w")
    assert answer.status == 200
    assert "generation" not in answer.json()["metadata"]


def test_a_missing_grace_period_is_restored(shop_served: Shop) -> None:
    """Behaviour E41."""
    shop_served.create(finalizers=["shop.example.com/wait"])
    marked = shop_served.request("DELETE", f"{WIDGETS}/w").json()
    del marked["metadata"]["deletionGracePeriodSeconds"]
    assert shop_served.put(marked).json()["metadata"]["deletionGracePeriodSeconds"] == 0


def test_what_another_version_does_not_know_is_stored_with_its_default(shop_served: Shop) -> None:
    """Behaviour K7, J21."""
    shop_served.request("POST", ALPHAS, body=widget(version="v1alpha1", spec={"inches": "9in"}))
    assert stored(shop_served)["spec"] == {"size": 9, "color": "red"}
