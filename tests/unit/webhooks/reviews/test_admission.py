"""AdmissionReviews: the members of ``admission.k8s.io`` (k8s.io/api/admission/v1/types.go), as a kube-apiserver 1.36.3 sent them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from extapi.webhooks.reviews.admission import AdmissionRequest, AdmissionVerdict, answered, read_admission
from extapi.webhooks.reviews.reading import BadReview
from tests.unit.webhooks.asking import recorded

RECORDED = recorded()


def request(case: str, **members: Any) -> AdmissionRequest:
    review = RECORDED[case].review
    return read_admission(json.dumps({**review, "request": {**review["request"], **members}}).encode())


def test_everything_is_read() -> None:
    found = request("lamp-update/validate")
    sent = RECORDED["lamp-update/validate"].review["request"]
    assert (found.version, found.uid, found.operation) == ("v1beta1", sent["uid"], "UPDATE")
    assert (found.kind.group, found.kind.version, found.kind.kind) == ("hooked.example.com", "v1", "Lamp")
    assert (found.resource, found.subresource, found.name, found.namespace) == ("lamps", "", "desk", "default")
    assert json.loads(found.object) == sent["object"]
    assert json.loads(found.old_object) == sent["oldObject"]
    assert (found.user.name, found.user.groups) == ("kubernetes-admin", ("system:masters", "system:authenticated"))
    assert list(found.user.extra) == ["authentication.kubernetes.io/credential-id"]
    assert (found.dry_run, found.options["kind"]) == (False, "UpdateOptions")
    assert request("refused/validate").dry_run is True
    assert request("lamp-status/admit").subresource == "status"
    assert request("lamp-delete/admit").object == b"null"


def test_what_is_missing_has_the_zero_value_of_go() -> None:
    body = {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {"uid": "u", "operation": "DELETE"},
    }
    found = read_admission(json.dumps(body).encode())
    assert (found.object, found.old_object, found.options, found.user.groups) == (b"null", b"null", {}, ())


def test_a_verdict_is_answered_in_the_version_of_the_review() -> None:
    asked = request("create/admit")
    assert json.loads(answered(asked, AdmissionVerdict())) == {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "response": {"uid": asked.uid, "allowed": True},
    }
    beta = json.loads(answered(request("lamp-create/admit"), AdmissionVerdict()))
    assert beta["apiVersion"] == "admission.k8s.io/v1beta1"


def test_everything_is_written() -> None:
    asked = request("create/admit")
    verdict = AdmissionVerdict(patch=b"[]", warnings=["hot"], audit_annotations={"a.b": "c"})
    response = json.loads(answered(asked, verdict))["response"]
    assert base64.b64decode(response["patch"]) == b"[]"
    assert response["patchType"] == "JSONPatch"
    assert (response["warnings"], response["auditAnnotations"]) == (["hot"], {"a.b": "c"})
    refused = json.loads(answered(asked, AdmissionVerdict(refusal={"code": 403, "message": "no"}, patch=b"[]")))[
        "response"
    ]
    assert (refused["allowed"], refused["status"]) == (False, {"code": 403, "message": "no"})
    assert "patch" not in refused


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"uid": ""}, "the AdmissionReview has no request.uid, by which its answer would be known"),
        ({"operation": "READ"}, "request.operation that is CREATE, UPDATE, DELETE or CONNECT"),
        ({"operation": ""}, "request.operation that is CREATE, UPDATE, DELETE or CONNECT"),
        ({"userInfo": []}, "Expected `object`, got `array` - at `$.request.userInfo`"),
        ({"userInfo": {"groups": "a"}}, "Expected `array | null`, got `str` - at `$.request.userInfo.groups`"),
        ({"dryRun": "yes"}, "Expected `bool | null`, got `str` - at `$.request.dryRun`"),
    ],
)
def test_what_is_no_review(members: dict[str, Any], text: str) -> None:
    with pytest.raises(BadReview) as raised:
        request("create/admit", **members)
    assert text in str(raised.value)


def test_a_review_without_a_request() -> None:
    with pytest.raises(BadReview, match="the AdmissionReview has no request"):
        read_admission(b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u"}}')
