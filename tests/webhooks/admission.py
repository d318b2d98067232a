"""What admission webhooks answer: as they should, or wrong in one way each. The names are the paths that choose them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.webhooks.answers import ANSWERS as NO_REVIEWS, half, hang, http
from tests.webhooks.server import Answer, Call


def review(call: Call, **response: Any) -> dict[str, Any]:
    """The answer to a review."""
    asked = call.review
    return {
        "apiVersion": asked["apiVersion"],
        "kind": "AdmissionReview",
        "response": {"uid": asked["request"]["uid"], "allowed": True, **response},
    }


def says(**response: Any) -> Answer:
    """An answer that has these members besides."""
    return lambda call: http(json.dumps(review(call, **response)))


def denies(**status: Any) -> Answer:
    """A refusal."""
    return says(allowed=False, status=status)


def patches(*operations: Any, **response: Any) -> Answer:
    """An answer with a patch."""
    return says(patch=encoded(list(operations)), patchType="JSONPatch", **response)


def encoded(value: Any) -> str:
    """As Go's ``[]byte`` is in JSON."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.b64encode(data).decode()


def adds(path: str, value: Any) -> dict[str, Any]:
    """An operation of a patch."""
    return {"op": "add", "path": path, "value": value}


def changed(change: Callable[[dict[str, Any]], Any]) -> Answer:
    """An answer that is right but for one thing."""

    def answer(call: Call) -> bytes:
        made = review(call)
        other = change(made)
        return http(json.dumps(made if other is None else other))

    return answer


def counted(call: Call) -> bytes:
    """Add a note, so that each call changes the object."""
    if call.review["request"]["object"] is None:
        return says()(call) or b""
    notes = (call.review["request"]["object"].get("spec") or {}).get("notes")
    if notes is None:
        return patches(adds("/spec/notes", ["first"]))(call) or b""
    return patches(adds("/spec/notes/-", "again"))(call) or b""


def once(name: str, value: str) -> Answer:
    """Add a label, unless it is there."""

    def answer(call: Call) -> bytes:
        obj = call.review["request"]["object"]
        if obj is None:
            return says()(call) or b""
        labels = obj["metadata"].get("labels")
        if labels is not None and name in labels:
            return says()(call) or b""
        made = (
            patches(adds(f"/metadata/labels/{name}", value))
            if labels
            else patches(adds("/metadata/labels", {name: value}))
        )
        return made(call) or b""

    return answer


OTHER: Mapping[str, Answer] = {
    "add-ham": patches(adds("/spec/toppings/-", "ham")),
    "set-host": patches(adds("/spec/hostPort", "other:2")),
}
"""Patches of other kinds."""

ALLOWED: Mapping[str, Answer] = {
    "allow": says(),
    "warn": says(warnings=["first", 'second "quoted"', "first", "x" * 300]),
    "annotate": says(auditAnnotations={"a": "b"}),
    "patch-label": patches(adds("/metadata/labels", {"patched": "yes"})),
    "patch-tables": patches(adds("/spec/tables", 7)),
    "patch-unknown": patches(adds("/spec/unknown", 1)),
    "patch-free": patches(adds("/spec/free", {"a": [1, 2.5, None, "x"]})),
    "patch-defaulted": patches({"op": "remove", "path": "/spec/tables"}),
    "patch-status": patches(adds("/status", {"open": True})),
    "patch-system": patches(
        adds("/metadata/uid", "mine"),
        adds("/metadata/creationTimestamp", "2020-01-01T00:00:00Z"),
        adds("/metadata/generation", 7),
    ),
    "patch-nothing": patches(),
    "patch-same": patches({"op": "test", "path": "/kind", "value": "Cafe"}),
    "patch-notes": patches(
        adds("/spec/notes", ["a"]),
        adds("/spec/notes/-", "b"),
        {"op": "move", "from": "/spec/notes/0", "path": "/spec/notes/1"},
    ),
    "count": counted,
    "label-once": once("once", "1"),
    "null-patch": says(patch=None, patchType=None),
}
"""Answers with which a write goes on."""

REFUSED: Mapping[str, Answer] = {
    "deny": denies(message="no"),
    "deny-reason": denies(reason="Because"),
    "deny-known-reason": denies(reason="NotFound", message="gone"),
    "deny-code": denies(code=418, message="a teapot"),
    "deny-code-reason": denies(code=409, reason="Conflict", message="busy"),
    "deny-200": denies(code=200, message="fine"),
    "deny-details": denies(
        code=422,
        reason="Invalid",
        message="wrong",
        details={
            "name": "n",
            "group": "g",
            "kind": "k",
            "uid": "u",
            "causes": [{"reason": "FieldValueInvalid", "message": "m", "field": "spec.x"}],
            "retryAfterSeconds": 3,
        },
    ),
    "deny-success": denies(status="Success", message="odd"),
    "deny-empty": says(allowed=False),
    "deny-null": says(allowed=False, status=None),
    "deny-warn": says(allowed=False, status={"message": "no"}, warnings=["mind this"]),
    "deny-missing": changed(lambda made: made["response"].pop("allowed") and None),
    "patch-bad-label": patches(adds("/metadata/labels", {"a b": "c"})),
    "patch-label-type": patches(adds("/metadata/labels", {"a": 1})),
    "patch-name": patches(adds("/metadata/name", "Not A Name")),
    "patch-namespace": patches(adds("/metadata/namespace", "elsewhere")),
    "patch-invalid": patches(adds("/spec/tables", 1000)),
    "patch-wrong-type": patches(adds("/spec/tables", "many")),
}
"""Answers with which it does not, though nothing is wrong with them."""

WRONG: Mapping[str, Answer] = {
    "no-response": changed(lambda made: made.pop("response") and None),
    "null-response": changed(lambda made: made.update(response=None)),
    "text-response": changed(lambda made: made.update(response="yes")),
    "other-uid": says(uid="another"),
    "no-uid": changed(lambda made: made["response"].pop("uid") and None),
    "number-uid": says(uid=7),
    "text-allowed": says(allowed="yes"),
    "text-status": says(allowed=False, status="no"),
    "text-code": denies(code="400"),
    "number-message": denies(message=5),
    "text-warnings": says(warnings="careful"),
    "number-warnings": says(warnings=[1]),
    "number-annotation": says(auditAnnotations={"a": 1}),
    "no-kind": changed(lambda made: made.pop("kind") and None),
    "no-type": changed(lambda made: {"response": made["response"]}),
    "other-kind": changed(lambda made: made.update(kind="ConversionReview")),
    "other-group": changed(lambda made: made.update(apiVersion="example.com/v1")),
    "other-version": changed(lambda made: made.update(apiVersion="admission.k8s.io/v1beta1")),
    "options": changed(lambda _: {"apiVersion": "admission.k8s.io/v1", "kind": "ListOptions"}),
    "patch-without-type": says(patch=encoded([adds("/spec/tables", 7)])),
    "type-without-patch": says(patchType="JSONPatch"),
    "empty-type": says(patch=encoded([adds("/spec/tables", 7)]), patchType=""),
    "other-type": says(patch=encoded([adds("/spec/tables", 7)]), patchType="MergePatch"),
    "number-type": says(patch=encoded([adds("/spec/tables", 7)]), patchType=1),
    "number-patch": says(patch=5, patchType="JSONPatch"),
    "bad-base64": says(patch="ab!d", patchType="JSONPatch"),
    "short-base64": says(patch="abcde", patchType="JSONPatch"),
    "patch-no-json": says(patch=encoded(b"{"), patchType="JSONPatch"),
    "patch-object": says(patch=encoded({"op": "add"}), patchType="JSONPatch"),
    "patch-texts": says(patch=encoded(["add"]), patchType="JSONPatch"),
    "patch-no-op": patches({"path": "/spec/tables"}),
    "patch-no-path": patches({"op": "add", "value": 1}),
    "patch-unknown-op": patches({"op": "multiply", "path": "/spec/tables", "value": 2}),
    "patch-missing-path": patches(adds("/spec/a/b/c", 1)),
    "patch-remove-missing": patches({"op": "remove", "path": "/spec/missing"}),
    "patch-replace-missing": patches({"op": "replace", "path": "/spec/missing/x", "value": 1}),
    "patch-test-fails": patches({"op": "test", "path": "/kind", "value": "Bar"}),
    "patch-bad-index": patches(adds("/spec/notes", []), adds("/spec/notes/7", "x")),
    "patch-kind": patches(adds("/kind", "Bar")),
    "patch-no-kind": patches({"op": "remove", "path": "/kind"}),
    "patch-to-list": patches({"op": "replace", "path": "", "value": []}),
    "empty": lambda _: http(""),
    "text": lambda _: http("hello", "200 OK", "text/plain"),
    "broken-json": lambda _: http('{"apiVersion":'),
    "json-list": lambda _: http("[]"),
    "yaml": lambda _: http("kind: AdmissionReview\napiVersion: admission.k8s.io/v1\n", "200 OK", "application/yaml"),
    "code-500": lambda _: http("why\nnot", "500 Internal Server Error", "text/plain"),
    "code-404": lambda _: http("<why>", "404 Not Found", "text/plain"),
    "code-418": lambda _: http("tea", "418 Teapot", "text/plain"),
    "code-403-status": lambda _: http(
        json.dumps(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": "not you",
                "code": 403,
            }
        ),
        "403 Forbidden",
    ),
    "closed": lambda _: None,
}
"""Answers of webhooks that fail."""

BROKEN: Mapping[str, Answer] = {
    name: NO_REVIEWS[name] for name in ("redirect", "garbage", "other-protocol", "closed-in-body", "bad-chunk")
}
"""What comes is no answer, or sends the caller elsewhere."""

LATE: Mapping[str, Answer] = {"hang": hang, "half": half}
"""They come too late."""

EVERY: Mapping[str, Answer] = {**OTHER, **ALLOWED, **REFUSED, **WRONG, **LATE}
