"""A kind whose converter waits, through the whole chain: stored in v1, where a size is a number; in v2 it is a text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs

from extapi import Api, Column, Group, Kind, Object, Review, Version
from extapi.api.behaviour import Behaviour
from extapi.api.declaration import DeclarationError
from extapi.client.transport import ClientRequest, ClientResponse
from extapi.errors import ApiError, InternalError
from extapi.testing import InMemoryServer, ServerResponse, serve
from tests.unit.verbs.sample import ALPHAS, WIDGETS, Shop, widget

GROUP = "bakery.example.com"
V1 = f"/apis/{GROUP}/v1/namespaces/default/loaves"
V2 = f"/apis/{GROUP}/v2/namespaces/default/loaves"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}


class Call:
    """What the converter was asked, until the test answers."""

    def __init__(self, objects: Sequence[Any], api_version: str) -> None:
        self.objects = objects
        self.api_version = api_version
        self.cancelled = False
        self.answer: Deferred[Any] = Deferred(self._cancel)

    def _cancel(self, _: Any) -> None:
        self.cancelled = True

    @property
    def names(self) -> list[str]:
        return [obj["metadata"]["name"] for obj in self.objects]

    def finish(self, change: Callable[[list[Any]], Any] = lambda made: made) -> None:
        """Answer as it should; ``change`` spoils it."""
        self.answer.callback(change([turned(obj, self.api_version) for obj in self.objects]))


def turned(obj: Any, api_version: str) -> Any:
    """A loaf in another version. Those of size 13 cannot be converted."""
    size = obj["spec"]["size"]
    if size in {13, "13"}:
        return InternalError("no such size")
    to = str if api_version.endswith("v2") else int
    return {**obj, "apiVersion": api_version, "spec": {**obj["spec"], "size": to(size), "unknown": 1}}


class Oven:
    """A converter that answers when the test says so, or at once."""

    name = "the oven"

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.at_once = False

    async def convert(self, objects: Sequence[Any], api_version: str) -> Sequence[Any | ApiError]:
        call = Call(objects, api_version)
        self.calls.append(call)
        if self.at_once:
            call.finish()
        made: Sequence[Any | ApiError] = await call.answer
        return made


def schema(size: str) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"size": {"type": size}, "color": {"type": "string"}}}
    return {"type": "object", "properties": {"spec": spec}}


def api(oven: Any, admission: Sequence[Any] = ()) -> Api:
    loaf = Kind(
        "Loaf",
        plural="loaves",
        storage="v1",
        versions={"v1": Version(schema("integer")), "v2": Version(schema("string"))},
        columns=[Column("Size", ".spec.size")],
        selectable=[".spec.size"],
        behaviour=Behaviour(converter=oven),
    )
    return Api(Group(GROUP, loaf), admission=admission)


class Bakery:
    """The API served, with requests that may wait."""

    def __init__(self, server: InMemoryServer, oven: Oven) -> None:
        self.server = server
        self.oven = oven
        self.request = server.request

    def bake(self, name: str, size: int = 1, **metadata: Any) -> Any:
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Loaf",
            "metadata": {"name": name, **metadata},
            "spec": {"size": size},
        }
        made = self.request("POST", V1, body=body)
        assert made.status == 201, made
        return made.json()

    def ask(self, path: str) -> Waiting:
        return Waiting(self.server, path)


class Waiting:
    """A request that is under way."""

    def __init__(
        self,
        server: InMemoryServer,
        path: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.server = server
        request = ClientRequest(method, path, (), headers or {"Content-Type": "application/json"}, body, timeout=60)
        self.deferred = Deferred.fromCoroutine(server.server.transport().send(request))
        self.answers: list[ClientResponse] = []
        self.errors: list[Any] = []
        self.deferred.addCallbacks(self.answers.append, self.errors.append)

    @property
    def over(self) -> bool:
        return bool(self.answers or self.errors)

    def status(self) -> int:
        (answer,) = self.answers
        return answer.status

    def json(self) -> Any:
        (answer,) = self.answers
        return json.loads(self.server.run(answer.read()))


@pytest.fixture
def bakery() -> Iterator[Bakery]:
    oven = Oven()
    with serve(api(oven)) as server:
        yield Bakery(server, oven)


def sizes(listed: Any) -> list[Any]:
    return [(item["metadata"]["name"], item["spec"]["size"]) for item in listed["items"]]


# -- reads


def test_a_get_waits_and_the_next_one_does_not(bakery: Bakery) -> None:
    made = bakery.bake("a", 3)
    waiting = bakery.ask(f"{V2}/a")
    (call,) = bakery.oven.calls
    assert (call.names, call.api_version, call.objects[0]["apiVersion"]) == (["a"], f"{GROUP}/v2", f"{GROUP}/v1")
    assert not waiting.over
    call.finish()
    shown = waiting.json()
    assert shown == {**made, "apiVersion": f"{GROUP}/v2", "spec": {"size": "3"}}
    assert bakery.request("GET", f"{V2}/a").json() == shown
    assert len(bakery.oven.calls) == 1


def test_the_stored_version_asks_nobody(bakery: Bakery) -> None:
    made = bakery.bake("a", 3)
    assert bakery.request("GET", f"{V1}/a").json() == made
    assert sizes(bakery.request("GET", V1).json()) == [("a", 3)]
    assert bakery.request("DELETE", f"{V1}/a").status == 200
    assert bakery.oven.calls == []


def test_a_list_is_one_call_for_what_is_lacking(bakery: Bakery) -> None:
    for number in range(5):
        bakery.bake(f"a{number}", number)
    bakery.oven.at_once = True
    bakery.request("GET", f"{V2}/a1")
    bakery.oven.at_once = False
    waiting = bakery.ask(V2)
    assert bakery.oven.calls[1].names == ["a0", "a2", "a3", "a4"]
    bakery.bake("b", 9)  # comes too late
    bakery.oven.calls[1].finish()
    assert sizes(waiting.json()) == [(f"a{number}", str(number)) for number in range(5)]


def test_pages_tokens_and_the_past(bakery: Bakery) -> None:
    for number in range(5):
        bakery.bake(f"a{number}", number)
    bakery.oven.at_once = True
    first = bakery.request("GET", V2, {"limit": "2"}).json()
    assert bakery.oven.calls[0].names == ["a0", "a1"]
    bakery.request("DELETE", f"{V1}/a3")
    second = bakery.request("GET", V2, {"limit": "2", "continue": first["metadata"]["continue"]}).json()
    assert sizes(first) + sizes(second) == [(f"a{number}", str(number)) for number in range(4)]
    revision = first["metadata"]["resourceVersion"]
    past = bakery.request("GET", V2, {"resourceVersion": revision, "resourceVersionMatch": "Exact"}).json()
    assert sizes(past) == [(f"a{number}", str(number)) for number in range(5)]


def test_tables_and_metadata_are_of_the_version(bakery: Bakery) -> None:
    bakery.bake("a", 3)
    bakery.oven.at_once = True
    table = bakery.request("GET", V2, headers=TABLE).json()
    assert [row["cells"] for row in table["rows"]] == [["a", "3"]]
    assert bakery.request("GET", f"{V2}/a", headers=TABLE).json()["rows"][0]["cells"] == ["a", "3"]


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"fieldSelector": "spec.size=3"}, ["a1", "a3"]),
        ({"fieldSelector": "spec.size!=3,metadata.name!=a0"}, ["a2"]),
        ({"fieldSelector": "spec.size=3,metadata.name=a3"}, ["a3"]),
        ({"fieldSelector": "spec.size=3", "limit": "1"}, ["a1"]),
        ({"fieldSelector": "spec.size=3", "labelSelector": "odd=yes"}, ["a1", "a3"]),
        ({"fieldSelector": "spec.size=3", "labelSelector": "odd=no"}, []),
    ],
)
def test_fields_are_selected_by_in_the_version(
    bakery: Bakery, query: dict[str, str], found: list[str], past: bool
) -> None:
    for number, size in enumerate((1, 3, 1, 3)):
        bakery.bake(f"a{number}", size, labels={"odd": "yes" if number % 2 else "no"})
    if past:
        revision = bakery.request("GET", V1).json()["metadata"]["resourceVersion"]
        bakery.request("DELETE", f"{V1}/a1")
        query = {**query, "resourceVersion": revision, "resourceVersionMatch": "Exact"}
    bakery.oven.at_once = True
    listed = bakery.request("GET", V2, query).json()
    assert [name for name, _ in sizes(listed)] == found
    assert bool(listed["metadata"]["continue"]) == ("limit" in query)


def test_a_collection_is_deleted_by_fields_of_the_stored_version(bakery: Bakery) -> None:
    for number in range(3):
        bakery.bake(f"a{number}", number)
    assert bakery.request("DELETE", V1, {"fieldSelector": "spec.size=1"}).status == 200
    assert sizes(bakery.request("GET", V1).json()) == [("a0", 0), ("a2", 2)]
    assert bakery.oven.calls == []


def test_a_watch_shows_the_version_in_order(bakery: Bakery) -> None:
    bakery.bake("a", 1)
    watched = bakery.server.watch(V2, {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"})
    bakery.bake("b", 2)
    bakery.server.advance(0.001)
    for call in bakery.oven.calls:
        call.finish()
    bakery.server.advance(0.001)
    assert [(kind, obj["spec"]["size"]) for kind, obj in watched.events] == [("ADDED", "1"), ("ADDED", "2")]
    watched.close()


def test_a_watch_of_tables_has_the_cells_of_the_version(bakery: Bakery) -> None:
    watched = bakery.server.watch(V2, headers=TABLE)
    for name in ("a", "b"):
        bakery.bake(name, 7)
        bakery.server.advance(0.001)
        bakery.oven.calls[-1].finish()
    bakery.server.advance(0.001)
    assert [obj["rows"][0]["cells"] for _, obj in watched.events] == [["a", "7"], ["b", "7"]]
    assert [bool(obj["columnDefinitions"]) for _, obj in watched.events] == [True, False]
    watched.close()


# -- what it costs

_OF_WAITING = {
    "converter.py",
    "waiting.py",
    "conversioncalls.py",
    "preparation.py",
    "eventqueue.py",
    "preparedstream.py",
}


def entered(run: Callable[[], Any]) -> set[str]:
    """The modules of waiting conversions whose functions a call runs."""
    found: set[str] = set()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "extapi" in frame.f_code.co_filename:
            found.add(Path(frame.f_code.co_filename).name)

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(before)
    return found & _OF_WAITING


def test_kinds_that_convert_by_plain_functions_take_no_step_of_it(shop_served: Shop) -> None:
    shop_served.create("w")
    watched = shop_served.watch(WIDGETS)

    def work() -> None:
        for path in (WIDGETS, ALPHAS):
            version = "v1" if path is WIDGETS else "v1alpha1"
            assert shop_served.request("POST", path, body=widget(f"x-{version}", version=version)).status == 201
            assert shop_served.request("GET", f"{path}/w").status == 200
            assert shop_served.request("GET", path, {"fieldSelector": "metadata.name!=x"}).status == 200
            shop_served.advance(0.001)

    assert entered(work) == set()
    assert [obj["metadata"]["name"] for _, obj in watched.events] == ["w", "x-v1", "x-v1alpha1"]
    watched.close()


def test_a_get_of_what_is_prepared_takes_no_step_of_it(bakery: Bakery) -> None:
    bakery.bake("a")
    bakery.oven.at_once = True
    bakery.request("GET", f"{V2}/a")
    assert entered(lambda: bakery.request("GET", f"{V2}/a")) == set()


# -- failures


def refused(waiting: Waiting | ServerResponse, message: str) -> None:
    status = waiting.status() if isinstance(waiting, Waiting) else waiting.status
    told = waiting.json()
    assert (status, told["kind"], told["code"]) == (500, "Status", 500)
    assert message in told["message"]


def test_the_failure_of_one_is_that_of_its_readers(bakery: Bakery) -> None:
    bakery.bake("a", 1)
    bakery.bake("bad", 13)
    listing, bad, good = bakery.ask(V2), bakery.ask(f"{V2}/bad"), bakery.ask(f"{V2}/a")
    (call,) = bakery.oven.calls
    call.finish()
    refused(listing, "no such size")
    refused(bad, "no such size")
    assert good.json()["spec"] == {"size": "1"}
    assert sizes(bakery.request("GET", V1).json()) == [("a", 1), ("bad", 13)]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda made: made[:1], "the oven for bakery.example.com/v1, Kind=Loaf returned 1 objects, expected 2"),
        (lambda made: made[::-1], "must have the same name: a != b"),
        (lambda made: [{**obj, "metadata": {**obj["metadata"], "uid": "x"}} for obj in made], "the same UID: "),
        (lambda made: [{**obj, "kind": "Cake"} for obj in made], "invalid kind (expected Loaf, received Cake)"),
        (lambda made: [{**obj, "spec": {"size": float("nan")}} for obj in made], "is NaN"),
        (lambda made: 1 / len(made[2:]), "could not be converted"),
    ],
)
def test_an_answer_that_is_wrong_is_an_error_and_no_mix_up(
    bakery: Bakery, spoil: Callable[[list[Any]], Any], message: str
) -> None:
    bakery.bake("a")
    bakery.bake("b")
    waiting = bakery.ask(V2)
    with capturedLogs():
        try:
            bakery.oven.calls[0].finish(spoil)
        except ZeroDivisionError as error:
            bakery.oven.calls[0].answer.errback(error)
    refused(waiting, message)
    again = bakery.ask(V2)
    bakery.oven.calls[1].finish()
    assert sizes(again.json()) == [("a", "1"), ("b", "1")]


def test_one_stored_object_that_is_broken_does_not_stop_the_others(bakery: Bakery) -> None:
    bakery.bake("a")
    key = f"/registry/{GROUP}/loaves/default/b".encode()
    broken = b'{"apiVersion":"bakery.example.com/v1","kind":"Loaf","metadata":{"name":"b"},"spec":"\xff"}'
    bakery.server.run(bakery.server.backend.commit(key, broken, expected=0))
    good = bakery.ask(f"{V2}/a")
    bakery.oven.calls[0].finish()
    assert good.status() == 200
    with capturedLogs():
        refused(bakery.request("GET", V2), "could not be converted")
    assert len(bakery.oven.calls) == 1


def test_no_answer_in_time_is_an_error_of_these_readers_only(bakery: Bakery) -> None:
    bakery.bake("a")
    waiting = bakery.ask(f"{V2}/a")
    bakery.server.advance(30)
    assert not waiting.over
    bakery.server.advance(1)
    refused(waiting, "took longer than 31 s")
    assert bakery.oven.calls[0].cancelled
    again = bakery.ask(f"{V2}/a")
    bakery.oven.calls[1].finish()
    assert again.status() == 200


def test_a_client_that_goes_takes_its_conversion_along(bakery: Bakery) -> None:
    bakery.bake("a")
    waiting = bakery.ask(f"{V2}/a")
    waiting.deferred.cancel()
    assert bakery.oven.calls[0].cancelled
    assert waiting.over


# -- writes

MERGE = {"Content-Type": "application/merge-patch+json"}


def loaf(name: str, size: str, **metadata: Any) -> Any:
    return {
        "apiVersion": f"{GROUP}/v2",
        "kind": "Loaf",
        "metadata": {"name": name, **metadata},
        "spec": {"size": size},
    }


def test_a_create_is_converted_once_each_way_and_leaves_nothing_to_ask_for(bakery: Bakery) -> None:
    bakery.oven.at_once = True
    made = bakery.request("POST", V2, body=loaf("a", "3"))
    assert (made.status, made.json()["spec"]) == (201, {"size": "3"})
    assert [call.api_version.rpartition("/")[2] for call in bakery.oven.calls] == ["v1", "v2"]
    assert bakery.request("GET", f"{V2}/a").body == made.body
    assert bakery.request("GET", f"{V1}/a").json()["spec"] == {"size": 3}
    assert len(bakery.oven.calls) == 2


def test_updates_start_from_the_object_in_the_version_of_the_request(bakery: Bakery) -> None:
    created = bakery.bake("a", 3)
    bakery.oven.at_once = True
    patched = bakery.request("PATCH", f"{V2}/a", headers=MERGE, body={"spec": {"color": "brown"}})
    assert (patched.status, patched.json()["spec"]) == (200, {"size": "3", "color": "brown"})
    assert bakery.request("GET", f"{V2}/a").body == patched.body
    put = bakery.request("PUT", f"{V2}/a", body={**patched.json(), "spec": {"size": "4"}})
    assert (put.status, put.json()["spec"], put.json()["metadata"]["generation"]) == (200, {"size": "4"}, 3)
    assert bakery.request("GET", f"{V1}/a").json()["spec"] == {"size": 4}
    stale = bakery.request("PUT", f"{V2}/a", body={**created, "apiVersion": f"{GROUP}/v2", "spec": {"size": "5"}})
    assert stale.status == 409


def test_what_does_not_change_is_not_written(bakery: Bakery) -> None:
    before = bakery.bake("a", 3)["metadata"]["resourceVersion"]
    bakery.oven.at_once = True
    patched = bakery.request("PATCH", f"{V2}/a", headers=MERGE, body={"spec": {"size": "3"}})
    assert patched.json()["metadata"]["resourceVersion"] == before


def test_deletions(bakery: Bakery) -> None:
    bakery.bake("a", 3, finalizers=["a.example.com/b"])
    bakery.bake("b", 9)
    bakery.bake("c", 9)
    bakery.oven.at_once = True
    marked = bakery.request("DELETE", f"{V2}/a").json()
    assert (marked["apiVersion"], marked["spec"]) == (f"{GROUP}/v2", {"size": "3"})
    assert "deletionTimestamp" in marked["metadata"]
    assert bakery.request("DELETE", V2, {"fieldSelector": "spec.size=9"}).status == 200
    gone = bakery.request("PATCH", f"{V2}/a", headers=MERGE, body={"metadata": {"finalizers": None}})
    assert gone.json()["spec"] == {"size": "3"}
    assert sizes(bakery.request("GET", V1).json()) == []


def test_a_dry_run_is_answered_in_the_version(bakery: Bakery) -> None:
    bakery.oven.at_once = True
    made = bakery.request("POST", V2, {"dryRun": "All"}, body=loaf("a", "3"))
    assert (made.status, made.json()["spec"]) == (201, {"size": "3"})
    assert bakery.request("GET", f"{V2}/a").status == 404


def test_a_write_that_cannot_be_converted_writes_nothing(bakery: Bakery) -> None:
    created = bakery.bake("a", 3)
    bakery.oven.at_once = True
    refused(bakery.request("POST", V2, body=loaf("b", "13")), "no such size")
    refused(bakery.request("PATCH", f"{V2}/a", headers=MERGE, body={"spec": {"size": "13"}}), "no such size")
    assert bakery.request("GET", V1).json()["items"] == [created]


def test_a_write_that_gets_no_answer_in_time_writes_nothing(bakery: Bakery) -> None:
    body = json.dumps(loaf("a", "3")).encode()
    waiting = Waiting(bakery.server, V2, "POST", body)
    bakery.server.advance(0.001)
    (call,) = bakery.oven.calls
    assert (call.names, call.api_version) == (["a"], f"{GROUP}/v1")
    bakery.server.advance(31)
    refused(waiting, "took longer than 31 s")
    assert call.cancelled
    assert bakery.request("GET", V1).json()["items"] == []


def test_a_change_in_between_is_a_conflict_that_is_tried_again(bakery: Bakery) -> None:
    bakery.bake("a", 3)
    waiting = Waiting(bakery.server, f"{V2}/a", "PATCH", b'{"spec":{"color":"brown"}}', MERGE)
    bakery.server.advance(0.001)
    bakery.oven.calls[0].finish()  # the old object
    bakery.oven.at_once = True
    assert bakery.request("PATCH", f"{V1}/a", headers=MERGE, body={"spec": {"size": 4}}).status == 200
    bakery.oven.calls[1].finish()  # the new object, which comes too late
    assert (waiting.status(), waiting.json()["spec"]) == (200, {"size": "4", "color": "brown"})


class Curious:
    """Asks a review for the object in another version, and remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def validate(self, review: Review) -> None:
        self.seen.append(review.object["spec"])
        self.seen.append(review.as_version("v2"))
        with pytest.raises(InternalError, match="its converter may have to wait"):
            review.as_version("v1")


def test_a_plugin_sees_a_dict_in_the_version_of_the_request_and_no_wrong_one() -> None:
    plugin, oven = Curious(), Oven()
    oven.at_once = True
    with serve(api(oven, admission=[plugin])) as server:
        assert server.request("POST", V2, body=loaf("a", "3")).status == 201
    assert plugin.seen[0] == {"size": "3"}
    assert plugin.seen[1]["spec"] == {"size": "3"}


# -- declarations


class Typed(Object):
    pass


class Rest:
    async def get(self, request: Any) -> Any:
        return {}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"versions": {"v1": Version(Typed), "v2": Version(schema("string"))}}, "has a converter and types"),
        ({"rest": Rest()}, "has REST storage"),
    ],
)
def test_a_kind_with_a_converter_has_neither_types_nor_rest_storage(more: dict[str, Any], why: str) -> None:
    declared = {"storage": "v1", "versions": {"v1": Version(schema("string"))}, **more}
    with pytest.raises((DeclarationError, ValueError), match=why):
        serve(Api(Group(GROUP, Kind("Loaf", behaviour=Behaviour(converter=Oven()), **declared)))).__enter__()
