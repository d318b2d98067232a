"""PUT, and what it shares with PATCH: behaviour E37 to E44, J26 to J28, K2, K3."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Review
from tests.unit.verbs.sample import ALPHAS, GROUP, SHELVES, V1, WIDGETS, Shop, failure, shelf, widget

MODIFIED = (
    'Operation cannot be fulfilled on widgets.shop.example.com "w": '
    "the object has been modified; please apply your changes to the latest version and try again"
)


def test_it_answers_200_with_the_object_as_stored(shop_served: Shop) -> None:
    """Behaviour E38, J27."""
    created = shop_served.create()
    answer = shop_served.put({**created, "spec": {"size": 2}})
    assert answer.status == 200
    updated = answer.json()
    assert updated["spec"] == {"size": 2, "color": "red"}
    assert updated["metadata"]["generation"] == 2
    assert int(updated["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
    assert shop_served.get() == updated


def test_metadata_alone_leaves_the_generation(shop_served: Shop) -> None:
    """Behaviour J27."""
    created = shop_served.create()
    created["metadata"]["labels"] = {"a": "b"}
    assert shop_served.put(created).json()["metadata"]["generation"] == 1


def test_a_write_of_the_same_changes_nothing(shop_served: Shop) -> None:
    """Behaviour E43: the revision stays, and watches hear nothing."""
    created = shop_served.create()
    watch = shop_served.watch(V1 + "/widgets", {"resourceVersion": created["metadata"]["resourceVersion"]})
    answer = shop_served.put(created)
    assert answer.status == 200
    assert answer.json() == created
    shop_served.advance()
    assert watch.events == []


def test_a_missing_object_is_404(shop_served: Shop) -> None:
    """Behaviour E38, E40, M5: nothing is created by an update."""
    answer = shop_served.put(widget(resourceVersion="1"))
    assert answer.status == 404
    assert failure(answer) == {
        "message": 'widgets.shop.example.com "w" not found',
        "reason": "NotFound",
        "details": {"name": "w", "group": GROUP, "kind": "widgets"},
    }


def test_an_old_resource_version_is_409(shop_served: Shop) -> None:
    """Behaviour E3, E40, M7."""
    created = shop_served.create()
    assert shop_served.put({**created, "spec": {"size": 2}}).status == 200
    answer = shop_served.put({**created, "spec": {"size": 3}})
    assert answer.status == 409
    assert failure(answer) == {
        "message": MODIFIED,
        "reason": "Conflict",
        "details": {"name": "w", "group": GROUP, "kind": "widgets"},
    }


@pytest.mark.parametrize("revision", [None, "", "0"])
def test_no_resource_version_is_422(shop_served: Shop, revision: str | None) -> None:
    """Behaviour E40: details.kind is the resource."""
    created = shop_served.create()
    if revision is None:
        del created["metadata"]["resourceVersion"]
    else:
        created["metadata"]["resourceVersion"] = revision
    answer = shop_served.put(created)
    assert answer.status == 422
    text = "Invalid value: 0: must be specified for an update"
    assert failure(answer) == {
        "message": f'widgets.shop.example.com "w" is invalid: metadata.resourceVersion: {text}',
        "reason": "Invalid",
        "details": {
            "name": "w",
            "group": GROUP,
            "kind": "widgets",
            "causes": [{"reason": "FieldValueInvalid", "message": text, "field": "metadata.resourceVersion"}],
        },
    }


def test_a_resource_version_that_is_no_number_is_500(shop_served: Shop) -> None:
    """Observed on 1.36.3."""
    created = shop_served.create()
    for text, why in (("abc", "invalid syntax"), ("\u0661", "invalid syntax"), ("1" * 5000, "value out of range")):
        created["metadata"]["resourceVersion"] = text
        answer = shop_served.put(created)
        assert answer.status == 500
        assert failure(answer) == {"message": f'strconv.ParseUint: parsing "{text}": {why}'}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("9" * 5000, "value out of range"),
        ("18446744073709551616", "value out of range"),
        ("\u0661", "invalid syntax"),
    ],
)
def test_a_resource_version_beyond_64_bits_is_out_of_range(shop_served: Shop, text: str, why: str) -> None:
    """Go's ``strconv.ParseUint``. Python reads no more than 4,300 digits at all, zeros included."""
    created = shop_served.create()
    created["metadata"]["resourceVersion"] = text
    answer = shop_served.put(created)
    assert answer.status == 500
    assert failure(answer) == {"message": f'strconv.ParseUint: parsing "{text}": {why}'}


def test_a_resource_version_of_many_zeros_is_none(shop_served: Shop) -> None:
    """It is 0, which asks for no revision: as if it were not there."""
    created = shop_served.create()
    created["metadata"]["resourceVersion"] = "0" * 5000
    assert shop_served.put(created).status == 422
    created["metadata"] |= {"name": "other", "uid": ""}
    assert shop_served.request("POST", WIDGETS, body=created).status == 201
    # What is no number of 64 bits is none either to a create (Store.Create in k8s.io/apiserver/pkg/storage/etcd3).
    created["metadata"] |= {"name": "another", "resourceVersion": "9" * 5000}
    assert shop_served.request("POST", WIDGETS, body=created).status == 201


def test_the_uid_is_a_precondition(shop_served: Shop) -> None:
    """Behaviour E39 in full, as observed on 1.36.3."""
    created = shop_served.create()
    uid = created["metadata"]["uid"]
    created["metadata"]["uid"] = "other"
    answer = shop_served.put(created)
    assert answer.status == 409
    assert failure(answer)["message"] == (
        'Operation cannot be fulfilled on widgets.shop.example.com "w": StorageError: invalid object, Code: 4, '
        "Key: /registry/shop.example.com/widgets/default/w, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: other, UID in object meta: {uid}"
    )


def test_the_uid_of_a_cluster_scoped_object_is_a_precondition(shop_served: Shop) -> None:
    created = shop_served.request("POST", SHELVES, body=shelf()).json()
    created["metadata"]["uid"] = "other"
    answer = shop_served.request("PUT", f"{SHELVES}/s", body=created)
    assert "Key: /registry/shop.example.com/shelves/s, " in failure(answer)["message"]


def test_what_only_the_server_decides_is_kept(shop_served: Shop) -> None:
    """Behaviour E41."""
    created = shop_served.create()
    metadata = {"name": "w", "resourceVersion": created["metadata"]["resourceVersion"]}
    sent = {
        **created,
        "metadata": {
            **metadata,
            "generation": 77,
            "creationTimestamp": "2001-01-01T00:00:00Z",
            "selfLink": "/x",
            "managedFields": [{"manager": "me"}],
        },
    }
    answer = shop_served.put(sent)
    assert answer.status == 200
    assert answer.json() == created


def test_a_deletion_cannot_be_claimed(shop_served: Shop) -> None:
    """Behaviour E41: the mark is kept once it is set; before, a client's own is refused."""
    created = shop_served.create()
    created["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z"
    answer = shop_served.put(created)
    assert answer.status == 422
    assert (
        'metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable'
        in failure(answer)["message"]
    )


def test_status_is_kept(shop_served: Shop) -> None:
    """Behaviour E41, E73, J27."""
    created = shop_served.create()
    assert "status" not in shop_served.put({**created, "status": {"ready": True}}).json()
    ready = shop_served.merge({"status": {"ready": True}}, subresource="/status").json()
    answer = shop_served.put({**ready, "status": {"ready": False}})
    assert answer.json()["status"] == {"ready": True}
    assert answer.json()["metadata"]["generation"] == created["metadata"]["generation"]
    dropped = {key: value for key, value in answer.json().items() if key != "status"}
    assert shop_served.put(dropped).json()["status"] == {"ready": True}


def test_the_name_must_be_that_of_the_url(shop_served: Shop) -> None:
    """Behaviour E37."""
    created = shop_served.create()
    answer = shop_served.request("PUT", f"{WIDGETS}/other", body=created)
    assert answer.status == 400
    assert failure(answer)["message"] == "the name of the object (w) does not match the name on the URL (other)"
    upper = {**created, "metadata": {**created["metadata"], "name": "W"}}
    assert shop_served.request("PUT", f"{WIDGETS}/w", body=upper).status == 400


def test_the_body_must_have_a_name(shop_served: Shop) -> None:
    """Behaviour E37."""
    answer = shop_served.request("PUT", f"{WIDGETS}/w", body=widget(""))
    assert answer.status == 400
    assert failure(answer)["message"] == (
        "the name of the object (w based on URL) was undeterminable: name must be provided"
    )


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_collection_cannot_be_changed(shop_served: Shop, method: str) -> None:
    """Observed on 1.36.3."""
    content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
    answer = shop_served.request(method, WIDGETS, headers={"Content-Type": content_type}, body=widget())
    assert answer.status == 400
    assert failure(answer)["message"] == "name must be provided"


def test_the_namespace_must_be_that_of_the_url(shop_served: Shop) -> None:
    created = shop_served.create()
    created["metadata"]["namespace"] = "other"
    assert shop_served.put(created).status == 400


def test_the_order_of_checks_is_that_of_updates(shop_served: Shop) -> None:
    """Behaviour E37: body, then options, then Content-Type."""
    path, headers = f"{WIDGETS}/w", {"Content-Type": "text/plain"}
    assert shop_served.request("PUT", path, {"dryRun": "x"}, headers, b"x" * 3_145_729).status == 413
    assert shop_served.request("PUT", path, {"dryRun": "x"}, headers, b"x").status == 422
    assert shop_served.request("PUT", path, {}, headers, b"x").status == 415


def test_the_options_have_a_kind_of_their_own(shop_served: Shop) -> None:
    answer = shop_served.request("PUT", f"{WIDGETS}/w", {"dryRun": "x"}, body=widget())
    assert failure(answer)["details"]["kind"] == "UpdateOptions"


def test_a_dry_run_changes_nothing(shop_served: Shop) -> None:
    """Behaviour E20, K17: the answer has the old revision."""
    created = shop_served.create()
    answer = shop_served.put({**created, "spec": {"size": 9}}, dryRun="All")
    assert answer.status == 200
    assert answer.json()["spec"]["size"] == 9
    assert answer.json()["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert shop_served.get() == created


def test_strict_refuses_unknown_fields(shop_served: Shop) -> None:
    created = shop_served.create()
    answer = shop_served.put({**created, "spec": {"foo": 1}}, fieldValidation="Strict")
    assert answer.status == 400
    assert failure(answer)["message"].endswith('strict decoding error: unknown field "spec.foo"')


def test_rules_see_the_old_object(shop_served: Shop) -> None:
    created = shop_served.create(spec={"size": 5})
    answer = shop_served.put({**created, "spec": {"size": 4}})
    assert answer.status == 422
    assert failure(answer)["message"] == (
        'Widget.shop.example.com "w" is invalid: spec.size: Forbidden: widgets do not shrink'
    )


def test_what_prepare_sees_is_told_from_a_create(shop_served: Shop) -> None:
    created = shop_served.create(spec={"color": "green"})
    assert created["metadata"]["labels"] == {"prepared": "yes"}
    del created["metadata"]["labels"]
    assert "labels" not in shop_served.put(created).json()["metadata"]


def test_the_strategy_warns(shop_served: Shop) -> None:
    created = shop_served.create()
    answer = shop_served.put({**created, "spec": {"color": "pink"}})
    assert answer.headers["warning"] == '299 - "pink is out of fashion"'


def test_no_finalizer_is_added_to_what_is_being_deleted(shop_served: Shop) -> None:
    """Behaviour E42."""
    shop_served.create(finalizers=["shop.example.com/a"])
    marked = shop_served.request("DELETE", f"{WIDGETS}/w").json()
    marked["metadata"]["finalizers"].append("shop.example.com/b")
    answer = shop_served.put(marked)
    assert answer.status == 422
    assert failure(answer)["message"] == (
        'Widget.shop.example.com "w" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the '
        'object is being deleted, found new finalizers []string{"shop.example.com/b"}'
    )


def test_without_its_last_finalizer_it_is_gone(shop_served: Shop) -> None:
    """Behaviour E44: the answer is the last object; watches see DELETED and no MODIFIED."""
    shop_served.create(finalizers=["shop.example.com/a"])
    marked = shop_served.request("DELETE", f"{WIDGETS}/w").json()
    watch = shop_served.watch(WIDGETS, {"resourceVersion": marked["metadata"]["resourceVersion"]})
    del marked["metadata"]["finalizers"]
    answer = shop_served.put(marked)
    assert answer.status == 200
    assert answer.json()["metadata"]["uid"] == marked["metadata"]["uid"]
    assert shop_served.request("GET", f"{WIDGETS}/w").status == 404
    shop_served.advance()
    assert [kind for kind, _ in watch.events] == ["DELETED"]


def test_a_dry_run_without_the_last_finalizer_deletes_nothing(shop_served: Shop) -> None:
    shop_served.create(finalizers=["shop.example.com/a"])
    marked = shop_served.request("DELETE", f"{WIDGETS}/w").json()
    assert shop_served.put({**marked, "metadata": {**marked["metadata"], "finalizers": []}}, dryRun="All").status == 200
    assert shop_served.get() == marked


def test_the_deletion_mark_stays(shop_served: Shop) -> None:
    """Behaviour E41."""
    shop_served.create(finalizers=["shop.example.com/a"])
    marked = shop_served.request("DELETE", f"{WIDGETS}/w").json()
    sent = {**marked, "metadata": {k: v for k, v in marked["metadata"].items() if not k.startswith("deletion")}}
    assert shop_served.put(sent).json() == marked


def test_an_error_that_was_there_before_is_let_pass(shop_served: Shop) -> None:
    """Behaviour J26: the schema has become stricter since the object was stored."""
    created = shop_served.create(spec={"size": 7})

    async def tighten() -> None:
        backend = shop_served.server.backend
        key = b"/registry/shop.example.com/widgets/default/w"
        entry = await backend.get(key)
        assert entry is not None
        await backend.commit(key, entry.value.replace(b'"size":7', b'"size":777'), expected=entry.revision)

    shop_served.server.run(tighten())
    assert created["spec"]["size"] == 7
    kept = shop_served.merge({"metadata": {"labels": {"a": "b"}}})
    assert kept.status == 200, kept
    assert shop_served.merge({"spec": {"size": 778}}).status == 422


def test_another_version_is_updated_through_the_hub(shop_served: Shop) -> None:
    """Behaviour K7: what the other version cannot say is lost where the author's conversion loses it, and metadata never is."""
    shop_served.create(spec={"size": 2}, annotations={"a": "b"})
    alpha = shop_served.request("GET", f"{ALPHAS}/w").json()
    assert alpha["spec"] == {"inches": "2in"}
    answer = shop_served.request("PUT", f"{ALPHAS}/w", body={**alpha, "spec": {"inches": "3in"}})
    assert answer.status == 200
    assert answer.json()["metadata"]["generation"] == 2
    assert shop_served.get()["spec"]["size"] == 3
    assert shop_served.get()["metadata"] == answer.json()["metadata"]


def test_updates_pass_where_the_namespace_is_terminating(shop_served: Shop) -> None:
    """Behaviour I8."""
    created = shop_served.create()
    shop_served.server.namespaces.terminating.add("default")
    assert shop_served.put({**created, "spec": {"size": 2}}).status == 200


def test_mutation_is_defaulted_and_validated(shop_served: Shop) -> None:
    """Behaviour I2."""

    async def mutate(review: Review) -> None:
        review.object.spec.size = 1000 if review.object.spec.size == 3 else 8

    shop_served.plugin.on_mutate = mutate
    created = shop_served.create()
    assert created["spec"] == {"size": 8, "color": "red"}
    assert shop_served.put({**created, "spec": {"size": 3}}).status == 422


def test_a_plugin_refuses(shop_served: Shop) -> None:
    """Behaviour I5."""
    created = shop_served.create()

    async def refuse(review: Review) -> None:
        review.warn("think twice")
        review.refuse(f"{review.old_object.spec.size} to {review.object.spec.size}")

    shop_served.plugin.on_validate = refuse
    answer = shop_served.put({**created, "spec": {"size": 2}})
    assert answer.status == 403
    assert answer.headers["warning"] == '299 - "think twice"'
    assert failure(answer) == {
        "message": 'widgets.shop.example.com "w" is forbidden: 1 to 2',
        "reason": "Forbidden",
        "details": {"name": "w", "group": GROUP, "kind": "widgets"},
    }


async def _label(shop_served: Shop, value: str) -> None:
    body: dict[str, Any] = {"metadata": {"labels": {"between": value}}}
    await shop_served.server.client.call("PATCH", f"{WIDGETS}/w", obj=body, content_type="application/merge-patch+json")


def test_somebody_who_was_faster_is_a_conflict_for_put(shop_served: Shop) -> None:
    """Behaviour E40, K3: the plugin is asked while somebody else writes."""
    created = shop_served.create()
    busy: list[bool] = []

    async def between(review: Review) -> None:
        if not busy:
            busy.append(True)
            await _label(shop_served, "x")

    shop_served.plugin.on_validate = between
    answer = shop_served.put({**created, "spec": {"size": 2}})
    assert answer.status == 409
    assert failure(answer)["message"] == MODIFIED
    assert shop_served.get()["metadata"]["labels"] == {"between": "x"}


def test_a_patch_is_made_again_of_what_somebody_else_wrote(shop_served: Shop) -> None:
    """Behaviour E62, K3: as often as it takes."""
    shop_served.create()
    times: list[bool] = []

    async def between(review: Review) -> None:
        if len(times) < 3 and review.object.spec.size == 2:
            times.append(True)
            await _label(shop_served, f"x{len(times)}")

    shop_served.plugin.on_validate = between
    answer = shop_served.merge({"spec": {"size": 2}})
    assert answer.status == 200
    assert answer.json()["spec"]["size"] == 2
    assert answer.json()["metadata"]["labels"] == {"between": "x3"}


def test_an_update_of_what_was_deleted_meanwhile_is_404(shop_served: Shop) -> None:
    """Behaviour K3."""
    created = shop_served.create()

    async def between(review: Review) -> None:
        if review.operation == "UPDATE":
            await shop_served.server.client.call("DELETE", f"{WIDGETS}/w")

    shop_served.plugin.on_validate = between
    assert shop_served.put({**created, "spec": {"size": 2}}).status == 404


def test_what_is_refused_on_an_old_copy_is_tried_on_the_newest(shop_served: Shop) -> None:
    """Behaviour K3: a first attempt that fails is not the last word if the store has something newer."""
    shop_served.create(spec={"size": 50})
    seen: list[bool] = []

    async def between(review: Review) -> None:
        if review.operation == "UPDATE" and not seen:
            seen.append(True)
            await shop_served.server.client.call("DELETE", f"{WIDGETS}/w")
            await shop_served.server.client.call("POST", WIDGETS, obj=widget(spec={"size": 1}))
            review.refuse("not this one")

    shop_served.plugin.on_mutate = between
    answer = shop_served.merge({"spec": {"size": 2}})
    assert answer.status == 200, answer
    assert answer.json()["spec"]["size"] == 2
