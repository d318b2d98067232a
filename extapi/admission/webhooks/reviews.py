"""AdmissionReviews: what a webhook is asked, and what is taken of its answer (behaviour I9, I10).

Pure functions. Each text is kube-apiserver's.

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from extapi.api.types import Obj
from extapi.client.webhookreply import WebhookError, shortened
from extapi.client.webhookreview import SUPPORTED, Member, ReviewFormat
from extapi.codec import strictjson
from extapi.errors import go_quote

GROUP: Final = "admission.k8s.io"
KIND: Final = "AdmissionReview"

_RESPONSE: Final = "AdmissionResponse.response"
_FORMAT: Final = ReviewFormat(
    GROUP,
    KIND,
    {
        "response": Member(f"{KIND}.response", dict, "{version}.AdmissionResponse"),
        "response.uid": Member(f"{_RESPONSE}.uid", str, "types.UID"),
        "response.allowed": Member(f"{_RESPONSE}.allowed", bool, "bool"),
        "response.status": Member(f"{_RESPONSE}.status", dict, "v1.Status"),
        "response.patch": Member(f"{_RESPONSE}.patch", str, "[]uint8"),
        "response.patchType": Member(f"{_RESPONSE}.patchType", str, "{version}.PatchType"),
        "response.auditAnnotations": Member(f"{_RESPONSE}.auditAnnotations", dict, "map[string]string", "string"),
        "response.warnings": Member(f"{_RESPONSE}.warnings", list, "[]string", "string"),
        "response.status.status": Member("Status.response.status.status", str, "string"),
        "response.status.message": Member("Status.response.status.message", str, "string"),
        "response.status.reason": Member("Status.response.status.reason", str, "v1.StatusReason"),
        "response.status.code": Member("Status.response.status.code", int, "int32"),
        "response.status.details": Member("Status.response.status.details", dict, "v1.StatusDetails"),
    },
)


class _Status(msgspec.Struct, rename="camel"):
    status: str | None = None
    message: str | None = None
    reason: str | None = None
    code: int | None = None
    details: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class _Response(msgspec.Struct, rename="camel"):
    uid: str | None = None
    allowed: bool | None = None
    status: _Status | None = None
    patch: str | None = None
    patch_type: str | None = None
    audit_annotations: dict[str, str | None] | None = None
    warnings: list[str | None] | None = None


class _Review(msgspec.Struct, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    response: _Response | None = None


_read = msgspec.json.Decoder(_Review).decode


class Result(msgspec.Struct, frozen=True):
    """Why a webhook refuses a write (``metav1.Status``)."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: Mapping[str, Any] | None = None


class Answer(msgspec.Struct, frozen=True):
    """What a webhook has said."""

    allowed: bool
    patch: bytes = b""
    patch_type: str = ""
    """Empty if there is no patch."""
    result: Result | None = None
    warnings: Sequence[str] = ()
    audit_annotations: Mapping[str, str] = {}


def review_version(versions: Sequence[str]) -> str:
    """The first of a webhook's ``admissionReviewVersions`` that is supported.

    Raises:
        WebhookError: There is none.
    """
    found = next((version for version in versions if version in SUPPORTED), None)
    if found is None:
        raise WebhookError(
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
            400,
        )
    return found


def request(version: str, uid: str, members: Obj, obj: Obj | None, old: Obj | None) -> bytes:
    """The body of a request to a webhook.

    Args:
        version: Of the review: ``v1`` or ``v1beta1``.
        uid: Of this request.
        members: See :func:`request_members`.
        obj: The new object.
        old: The stored object.
    """
    asked = {"uid": uid, **members, "object": obj, "oldObject": old}
    return strictjson.encode({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": asked}) + b"\n"


def answer(body: bytes, version: str, uid: str, *, mutating: bool) -> Answer:
    """What an answer to a review says.

    Args:
        body: The answer.
        version: Of the review that was sent.
        uid: Of the request.
        mutating: Whether the webhook may change the object.

    Raises:
        WebhookError: The answer is no review, or not the one to this request.
    """
    review, patch = _decoded(body, version)
    response = review.response
    if response is None:
        raise _invalid("webhook response was absent")
    patch_type = response.patch_type
    if version == "v1":
        if (response.uid or "") != uid:
            raise _invalid(f"expected response.uid={go_quote(uid)}, got {go_quote(shortened(response.uid or ''))}")
        found, expected = _FORMAT.shown_type(review.api_version, review.kind), f"{GROUP}/v1, Kind={KIND}"
        if found != expected:
            raise _invalid(f"expected webhook response of {expected}, got {found}")
        _check_patch(patch, patch_type, mutating=mutating)
    elif patch:
        patch_type = "JSONPatch"  # v1beta1 has no other, and what it says was never looked at
    return Answer(
        allowed=bool(response.allowed),
        patch=patch if mutating else b"",
        patch_type=(patch_type or "") if mutating else "",
        result=_result(response.status),
        warnings=[text or "" for text in response.warnings or ()],
        audit_annotations={key: value or "" for key, value in (response.audit_annotations or {}).items()},
    )


def _check_patch(patch: bytes, patch_type: str | None, *, mutating: bool) -> None:
    if not mutating:
        if patch:
            raise _invalid("validating webhook may not return response.patch")
        if patch_type is not None:
            raise _invalid("validating webhook may not return response.patchType")
        return
    if patch and patch_type is None:
        raise _invalid("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise _invalid("webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise _invalid('webhook returned invalid response.patchType of ""')


def _result(status: _Status | None) -> Result | None:
    if status is None:
        return None
    return Result(status.status or "", status.message or "", status.reason or "", status.code or 0, status.details)


def _decoded(body: bytes, version: str) -> tuple[_Review, bytes]:
    """The review, and the patch in it.

    Raises:
        WebhookError: The answer is no review.
    """
    try:
        review = _read(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            review = msgspec.convert(_FORMAT.explained(body, version), _Review, strict=True)
        except (msgspec.ValidationError, RecursionError) as error:  # of a member that Go would not have looked at
            raise _uncalled(f"couldn't get version/kind; json parse error: {shortened(str(error))}") from None
        except WebhookError as error:
            raise _uncalled(str(error)) from None
    try:
        _FORMAT.check_type(review.api_version or "", review.kind or "", version)
        return review, _patch(review.response)
    except WebhookError as error:
        raise _uncalled(str(error)) from None


def _patch(response: _Response | None) -> bytes:
    text = "" if response is None else response.patch or ""
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        raise WebhookError(f"illegal base64 data at input byte {_first_wrong(text)}") from None


def _first_wrong(text: str) -> int:
    """Where Go stops to read base64."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    wrong = next((at for at, letter in enumerate(text) if letter not in letters), len(text))
    return wrong if wrong < len(text) else len(text) // 4 * 4


def _uncalled(why: str) -> WebhookError:
    return WebhookError(f"failed to call webhook: {why}")


def _invalid(why: str) -> WebhookError:
    return WebhookError(f"received invalid webhook response: {why}")
