"""PATCH by server-side apply: behaviour E64 to E71. What it makes of managers is judged in ``tests/differential``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extapi import User
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from extapi.testing import AllowAll, ServerResponse, serve
from tests.unit.verbs.sample import ALPHAS, GROUP, WIDGETS, Plugin, Shop, failure, shop, widget

FORM = {"Content-Type": "application/apply-patch+yaml"}


def apply(server: Any, config: Any, manager: str = "me", *, path: str = "", **query: str) -> ServerResponse:
    name = "w" if isinstance(config, str | bytes) else (config.get("metadata") or {}).get("name", "w")
    body = config.encode() if isinstance(config, str) else config
    answer: ServerResponse = server.request(
        "PATCH", path or f"{WIDGETS}/{name}", {"fieldManager": manager, **query}, FORM, body
    )
    return answer


def managers(obj: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in obj["metadata"].get("managedFields", ())
    ]


def test_what_is_missing_is_created(shop_served: Shop) -> None:
    """Behaviour E68: 201, with defaults that nobody manages; applied again, nothing changes."""
    answer = apply(shop_served, widget(spec={"size": 3}, resourceVersion="5"))
    made = answer.json()
    assert answer.status == 201
    assert made["spec"] == {"size": 3, "color": "red"}
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:spec": {"f:size": {}}}
    assert (entry["manager"], entry["operation"], entry["time"]) == ("me", "Apply", "2023-11-14T22:13:20Z")
    shop_served.advance(60)
    again = apply(shop_served, widget(spec={"size": 3}))
    assert (again.status, again.json()) == (200, made)
    assert shop_served.get() == made


def test_nothing_is_made_that_is_being_deleted(shop_served: Shop) -> None:
    """Behaviour E11. kube-apiserver makes it."""
    made = apply(shop_served, widget(spec={"size": 3}, deletionTimestamp="2020-01-01T00:00:00Z"))
    assert (made.status, "deletionTimestamp" in made.json()["metadata"]) == (201, False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("creationTimestamp", "null"),
        ("creationTimestamp", ""),
        ("creationTimestamp", 5),
        ("creationTimestamp", True),
        ("deletionTimestamp", "x"),
        ("generation", 1.5),
        ("generation", 10**20),
        ("deletionGracePeriodSeconds", 1.5),
    ],
)
def test_what_an_apply_cannot_set_need_not_be_readable(shop_served: Shop, field: str, value: Any) -> None:
    """As kube-apiserver 1.36.3 does of custom resources: of an object that is made, and of one that is there."""
    config = widget(spec={"size": 3}, **{field: value})
    made = apply(shop_served, config)
    metadata = made.json()["metadata"]
    assert (made.status, metadata["creationTimestamp"], metadata["generation"]) == (201, "2023-11-14T22:13:20Z", 1)
    assert metadata.keys() <= {
        *("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
    }
    again = apply(shop_served, {**config, "spec": {"size": 4}}).json()["metadata"]
    assert (again["creationTimestamp"], again["generation"]) == ("2023-11-14T22:13:20Z", 2)
    assert again.keys() == metadata.keys()


def test_the_user_needs_the_right_to_create() -> None:
    """Behaviour E68: asked once there is something to create, after mutators and before validators."""
    plugin = Plugin()
    asked: list[list[str]] = []

    class Patchers(AllowAll):
        async def authorize(self, user: User, attributes: Attributes) -> Decision:
            if attributes.verb != "create":
                return await super().authorize(user, attributes)
            asked.append([kind for kind, _ in plugin.seen])
            return Decision(Verdict.NO_OPINION)

    with serve(shop(plugin), authorizer=Patchers()) as server:
        answer = apply(server, widget(spec={"size": 3}))
        assert (answer.status, failure(answer)["reason"]) == (403, "Forbidden")
        assert 'cannot create resource "widgets"' in failure(apply(server, widget(spec={"size": 3})))["message"]
        assert server.request("GET", f"{WIDGETS}/w").status == 404
        assert asked[0] == ["mutate"]
        assert apply(server, widget(spec={"size": -1})).status == 422


def test_conflicts_and_force(shop_served: Shop) -> None:
    """Behaviour E66."""
    shop_served.create(spec={"size": 1})
    answer = apply(shop_served, widget(spec={"size": 2}))
    assert answer.status == 409
    assert failure(answer) == {
        "message": f'Apply failed with 1 conflict: conflict with "unknown" using {GROUP}/v1: .spec.size',
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": f'conflict with "unknown" using {GROUP}/v1',
                    "field": ".spec.size",
                }
            ]
        },
    }
    assert shop_served.get()["spec"]["size"] == 1
    forced = apply(shop_served, widget(spec={"size": 2}), force="true").json()
    assert forced["spec"]["size"] == 2
    assert managers(forced) == [("me", "Apply", ""), ("unknown", "Update", "")]


def test_a_field_that_is_given_up_goes_and_gets_its_default(shop_served: Shop) -> None:
    """Behaviour E67."""
    apply(shop_served, widget(spec={"size": 2, "color": "pink"}, labels={"a": "b"}))
    left = apply(shop_served, widget(spec={"size": 2})).json()
    assert left["spec"] == {"size": 2, "color": "red"}
    assert "labels" not in left["metadata"]


def test_a_part_has_managers_of_its_own(shop_served: Shop) -> None:
    """Behaviour E73: what the endpoint cannot set is nobody's; an apply to it never creates."""
    status = {**widget(spec={"size": 9}, labels={"a": "b"}), "status": {"ready": True}}
    assert apply(shop_served, status, path=f"{WIDGETS}/w/status").status == 404
    shop_served.create(spec={"size": 1})
    changed = apply(shop_served, status, path=f"{WIDGETS}/w/status").json()
    assert (changed["spec"]["size"], changed["status"]) == (1, {"ready": True})
    assert changed["metadata"]["managedFields"][0]["fieldsV1"] == {"f:status": {"f:ready": {}}}
    assert managers(changed)[0] == ("me", "Apply", "status")


def test_versions_share_managers(shop_served: Shop) -> None:
    """A conflict is found across versions, through the author's conversion."""
    apply(shop_served, widget(spec={"size": 2}), "first")
    alpha = widget(version="v1alpha1", spec={"inches": "3in"})
    answer = apply(shop_served, alpha, "second", path=f"{ALPHAS}/w")
    assert answer.status == 409
    assert 'conflict with "first": .spec.size' in failure(answer)["message"]
    forced = apply(shop_served, alpha, "second", path=f"{ALPHAS}/w", force="true").json()
    assert forced["spec"] == {"inches": "3in"}
    assert managers(forced) == [("second", "Apply", "")]


def test_a_conversion_that_fails_stops_an_apply_and_makes_an_update_forget_nobody(shop_served: Shop) -> None:
    """kubernetes#136919: kube-apiserver forgets all managers. ``66`` cannot be converted to v1alpha1."""
    apply(shop_served, widget(version="v1alpha1", spec={"inches": "3in"}), path=f"{ALPHAS}/w")
    before = shop_served.get()
    answer = apply(shop_served, widget(spec={"size": 66}), "second", force="true")
    assert (answer.status, failure(answer)["reason"]) == (500, "InternalError")
    assert shop_served.get() == before
    assert shop_served.merge({"spec": {"size": 66}}).status == 200
    assert managers(shop_served.get()) == [("me", "Apply", ""), ("unknown", "Update", "")]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ("", 400, "invalid object type: /, Kind="),
        ("[]", 400, "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array"),
        ("a: [", 400, "error decoding YAML: error converting YAML to JSON: yaml: "),
        (b'{"kind": "\xff"}', 400, "error decoding YAML: error converting YAML to JSON: yaml: "),
        (json.dumps({**widget(), "kind": 1}), 400, f"invalid object type: {GROUP}/v1, Kind="),
        (json.dumps(widget(managedFields=[])), 400, "metadata.managedFields must be nil"),
        (
            json.dumps(widget(managedFields={})),
            500,
            f"failed to create typed patch object (/w; {GROUP}/v1, Kind=Widget): .metadata.managedFields: expected list",
        ),
        (json.dumps({**widget(), "metadata": None}), 400, "the name of the object (w based on URL) was undeterminable"),
        (
            json.dumps(widget(spec={"nope": 1})),
            500,
            f"failed to create typed patch object (/w; {GROUP}/v1, Kind=Widget): .spec.nope: field not declared in schema",
        ),
        (json.dumps(widget(uid="x")), 409, "uid mismatch: the provided object specified uid x"),
        (json.dumps(widget(spec={"color": None, "size": None})), 201, ""),
        (json.dumps(widget(spec={"parts": [None]})), 500, "associative list with keys may not have a null element"),
    ],
)
def test_bodies(shop_served: Shop, body: str | bytes, status: int, message: str) -> None:
    """Behaviour E61, E64, E65."""
    answer = apply(shop_served, body)
    assert answer.status == status
    assert message in (answer.json().get("message") or "")
    assert shop_served.request("GET", f"{WIDGETS}/w").status == (200 if status == 201 else 404)


def test_duplicate_keys_are_told_after_the_merge(shop_served: Shop) -> None:
    """Behaviour E64."""
    text = f"apiVersion: {GROUP}/v1\nkind: Widget\nmetadata: {{name: w}}\nspec:\n  size: 2\n  size: 3\n"
    strict = apply(shop_served, text, fieldValidation="Strict")
    assert strict.status == 400
    assert failure(strict)["message"].startswith("error strict decoding YAML: error converting YAML to JSON: yaml: ")
    warned = apply(shop_served, text)
    assert (warned.status, warned.json()["spec"]["size"]) == (201, 3)
    assert "already set in map" in warned.headers["warning"]
    assert "warning" not in apply(shop_served, text, fieldValidation="Ignore").headers


def test_a_manager_is_required(shop_served: Shop) -> None:
    """Behaviour E56."""
    answer = shop_served.request("PATCH", f"{WIDGETS}/w", {}, FORM, widget())
    assert answer.status == 422
    assert "fieldManager: Required value: is required for apply patch" in failure(answer)["message"]


def test_a_dry_run_stores_nothing(shop_served: Shop) -> None:
    assert apply(shop_served, widget(spec={"size": 3}), dryRun="All").status == 201
    assert shop_served.request("GET", f"{WIDGETS}/w").status == 404
    apply(shop_served, widget(spec={"size": 3}))
    before = shop_served.get()
    assert apply(shop_served, widget(spec={"size": 4}), dryRun="All").json()["spec"]["size"] == 4
    assert shop_served.get() == before


def test_admission_sees_a_create_and_then_updates(shop_served: Shop) -> None:
    apply(shop_served, widget(spec={"size": 3}))
    apply(shop_served, widget(spec={"size": 4}))
    shown = [(review.operation.value, review.options["kind"]) for review in shop_served.plugin.reviews]
    assert shown == [("CREATE", "CreateOptions"), ("UPDATE", "UpdateOptions")]


def test_an_apply_of_nothing_leaves_an_unmanaged_object_as_it_is(shop_served: Shop) -> None:
    """Behaviour E73: a write to status changes nothing else."""
    made = apply(shop_served, widget()).json()
    assert "managedFields" not in made["metadata"]
    answer = apply(shop_served, widget(), path=f"{WIDGETS}/w/status", force="true")
    assert (answer.status, answer.json()) == (200, made)
    assert shop_served.get() == made
