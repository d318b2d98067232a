"""The status subresource: behaviour E73, J27."""

from __future__ import annotations

from extapi.testing import ServerResponse
from tests.unit.verbs.sample import ALPHAS, SHELVES, WIDGETS, Shop, failure, shelf, widget

STATUS = f"{WIDGETS}/w/status"


def put_status(shop_served: Shop, obj: dict[str, object], **query: str) -> ServerResponse:
    return shop_served.request("PUT", STATUS, query, body=obj)


def test_put_changes_status_only(shop_served: Shop) -> None:
    """Behaviour J27: neither spec nor metadata, and the generation stays."""
    created = shop_served.create()
    metadata = {**created["metadata"], "labels": {"a": "b"}, "generation": 9}
    sent = {**created, "metadata": metadata, "spec": {"size": 9}, "status": {"ready": True}}
    answer = put_status(shop_served, sent)
    assert answer.status == 200
    changed = answer.json()
    assert changed.pop("status") == {"ready": True}
    revision = changed["metadata"].pop("resourceVersion")
    assert int(revision) > int(created["metadata"].pop("resourceVersion"))
    main, status = changed["metadata"].pop("managedFields")
    assert [main] == created["metadata"].pop("managedFields")
    assert (status["subresource"], status["fieldsV1"]) == ("status", {"f:status": {".": {}, "f:ready": {}}})
    assert changed == created
    assert shop_served.get()["status"] == {"ready": True}


def test_patch_changes_status_only(shop_served: Shop) -> None:
    shop_served.create()
    patch = {"spec": {"size": 9}, "status": {"ready": True}}
    changed = shop_served.merge(patch, subresource="/status").json()
    assert changed["spec"]["size"] == 1
    assert changed["status"] == {"ready": True}
    assert changed["metadata"]["generation"] == 1


def test_status_can_be_taken_away(shop_served: Shop) -> None:
    shop_served.create()
    shop_served.merge({"status": {"ready": True}}, subresource="/status")
    assert "status" not in shop_served.merge({"status": None}, subresource="/status").json()


def test_get_answers_the_whole_object(shop_served: Shop) -> None:
    created = shop_served.create()
    assert shop_served.request("GET", STATUS).json() == created


def test_its_own_resource_version_counts(shop_served: Shop) -> None:
    created = shop_served.create()
    assert put_status(shop_served, {**created, "status": {"ready": True}}).status == 200
    assert put_status(shop_served, {**created, "status": {"ready": False}}).status == 409
    del created["metadata"]["resourceVersion"]
    assert put_status(shop_served, {**created, "status": {"ready": False}}).status == 422


def test_a_patch_that_names_another_uid_changes_status_only(shop_served: Shop) -> None:
    """Behaviour E73: a patch is no precondition, and what it says of metadata does not count (observed on 1.36.3)."""
    created = shop_served.create()
    patch = {"metadata": {"uid": "other", "labels": {"a b": "c d"}}, "status": {"ready": True}}
    answer = shop_served.merge(patch, subresource="/status")
    assert answer.status == 200
    changed = answer.json()
    assert changed["status"] == {"ready": True}
    assert changed["metadata"]["uid"] == created["metadata"]["uid"]
    assert "labels" not in changed["metadata"]


def test_its_uid_is_a_precondition(shop_served: Shop) -> None:
    created = shop_served.create()
    created["metadata"]["uid"] = "other"
    assert put_status(shop_served, created).status == 409


def test_status_is_validated(shop_served: Shop) -> None:
    shop_served.create()
    answer = shop_served.merge({"status": {"ready": "x"}}, subresource="/status")
    assert answer.status == 422
    assert failure(answer)["details"]["causes"][0]["field"] == "status.ready"


def test_plugins_see_which_subresource_it_is(shop_served: Shop) -> None:
    shop_served.create()
    shop_served.merge({"status": {"ready": True}}, subresource="/status")
    assert [review.subresource for review in shop_served.plugin.reviews] == ["", "status"]


def test_a_dry_run_changes_nothing(shop_served: Shop) -> None:
    created = shop_served.create()
    assert shop_served.merge({"status": {"ready": True}}, subresource="/status", dryRun="All").status == 200
    assert shop_served.get() == created


def test_a_missing_object_has_no_status(shop_served: Shop) -> None:
    assert shop_served.request("GET", STATUS).status == 404
    assert put_status(shop_served, widget(resourceVersion="1")).status == 404


def test_status_of_another_version_goes_through_the_hub(shop_served: Shop) -> None:
    shop_served.create(spec={"size": 4, "color": "green"})
    headers = {"Content-Type": "application/merge-patch+json"}
    path = f"{ALPHAS}/w/status"
    assert shop_served.request("PATCH", path, headers=headers, body={"status": {"ready": True}}).status == 200
    assert shop_served.get()["status"] == {"ready": True}


def test_status_is_neither_created_nor_deleted_nor_listed(shop_served: Shop) -> None:
    """Behaviour E6: 405."""
    shop_served.create()
    for method, verb in (("POST", "create"), ("DELETE", "delete")):
        answer = shop_served.request(method, STATUS, body=widget())
        assert answer.status == 405
        assert failure(answer)["message"] == (
            f'{verb} is not supported on resources of kind "widgets.shop.example.com"'
        )


def test_a_kind_without_the_subresource_keeps_status_in_the_object(shop_served: Shop) -> None:
    """Behaviour J38: an unknown subresource names the object."""
    shop_served.request("POST", SHELVES, body=shelf())
    answer = shop_served.request("GET", f"{SHELVES}/s/status")
    assert answer.status == 404
    assert failure(answer)["message"] == 'shelves.shop.example.com "s" not found'
