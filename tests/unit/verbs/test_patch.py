"""PATCH: behaviour E55 to E63."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Review
from tests.unit.verbs.sample import ALPHAS, GROUP, WIDGETS, Shop, failure, widget


def test_a_merge_patch_merges(shop_served: Shop) -> None:
    """Behaviour E58, E63: null takes away, lists are replaced."""
    shop_served.create(spec={"parts": [{"name": "a"}, {"name": "b"}]}, labels={"x": "1", "y": "2"})
    answer = shop_served.merge({"metadata": {"labels": {"x": None}}, "spec": {"parts": [{"name": "c"}]}})
    assert answer.status == 200
    patched = answer.json()
    assert patched["metadata"]["labels"] == {"y": "2"}
    assert patched["spec"] == {"size": 1, "color": "red", "parts": [{"name": "c", "count": 1}]}
    assert patched["metadata"]["generation"] == 2
    assert shop_served.get() == patched


def test_a_json_patch_is_applied(shop_served: Shop) -> None:
    """Behaviour E57; replace of a missing member acts as add (observed on 1.36.3)."""
    shop_served.create()
    patch = [
        {"op": "test", "path": "/spec/size", "value": 1},
        {"op": "replace", "path": "/metadata/labels", "value": {"a": "b"}},
        {"op": "replace", "path": "/spec/size", "value": 4},
    ]
    patched = shop_served.json_patch(patch).json()
    assert patched["spec"]["size"] == 4
    assert patched["metadata"]["labels"] == {"a": "b"}


OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
OWNERS_TWICE = (
    '299 - ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups '
    "owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) "
    'observed: u"'
)


def test_owners_that_occur_twice_are_dropped_with_a_warning(shop_served: Shop) -> None:
    """Behaviour E17: the text is that of later in a write, though no plugin had a hand in it."""
    shop_served.create()
    answer = shop_served.merge({"metadata": {"ownerReferences": [OWNER, OWNER]}})
    assert answer.headers["warning"] == OWNERS_TWICE
    assert answer.json()["metadata"]["ownerReferences"] == [OWNER]
    assert shop_served.get()["metadata"]["ownerReferences"] == [OWNER]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_owners_that_a_plugin_doubles_are_dropped_with_a_warning(shop_served: Shop, method: str) -> None:
    """Behaviour E17."""
    shop_served.create("old", spec={"size": 1})
    shown = []

    async def double(review: Review) -> None:
        review.object.metadata.owner_references *= 2

    async def look(review: Review) -> None:
        shown.append(len(review.object.metadata.owner_references))

    shop_served.plugin.on_mutate, shop_served.plugin.on_validate = double, look
    body = widget("new" if method == "POST" else "old", spec={"size": 1}, ownerReferences=[OWNER])
    if method == "PUT":
        body["metadata"]["resourceVersion"] = shop_served.get("old")["metadata"]["resourceVersion"]
    path = WIDGETS if method == "POST" else f"{WIDGETS}/old"
    merge = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
    answer = shop_served.server.request(method, path, headers=merge, body=body)
    assert answer.headers["warning"] == OWNERS_TWICE
    assert answer.json()["metadata"]["ownerReferences"] == [OWNER]
    assert shop_served.get(body["metadata"]["name"])["metadata"] == answer.json()["metadata"]
    assert shown == [1]


def test_a_test_that_fails_is_422(shop_served: Shop) -> None:
    """Behaviour E57."""
    shop_served.create()
    answer = shop_served.json_patch([{"op": "test", "path": "/spec/size", "value": 2}])
    assert answer.status == 422
    assert failure(answer) == {
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
    }


def test_too_many_operations_are_413(shop_served: Shop) -> None:
    """Behaviour E57."""
    shop_served.create()
    answer = shop_served.json_patch([{"op": "test", "path": "/kind", "value": "Widget"}] * 10_001)
    assert answer.status == 413
    assert failure(answer)["message"] == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


@pytest.mark.parametrize("how", ["merge", "json_patch"])
def test_what_is_no_json_is_400(shop_served: Shop, how: str) -> None:
    """Behaviour E57, E58."""
    shop_served.create()
    answer = getattr(shop_served, how)(b"{")
    assert answer.status == 400
    assert failure(answer)["message"].startswith("error decoding patch: ")


def test_a_missing_object_comes_before_a_bad_patch(shop_served: Shop) -> None:
    """Behaviour E61; observed on 1.36.3."""
    assert shop_served.merge(b"{").status == 404


@pytest.mark.parametrize(
    ("content_type", "message"),
    [
        (
            "application/strategic-merge-patch+json",
            (
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
            ),
        ),
        ("", "the body of the request was in an unknown format - accepted media types include: "),
        ("application/json", "the body of the request was in an unknown format - accepted media types include: "),
    ],
)
def test_other_patches_are_415(shop_served: Shop, content_type: str, message: str) -> None:
    """Behaviour E55: the garbage collector and kubectl fall back on this reason."""
    shop_served.create()
    answer = shop_served.request("PATCH", f"{WIDGETS}/w", headers={"Content-Type": content_type}, body={})
    assert answer.status == 415
    assert failure(answer)["reason"] == "UnsupportedMediaType"
    assert failure(answer)["message"].startswith(message)


def test_parameters_of_the_content_type_are_ignored(shop_served: Shop) -> None:
    """Behaviour E55."""
    shop_served.create()
    headers = {"Content-Type": "application/merge-patch+json;charset=utf-8"}
    assert shop_served.request("PATCH", f"{WIDGETS}/w", headers=headers, body={}).status == 200


def test_force_is_for_apply_only(shop_served: Shop) -> None:
    """Behaviour E56."""
    answer = shop_served.merge({}, force="true")
    assert answer.status == 422
    assert failure(answer)["message"] == (
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'
    )


def test_an_empty_patch_changes_nothing(shop_served: Shop) -> None:
    """Behaviour E43."""
    created = shop_served.create()
    assert shop_served.merge({}).json() == created
    assert shop_served.json_patch([]).json() == created


def test_a_dry_run_changes_nothing(shop_served: Shop) -> None:
    created = shop_served.create()
    answer = shop_served.merge({"spec": {"size": 2}}, dryRun="All")
    assert answer.json()["spec"]["size"] == 2
    assert answer.json()["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert shop_served.get() == created


def test_an_old_resource_version_in_the_patch_is_409(shop_served: Shop) -> None:
    """Behaviour E62."""
    created = shop_served.create()
    assert shop_served.merge({"spec": {"size": 2}}).status == 200
    revision = created["metadata"]["resourceVersion"]
    answer = shop_served.merge({"metadata": {"resourceVersion": revision}, "spec": {"size": 3}})
    assert answer.status == 409
    assert failure(answer)["reason"] == "Conflict"


def test_a_patch_cannot_take_the_resource_version_away(shop_served: Shop) -> None:
    """Behaviour E40's 422, observed on 1.36.3."""
    shop_served.create()
    answer = shop_served.merge({"metadata": {"resourceVersion": None}, "spec": {"size": 2}})
    assert answer.status == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in failure(answer)["message"]


def test_another_uid_is_422(shop_served: Shop) -> None:
    """Behaviour E61."""
    shop_served.create()
    answer = shop_served.merge({"metadata": {"uid": "other"}})
    assert answer.status == 422
    assert failure(answer)["message"] == (
        'Widget.shop.example.com "w" is invalid: metadata.uid: Invalid value: "other": field is immutable'
    )


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"name": "x"}, "the name of the object (x) does not match the name on the URL (w)"),
        ({"name": None}, "the name of the object (w based on URL) was undeterminable: name must be provided"),
        (
            {"namespace": "x"},
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
def test_it_stays_where_it_is(shop_served: Shop, patch: dict[str, Any], message: str) -> None:
    """Behaviour E62."""
    shop_served.create()
    answer = shop_served.merge({"metadata": patch})
    assert answer.status == 400
    assert failure(answer)["message"] == message


def test_another_version_is_422(shop_served: Shop) -> None:
    """Behaviour J24: a patch is not decoded as a body is; validation says it."""
    shop_served.create()
    answer = shop_served.merge({"apiVersion": f"{GROUP}/v1alpha1"})
    assert answer.status == 422
    assert (
        'apiVersion: Invalid value: "shop.example.com/v1alpha1": must be shop.example.com/v1'
        in failure(answer)["message"]
    )


def test_another_version_comes_after_warnings_and_a_conflict(shop_served: Shop) -> None:
    """As 1.36.3: what reading the patched object says, the object's place, its revision, and then its type."""
    shop_served.create()
    other = {"apiVersion": f"{GROUP}/v1alpha1", "spec": {"nope": 1}}
    answer = shop_served.merge(other)
    assert (answer.status, answer.headers["warning"]) == (422, '299 - "unknown field \\"spec.nope\\""')
    assert "strict decoding error" in failure(shop_served.merge(other, fieldValidation="Strict"))["message"]
    assert shop_served.merge({**other, "metadata": {"resourceVersion": "1"}}).status == 409
    assert shop_served.merge({**other, "metadata": {"name": "x"}}).status == 400
    both = failure(shop_served.merge({"apiVersion": f"{GROUP}/v1alpha1", "kind": "X"}))
    assert [cause["field"] for cause in both["details"]["causes"]] == ["kind", "apiVersion"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"apiVersion": f"{GROUP}/v1alpha1"}, 200),
        ({"apiVersion": f"{GROUP}/v9"}, 422),
        ({"apiVersion": "other/v1"}, 422),
        ({"kind": "X"}, 422),
    ],
)
def test_a_patch_of_the_status_may_name_any_version_of_the_kind(
    shop_served: Shop, change: dict[str, str], status: int
) -> None:
    """Nothing but the status is taken. kube-apiserver takes it of objects that say they are something else, too."""
    shop_served.create()
    answer = shop_served.merge({**change, "status": {"ready": True}}, subresource="/status")
    assert answer.status == status
    assert shop_served.get()["apiVersion"] == f"{GROUP}/v1"
    assert shop_served.get().get("status") == ({"ready": True} if status == 200 else None)


def test_another_kind_is_422(shop_served: Shop) -> None:
    """Behaviour J24."""
    shop_served.create()
    answer = shop_served.merge({"kind": "Gadget"})
    assert answer.status == 422
    assert 'kind: Invalid value: "Gadget": must be Widget' in failure(answer)["message"]


def test_without_its_kind_it_is_no_object(shop_served: Shop) -> None:
    """Behaviour E60: 422 with neither kind nor name."""
    shop_served.create()
    answer = shop_served.merge({"kind": None})
    assert answer.status == 422
    status = failure(answer)
    assert status["message"].startswith(' "" is invalid: patch: Invalid value: "{')
    assert "Object 'Kind' is missing in" in status["message"]
    assert [cause["field"] for cause in status["details"]["causes"]] == ["patch"]


def test_strict_refuses_unknown_fields_by_422(shop_served: Shop) -> None:
    """Behaviour E60."""
    shop_served.create()
    answer = shop_served.merge({"spec": {"foo": 1}}, fieldValidation="Strict")
    assert answer.status == 422
    status = failure(answer)
    assert status["message"].startswith(' "" is invalid: patch: Invalid value: "{')
    assert status["message"].endswith('}": strict decoding error: unknown field "spec.foo"')
    assert "foo" not in shop_served.get()["spec"]


def test_warn_warns_once(shop_served: Shop) -> None:
    """Behaviour E60."""
    shop_served.create()
    answer = shop_served.merge({"spec": {"foo": 1, "size": 2}})
    assert answer.status == 200
    assert answer.headers["warning"] == '299 - "unknown field \\"spec.foo\\""'


def test_a_wrong_type_is_422(shop_served: Shop) -> None:
    """Behaviour J22."""
    shop_served.create()
    answer = shop_served.merge({"spec": {"size": "x"}})
    assert answer.status == 422
    assert failure(answer)["details"]["causes"] == [
        {
            "reason": "FieldValueTypeInvalid",
            "message": 'Invalid value: "string": spec.size in body must be of type integer: "string"',
            "field": "spec.size",
        }
    ]


def test_the_last_finalizer_is_taken_off(shop_served: Shop) -> None:
    """Behaviour E44 applies to patches."""
    shop_served.create(finalizers=["shop.example.com/a"])
    shop_served.request("DELETE", f"{WIDGETS}/w")
    answer = shop_served.merge({"metadata": {"finalizers": None}})
    assert answer.status == 200
    assert shop_served.request("GET", f"{WIDGETS}/w").status == 404


def test_a_patch_of_another_version_is_made_of_that_version(shop_served: Shop) -> None:
    shop_served.create(spec={"size": 2})
    headers = {"Content-Type": "application/json-patch+json"}
    patch = [{"op": "replace", "path": "/spec/inches", "value": "5in"}]
    answer = shop_served.request("PATCH", f"{ALPHAS}/w", headers=headers, body=patch)
    assert answer.json()["spec"] == {"inches": "5in"}
    assert shop_served.get()["spec"]["size"] == 5


def test_the_body_is_bounded(shop_served: Shop) -> None:
    assert shop_served.merge(b"x" * 3_145_729).status == 413


def test_metadata_of_a_wrong_type_is_what_the_patch_led_to(shop_served: Shop) -> None:
    """Behaviour E60."""
    shop_served.create()
    answer = shop_served.merge({"metadata": {"labels": "x"}})
    assert answer.status == 422
    assert failure(answer)["message"].startswith(' "" is invalid: patch: Invalid value: "{')


def test_ignore_says_nothing_of_unknown_fields(shop_served: Shop) -> None:
    """Behaviour E21."""
    shop_served.create()
    answer = shop_served.merge({"spec": {"foo": 1}}, fieldValidation="Ignore")
    assert answer.status == 200
    assert "warning" not in answer.headers


def test_metadata_that_a_patch_breaks_is_422(shop_served: Shop) -> None:
    """Behaviour E60: the result is what cannot be read, not the request."""
    shop_served.create()
    answer = shop_served.merge({"metadata": {"labels": {"a": 1}}})
    assert answer.status == 422
    (cause,) = failure(answer)["details"]["causes"]
    assert cause["field"] == "patch"
    assert cause["message"].endswith(
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    )


def test_a_patch_of_the_version_is_422(shop_served: Shop) -> None:
    shop_served.create()
    answer = shop_served.merge({"apiVersion": "other/v1"})
    assert answer.status == 422
    assert failure(answer)["message"] == (
        f'Widget.other "w" is invalid: apiVersion: Invalid value: "other/v1": must be {GROUP}/v1'
    )


def test_a_client_does_not_mark_an_object_for_deletion(shop_served: Shop) -> None:
    """Behaviour E41: only a delete does."""
    shop_served.create()
    answer = shop_served.merge({"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}})
    assert answer.status == 422
    assert "metadata.deletionTimestamp" in failure(answer)["message"]
