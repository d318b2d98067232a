"""AdmissionReviews as a webhook reads and answers them: ``admission.k8s.io`` v1 and v1beta1, which have the same members.

Pure functions on bytes. A review that says something impossible about its object is one that can be answered, with a
refusal; a body that is no review is not (:class:`~extapi.webhooks.reviews.reading.BadReview`).

Source: ``k8s.io/api/admission/v1/types.go``, ``k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go``.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from extapi.api.types import Obj
from extapi.api.user import User
from extapi.codec.strictjson import encode_status
from extapi.webhooks.reviews.reading import BadReview, ReviewDecoder, check_type

KIND: Final = "AdmissionReview"
VERSIONS: Final = {"admission.k8s.io/v1": "v1", "admission.k8s.io/v1beta1": "v1beta1"}
_OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})


class GroupVersionKind(msgspec.Struct, frozen=True):
    """The type of an object."""

    group: str = ""
    version: str = ""
    kind: str = ""


class _Resource(msgspec.Struct):
    group: str = ""
    version: str = ""
    resource: str = ""


class _UserInfo(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class _Request(msgspec.Struct, rename="camel"):
    uid: str = ""
    kind: GroupVersionKind = GroupVersionKind()
    resource: _Resource = msgspec.field(default_factory=_Resource)
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str = ""
    user_info: _UserInfo = msgspec.field(default_factory=_UserInfo)
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")
    dry_run: bool | None = None
    options: dict[str, Any] | None = None


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


_read = ReviewDecoder(_Review).decode


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """What an AdmissionReview asks."""

    version: str
    """Of the review: ``v1`` or ``v1beta1``."""
    uid: str
    kind: GroupVersionKind
    """Of the objects: that of the rule that matched, to which kube-apiserver has converted them."""
    resource: str
    """The plural name."""
    subresource: str
    name: str
    namespace: str
    operation: str
    """CREATE, UPDATE, DELETE or CONNECT."""
    user: User
    object: bytes
    """As JSON; ``null`` if there is none."""
    old_object: bytes
    """As JSON; ``null`` if there is none."""
    dry_run: bool
    options: Obj


@dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """What is answered to an AdmissionReview."""

    refusal: Mapping[str, Any] | None = None
    """A Status; None: the write is allowed."""
    patch: bytes = b""
    """A JSON patch; empty: the object stays as it is."""
    warnings: Sequence[str] = ()
    audit_annotations: Mapping[str, str] = field(default_factory=dict)
    """By key, without a prefix: kube-apiserver puts the webhook's name in front of each."""


def read_admission(body: bytes) -> AdmissionRequest:
    """The request in a review.

    Raises:
        BadReview: The body is no AdmissionReview with a request.
    """
    review = _read(body)
    version = check_type(review.api_version, review.kind, VERSIONS, KIND)
    request = review.request
    if request is None:
        raise BadReview("the AdmissionReview has no request")
    if not request.uid:
        raise BadReview("the AdmissionReview has no request.uid, by which its answer would be known")
    if request.operation not in _OPERATIONS:
        raise BadReview("the AdmissionReview has no request.operation that is CREATE, UPDATE, DELETE or CONNECT")
    info = request.user_info
    user = User(
        info.username,
        uid=info.uid,
        groups=tuple(info.groups or ()),
        extra={key: tuple(values) for key, values in (info.extra or {}).items()},
    )
    return AdmissionRequest(
        version=version,
        uid=request.uid,
        kind=request.kind,
        resource=request.resource.resource,
        subresource=request.sub_resource,
        name=request.name,
        namespace=request.namespace,
        operation=request.operation,
        user=user,
        object=bytes(request.object),
        old_object=bytes(request.old_object),
        dry_run=bool(request.dry_run),
        options=request.options or {},
    )


def answered(request: AdmissionRequest, verdict: AdmissionVerdict) -> bytes:
    """The answer to a review, in its version, with its uid."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": verdict.refusal is None}
    if verdict.refusal is not None:
        response["status"] = dict(verdict.refusal)
    elif verdict.patch:
        response["patch"] = base64.b64encode(verdict.patch).decode("ascii")
        response["patchType"] = "JSONPatch"
    if verdict.audit_annotations:
        response["auditAnnotations"] = dict(verdict.audit_annotations)
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    return b'{"kind":"%b","apiVersion":"admission.k8s.io/%b","response":%b}\n' % (
        KIND.encode(),
        request.version.encode(),
        encode_status(response),
    )
