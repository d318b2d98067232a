"""DELETE of one object: behaviour E45 to E52."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Review
from extapi.verbs import deletecollection
from tests.unit.verbs.sample import ALPHAS, GROUP, SHELVES, V1, WIDGETS, Shop, failure, shelf, widget

WAIT = "shop.example.com/wait"


def delete(shop_served: Shop, options: Any = None, **query: str) -> Any:
    return shop_served.request("DELETE", f"{WIDGETS}/w", query, body=options)


def test_it_answers_a_status_with_the_uid(shop_served: Shop) -> None:
    """Behaviour E47, M11: and no code."""
    created = shop_served.create()
    answer = delete(shop_served)
    assert answer.status == 200
    uid = created["metadata"]["uid"]
    # As 1.36.3 writes it: the members in the order of Go's fields.
    assert answer.body.decode() == (
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",'
        f'"details":{{"name":"w","group":"{GROUP}","kind":"widgets","uid":"{uid}"}}}}\n'
    )
    missing = shop_served.request("GET", f"{WIDGETS}/w", {"pretty": "1"})
    assert missing.status == 404
    assert [line.split(":")[0].strip() for line in missing.body.decode().splitlines() if ":" in line] == [
        f'"{name}"'
        for name in [
            "kind",
            "apiVersion",
            "metadata",
            "status",
            "message",
            "reason",
            "details",
            "name",
            "group",
            "kind",
            "code",
        ]
    ]


def test_a_cluster_scoped_object_is_deleted(shop_served: Shop) -> None:
    shop_served.request("POST", SHELVES, body=shelf())
    assert shop_served.request("DELETE", f"{SHELVES}/s").json()["details"]["kind"] == "shelves"
    assert shop_served.request("GET", f"{SHELVES}/s").status == 404


def test_a_missing_object_is_404(shop_served: Shop) -> None:
    """Behaviour E49."""
    answer = delete(shop_served)
    assert answer.status == 404
    assert failure(answer)["message"] == 'widgets.shop.example.com "w" not found'


def test_with_finalizers_it_waits(shop_served: Shop) -> None:
    """Behaviour E48: 200 with the whole object."""
    created = shop_served.create(finalizers=[WAIT])
    shop_served.advance(5)
    answer = delete(shop_served)
    assert answer.status == 200
    marked = answer.json()
    assert marked["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:25Z"
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert marked["metadata"]["generation"] == created["metadata"]["generation"] + 1
    assert marked["metadata"]["finalizers"] == [WAIT]
    assert int(marked["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
    assert shop_served.get() == marked


def test_deleted_again_it_stays_as_it_is(shop_served: Shop) -> None:
    """Behaviour E49."""
    shop_served.create(finalizers=[WAIT])
    marked = delete(shop_served).json()
    shop_served.advance(60)
    again = delete(shop_served)
    assert again.status == 200
    assert again.json() == marked


def test_whoever_asks_not_to_orphan_and_has_to_wait_gets_202(shop_served: Shop) -> None:
    """Behaviour E48."""
    shop_served.create(finalizers=[WAIT])
    assert delete(shop_served, orphanDependents="false").status == 202


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({"propagationPolicy": "Orphan"}, [WAIT, "orphan"]),
        ({"orphanDependents": True}, [WAIT, "orphan"]),
        ({"propagationPolicy": "Foreground"}, [WAIT, "foregroundDeletion"]),
        ({"propagationPolicy": "Background"}, [WAIT]),
        ({"orphanDependents": False}, [WAIT]),
        ({}, [WAIT]),
    ],
)
def test_the_policy_leaves_a_finalizer_for_the_garbage_collector(
    shop_served: Shop, options: dict[str, Any], finalizers: list[str]
) -> None:
    """Behaviour E52."""
    shop_served.create(finalizers=[WAIT])
    assert delete(shop_served, options).json()["metadata"]["finalizers"] == finalizers


@pytest.mark.parametrize(("policy", "finalizer"), [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")])
def test_the_policy_alone_makes_the_object_wait(shop_served: Shop, policy: str, finalizer: str) -> None:
    """Behaviour E52."""
    shop_served.create()
    answer = delete(shop_served, propagationPolicy=policy)
    assert answer.status == 200
    assert answer.json()["metadata"]["finalizers"] == [finalizer]


@pytest.mark.parametrize("finalizer", ["orphan", "foregroundDeletion"])
def test_background_takes_the_garbage_collectors_finalizers_off(shop_served: Shop, finalizer: str) -> None:
    """Behaviour E52."""
    shop_served.create(finalizers=[finalizer])
    assert delete(shop_served, propagationPolicy="Background").json()["status"] == "Success"


def test_without_a_policy_the_finalizer_that_is_there_decides(shop_served: Shop) -> None:
    """Behaviour E52."""
    shop_served.create(finalizers=["orphan"])
    assert delete(shop_served).json()["metadata"]["finalizers"] == ["orphan"]


def test_another_policy_replaces_the_first(shop_served: Shop) -> None:
    shop_served.create()
    marked = delete(shop_served, propagationPolicy="Orphan").json()
    shop_served.advance(5)
    again = delete(shop_served, propagationPolicy="Foreground").json()
    assert again["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert again["metadata"]["deletionTimestamp"] == marked["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"propagationPolicy": "x"},
            (
                'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "x": supported values: '
                '"Foreground", "Background", "Orphan", "nil"'
            ),
        ),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            (
                'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": '
                "orphanDependents and deletionPropagation cannot be both set"
            ),
        ),
    ],
)
def test_bad_options_are_422(shop_served: Shop, options: dict[str, Any], message: str) -> None:
    """Behaviour E46."""
    shop_served.create()
    answer = delete(shop_served, options)
    assert answer.status == 422
    assert failure(answer)["message"] == message
    assert shop_served.get()


def test_with_a_body_the_query_is_not_read(shop_served: Shop) -> None:
    """Behaviour E45."""
    shop_served.create()
    assert delete(shop_served, {}, propagationPolicy="Orphan").json()["status"] == "Success"


def test_options_of_another_kind_are_400(shop_served: Shop) -> None:
    """Behaviour E45 as observed on 1.36.3."""
    shop_served.create()
    answer = delete(shop_served, {"kind": "Pod", "apiVersion": "v1"})
    assert answer.status == 400
    assert failure(answer)["message"] == (
        'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'
    )


def test_options_in_another_format_are_415(shop_served: Shop) -> None:
    """Behaviour E45."""
    shop_served.create()
    answer = shop_served.request("DELETE", f"{WIDGETS}/w", headers={"Content-Type": "text/plain"}, body=b"{}")
    assert answer.status == 415


def test_the_content_type_of_no_body_does_not_matter(shop_served: Shop) -> None:
    shop_served.create()
    assert shop_served.request("DELETE", f"{WIDGETS}/w", headers={"Content-Type": "text/plain"}).status == 200


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "uid",
            (
                "the UID in the precondition (x) does not match the UID in record ({}). "
                "The object might have been deleted and then recreated"
            ),
        ),
        (
            "resourceVersion",
            (
                "the ResourceVersion in the precondition (x) does not match the ResourceVersion in record ({}). "
                "The object might have been modified"
            ),
        ),
    ],
)
def test_a_precondition_that_does_not_hold_is_409(shop_served: Shop, name: str, why: str) -> None:
    """Behaviour E50: the text and the details name the kind."""
    metadata = shop_served.create()["metadata"]
    answer = delete(shop_served, {"preconditions": {name: "x"}})
    assert answer.status == 409
    assert failure(answer) == {
        "message": 'Operation cannot be fulfilled on Widget.shop.example.com "w": ' + why.format(metadata[name]),
        "reason": "Conflict",
        "details": {"name": "w", "group": GROUP, "kind": "Widget"},
    }
    assert delete(shop_served, {"preconditions": {name: metadata[name]}}).status == 200


def test_an_empty_resource_version_counts_as_a_precondition(shop_served: Shop) -> None:
    """Observed on 1.36.3."""
    shop_served.create()
    assert delete(shop_served, {"preconditions": {"resourceVersion": ""}}).status == 409


def test_a_dry_run_deletes_nothing(shop_served: Shop) -> None:
    """Behaviour E20, K17."""
    created = shop_served.create()
    assert delete(shop_served, dryRun="All").json()["status"] == "Success"
    assert shop_served.get() == created


def test_a_dry_run_marks_nothing(shop_served: Shop) -> None:
    created = shop_served.create(finalizers=[WAIT])
    answer = delete(shop_served, {"dryRun": ["All"]})
    assert "deletionTimestamp" in answer.json()["metadata"]
    assert shop_served.get() == created


def test_plugins_see_the_old_object_and_no_new_one(shop_served: Shop) -> None:
    """Behaviour I2."""
    shop_served.create()
    seen = []

    async def look(review: Review) -> None:
        seen.append((review.operation, review.name, review.object, review.old_object.metadata.name, review.options))

    shop_served.plugin.on_mutate = shop_served.plugin.on_validate = look
    delete(shop_served, propagationPolicy="Background")
    options = {"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    assert seen == [("DELETE", "w", None, "w", options)] * 2


def test_a_plugin_refuses(shop_served: Shop) -> None:
    shop_served.create()

    async def refuse(review: Review) -> None:
        review.refuse("not today")

    shop_served.plugin.on_validate = refuse
    answer = delete(shop_served)
    assert answer.status == 403
    assert failure(answer)["message"] == 'widgets.shop.example.com "w" is forbidden: not today'
    shop_served.plugin.on_validate = None
    assert shop_served.get()


def test_what_changed_meanwhile_is_looked_at_again(shop_served: Shop) -> None:
    """Behaviour I2, K3: after a conflict the plugins are asked again, about the newest object."""
    shop_served.create()
    sizes = []

    async def between(review: Review) -> None:
        if review.operation == "DELETE":
            sizes.append(review.old_object.spec.size)
            if len(sizes) == 1:
                await shop_served.server.client.call(
                    "PATCH", f"{WIDGETS}/w", obj={"spec": {"size": 5}}, content_type="application/merge-patch+json"
                )

    shop_served.plugin.on_validate = between
    assert delete(shop_served).status == 200
    assert sizes == [1, 5]


def test_a_precondition_is_checked_against_what_changed_meanwhile(shop_served: Shop) -> None:
    created = shop_served.create()

    async def between(review: Review) -> None:
        if review.operation == "DELETE":
            await shop_served.server.client.call(
                "PATCH", f"{WIDGETS}/w", obj={"spec": {"size": 5}}, content_type="application/merge-patch+json"
            )

    shop_served.plugin.on_validate = between
    revision = created["metadata"]["resourceVersion"]
    assert delete(shop_served, {"preconditions": {"resourceVersion": revision}}).status == 409
    shop_served.plugin.on_validate = None
    assert shop_served.get()["spec"]["size"] == 5


def test_a_refusal_on_an_old_copy_is_not_the_last_word(shop_served: Shop) -> None:
    """Behaviour K3."""
    shop_served.create()
    asked: list[bool] = []

    async def between(review: Review) -> None:
        if review.operation == "DELETE" and not asked:
            asked.append(True)
            await shop_served.server.client.call(
                "PATCH", f"{WIDGETS}/w", obj={"spec": {"size": 5}}, content_type="application/merge-patch+json"
            )
            review.refuse("too small")

    shop_served.plugin.on_mutate = between
    assert delete(shop_served).status == 200


def test_what_is_gone_meanwhile_is_404(shop_served: Shop) -> None:
    shop_served.create()
    asked: list[bool] = []

    async def between(review: Review) -> None:
        if not asked:
            asked.append(True)
            await shop_served.server.client.call("DELETE", f"{WIDGETS}/w")

    shop_served.plugin.on_validate = between
    assert delete(shop_served).status == 404


def test_another_version_deletes_too(shop_served: Shop) -> None:
    shop_served.create(finalizers=[WAIT])
    answer = shop_served.request("DELETE", f"{ALPHAS}/w")
    assert answer.json()["apiVersion"] == f"{GROUP}/v1alpha1"
    assert answer.json()["spec"] == {"inches": "1in"}


def test_deletes_pass_where_the_namespace_is_gone(shop_served: Shop) -> None:
    """Behaviour I8."""
    shop_served.create()
    shop_served.server.namespaces.missing.add("default")
    assert delete(shop_served).status == 200


# The collection (behaviour E53)


def names(shop_served: Shop, path: str = WIDGETS) -> list[str]:
    return [item["metadata"]["name"] for item in shop_served.request("GET", path).json()["items"]]


def test_a_collection_is_deleted_and_shown_as_it_was(shop_served: Shop) -> None:
    for name in "ab":
        shop_served.create(name)
    answer = shop_served.request("DELETE", WIDGETS)
    assert answer.status == 200
    deleted = answer.json()
    assert deleted["kind"] == "WidgetList"
    assert [item["metadata"]["name"] for item in deleted["items"]] == ["a", "b"]
    assert names(shop_served) == []


def test_selectors_are_honoured(shop_served: Shop) -> None:
    shop_served.create("a", labels={"x": "1"})
    shop_served.create("b", labels={"x": "2"})
    shop_served.create("c", labels={"x": "1"})
    shop_served.request("DELETE", WIDGETS, {"labelSelector": "x=1", "fieldSelector": "metadata.name!=c"})
    assert names(shop_served) == ["b", "c"]


def test_only_the_namespace_is_emptied(shop_served: Shop) -> None:
    shop_served.create()
    other = WIDGETS.replace("default", "other")
    shop_served.request("POST", other, body=widget())
    shop_served.request("DELETE", WIDGETS)
    assert names(shop_served, f"{V1}/widgets") == ["w"]
    # Not across namespaces: kube-apiserver has no such path.
    assert shop_served.request("DELETE", f"{V1}/widgets").status == 404
    assert names(shop_served, f"{V1}/widgets") == ["w"]


def test_the_limit_is_honoured(shop_served: Shop) -> None:
    for name in "abc":
        shop_served.create(name)
    assert shop_served.request("DELETE", WIDGETS, {"limit": "2"}).json()["metadata"]["remainingItemCount"] == 1
    assert names(shop_served) == ["c"]


def test_a_dry_run_of_a_collection_deletes_nothing(shop_served: Shop) -> None:
    shop_served.create()
    assert shop_served.request("DELETE", WIDGETS, {"dryRun": "All"}).status == 200
    assert names(shop_served) == ["w"]


def test_each_object_is_admitted(shop_served: Shop) -> None:
    for name in "abc":
        shop_served.create(name)

    async def refuse(review: Review) -> None:
        if review.name == "b":
            review.refuse("not b")

    shop_served.plugin.on_validate = refuse
    answer = shop_served.request("DELETE", WIDGETS)
    assert answer.status == 403
    shop_served.plugin.on_validate = None
    assert names(shop_served) == ["b", "c"]


def test_what_somebody_else_deleted_first_does_not_matter(shop_served: Shop) -> None:
    for name in "abc":
        shop_served.create(name)
    asked: list[bool] = []

    async def between(review: Review) -> None:
        if not asked:
            asked.append(True)
            await shop_served.server.client.call("DELETE", f"{WIDGETS}/b")

    shop_served.plugin.on_validate = between
    assert shop_served.request("DELETE", WIDGETS).status == 200
    assert names(shop_served) == []


def test_options_of_both_kinds_are_checked(shop_served: Shop) -> None:
    answer = shop_served.request("DELETE", WIDGETS, {"sendInitialEvents": "true"})
    assert answer.status == 422
    assert failure(answer)["details"]["kind"] == "ListOptions"
    assert shop_served.request("DELETE", WIDGETS, body={"propagationPolicy": "x"}).status == 422


def test_metadata_of_a_list_is_refused_before_anything_is_deleted(shop_served: Shop) -> None:
    """A deviation: kube-apiserver deletes first and answers 406 then."""
    shop_served.create()
    headers = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    assert shop_served.request("DELETE", WIDGETS, headers=headers).status == 406
    assert names(shop_served) == ["w"]


def test_nothing_deletes_the_objects_of_all_namespaces_at_once(shop_served: Shop) -> None:
    """As on a running 1.36.3: the path without a namespace is for reading only."""
    shop_served.create()
    assert shop_served.request("DELETE", f"{V1}/widgets").status == 404
    assert shop_served.get()["metadata"]["name"] == "w"


@pytest.mark.parametrize("query", [{"uid": "other"}, {"resourceVersion": "1"}])
def test_preconditions_may_stand_in_the_query(shop_served: Shop, query: dict[str, str]) -> None:
    """``Convert_url_Values_To_v1_DeleteOptions`` of apimachinery."""
    created = shop_served.create()["metadata"]
    assert delete(shop_served, **query).status == 409
    fitting = {name: created[name] for name in query}
    assert delete(shop_served, **fitting).status == 200


def test_what_the_last_finalizer_lets_go_is_shown_with_its_last_revision(shop_served: Shop) -> None:
    """Behaviour E44, as on a running 1.36.3: the revision of the deletion is for watchers only."""
    shop_served.create(finalizers=[WAIT])
    marked = delete(shop_served).json()
    gone = shop_served.merge({"metadata": {"finalizers": None}}).json()
    assert gone["metadata"]["resourceVersion"] == marked["metadata"]["resourceVersion"]


def test_a_collection_beyond_a_page_is_deleted_whole(shop_served: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletecollection, "PAGE", 2)
    for name in "abcde":
        shop_served.create(name)
    answer = shop_served.request("DELETE", WIDGETS)
    assert [item["metadata"]["name"] for item in answer.json()["items"]] == list("abcde")
    assert "remainingItemCount" not in answer.json()["metadata"]
    assert shop_served.request("GET", WIDGETS).json()["items"] == []


def test_a_collection_at_a_revision_is_that_of_the_revision(shop_served: Shop) -> None:
    """As in kube-apiserver, whose deletecollection lists by page, and pages at a revision are of that revision."""
    shop_served.create("a")
    revision = shop_served.request("GET", WIDGETS).json()["metadata"]["resourceVersion"]
    shop_served.create("b")
    # In a body, the options take no precondition from the query.
    answer = shop_served.request("DELETE", WIDGETS, {"resourceVersion": revision}, body={"kind": "DeleteOptions"})
    assert [item["metadata"]["name"] for item in answer.json()["items"]] == ["a"]
    left = shop_served.request("GET", WIDGETS).json()["items"]
    assert [item["metadata"]["name"] for item in left] == ["b"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"labelSelector": "a in", "dryRun": "x"}, 400),
        ({"fieldSelector": "spec.nope=1", "dryRun": "x"}, 400),
        ({"resourceVersionMatch": "x", "dryRun": "x"}, 422),
    ],
)
def test_what_to_delete_is_judged_before_how(shop_served: Shop, query: dict[str, str], status: int) -> None:
    answer = shop_served.request("DELETE", WIDGETS, query)
    assert answer.status == status
    assert "DeleteOptions" not in failure(answer)["message"]


@pytest.mark.parametrize(("value", "told"), [("x", "string"), (1, "number"), ([], "array"), ({}, "object")])
def test_an_option_for_stores_that_cannot_be_read(shop_served: Shop, value: Any, told: str) -> None:
    """Accepted and without effect, as 1.36.3 does; what is no truth is refused as there."""
    shop_served.create()
    name = "ignoreStoreReadErrorWithClusterBreakingPotential"
    answer = shop_served.request("DELETE", f"{WIDGETS}/w", body={name: value})
    text = f"json: cannot unmarshal {told} into Go struct field DeleteOptions.{name} of type bool"
    assert (answer.status, failure(answer)["message"]) == (400, text)
    assert shop_served.request("DELETE", f"{WIDGETS}/w", body={name: True}).status == 200


def test_options_without_a_version_are_of_meta(shop_served: Shop) -> None:
    """As 1.36.3 says it."""
    answer = shop_served.request("DELETE", f"{WIDGETS}/w", body={"kind": "X"})
    assert failure(answer)["message"].startswith('no kind "X" is registered for version "meta.k8s.io/v1" in scheme ')
