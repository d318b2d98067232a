"""POST: behaviour E9 to E22."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from extapi import Review
from extapi.testing import serve
from tests.unit.verbs.sample import GROUP, SHELVES, V1, WIDGETS, Plugin, Shop, failure, shelf, shop, widget

WHY_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def test_it_answers_201_with_the_object_as_stored(shop_served: Shop) -> None:
    """Behaviour E9, E11, E16, J21, J27: the server fills in metadata, the schema fills in defaults."""
    status, headers, body = shop_served.request("POST", WIDGETS, body=widget(spec={"size": 3}))
    assert status == 201
    assert headers["content-type"] == "application/json"
    assert body.endswith(b"}\n")
    created = shop_served.get()
    metadata = created["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", metadata.pop("uid"))
    assert int(metadata.pop("resourceVersion")) > 0
    assert created == {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {
            "name": "w",
            "namespace": "default",
            "generation": 1,
            "creationTimestamp": "2023-11-14T22:13:20Z",
            "managedFields": [
                {
                    "manager": "unknown",
                    "operation": "Update",
                    "apiVersion": f"{GROUP}/v1",
                    "time": "2023-11-14T22:13:20Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {".": {}, "f:size": {}, "f:color": {}}},
                }
            ],
        },
        "spec": {"size": 3, "color": "red"},
    }


def test_what_a_read_shows_is_what_the_create_answered(shop_served: Shop) -> None:
    assert shop_served.create(spec={"parts": [{"name": "a"}]}) == shop_served.get()


def test_system_metadata_of_the_client_is_dropped(shop_served: Shop) -> None:
    """Behaviour E11."""
    sent = widget(
        uid="mine",
        creationTimestamp="2001-01-01T00:00:00Z",
        deletionTimestamp="2001-01-01T00:00:00Z",
        deletionGracePeriodSeconds=5,
        selfLink="/x",
        generation=9,
        managedFields=[
            {
                "manager": "me",
                "operation": "Apply",
                "apiVersion": f"{GROUP}/v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:size": {}}},
            }
        ],
    )
    metadata = shop_served.request("POST", WIDGETS, body=sent).json()["metadata"]
    assert metadata["uid"] != "mine"
    assert metadata["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert metadata["generation"] == 1
    assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & set(metadata)
    (entry,) = metadata["managedFields"]
    assert (entry["manager"], set(entry["fieldsV1"])) == ("unknown", {"f:spec"})


def test_status_is_dropped_where_it_has_an_endpoint_of_its_own(shop_served: Shop) -> None:
    """Behaviour J27."""
    sent = {**widget(), "status": {"ready": True}}
    assert "status" not in shop_served.request("POST", WIDGETS, body=sent).json()


def test_a_name_that_exists_is_409(shop_served: Shop) -> None:
    """Behaviour E2, M7."""
    shop_served.create()
    answer = shop_served.request("POST", WIDGETS, body=widget())
    assert answer.status == 409
    assert failure(answer) == {
        "message": 'widgets.shop.example.com "w" already exists',
        "reason": "AlreadyExists",
        "details": {"name": "w", "group": GROUP, "kind": "widgets"},
    }


def test_a_name_that_is_being_deleted_is_409_and_says_so(shop_served: Shop) -> None:
    """Behaviour E2."""
    shop_served.create(finalizers=["shop.example.com/wait"])
    shop_served.request("DELETE", f"{WIDGETS}/w")
    answer = shop_served.request("POST", WIDGETS, body=widget())
    assert failure(answer)["message"] == 'object is being deleted: widgets.shop.example.com "w" already exists'


@pytest.mark.parametrize("revision", ["0", "abc", "", "1" * 5000, "\u0661", "18446744073709551616"])
def test_a_resource_version_that_means_nothing_is_let_pass(shop_served: Shop, revision: str) -> None:
    """Behaviour E12 as observed on 1.36.3."""
    assert shop_served.request("POST", WIDGETS, body=widget(resourceVersion=revision)).status == 201


def test_a_resource_version_is_500_unless_it_is_a_dry_run(shop_served: Shop) -> None:
    """Behaviour E12."""
    answer = shop_served.request("POST", WIDGETS, body=widget(resourceVersion="5"))
    assert answer.status == 500
    assert failure(answer) == {"message": "resourceVersion should not be set on objects to be created"}
    assert shop_served.request("POST", WIDGETS, {"dryRun": "All"}, body=widget(resourceVersion="5")).status == 201


def test_another_namespace_in_the_body_is_400(shop_served: Shop) -> None:
    """Behaviour E13."""
    assert shop_served.request("POST", WIDGETS, body=widget(namespace="default-2")).status == 400
    answer = shop_served.request("POST", WIDGETS, body=widget(namespace="other"))
    assert answer.status == 400
    assert failure(answer) == {
        "message": "the namespace of the provided object does not match the namespace sent on the request",
        "reason": "BadRequest",
    }


def test_a_namespace_on_a_cluster_scoped_object_is_dropped(shop_served: Shop) -> None:
    """Behaviour E13."""
    answer = shop_served.request("POST", SHELVES, body=shelf(namespace="x"))
    assert answer.status == 201
    assert "namespace" not in answer.json()["metadata"]


def test_the_path_of_all_namespaces_takes_no_objects(shop_served: Shop) -> None:
    """Behaviour E13: 404 for custom resources."""
    answer = shop_served.request("POST", f"{V1}/widgets", body=widget())
    assert answer.status == 404
    assert failure(answer)["message"] == "the server could not find the requested resource"


def test_without_any_name_it_is_422(shop_served: Shop) -> None:
    """Behaviour E14."""
    answer = shop_served.request("POST", WIDGETS, body=widget(""))
    assert answer.status == 422
    text = "Required value: name or generateName is required"
    assert failure(answer) == {
        "message": f'Widget.shop.example.com "" is invalid: metadata.name: {text}',
        "reason": "Invalid",
        "details": {
            "group": GROUP,
            "kind": "Widget",
            "causes": [{"reason": "FieldValueRequired", "message": text, "field": "metadata.name"}],
        },
    }


def test_a_name_is_generated(shop_served: Shop) -> None:
    """Behaviour E14: 58 bytes of the base and 5 characters that spell nothing."""
    base = "b" * 70
    name = shop_served.create("", generateName=base)["metadata"]["name"]
    assert re.fullmatch("b{58}[bcdfghjklmnpqrstvwxz2456789]{5}", name)
    first = shop_served.create("", generateName="a-")["metadata"]
    second = shop_served.create("", generateName="a-")["metadata"]
    assert first["generateName"] == "a-"
    assert first["name"] != second["name"]


class Stuck(Random):
    """Dice that always fall the same way."""

    def random(self) -> float:
        return 0.5

    def getrandbits(self, k: int, /) -> int:
        return 1


def test_a_generated_name_that_is_taken_is_tried_eight_times() -> None:
    """Behaviour E14."""
    plugin = Plugin()
    with serve(shop(plugin), random=Stuck()) as server:
        first = server.request("POST", WIDGETS, body=widget("", generateName="a-"))
        assert first.status == 201
        answer = server.request("POST", WIDGETS, body=widget("", generateName="a-"))
    name = first.json()["metadata"]["name"]
    assert len([seen for seen in plugin.seen if seen[0] == "validate"]) == 1 + 8
    assert answer.status == 409
    assert answer.headers["retry-after"] == "1"
    assert failure(answer) == {
        "message": f'widgets.shop.example.com "{name}" already exists, '
        "the server was not able to generate a unique name for the object",
        "reason": "AlreadyExists",
        "details": {"name": name, "group": GROUP, "kind": "widgets", "retryAfterSeconds": 1},
    }


def test_a_generated_name_that_is_taken_is_replaced_by_another(shop_served: Shop) -> None:
    """Behaviour E14: somebody else creates the object of that name just before it is stored."""
    names = []

    async def snatch(review: Review) -> None:
        names.append(review.name)
        if len(names) == 1:
            await shop_served.server.client.call("POST", WIDGETS, obj=widget(review.name))

    shop_served.plugin.on_validate = snatch
    created = shop_served.create("", generateName="a-")
    assert len(names) == 3  # the first attempt, the snatcher's own create, the second attempt
    assert created["metadata"]["name"] == names[-1] != names[0]


def test_a_bad_name_is_422(shop_served: Shop) -> None:
    """Behaviour E15."""
    answer = shop_served.request("POST", WIDGETS, body=widget("Big_One"))
    assert answer.status == 422
    assert "a lowercase RFC 1123 subdomain must consist of lower case" in failure(answer)["message"]


def test_errors_of_metadata_schema_and_strategy_come_together(shop_served: Shop) -> None:
    """Behaviour E4, J22, K1: a CR's strategy checks metadata itself, so that both show."""
    answer = shop_served.request("POST", WIDGETS, body=widget(spec={"size": 101}, labels={"a": "b c"}))
    status = failure(answer)
    assert {cause["field"] for cause in status["details"]["causes"]} == {"metadata.labels", "spec.size"}
    assert "[metadata.labels: Invalid value" in status["message"]
    assert "spec.size: Invalid value: 101: spec.size in body should be less than or equal to 100" in status["message"]


def test_dry_run_stores_nothing(shop_served: Shop) -> None:
    """Behaviour E16, E20: uid and creationTimestamp are there, resourceVersion is not."""
    answer = shop_served.request("POST", WIDGETS, {"dryRun": "All"}, body=widget())
    assert answer.status == 201
    metadata = answer.json()["metadata"]
    assert {"uid", "creationTimestamp"} < set(metadata)
    assert "resourceVersion" not in metadata
    assert shop_served.request("GET", f"{WIDGETS}/w").status == 404


def test_dry_run_of_a_name_that_exists_is_409(shop_served: Shop) -> None:
    """Behaviour K17."""
    shop_served.create()
    assert shop_served.request("POST", WIDGETS, {"dryRun": "All"}, body=widget()).status == 409


def test_plugins_are_told_of_a_dry_run(shop_served: Shop) -> None:
    """Behaviour E20."""
    shop_served.request("POST", WIDGETS, {"dryRun": "All", "fieldManager": "me"}, body=widget())
    (review,) = shop_served.plugin.reviews
    assert review.dry_run
    assert review.options == {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "CreateOptions",
        "dryRun": ["All"],
        "fieldManager": "me",
    }


def test_another_dry_run_is_422(shop_served: Shop) -> None:
    """Behaviour E20."""
    answer = shop_served.request("POST", WIDGETS, {"dryRun": "x"}, body=widget())
    assert answer.status == 422
    assert failure(answer)["message"] == (
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All"'
    )


BOTH = b"""{"apiVersion":"shop.example.com/v1","kind":"Widget","metadata":{"name":"w"},
"spec":{"size":1,"size":2,"foo":1,"parts":[{"name":"a","bar":2}]}}"""


def test_strict_refuses_unknown_and_duplicate_fields(shop_served: Shop) -> None:
    """Behaviour E10, E21."""
    answer = shop_served.request("POST", WIDGETS, {"fieldValidation": "Strict"}, body=BOTH)
    assert answer.status == 400
    assert failure(answer) == {
        "message": 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'duplicate field "spec.size", unknown field "spec.foo", unknown field "spec.parts[0].bar"',
        "reason": "BadRequest",
    }
    assert shop_served.request("GET", f"{WIDGETS}/w").status == 404


@pytest.mark.parametrize("query", [{}, {"fieldValidation": "Warn"}])
def test_warn_stores_and_warns(shop_served: Shop, query: dict[str, str]) -> None:
    """Behaviour E21, M16: one Warning a field, and the fields are gone."""
    answer = shop_served.request("POST", WIDGETS, query, body=BOTH)
    assert answer.status == 201
    assert answer.headers["warning"] == (
        '299 - "duplicate field \\"spec.size\\"", 299 - "unknown field \\"spec.foo\\"", '
        '299 - "unknown field \\"spec.parts[0].bar\\""'
    )
    assert answer.json()["spec"] == {"size": 2, "color": "red", "parts": [{"name": "a", "count": 1}]}


def test_ignore_says_nothing(shop_served: Shop) -> None:
    answer = shop_served.request("POST", WIDGETS, {"fieldValidation": "Ignore"}, body=BOTH)
    assert answer.status == 201
    assert "warning" not in answer.headers


def test_another_field_validation_is_422(shop_served: Shop) -> None:
    """Behaviour E21, with the supported values as observed on 1.36.3."""
    answer = shop_served.request("POST", WIDGETS, {"fieldValidation": "x"}, body=widget())
    assert failure(answer)["message"].endswith(
        'fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"'
    )


def test_a_body_of_another_version_is_400(shop_served: Shop) -> None:
    """Behaviour E10."""
    answer = shop_served.request("POST", WIDGETS, body=widget(version="v1alpha1"))
    assert answer.status == 400
    assert failure(answer)["message"] == (
        "the API version in the data (shop.example.com/v1alpha1) does not match the expected API version "
        "(shop.example.com/v1)"
    )


def test_a_body_of_another_kind_is_422(shop_served: Shop) -> None:
    """Behaviour J24."""
    answer = shop_served.request("POST", WIDGETS, body={**widget(), "kind": "Gadget"})
    assert answer.status == 422
    assert 'kind: Invalid value: "Gadget": must be Widget' in failure(answer)["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"apiVersion":"shop.example.com/v1"}',
            (
                "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in "
                '\'{"apiVersion":"shop.example.com/v1"}\' ({"apiVersion":"shop.example.co ...)'
            ),
        ),
        (
            b'{"kind":"Widget","apiVersion":"shop.example.com/v1","metadata":{"name":5}}',
            'Widget in version "v1" cannot be handled as a Widget: ',
        ),
    ],
)
def test_a_body_that_is_no_object_is_400(shop_served: Shop, body: bytes, message: str) -> None:
    """Behaviour E10, J19."""
    answer = shop_served.request("POST", WIDGETS, body=body)
    assert answer.status == 400
    assert failure(answer)["message"].startswith(message)


def test_no_body_is_400(shop_served: Shop) -> None:
    assert shop_served.request("POST", WIDGETS).status == 400


def test_yaml_is_read_and_written(shop_served: Shop) -> None:
    """Behaviour G1, G8."""
    body = b"apiVersion: shop.example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  size: 5\n"
    headers = {"Content-Type": "application/yaml; charset=utf-8", "Accept": "application/yaml"}
    answer = shop_served.request("POST", WIDGETS, headers=headers, body=body)
    assert answer.status == 201
    assert answer.headers["content-type"] == "application/yaml"
    assert b"\n  size: 5\n" in answer.body


def test_another_content_type_is_415(shop_served: Shop) -> None:
    """Behaviour G8, E9: before the body is looked at."""
    answer = shop_served.request("POST", WIDGETS, headers={"Content-Type": "text/plain"}, body=b"x" * 4_000_000)
    assert answer.status == 415
    assert failure(answer) == {
        "message": "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml",
        "reason": "UnsupportedMediaType",
    }


def test_a_body_over_three_mebibytes_is_413(shop_served: Shop) -> None:
    """Behaviour G9."""
    answer = shop_served.request("POST", WIDGETS, body=b"x" * 3_145_729)
    assert answer.status == 413
    assert failure(answer) == {
        "message": "Request entity too large: limit is 3145728",
        "reason": "RequestEntityTooLarge",
    }


def test_what_the_client_cannot_read_is_not_done(shop_served: Shop) -> None:
    """Behaviour E9: Accept comes first."""
    answer = shop_served.request("POST", WIDGETS, headers={"Accept": "text/html"}, body=widget())
    assert answer.status == 406
    assert shop_served.request("GET", f"{WIDGETS}/w").status == 404


def test_owners_that_occur_twice_are_dropped_with_a_warning(shop_served: Shop) -> None:
    """Behaviour E17."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    answer = shop_served.request("POST", WIDGETS, body=widget(ownerReferences=[owner, owner]))
    assert answer.json()["metadata"]["ownerReferences"] == [owner]
    assert answer.headers["warning"] == (
        '299 - ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, '
        'and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u"'
    )


def test_a_finalizer_without_a_path_is_warned_of(shop_served: Shop) -> None:
    """Behaviour J28."""
    answer = shop_served.request("POST", WIDGETS, body=widget(finalizers=["wait.example.com"]))
    assert answer.status == 201
    assert answer.headers["warning"] == (
        '299 - "metadata.finalizers: \\"wait.example.com\\": prefer a domain-qualified finalizer name including a path '
        '(/) to avoid accidental conflicts with other finalizer writers"'
    )


def test_post_on_an_object_creates_and_ignores_the_name_of_the_url(shop_served: Shop) -> None:
    """Observed on 1.36.3."""
    answer = shop_served.request("POST", f"{WIDGETS}/other", body=widget("mine"))
    assert answer.status == 201
    assert answer.json()["metadata"]["name"] == "mine"


def test_post_through_another_version_is_stored_in_one(shop_served: Shop) -> None:
    """Behaviour K7: what the other version does not know gets its default in the store."""
    body = widget(version="v1alpha1", spec={"inches": "7in"})
    answer = shop_served.request("POST", WIDGETS.replace("v1", "v1alpha1"), body=body)
    assert answer.status == 201
    assert answer.json()["spec"] == {"inches": "7in"}
    assert shop_served.get()["spec"] == {"size": 7, "color": "red"}
    assert shop_served.get()["metadata"] == answer.json()["metadata"]


@pytest.mark.parametrize(("where", "status"), [("missing", 404), ("terminating", 403)], ids=["missing", "terminating"])
def test_nothing_is_created_where_no_namespace_is(shop_served: Shop, where: str, status: int) -> None:
    """Behaviour I6, I7."""
    getattr(shop_served.server.namespaces, where).add("default")
    answer = shop_served.request("POST", WIDGETS, body=widget())
    assert answer.status == status
    expected: dict[int, dict[str, Any]] = {
        404: {
            "message": 'namespaces "default" not found',
            "reason": "NotFound",
            "details": {"name": "default", "kind": "namespaces"},
        },
        403: {
            "message": 'widgets.shop.example.com "w" is forbidden: unable to create new content in namespace default '
            "because it is being terminated",
            "reason": "Forbidden",
            "details": {
                "name": "w",
                "group": GROUP,
                "kind": "widgets",
                "causes": [
                    {
                        "reason": "NamespaceTerminating",
                        "message": "namespace default is being terminated",
                        "field": "metadata.namespace",
                    }
                ],
            },
        },
    }
    assert failure(answer) == expected[status]


def test_namespaces_that_are_not_known_yet_are_waited_for(shop_served: Shop) -> None:
    """Behaviour I8: ten seconds."""
    shop_served.server.namespaces.synced = False
    before = shop_served.server.clock.seconds()
    answer = shop_served.request("POST", WIDGETS, body=widget())
    assert answer.status == 403
    assert failure(answer)["message"] == 'widgets.shop.example.com "w" is forbidden: not yet ready to handle request'
    assert 10 <= shop_served.server.clock.seconds() - before < 11


def test_a_name_that_is_taken_is_told_as_a_generated_one_where_there_is_a_prefix(shop_served: Shop) -> None:
    """As 1.36.3 does: ``rest.CheckGeneratedNameError`` does not ask whose the name was. Nothing is tried again."""
    shop_served.create("a")
    shop_served.plugin.seen.clear()
    answer = shop_served.request("POST", WIDGETS, body=widget("a", generateName="a-"))
    assert (answer.status, answer.headers["retry-after"]) == (409, "1")
    assert failure(answer)["message"] == (
        'widgets.shop.example.com "a" already exists, the server was not able to generate a unique name for the object'
    )
    assert len([seen for seen in shop_served.plugin.seen if seen[0] == "validate"]) == 1


def test_another_kind_is_told_alone(shop_served: Shop) -> None:
    """Behaviour J24; not that it has no name, nor what of its fields is wrong or unknown."""
    body = {**widget("", spec={"size": -1, "nope": 1}), "kind": "Gadget"}
    answer = shop_served.request("POST", WIDGETS, body=body)
    assert (answer.status, answer.headers.get("warning")) == (422, None)
    assert (
        failure(answer)["message"]
        == 'Gadget.shop.example.com "" is invalid: kind: Invalid value: "Gadget": must be Widget'
    )


@pytest.mark.parametrize(
    ("change", "kind", "version"),
    [({"apiVersion": f"{GROUP}/v1alpha1"}, "Widget", "v1alpha1"), ({"kind": "Gadget"}, "Gadget", "v1")],
)
def test_metadata_is_read_before_the_type_is_judged(
    shop_served: Shop, change: dict[str, str], kind: str, version: str
) -> None:
    """As 1.36.3 tells it, in the words of the body."""
    answer = shop_served.request("POST", WIDGETS, body={**widget(labels={"a": 1}), **change})
    assert answer.status == 400
    assert failure(answer)["message"] == (
        f'{kind} in version "{version}" cannot be handled as a Widget: '
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    )


def test_unknown_fields_are_warned_of_before_the_version_is_refused(shop_served: Shop) -> None:
    body = {**widget(spec={"size": 1, "nope": 1}, nope=1), "apiVersion": f"{GROUP}/v1alpha1"}
    answer = shop_served.request("POST", WIDGETS, body=body)
    assert (answer.status, "does not match the expected API version" in failure(answer)["message"]) == (400, True)
    assert 'unknown field \\"spec.nope\\"' in answer.headers["warning"]
    # Of another group nothing but metadata is known.
    answer = shop_served.request("POST", WIDGETS, body={**body, "apiVersion": "other/v1"})
    assert answer.headers["warning"] == '299 - "unknown field \\"metadata.nope\\""'
