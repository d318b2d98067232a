"""Clients of a kind with a feed see what clients of a stored kind see (behaviour E, F)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi import AlreadyExists, Conflict, ObjectMeta, RESTRequest
from extapi.api.declaration import DeclarationError
from extapi.api.subresource import Subresource
from extapi.client.transport import ClientRequest
from extapi.registry.fed import UPDATES
from extapi.testing import InMemoryServer, serve
from tests.unit.registry.orders import (
    ALL,
    GROUP,
    MERGE,
    ORDERS,
    RELIST,
    Deleted,
    Order,
    Orders,
    WritableOrders,
    body,
    order,
    served,
    shop,
)

JSON = {"Content-Type": "application/json"}
INITIAL_END = "k8s.io/initial-events-end"


def names(answer: Any) -> list[str]:
    return [item["metadata"]["name"] for item in answer.json()["items"]]


def seen(stream: Any) -> list[tuple[str, str, int]]:
    return [(kind, obj["metadata"]["name"], obj["spec"]["size"]) for kind, obj in stream.events]


def test_what_others_write_is_read_at_once() -> None:
    """A read without a resourceVersion is consistent: the author is asked."""
    orders = Orders()
    with served(orders) as server:
        orders.add(order("a"), order("b", namespace="other"))
        assert names(server.request("GET", ORDERS)) == ["a"]
        assert names(server.request("GET", ALL)) == ["a", "b"]
        orders.remove("a")
        assert server.request("GET", f"{ORDERS}/a").status == 404


def test_a_read_of_the_cache_asks_nobody() -> None:
    """Behaviour E24: resourceVersion=0 means any state."""
    orders = Orders()
    orders.add(order("a"))
    with served(orders) as server:
        before = orders.lists
        for path in (ORDERS, f"{ORDERS}/a"):
            assert server.request("GET", path, {"resourceVersion": "0"}).status == 200
        assert orders.lists == before


def test_watchers_see_changes_of_every_sort() -> None:
    orders = Orders()
    orders.add(order("a"))
    with served(orders) as server:
        stream = server.watch(ORDERS)
        orders.push(order("b"), order("a", 2), Deleted("b", "default"), Deleted("unknown", "default"))
        orders.add(order("c"))
        orders.push(RELIST)
        server.advance(1)
        assert seen(stream) == [
            ("ADDED", "a", 1),
            ("ADDED", "b", 1),
            ("MODIFIED", "a", 2),
            ("DELETED", "b", 1),
            ("MODIFIED", "a", 1),  # the list says so, and it was made after the change
            ("ADDED", "c", 1),
        ]
        revisions = [int(obj["metadata"]["resourceVersion"]) for _, obj in stream.events]
        assert revisions == sorted(set(revisions))


def test_a_list_without_changes_changes_no_revision() -> None:
    orders = Orders()
    orders.add(order("a"))
    with served(orders) as server:
        stream = server.watch(ORDERS)
        revisions = set()
        for _ in range(3):
            orders.add(order("a"))
            listed = server.request("GET", ORDERS).json()
            revisions |= {listed["metadata"]["resourceVersion"], listed["items"][0]["metadata"]["resourceVersion"]}
        assert len(revisions) == 1
        assert len(stream.events) == 1


def test_a_watch_resumes_where_it_ended() -> None:
    """Behaviour F5."""
    orders = Orders()
    orders.add(order("a"))
    with served(orders) as server:
        at = server.request("GET", ORDERS).json()["metadata"]["resourceVersion"]
        orders.push(order("a", 2), order("a", 3))
        stream = server.watch(ORDERS, {"resourceVersion": at})
        assert seen(stream) == [("MODIFIED", "a", 2), ("MODIFIED", "a", 3)]


def test_revisions_of_another_process_are_expired() -> None:
    """Behaviour F8: what was missed cannot be told, so it must not look as if nothing had happened."""
    orders = Orders()
    orders.add(order("a"))
    with served(orders) as server:
        at = int(server.request("GET", ORDERS).json()["metadata"]["resourceVersion"])
        for other in (at - 1000, at + 1000):  # of one that was started earlier, and later
            stream = server.watch(ORDERS, {"resourceVersion": str(other)})
            ((kind, status),) = stream.events
            assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
        answer = server.request("GET", ORDERS, {"resourceVersion": str(at - 1000), "resourceVersionMatch": "Exact"})
        assert (answer.status, answer.json()["reason"]) == (410, "Expired")
        answer = server.request("GET", ORDERS, {"resourceVersion": str(at + 1000)})
        assert answer.status == 504
        assert answer.json()["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_pages_are_of_one_revision() -> None:
    """Behaviour E28, E29."""
    orders = Orders()
    orders.add(*(order(f"o{n}") for n in range(5)))
    with served(orders) as server:
        first = server.request("GET", ORDERS, {"limit": "2"})
        assert names(first) == ["o0", "o1"]
        assert first.json()["metadata"]["remainingItemCount"] == 3
        orders.remove("o2")
        orders.push(RELIST)
        server.advance(1)
        token = first.json()["metadata"]["continue"]
        second = server.request("GET", ORDERS, {"limit": "2", "continue": token})
        assert names(second) == ["o2", "o3"]
        assert second.json()["metadata"]["resourceVersion"] == first.json()["metadata"]["resourceVersion"]


def test_initial_events_end_with_a_bookmark() -> None:
    """Behaviour F15."""
    orders = Orders()
    orders.add(order("a"))
    query = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    with served(orders) as server:
        stream = server.watch(ORDERS, query)
        assert [kind for kind, _ in stream.events] == ["ADDED", "BOOKMARK"]
        metadata = stream.events[1][1]["metadata"]
        assert metadata["annotations"] == {INITIAL_END: "true"}
        server.advance(61)
        assert stream.events[2][0] == "BOOKMARK"


def test_selectors_select_lists_and_watches() -> None:
    """Behaviour F12: an object that stops matching is deleted for its watcher."""
    orders = Orders()
    red, noted = order("a", labels={"color": "red"}), order("b")
    noted.spec.note = "urgent"
    orders.add(red, noted)
    with served(orders) as server:
        assert names(server.request("GET", ORDERS, {"labelSelector": "color=red"})) == ["a"]
        assert names(server.request("GET", ORDERS, {"fieldSelector": "spec.note=urgent"})) == ["b"]
        stream = server.watch(ORDERS, {"labelSelector": "color=red"})
        orders.push(order("a", labels={"color": "blue"}))
        server.advance(1)
        assert [kind for kind, _ in stream.events] == ["ADDED", "DELETED"]


def test_tables_metadata_and_versions() -> None:
    orders = Orders()
    orders.add(order("a", 7))
    with served(orders) as server:
        table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
        row = server.request("GET", ORDERS, headers=table).json()["rows"][0]
        assert row["cells"] == ["a", 7]
        assert server.watch(ORDERS, headers=table).events[0][1]["rows"][0]["cells"] == ["a", 7]
        partial = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
        item = server.request("GET", ORDERS, headers=partial).json()["items"][0]
        assert item["kind"] == "PartialObjectMetadata"
        assert item["metadata"]["uid"]
        assert "spec" not in item
        assert server.request("GET", f"{ORDERS.replace('v1', 'v1alpha1')}/a").json()["size"] == 7


def test_uids_outlive_the_process_but_not_the_object() -> None:
    orders = Orders()
    orders.add(order("a"))

    def uid() -> str:
        with served(orders) as server:
            found: str = server.request("GET", f"{ORDERS}/a").json()["metadata"]["uid"]
            return found

    first = uid()
    assert uid() == first
    created = order("a")
    created.metadata.creation_timestamp = "2026-01-01T00:00:00Z"
    orders.add(created)
    assert uid() != first
    given = order("a", uid="row-17")
    orders.add(given)
    assert uid() == "row-17"


def test_what_is_not_given_is_not_made_up() -> None:
    """No creationTimestamp: kubectl shows <unknown>, not the age of the process."""
    orders = Orders()
    orders.add(order("a", resource_version="17"))
    with served(orders) as server:
        metadata = server.request("GET", f"{ORDERS}/a").json()["metadata"]
        assert set(metadata) == {"name", "namespace", "uid", "resourceVersion"}
        assert metadata["resourceVersion"] != "17"


def test_verbs_are_those_of_the_methods() -> None:
    with served(Orders()) as server:
        (resource,) = server.request("GET", "/apis/shop.example.com/v1").json()["resources"]
        assert set(resource["verbs"]) == {"get", "list", "watch"}
        assert server.request("POST", ORDERS, body=body("a")).status == 405
    with served(WritableOrders()) as server:
        (resource,) = server.request("GET", "/apis/shop.example.com/v1").json()["resources"]
        writes = {"create", "update", "patch", "delete", "deletecollection"}
        assert set(resource["verbs"]) == {"get", "list", "watch", *writes}


def test_a_write_is_seen_at_once() -> None:
    orders = WritableOrders()
    with served(orders) as server:
        stream = server.watch(ORDERS)
        created = server.request("POST", ORDERS, body=body("a", uid="mine", creationTimestamp="2020-01-01T00:00:00Z"))
        assert created.status == 201
        metadata = created.json()["metadata"]
        assert metadata["uid"] != "mine"
        assert "creationTimestamp" not in metadata
        patched = server.request("PATCH", f"{ORDERS}/a", headers=MERGE, body={"spec": {"size": 2}})
        assert patched.json() == server.request("GET", f"{ORDERS}/a").json()
        assert server.request("DELETE", f"{ORDERS}/a").status == 200
        server.advance(1)
        assert seen(stream) == [("ADDED", "a", 1), ("MODIFIED", "a", 2), ("DELETED", "a", 2)]
        assert stream.events[0][1] == created.json()
        assert stream.events[1][1] == patched.json()


def test_a_dry_run_shows_and_changes_nothing() -> None:
    orders = WritableOrders()
    orders.add(order("a"))
    with served(orders) as server:
        stream = server.watch(ORDERS)
        dry = {"dryRun": "All"}
        created = server.request("POST", ORDERS, dry, body=body("b"))
        assert created.status == 201
        assert "resourceVersion" not in created.json()["metadata"]
        assert server.request("PATCH", f"{ORDERS}/a", dry, MERGE, {"spec": {"size": 2}}).json()["spec"]["size"] == 2
        assert server.request("DELETE", f"{ORDERS}/a", dry).status == 200
        assert all(asked.dry_run for verb, asked in orders.asked if verb != "get")
        assert names(server.request("GET", ORDERS)) == ["a"]
        assert len(stream.events) == 1


def test_a_name_is_generated_and_taken_once() -> None:
    """Behaviour E14."""
    orders = WritableOrders()
    with served(orders) as server:
        generated = {**body(""), "metadata": {"generateName": "o-"}}
        name = server.request("POST", ORDERS, body=generated).json()["metadata"]["name"]
        assert name.startswith("o-")
        assert len(name) == len("o-") + 5
        again = server.request("POST", ORDERS, body=body(name))
        assert (again.status, again.json()["reason"]) == (409, "AlreadyExists")
        assert server.request("POST", ORDERS, body=body("Bad_Name")).status == 422
        assert server.request("POST", ORDERS, body=body("new", resourceVersion="7")).status == 500


def test_an_update_needs_the_live_resource_version() -> None:
    """Behaviour E40."""
    orders = WritableOrders()
    orders.add(order("a"))
    with served(orders) as server:
        old = server.request("GET", f"{ORDERS}/a").json()
        assert server.request("PUT", f"{ORDERS}/a", body=body("a", 2)).status == 422
        orders.add(order("a", 5))  # another process writes, and nobody has told us
        answer = server.request("PUT", f"{ORDERS}/a", body=old)
        assert (answer.status, answer.json()["reason"]) == (409, "Conflict")
        fresh = server.request("GET", f"{ORDERS}/a").json()
        fresh["metadata"] = {name: fresh["metadata"][name] for name in ("name", "resourceVersion")}
        answer = server.request("PUT", f"{ORDERS}/a", body=fresh)
        assert answer.status == 200
        assert answer.json()["metadata"]["uid"] == old["metadata"]["uid"]
        changed = {**fresh, "metadata": {**answer.json()["metadata"], "uid": "other"}}
        assert server.request("PUT", f"{ORDERS}/a", body=changed).status in {409, 422}
        too_large = {"spec": {"size": 100}}
        assert server.request("PATCH", f"{ORDERS}/a", headers=MERGE, body=too_large).status == 409


def test_of_two_updates_at_once_the_second_sees_the_first() -> None:
    """Nothing is lost between clients of this server, though the author's table knows no revisions."""
    orders = WritableOrders()
    orders.add(order("a"))
    with served(orders) as server:
        old = server.request("GET", f"{ORDERS}/a").json()
        orders.slow = Deferred()
        answers: list[Any] = []

        def put(size: int) -> None:
            """Send an update, and do not wait."""
            sent = ClientRequest(
                "PUT", f"{ORDERS}/a", headers=JSON, body=json.dumps({**old, "spec": {"size": size}}).encode()
            )
            Deferred.fromCoroutine(server.server.transport().send(sent)).addBoth(answers.append)

        put(2)
        put(3)
        server.advance(1)
        assert answers == []
        orders.slow.callback(None)
        server.advance(1)
        assert sorted(answer.status for answer in answers) == [200, 409]
        assert server.request("GET", f"{ORDERS}/a").json()["spec"]["size"] == 2


def test_deletes_meet_preconditions() -> None:
    """Behaviour E50."""
    orders = WritableOrders()
    orders.add(order("a"))
    with served(orders) as server:
        options = {"kind": "DeleteOptions", "apiVersion": "v1"}
        wrong = {**options, "preconditions": {"uid": "other"}}
        assert server.request("DELETE", f"{ORDERS}/a", body=wrong).status == 409
        orphan = {**options, "propagationPolicy": "Orphan"}
        assert server.request("DELETE", f"{ORDERS}/a", body=orphan).status == 400
        assert ("default", "a") in orders.rows
        right = {**options, "preconditions": {"uid": server.request("GET", f"{ORDERS}/a").json()["metadata"]["uid"]}}
        assert server.request("DELETE", f"{ORDERS}/a", body=right).status == 200
        assert server.request("DELETE", f"{ORDERS}/a").status == 404


def test_a_collection_is_deleted_with_one_list() -> None:
    """As the namespace controller does."""
    orders = WritableOrders()
    orders.add(*(order(f"o{n}") for n in range(20)), order("kept", namespace="other"))
    with served(orders) as server:
        before = orders.lists
        assert server.request("DELETE", ORDERS).status == 200
        assert orders.lists == before + 1
        assert list(orders.rows) == [("other", "kept")]
        assert names(server.request("GET", ALL)) == ["kept"]


def test_what_a_write_returns_must_be_an_order() -> None:
    orders = WritableOrders()
    orders.answers = "nonsense"
    with served(orders) as server:
        answer = server.request("POST", ORDERS, body=body("a"))
        assert answer.status == 500
        assert answer.json()["message"] == "Internal error occurred: what serves orders gave no Order"


def test_an_api_with_a_feed_can_be_replaced() -> None:
    """The feed of a kind that goes ends with its watches; the one of a kind that stays goes on."""
    orders, others = Orders(), Orders()
    api = shop(orders)
    with serve(api) as server:
        stream = server.watch(ORDERS)
        server.run(server.server.replace(api.groups))
        orders.push(order("a"))
        server.advance(1)
        assert seen(stream) == [("ADDED", "a", 1)]
        assert orders.generators == 1
        others.add(order("b"))
        server.run(server.server.replace(shop(others).groups))
        server.advance(1)
        assert stream.ended
        assert stream.error is None
        assert orders.closed == 1
        assert names(server.request("GET", ORDERS)) == ["b"]
    assert others.closed == 1


def test_an_update_gets_what_it_was_made_of() -> None:
    """So that a table that others write can compare and set."""
    orders = WritableOrders()
    orders.add(order("a", 3))
    with served(orders) as server:
        server.request("PATCH", f"{ORDERS}/a", headers=MERGE, body={"spec": {"size": 4}})
        ((_, asked),) = [call for call in orders.asked if call[0] == "update"]
        assert asked.old_object.spec.size == 3
        assert asked.old_object.metadata.resource_version


class ContestedOrders(WritableOrders):
    """Compares and sets, while another process writes between read and write, ``rivals`` times."""

    rivals = 0

    async def update(self, request: RESTRequest, obj: Order) -> Order:
        if self.rivals:
            self.rivals -= 1
            row = self.rows[request.namespace, request.name]
            self.add(order(request.name, row.spec.size + 10))
        if self.rows[request.namespace, request.name].spec != request.old_object.spec:
            raise Conflict.on("orders", GROUP, request.name, Conflict.MODIFIED)
        return await super().update(request, obj)


def test_a_patch_is_made_again_when_others_are_faster() -> None:
    """As of stored kinds: a patch without a resourceVersion is for whatever there is, a PUT is not."""
    orders = ContestedOrders()
    orders.add(order("a", 1))
    with served(orders) as server:
        orders.rivals = UPDATES - 1
        answer = server.request("PATCH", f"{ORDERS}/a", headers=MERGE, body={"spec": {"note": "urgent"}})
        assert answer.json()["spec"] == {"size": 1 + 10 * (UPDATES - 1), "note": "urgent"}
        orders.rivals = UPDATES
        answer = server.request("PATCH", f"{ORDERS}/a", headers=MERGE, body={"spec": {"note": "late"}})
        assert (answer.status, answer.json()["reason"]) == (409, "Conflict")
        live = server.request("GET", f"{ORDERS}/a").json()
        orders.rivals = 1
        assert server.request("PUT", f"{ORDERS}/a", body=live).status == 409
        assert orders.rivals == 0


def applied(server: InMemoryServer, manager: str, size: int, *, force: bool = False, **query: str) -> Any:
    """The answer to an apply of order a."""
    query |= {"fieldManager": manager, **({"force": "true"} if force else {})}
    obj = body("a", size)
    return server.request("PATCH", f"{ORDERS}/a", query, {"Content-Type": "application/apply-patch+yaml"}, obj)


def managers(answer: Any) -> set[tuple[str, str]]:
    """Who manages something, and by which operation."""
    return {(entry["manager"], entry["operation"]) for entry in answer.json()["metadata"].get("managedFields", ())}


def test_a_table_that_keeps_managers_is_applied_like_what_is_stored() -> None:
    """Behaviour E64-E69; what changes nothing is no event, though time has passed."""
    orders = WritableOrders()
    with served(orders) as server:
        stream = server.watch(ORDERS)
        created = applied(server, "a", 3)
        assert (created.status, managers(created)) == (201, {("a", "Apply")})
        server.advance(10)
        assert applied(server, "a", 3).json() == created.json()
        conflict = applied(server, "b", 4)
        assert conflict.status == 409
        assert conflict.json()["message"] == 'Apply failed with 1 conflict: conflict with "a": .spec.size'
        dry = applied(server, "b", 4, force=True, dryRun="All")
        assert (dry.status, managers(dry)) == (200, {("b", "Apply")})
        forced = applied(server, "b", 4, force=True)
        assert forced.json() == server.request("GET", f"{ORDERS}/a").json()
        patched = server.request("PATCH", f"{ORDERS}/a", {"fieldManager": "u"}, MERGE, {"spec": {"size": 5}})
        assert managers(patched) == {("u", "Update")}
        server.advance(1)
        assert seen(stream) == [("ADDED", "a", 3), ("MODIFIED", "a", 4), ("MODIFIED", "a", 5)]
        assert [obj for _, obj in stream.events] == [answer.json() for answer in (created, forced, patched)]
        older = server.request("GET", f"/apis/{GROUP}/v1alpha1/namespaces/default/orders/a")
        assert managers(older) == {("u", "Update")}


class Forgetful(WritableOrders):
    """Has no room for managers, but returns what it was given."""

    def add(self, *orders: Order) -> None:
        for each in orders:
            metadata = ObjectMeta(name=each.metadata.name, namespace=each.metadata.namespace)
            super().add(Order(metadata=metadata, spec=each.spec))


@pytest.mark.parametrize("pushes", [False, True])
def test_a_table_without_room_for_managers_has_no_events_of_theirs(*, pushes: bool) -> None:
    """What a write returned stands until the row is another one: a read that has no managers changes nothing."""
    orders = Forgetful()
    with served(orders) as server:
        stream = server.watch(ORDERS)
        created = applied(server, "a", 3)
        if pushes:
            orders.push(order("a", 3), RELIST)
        server.advance(1)
        assert server.request("GET", f"{ORDERS}/a").json() == created.json()
        (listed,) = server.request("GET", ORDERS).json()["items"]
        assert listed["metadata"] == created.json()["metadata"]
        assert applied(server, "a", 4).status == 200
        put = server.request("GET", f"{ORDERS}/a").json()
        assert server.request("PUT", f"{ORDERS}/a", body={**put, "spec": {"size": 5}}).status == 200
        server.advance(1)
        assert seen(stream) == [("ADDED", "a", 3), ("MODIFIED", "a", 4), ("MODIFIED", "a", 5)]

        orders.add(order("a", 6))
        assert managers(server.request("GET", f"{ORDERS}/a")) == set()
        conflict = applied(server, "a", 7)
        assert (conflict.status, conflict.json()["message"]) == (
            409,
            f'Apply failed with 1 conflict: conflict with "before-first-apply" using {GROUP}/v1: .spec.size',
        )
        assert managers(applied(server, "a", 7, force=True)) == {("a", "Apply"), ("before-first-apply", "Update")}


def test_managers_that_are_reset_are_gone() -> None:
    """Behaviour E71: by a write, whatever the table keeps."""
    orders = Forgetful()
    with served(orders) as server:
        assert managers(applied(server, "a", 3)) == {("a", "Apply")}
        reset: dict[str, Any] = {"metadata": {"managedFields": [{}]}}
        assert managers(server.request("PATCH", f"{ORDERS}/a", headers=MERGE, body=reset)) == set()
        assert managers(server.request("GET", f"{ORDERS}/a")) == set()


def test_an_apply_updates_what_others_create_meanwhile() -> None:
    class Contested(WritableOrders):
        async def create(self, request: RESTRequest, obj: Order) -> Any:
            self.asked.append(("create", request))
            self.add(order(request.name or obj.metadata.name, 1))
            raise AlreadyExists.named("orders", GROUP, obj.metadata.name)

    orders = Contested()
    with served(orders) as server:
        answer = applied(server, "a", 3, force=True)
        assert (answer.status, answer.json()["spec"]) == (200, {"size": 3, "note": ""})
        assert [verb for verb, _ in orders.asked if verb != "get"] == ["create", "update"]


def test_an_apply_needs_the_methods() -> None:
    """It is a PATCH, which needs ``update``; without ``create`` it needs the object, too."""

    class Updatable(Orders):
        async def update(self, request: RESTRequest, obj: Order) -> Order:
            self.add(obj)
            return obj

    orders = Updatable()
    with served(orders) as server:
        assert applied(server, "a", 3).status == 404
        orders.add(order("a", 3))
        assert managers(applied(server, "a", 3)) == {("a", "Apply"), ("before-first-apply", "Update")}
    with served(Orders()) as server:
        assert applied(server, "a", 3).status == 405


class NoList:
    async def changes(self, context: Any) -> Any:
        yield RELIST


class NoGenerator:
    async def list(self, request: Any) -> Any:
        return []

    async def changes(self, context: Any) -> Any:
        return []


class NoContext(Orders):
    async def changes(self) -> Any:  # type: ignore[override]  # the mistake
        yield RELIST


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        (NoList(), "kind Order: rest has a method changes but no method list; changes only adds to what list returns"),
        (
            NoGenerator(),
            "kind Order: rest: changes is no async generator; write async def changes(self, context) with yield",
        ),
        (NoContext(), "kind Order: rest: changes takes the wrong arguments"),
    ],
)
def test_what_is_no_feed_is_refused_at_start(rest: Any, why: str) -> None:
    with pytest.raises(DeclarationError) as raised:
        shop(rest)
    assert why in str(raised.value)


def test_a_subresource_is_no_feed() -> None:
    with pytest.raises(DeclarationError, match="a subresource cannot be watched"):
        shop(Orders(), subresources={"lines": Subresource(rest=Orders())})


def test_a_subresource_of_a_fed_object_needs_the_object() -> None:
    class Lines:
        async def get(self, request: Any) -> Any:
            return order(request.name, 7)

    orders = Orders()
    orders.add(order("a"))
    with serve(shop(orders, subresources={"lines": Subresource(rest=Lines())})) as server:
        assert server.request("GET", f"{ORDERS}/a/lines").json()["spec"]["size"] == 7
        assert server.request("GET", f"{ORDERS}/b/lines").status == 404


def test_an_author_serves_the_status_of_a_fed_object() -> None:
    """``kubectl --subresource=status`` needs ``get``, and ``patch`` or ``update``."""
    orders = WritableOrders()

    class Notes:
        async def get(self, request: RESTRequest) -> Any:
            return orders.rows.get((request.namespace, request.name))

        async def update(self, request: RESTRequest, obj: Order) -> Order:
            noted = order(request.name, request.old_object.spec.size, managed_fields=obj.metadata.managed_fields)
            noted.spec.note = obj.spec.note
            orders.push(noted)
            orders.add(noted)
            return noted

    with serve(shop(orders, subresources={"status": Subresource(rest=Notes())})) as server:
        (status,) = (
            each
            for each in server.request("GET", f"/apis/{GROUP}/v1").json()["resources"]
            if each["name"] == "orders/status"
        )
        assert set(status["verbs"]) == {"get", "patch", "update"}
        applied(server, "a", 3)
        form = {"Content-Type": "application/apply-patch+yaml"}
        noted = {**body("a", 9), "spec": {"note": "late"}}
        answer = server.request("PATCH", f"{ORDERS}/a/status", {"fieldManager": "s"}, form, noted)
        assert answer.json()["spec"] == {"size": 3, "note": "late"}
        server.advance(1)
        found = server.request("GET", f"{ORDERS}/a").json()
        assert found["spec"] == {"size": 3, "note": "late"}
        assert {(entry["manager"], entry.get("subresource")) for entry in found["metadata"]["managedFields"]} == {
            ("a", None),
            ("s", "status"),
        }
