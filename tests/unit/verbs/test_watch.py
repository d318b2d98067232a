"""Watches through the whole chain: behaviour F1 to F21."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from extapi.client.transport import ClientRequest
from extapi.testing import Stream, serve
from tests.unit.verbs.sample import ALPHAS, CURSED, GROUP, SHELVES, V1, WIDGETS, Shop, failure, shelf, shop

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
WATCH_LIST = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
END = {"k8s.io/initial-events-end": "true"}


@pytest.fixture
def shop_served(shop_anywhere: Shop) -> Shop:
    """Each story here is told on a cache that is behind, too."""
    return shop_anywhere


def shown(stream: Stream) -> list[tuple[str, str]]:
    """Types and names of the events so far."""
    return [(kind, obj["metadata"].get("name", "")) for kind, obj in stream.events]


def test_it_begins_with_what_is_there_and_goes_on(shop_served: Shop) -> None:
    """Behaviour F1, F2, F4."""
    first = shop_served.create("a")
    stream = shop_served.watch(WIDGETS)
    assert stream.reply.status == 200
    assert stream.reply.headers["content-type"] == "application/json"
    second = shop_served.create("b")
    changed = shop_served.merge({"spec": {"size": 2}}, "a").json()
    shop_served.request("DELETE", f"{WIDGETS}/b")
    shop_served.advance()
    kinds = [kind for kind, _ in stream.events]
    assert kinds == ["ADDED", "ADDED", "MODIFIED", "DELETED"]
    objects = [obj for _, obj in stream.events]
    assert objects[:3] == [first, second, changed]
    revision = objects[3]["metadata"].pop("resourceVersion")
    assert int(revision) > int(changed["metadata"]["resourceVersion"]) > int(second["metadata"].pop("resourceVersion"))
    assert objects[3] == second
    assert not stream.ended


def test_from_a_revision_on_nothing_is_lost_or_repeated(shop_served: Shop) -> None:
    """Behaviour F5, F13."""
    shop_served.create("a")
    listed = shop_served.request("GET", WIDGETS).json()["metadata"]["resourceVersion"]
    shop_served.create("b")
    stream = shop_served.watch(WIDGETS, {"resourceVersion": listed})
    shop_served.create("c")
    shop_served.advance()
    assert shown(stream) == [("ADDED", "b"), ("ADDED", "c")]


def test_a_revision_that_is_too_old_is_an_event(shop_served: Shop) -> None:
    """Behaviour F8, M9: HTTP 200, one ERROR, the end."""
    shop_served.create()
    stream = shop_served.watch(WIDGETS, {"resourceVersion": "5"})
    assert stream.reply.status == 200
    shop_served.advance()
    ((kind, status),) = stream.events
    assert kind == "ERROR"
    message = status.pop("message")
    assert message.startswith("too old resource version: 5 (")
    assert status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "reason": "Expired",
        "code": 410,
    }
    assert stream.ended


def test_initial_events_end_with_a_bookmark(shop_served: Shop) -> None:
    """Behaviour F6, M17."""
    created = shop_served.create("a")
    stream = shop_served.watch(WIDGETS, WATCH_LIST)
    assert shown(stream) == [("ADDED", "a"), ("BOOKMARK", "")]
    bookmark = stream.events[1][1]
    assert bookmark == {
        "kind": "Widget",
        "apiVersion": f"{GROUP}/v1",
        "metadata": {"resourceVersion": created["metadata"]["resourceVersion"], "annotations": END},
    }
    shop_served.create("b")
    shop_served.advance()
    assert shown(stream)[2:] == [("ADDED", "b")]


def test_without_leave_for_bookmarks_there_is_none(shop_served: Shop) -> None:
    """Behaviour F6, F11."""
    shop_served.create("a")
    query = {key: value for key, value in WATCH_LIST.items() if key != "allowWatchBookmarks"}
    stream = shop_served.watch(WIDGETS, query)
    shop_served.advance(200)
    assert shown(stream) == [("ADDED", "a")]


def test_a_plain_watch_is_told_where_its_initial_events_end(shop_served: Shop) -> None:
    """Behaviour F4: with bookmarks allowed, though it was not asked for."""
    shop_served.create("a")
    stream = shop_served.watch(WIDGETS, {"allowWatchBookmarks": "true"})
    assert shown(stream) == [("ADDED", "a"), ("BOOKMARK", "")]
    assert stream.events[1][1]["metadata"]["annotations"] == END


def test_no_initial_events_where_they_are_declined(shop_served: Shop) -> None:
    """Behaviour F6."""
    shop_served.create("a")
    query = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}
    stream = shop_served.watch(WIDGETS, query)
    shop_served.create("b")
    shop_served.advance()
    assert shown(stream) == [("ADDED", "b")]


def test_bookmarks_come_about_every_minute(shop_served: Shop) -> None:
    """Behaviour F11: with the revision that was reached, and nothing else."""
    shop_served.create("a")
    stream = shop_served.watch(WIDGETS, {**WATCH_LIST, "timeoutSeconds": "600"})
    other = shop_served.request("POST", SHELVES, body=shelf()).json()
    shop_served.advance(150)
    marks = [obj["metadata"] for kind, obj in stream.events if kind == "BOOKMARK"][1:]
    assert 1 <= len(marks) <= 3
    assert marks[-1] == {"resourceVersion": other["metadata"]["resourceVersion"]}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            {"sendInitialEvents": "true"},
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"},
            (
                "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
                "provided"
            ),
        ),
    ],
)
def test_bad_options_are_422(shop_served: Shop, query: dict[str, str], text: str) -> None:
    """Behaviour F7."""
    answer = shop_served.request("GET", WIDGETS, {"watch": "1", **query})
    assert answer.status == 422
    assert failure(answer)["message"] == f'ListOptions.meta.k8s.io "" is invalid: {text}'


def test_initial_events_of_the_future_are_an_event_504(shop_served: Shop) -> None:
    """Behaviour F9: after three seconds."""
    current = int(shop_served.create()["metadata"]["resourceVersion"])
    stream = shop_served.watch(WIDGETS, {**WATCH_LIST, "resourceVersion": str(current + 99)})
    assert stream.events == []
    shop_served.advance(4)
    ((kind, status),) = stream.events
    assert (kind, status["code"], status["reason"]) == ("ERROR", 504, "Timeout")
    assert f"Too large resource version: {current + 99}, current: {current}" in status["message"]
    assert stream.ended


def test_selectors_see_objects_come_and_go(shop_served: Shop) -> None:
    """Behaviour F12: who stops to match is DELETED, in its last matching state, at the revision of the change."""
    stream = shop_served.watch(WIDGETS, {"labelSelector": "x=1"})
    shop_served.create("never")
    created = shop_served.create("a")
    shop_served.merge({"metadata": {"labels": {"x": "1"}}}, "a")
    last = shop_served.merge({"spec": {"size": 2}}, "a").json()
    gone = shop_served.merge({"metadata": {"labels": {"x": "2"}}}, "a").json()
    shop_served.request("DELETE", f"{WIDGETS}/a")
    shop_served.advance()
    assert shown(stream) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    deleted = stream.events[2][1]
    assert deleted["metadata"]["resourceVersion"] == gone["metadata"]["resourceVersion"]
    assert deleted["metadata"]["labels"] == last["metadata"]["labels"] == {"x": "1"}
    assert created["metadata"]["uid"] == deleted["metadata"]["uid"]


def test_one_object_is_watched_by_its_name(shop_served: Shop) -> None:
    """Behaviour F14."""
    stream = shop_served.watch(WIDGETS, {"fieldSelector": "metadata.name=b"})
    for name in "abc":
        shop_served.create(name)
    shop_served.advance()
    assert shown(stream) == [("ADDED", "b")]


def test_the_deprecated_paths_watch_too(shop_served: Shop) -> None:
    """Behaviour F14, F15."""
    shop_served.create("a")
    shop_served.create("b")
    path = f"{V1}/watch/namespaces/default/widgets"
    everything = shop_served.watch(path, {"watch": "", "allowWatchBookmarks": "true"})
    assert shown(everything) == [("ADDED", "a"), ("ADDED", "b")]
    asked = shop_served.request("GET", path, {"sendInitialEvents": "true"})
    assert failure(asked)["message"].endswith("sendInitialEvents is forbidden for list")
    one = shop_served.watch(f"{path}/b", {"watch": ""})
    assert shown(one) == [("ADDED", "b")]
    assert shown(shop_served.watch(f"{path}/b", {"fieldSelector": "metadata.name!=b"})) == []
    answer = shop_served.request("GET", f"{path}/b", {"fieldSelector": "metadata.name=a"})
    assert answer.status == 400
    assert failure(answer)["message"] == "fieldSelector metadata.name doesn't match requested name"


def test_namespaces_are_kept_apart(shop_served: Shop) -> None:
    here, everywhere = shop_served.watch(WIDGETS), shop_served.watch(f"{V1}/widgets")
    other = WIDGETS.replace("default", "other")
    shop_served.request("POST", other, body=_widget("x"))
    shop_served.advance()
    assert shown(here) == []
    assert shown(everywhere) == [("ADDED", "x")]


def _widget(name: str) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}}


def test_both_versions_see_each_others_changes(shop_served: Shop) -> None:
    beta, alpha = shop_served.watch(WIDGETS), shop_served.watch(ALPHAS)
    shop_served.create(spec={"size": 2})
    headers = {"Content-Type": "application/merge-patch+json"}
    shop_served.request("PATCH", f"{ALPHAS}/w", headers=headers, body={"spec": {"inches": "5in"}})
    shop_served.advance()
    assert [obj["spec"]["size"] for _, obj in beta.events] == [2, 5]
    assert [obj["spec"] for _, obj in alpha.events] == [{"inches": "2in"}, {"inches": "5in"}]
    assert {obj["apiVersion"] for _, obj in alpha.events} == {f"{GROUP}/v1alpha1"}


def test_a_table_an_event(shop_served: Shop) -> None:
    """Behaviour F20: columns in the first one only; later ones are null (observed on 1.36.3)."""
    shop_served.create("a", spec={"size": 3})
    stream = shop_served.watch(WIDGETS, {**WATCH_LIST}, TABLE)
    shop_served.create("b")
    shop_served.advance()
    tables = [obj for _, obj in stream.events]
    assert {(table["kind"], table["apiVersion"]) for table in tables} == {("Table", "meta.k8s.io/v1")}
    assert [kind for kind, _ in stream.events] == ["ADDED", "BOOKMARK", "ADDED"]
    assert [column["name"] for column in tables[0]["columnDefinitions"]] == ["Name", "Size", "Age"]
    assert [table["columnDefinitions"] for table in tables[1:]] == [None, None]
    assert [len(table["rows"]) for table in tables] == [1, 1, 1]
    assert tables[0]["rows"][0]["cells"][:2] == ["a", 3]
    assert tables[0]["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert tables[1]["rows"][0]["object"]["metadata"]["annotations"] == END
    assert tables[1]["rows"][0]["cells"] == ["", None, None]


@pytest.mark.parametrize(("include", "kind"), [("None", None), ("Object", "Widget")])
def test_what_rows_of_events_carry(shop_served: Shop, include: str, kind: str | None) -> None:
    shop_served.create()
    stream = shop_served.watch(WIDGETS, {**WATCH_LIST, "includeObject": include}, TABLE)
    carried = stream.events[0][1]["rows"][0]["object"]
    assert carried is None if kind is None else carried["kind"] == kind
    assert stream.events[1][1]["rows"][0]["object"]["metadata"]["annotations"] == END


def test_the_metadata_of_each_event(shop_served: Shop) -> None:
    """Behaviour F20."""
    created = shop_served.create()
    stream = shop_served.watch(WIDGETS, WATCH_LIST, PARTIAL)
    assert stream.events[0] == (
        "ADDED",
        {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created["metadata"]},
    )
    assert stream.events[1][1]["kind"] == "PartialObjectMetadata"
    assert stream.events[1][1]["metadata"]["annotations"] == END


def test_an_error_is_never_made_a_table(shop_served: Shop) -> None:
    """Behaviour F20."""
    stream = shop_served.watch(WIDGETS, {"resourceVersion": "5"}, TABLE)
    shop_served.advance()
    assert stream.events[0][1]["kind"] == "Status"


@pytest.mark.parametrize(
    ("accept", "first"),
    [("application/yaml", "application/json;stream=watch"), ("text/html", "application/json, application/yaml")],
)
def test_another_form_is_406(shop_served: Shop, accept: str, first: str) -> None:
    """Behaviour F1: what is accepted elsewhere is told what can be streamed."""
    answer = shop_served.request("GET", WIDGETS, {"watch": "1"}, {"Accept": accept})
    assert answer.status == 406
    text = answer.body.decode()
    assert f"only the following media types are accepted: {first}" in text
    assert "protobuf" not in text


def test_it_ends_when_it_should(shop_served: Shop) -> None:
    """Behaviour F3: cleanly, without an event of its own."""
    stream = shop_served.watch(WIDGETS, {"timeoutSeconds": "5"})
    shop_served.advance(4.5)
    early = stream.ended
    shop_served.advance(1)
    assert (early, stream.ended) == (False, True)
    assert stream.error is None
    assert stream.events == []


def test_a_negative_time_ends_at_once(shop_served: Shop) -> None:
    """Observed on 1.36.3."""
    stream = shop_served.watch(WIDGETS, {"timeoutSeconds": "-5"})
    shop_served.advance(0.1)
    assert stream.ended


@pytest.mark.parametrize("seconds", [{}, {"timeoutSeconds": "0"}])
def test_without_a_time_it_lasts_half_an_hour_to_an_hour(shop_served: Shop, seconds: dict[str, str]) -> None:
    """Behaviour F3."""
    stream = shop_served.watch(WIDGETS, seconds)
    for _ in range(29):
        shop_served.server.clock.advance(60)
    assert not stream.ended
    for _ in range(32):
        shop_served.server.clock.advance(60)
    assert stream.ended


class Fixed(Random):
    """Chance that always says the same."""

    def __init__(self, share: float) -> None:
        super().__init__(0)
        self.share = share

    def random(self) -> float:
        return self.share


@pytest.mark.parametrize(("share", "minutes"), [(0.0, 30), (0.75, 52)])
def test_the_servers_chance_decides_how_long_it_lasts(share: float, minutes: int) -> None:
    """Behaviour F3: nothing that the client sends does, such as its audit id."""
    with serve(shop(), random=Fixed(share)) as server:
        streams = [server.watch(WIDGETS, headers={"Audit-Id": f"mine-{number}"}) for number in range(3)]
        for _ in range(minutes - 1):
            server.clock.advance(60)
        early = [stream.ended for stream in streams]
        for _ in range(2):
            server.clock.advance(60)
        assert early == [False] * 3
        assert [stream.ended for stream in streams] == [True] * 3


def test_it_ends_with_the_server(shop_served: Shop) -> None:
    """Behaviour F21."""
    stream = shop_served.watch(WIDGETS)
    shop_served.server.stop()
    assert stream.ended
    assert stream.error is None


def test_who_hangs_up_is_forgotten(shop_served: Shop) -> None:
    stream = shop_served.watch(WIDGETS)
    stream.close()
    shop_served.create()
    shop_served.advance()
    assert stream.ended
    assert stream.events == []


def test_what_cannot_be_converted_ends_the_watches_of_that_version(shop_served: Shop) -> None:
    """An author's mistake: readers of other versions hear nothing of it."""
    beta, alpha = shop_served.watch(WIDGETS), shop_served.watch(ALPHAS)
    shop_served.create("cursed", spec={"size": CURSED})
    shop_served.create("good")
    shop_served.advance()
    assert shown(beta) == [("ADDED", "cursed"), ("ADDED", "good")]
    kind, status = alpha.events[-1]
    assert kind == "ERROR"
    assert status["code"] == 500
    assert alpha.ended


def test_deprecated_versions_warn(shop_served: Shop) -> None:
    """Behaviour G16, J43."""
    stream = shop_served.watch(f"/apis/{GROUP}/v1beta1/shelves")
    assert stream.reply.headers["warning"] == (
        '299 - "shop.example.com/v1beta1 Shelf is deprecated; use shop.example.com/v1 Shelf"'
    )


def test_who_reads_too_slowly_is_ended(shop_served: Shop) -> None:
    """Behaviour F17: once 4 MiB wait for it; the others go on."""
    shop_served.create(annotations={"a": "x" * 250_000})
    quick = shop_served.watch(WIDGETS)
    request = ClientRequest("GET", WIDGETS, [("watch", "true")])
    reply = shop_served.server.run(shop_served.server.server.transport().send(request))
    events = aiter(reply.lines())

    async def one() -> bytes:
        return await anext(events)

    assert shop_served.server.run(one()).startswith(b'{"type":"ADDED"')
    for size in range(2, 22):
        shop_served.merge({"spec": {"size": size}})
        shop_served.advance(0.05)
    shop_served.advance(6)
    assert reply._sink.closed
    shop_served.merge({"spec": {"size": 99}})
    shop_served.advance(1)
    assert len(quick.events) == 22
    assert not quick.ended
