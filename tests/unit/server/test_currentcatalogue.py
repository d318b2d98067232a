"""What clients see when other groups are served from now on. test_replacements.py does so at random."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from twisted.logger import ILogObserver, globalLogPublisher

from extapi import CLUSTER, Api, Group
from extapi.api.declaration import DeclarationError
from extapi.api.subresource import Subresource
from extapi.client.transport import ClientRequest
from extapi.registry.storedversions import UnknownStoredVersion
from extapi.server.documents import Document
from extapi.storage.base import Unavailable
from extapi.testing import InMemoryServer, serve
from extapi.watch.cache import ResourceCache
from tests.unit.server.generations import A, B, Echo, Place, kind, new, schema, twin
from tests.unit.watch.store import caught, over

ALPHA, BETA, GAMMA = kind("Alpha"), kind("Beta", scope=CLUSTER), kind("Gamma")
ALPHAS, GAMMAS = f"/apis/{A}/v1/namespaces/default/alphas", f"/apis/{B}/v1/namespaces/default/gammas"
BETAS = f"/apis/{A}/v1/betas"
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
MERGE = {"Content-Type": "application/merge-patch+json"}


@contextmanager
def recorded() -> Iterator[list[dict[str, Any]]]:
    """What is logged meanwhile."""
    events: list[dict[str, Any]] = []
    observer = cast("ILogObserver", events.append)
    globalLogPublisher.addObserver(observer)
    try:
        yield events
    finally:
        globalLogPublisher.removeObserver(observer)


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place(Group(A, ALPHA, BETA))
    yield place
    place.stop()


def test_a_kind_that_comes_is_served_with_what_is_stored_of_it(place: Place) -> None:
    assert place.request("GET", GAMMAS).status == 404
    place.replace(Group(A, ALPHA, BETA), Group(B, GAMMA))
    assert place.create(GAMMAS, "one").status == 201
    place.replace(Group(A, ALPHA, BETA))
    assert place.request("GET", f"{GAMMAS}/one").status == 404
    place.replace(Group(A, ALPHA, BETA), Group(B, GAMMA))
    assert place.specs(GAMMAS) == {"one": {"size": 1, "gen1": 1}}


def test_every_document_has_a_kind_that_comes_and_none_one_that_has_gone(place: Place) -> None:
    """Behaviour C2, C7, C8, C13, C18."""

    def told() -> list[bool]:
        return [
            B in place.request("GET", "/apis").body.decode(),
            B in place.request("GET", "/apis", headers=AGGREGATED).body.decode(),
            place.request("GET", f"/apis/{B}").status == 200,
            place.request("GET", f"/apis/{B}/v1").status == 200,
            f"apis/{B}/v1" in place.request("GET", "/openapi/v3").json()["paths"],
            place.request("GET", f"/openapi/v3/apis/{B}/v1").status == 200,
            f"/apis/{B}/v1/gammas" in place.request("GET", "/openapi/v2").json()["paths"],
            f"/apis/{B}/v1" in place.request("GET", "/").json()["paths"],
        ]

    assert told() == [False] * 8
    place.replace(Group(A, ALPHA, BETA), Group(B, GAMMA))
    assert told() == [True] * 8
    place.replace(Group(A, ALPHA, BETA))
    assert told() == [False] * 8


def test_the_core_group_comes_and_goes(place: Place) -> None:
    """Behaviour C4: without it there is nothing below /api, and paths there are as unknown as others."""
    assert place.request("GET", "/api").json() == {"paths": place.request("GET", "/").json()["paths"]}
    place.replace(Group(A, ALPHA), Group("", GAMMA))
    assert place.request("GET", "/api").json()["versions"] == ["v1"]
    assert place.create("/api/v1/namespaces/default/gammas", "one").status == 201
    place.replace(Group(A, ALPHA))
    assert place.request("GET", "/api").status == 404


def test_watches_of_kinds_that_stay_go_on_and_those_of_others_end(place: Place) -> None:
    place.create(BETAS, "zero")
    stays, changes = place.watch(ALPHAS), place.watch(BETAS)
    place.create(ALPHAS, "one")
    place.replace(Group(A, ALPHA, kind("Beta", 2, scope=CLUSTER)))
    place.create(ALPHAS, "two")
    place.advance(0.1)
    assert [(event, obj["metadata"]["name"]) for event, obj in stays.events] == [("ADDED", "one"), ("ADDED", "two")]
    assert (stays.ended, changes.ended, changes.error) == (False, True, None)
    assert [obj["spec"] for _, obj in changes.events] == [{"size": 1, "gen1": 1}]
    place.replace(Group(A, kind("Beta", 2, scope=CLUSTER)))
    place.advance(0.1)
    assert (stays.ended, stays.error) == (True, None)


def test_events_of_the_turn_in_which_a_kind_goes_are_delivered_before_the_end(place: Place) -> None:
    watch = place.watch(ALPHAS)
    place.send("POST", ALPHAS, body=new(ALPHAS, "one"))
    replacing = place.begin(Group(A, BETA))
    assert over(replacing)
    place.advance(0.1)
    assert [(event, obj["metadata"]["name"]) for event, obj in watch.events] == [("ADDED", "one")]
    assert (watch.ended, watch.error) == (True, None)


def test_the_objects_of_a_kind_that_changes_are_made_anew(place: Place) -> None:
    """By the new schema and columns, and in its new version; for watchers, too."""
    place.create(ALPHAS, "one")
    assert place.specs(ALPHAS) == {"one": {"size": 1, "gen1": 1}}
    assert [row["cells"][1] for row in place.request("GET", ALPHAS, headers=TABLE).json()["rows"]] == [1]
    place.replace(Group(A, kind("Alpha", 2, versions=("v1", "v2"))))
    for path in (ALPHAS, ALPHAS.replace("v1", "v2")):
        assert place.specs(path) == {"one": {"size": 1, "gen2": 2}}
        table = place.request("GET", path, headers=TABLE).json()
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Gen2"]
        assert [row["cells"] for row in table["rows"]] == [["one", 2]]
        (event,) = place.watch(path).events
        assert event[1]["spec"] == {"size": 1, "gen2": 2}


def test_requests_end_on_the_catalogue_with_which_they_began(place: Place) -> None:
    """Here a write waits in a plugin, and a list for the store; what is written is shown by the new schema then."""
    place.create(ALPHAS, "one")
    revision = place.request("GET", ALPHAS).json()["metadata"]["resourceVersion"]
    place.create(ALPHAS, "later")
    place.backend.paused = True
    exactly = {"resourceVersion": revision, "resourceVersionMatch": "Exact"}
    listed = place.send("GET", ALPHAS, exactly)
    place.backend.paused = False
    place.plugin.hold = True
    written = place.send("PATCH", f"{ALPHAS}/one", {}, MERGE, {"spec": {"size": 7}})
    place.replace(Group(A, kind("Alpha", 2)))
    assert listed == written == []
    place.plugin.release()
    place.backend.release()
    place.advance(0.1)
    assert written[0].json()["spec"] == {"size": 7, "gen1": 1}
    assert [item["spec"] for item in listed[0].json()["items"]] == [{"size": 1, "gen1": 1}]
    assert place.specs(ALPHAS)["one"] == {"size": 7, "gen2": 2}


def test_a_request_that_began_before_reads_what_is_written_after(place: Place) -> None:
    """As every read without resourceVersion. It is the second try of a write: a conflict has it read again."""
    place.create(ALPHAS, "one")
    place.plugin.hold = True
    written = place.send("PATCH", f"{ALPHAS}/one", {}, MERGE, {"spec": {"size": 7}})
    place.replace(Group(A, kind("Alpha", 2)))
    labels = {"metadata": {"labels": {"new": "yes"}}}
    assert place.request("PATCH", f"{ALPHAS}/one", {}, MERGE, labels).status == 200
    place.plugin.release()
    place.advance(0.1)
    assert written[0].status == 200
    found = place.request("GET", f"{ALPHAS}/one").json()
    assert (found["spec"], found["metadata"]["labels"]) == ({"size": 7, "gen2": 2}, {"new": "yes"})


def test_a_request_cannot_read_a_version_that_came_after_it(place: Place) -> None:
    """A client that tries again gets the object: that is another request. kube-apiserver has no better answer either."""
    place.create(ALPHAS, "one")
    place.plugin.hold = True
    written = place.send("PATCH", f"{ALPHAS}/one", {}, MERGE, {"spec": {"size": 7}})
    place.replace(Group(A, kind("Alpha", 2, versions=("v1", "v2"), storage="v2")))
    assert place.request("PATCH", f"{ALPHAS}/one", {}, MERGE, {"spec": {"size": 8}}).status == 200
    place.plugin.release()
    place.advance(0.1)
    assert (written[0].status, written[0].json()["reason"]) == (500, "InternalError")
    assert place.specs(ALPHAS) == {"one": {"size": 8, "gen2": 2}}


def test_a_write_of_a_kind_that_goes_meanwhile_is_stored(place: Place) -> None:
    place.plugin.hold = True
    written = place.send("POST", ALPHAS, body=new(ALPHAS, "one"))
    place.replace(Group(A, BETA))
    place.plugin.release()
    place.advance(0.1)
    assert written[0].status == 201
    place.replace(Group(A, ALPHA, BETA))
    assert place.specs(ALPHAS) == {"one": {"size": 1, "gen1": 1}}


def test_a_watch_that_was_accepted_before_ends_at_once(place: Place) -> None:
    """It is written to the client after the replacement; the client connects again."""
    request = ClientRequest("GET", ALPHAS, (("watch", "1"),))
    reply = place.server.run(place.server.server.transport().send(request))
    place.replace(Group(A, kind("Alpha", 2)))
    assert reply.status == 200
    assert place.server.run(reply.read()) == b""


def test_documents_of_groups_that_stay_are_the_same(place: Place) -> None:
    paths = (f"/apis/{A}", f"/apis/{A}/v1", f"/openapi/v3/apis/{A}/v1")
    served = place.server.server._served
    before = [served.catalogue.documents[path][1] for path in paths]
    place.replace(Group(A, ALPHA, BETA), Group(B, GAMMA))
    for path, document in zip(paths, before, strict=True):
        assert served.catalogue.documents[path][1] is document


@pytest.mark.parametrize(
    ("groups", "error"),
    [
        ([Group(A, ALPHA), Group(A, BETA)], DeclarationError),
        ([Group(A, kind("Beta")), Group(B, twin("Gamma", 1, A, "Alpha"))], DeclarationError),
        ([Group(A, kind("Alpha", 2, versions=("v2",), storage="v2"))], UnknownStoredVersion),
    ],
)
def test_a_replacement_that_cannot_be_served_changes_nothing(
    place: Place, groups: list[Group], error: type[Exception]
) -> None:
    place.create(ALPHAS, "one")
    watch = place.watch(ALPHAS)
    before = place.server.server._served.catalogue
    with pytest.raises(error):
        place.replace(*groups)
    assert place.server.server._served.catalogue is before
    place.create(ALPHAS, "two")
    place.advance(0.1)
    assert [obj["metadata"]["name"] for _, obj in watch.events] == ["one", "two"]
    place.replace(Group(A, ALPHA, BETA), Group(B, GAMMA))


def test_objects_in_a_version_that_a_kind_which_comes_does_not_have_are_noticed(place: Place) -> None:
    place.replace(Group(A, ALPHA), Group(B, GAMMA))
    place.create(GAMMAS, "one")
    place.replace(Group(A, ALPHA))
    with pytest.raises(UnknownStoredVersion, match="1 in v1"):
        place.replace(Group(A, ALPHA), Group(B, kind("Gamma", 2, versions=("v2",), storage="v2")))


def test_so_are_those_that_are_being_written(place: Place) -> None:
    """The kind has gone, and nothing of it is stored; but a write that began before will be."""
    place.plugin.hold = True
    written = place.send("POST", ALPHAS, body=new(ALPHAS, "one"))
    place.replace(Group(A, BETA))
    other = Group(A, BETA, kind("Alpha", 2, versions=("v2",), storage="v2"))
    with pytest.raises(UnknownStoredVersion, match="still being stored in v1"):
        place.replace(other)
    place.plugin.release()
    place.advance(0.1)
    assert written.pop().status == 201
    with pytest.raises(UnknownStoredVersion, match="1 in v1"):
        place.replace(other)


@pytest.mark.parametrize("error", [Unavailable("disk full"), ZeroDivisionError("a bug of the store")])
def test_a_store_that_fails_is_told_and_changes_nothing(place: Place, error: Exception) -> None:
    before = place.server.server._served.catalogue
    place.backend.broken = error
    with pytest.raises(type(error)):
        place.replace(Group(A, ALPHA, BETA), Group(B, GAMMA))
    assert place.server.server._served.catalogue is before
    assert place.request("GET", ALPHAS).status == 200
    place.backend.broken = None
    place.replace(Group(A, ALPHA, BETA), Group(B, GAMMA))
    assert place.create(GAMMAS, "one").status == 201


def test_a_store_that_does_not_answer_is_not_waited_for(place: Place) -> None:
    place.backend.paused = True
    errors = caught(place.begin(Group(A, ALPHA, BETA), Group(B, GAMMA)))
    place.advance(59)
    assert errors == []
    place.advance(2)
    assert [str(error) for error in errors] == ["the store did not answer within 60 s"]
    assert place.request("GET", GAMMAS).status == 404
    place.backend.paused = False
    place.replace(Group(A, ALPHA, BETA), Group(B, GAMMA))


def test_replacements_come_one_after_the_other(place: Place) -> None:
    place.backend.paused = True
    first, second = place.begin(Group(A, ALPHA), Group(B, GAMMA)), place.begin(Group(A, ALPHA), Group("", GAMMA))
    assert len(place.backend.waiting) == 1
    assert place.request("GET", ALPHAS).status == 200
    place.backend.release()
    assert (over(first), over(second)) == (True, False)
    assert place.request("GET", GAMMAS).status == 200
    place.backend.release()
    assert over(second)
    assert place.request("GET", GAMMAS).status == 404
    assert place.request("GET", "/api/v1/namespaces/default/gammas").status == 200


def test_one_that_fails_does_not_hold_up_the_next(place: Place) -> None:
    place.backend.paused = True
    errors = caught(place.begin(Group(A, ALPHA), Group(B, GAMMA)))
    second = place.begin(Group(A, ALPHA), Group("", GAMMA))
    place.backend.waiting.pop().errback(Unavailable("disk full"))
    place.backend.release()
    assert [str(error) for error in errors] == ["disk full"]
    assert over(second)
    assert place.request("GET", "/api/v1/namespaces/default/gammas").status == 200


def test_a_replacement_that_is_cancelled_changes_nothing(place: Place) -> None:
    place.backend.paused = True
    replacing = place.begin(Group(A, ALPHA), Group(B, GAMMA))
    errors = caught(replacing)
    replacing.cancel()
    assert len(errors) == 1
    place.backend.paused = False
    assert place.request("GET", GAMMAS).status == 404
    place.replace(Group(A, ALPHA), Group(B, GAMMA))


def test_nothing_is_replaced_while_the_server_stops() -> None:
    place = Place(Group(A, ALPHA))
    place.backend.paused = True
    errors = caught(place.begin(Group(A, ALPHA), Group(B, GAMMA)))
    errors_of_next = caught(place.begin(Group(A, ALPHA, BETA)))
    place.stop()
    assert [str(error) for error in (*errors, *errors_of_next)] == ["the server stops", "the server stops"]


def test_nothing_is_replaced_before_the_start() -> None:
    server = InMemoryServer(Api(Group(A, ALPHA)))
    with pytest.raises(RuntimeError, match="started"):
        server.run(server.server.replace([Group(A, BETA)]))


def test_who_wants_to_know_is_told_after_each_replacement(place: Place) -> None:
    """One who fails keeps nobody else from it; the groups are served already."""
    told: list[int] = []

    def broken() -> None:
        raise ZeroDivisionError("a bug")

    place.server.server.observers += [broken, lambda: told.append(place.request("GET", GAMMAS).status)]
    with recorded() as events:
        place.replace(Group(A, ALPHA), Group(B, GAMMA))
        with pytest.raises(DeclarationError):
            place.replace(Group(A, ALPHA), Group(A, BETA))
        place.replace()
    assert told == [200, 404]
    assert [type(event["log_failure"].value) for event in events if "log_failure" in event] == [ZeroDivisionError] * 2


def test_virtual_kinds_and_subresources_come_change_and_go() -> None:
    """A virtual kind has no cache; a subresource with REST storage is below a stored object."""
    ping = kind("Ping", rest=Echo())
    path = f"/apis/{B}/v1/namespaces/default/pings"
    sub = Subresource(rest=Echo(), group=B, version="v1", kind="Call", type=schema(1))
    place = Place(Group(A, ALPHA))
    place.replace(
        Group(A, kind("Alpha", 2, subresources={"call": sub, "size": Subresource(field="spec")})), Group(B, ping)
    )
    assert place.create(path, "one").json()["spec"] == {"size": 1, "gen1": 1}
    assert place.create(ALPHAS, "one").status == 201
    call = {"apiVersion": f"{B}/v1", "kind": "Call", "metadata": {}, "spec": {"size": 2}}
    assert place.request("POST", f"{ALPHAS}/one/call", body=call).json()["spec"] == {"size": 2, "gen1": 1}
    assert place.request("GET", f"{ALPHAS}/one/size").json()["spec"] == {"size": 1, "gen2": 2}
    place.replace(Group(A, ALPHA), Group(B, kind("Ping", 3, rest=Echo())))
    assert place.create(path, "one").json()["spec"] == {"size": 1, "gen3": 3}
    assert place.request("GET", f"{ALPHAS}/one/size").status == 404
    place.replace(Group(A, ALPHA))
    assert place.create(path, "one").status == 404
    place.stop()


def test_kinds_of_one_storage_stay_together_or_not_at_all() -> None:
    """Their watches are of one cache. Another kind is not concerned."""
    base, other = kind("Alpha"), twin("Gamma", 5, A, "Alpha")
    place = Place(Group(A, base, BETA), Group(B, other))
    place.create(ALPHAS, "one")
    assert place.specs(GAMMAS) == {"one": {"size": 1, "gen5": 5}}
    beta = place.watch(BETAS)
    for groups, specs in (
        ((Group(A, base, BETA), Group(B, twin("Gamma", 6, A, "Alpha"))), {"size": 1, "gen6": 6}),
        ((Group(A, kind("Alpha", 2), BETA), Group(B, twin("Gamma", 7, A, "Alpha"))), {"size": 1, "gen7": 7}),
    ):
        watches = [place.watch(ALPHAS), place.watch(GAMMAS)]
        assert not any(watch.ended for watch in watches)
        place.replace(*groups)
        place.advance(0.1)
        assert [(watch.ended, watch.error) for watch in watches] == [(True, None)] * 2
        assert place.specs(GAMMAS) == {"one": specs}
    place.replace(Group(A, kind("Alpha", 3), BETA))
    assert place.request("GET", GAMMAS).status == 404
    assert place.specs(ALPHAS) == {"one": {"size": 1, "gen3": 3}}
    assert not beta.ended
    place.stop()


@contextmanager
def without_collector() -> Iterator[None]:
    """Only references count: what was there at the start of a process is frozen, and the collector never looks at it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def test_nothing_is_left_of_what_has_gone(place: Place) -> None:
    place.create(ALPHAS, "one")
    watch = place.watch(ALPHAS)
    for path in (ALPHAS, "/openapi/v2", f"/openapi/v3/apis/{A}/v1"):
        assert place.request("GET", path).status == 200
    catalogue = place.server.server._served.catalogue
    (alpha,) = [each for each in catalogue.kinds if each.kind is ALPHA]
    cache = catalogue.cache(alpha)
    assert cache is not None
    resource = catalogue.endpoints[A, "v1", "alphas", ""].resource
    left = [weakref.ref(each) for each in (alpha, resource, cache, cache._broadcaster, cache._source)]
    documents = {id(document) for _, document in catalogue.documents.values()}
    del catalogue, alpha, resource, cache
    with without_collector():
        place.replace(Group(A, BETA))
        place.advance(0.1)
        assert watch.ended
        del watch
        assert [ref() for ref in left] == [None] * len(left)
        kept = {id(document) for _, document in place.server.server._served.catalogue.documents.values()}
        alive = {id(each) for each in gc.get_objects() if isinstance(each, Document)}
        assert not alive & (documents - kept)


def test_of_a_replacement_that_fails_nothing_is_left(place: Place) -> None:
    def caches() -> set[int]:
        gc.collect()
        return {id(each) for each in gc.get_objects() if isinstance(each, ResourceCache)}

    before = caches()
    place.backend.paused = True
    errors = caught(place.begin(Group(A, ALPHA, BETA), Group(B, GAMMA, kind("Delta"))))
    place.backend.release()  # of the first of both
    place.backend.waiting.pop().errback(Unavailable("disk full"))
    assert [str(error) for error in errors] == ["disk full"]
    errors.clear()  # with its traceback
    assert caches() <= before


def test_a_server_can_be_started_on_what_was_served_last() -> None:
    place = Place(Group(A, ALPHA))
    place.replace(Group(A, kind("Alpha", 2, versions=("v1", "v2"), storage="v2")))
    place.create(ALPHAS, "one")
    store = place.backend._backend
    place.backend.close = store.oldest  # type: ignore[assignment]  # it stays open
    place.stop()
    del place
    with pytest.raises(UnknownStoredVersion, match="1 in v2"), serve(Api(Group(A, ALPHA)), backend=store):
        pass
