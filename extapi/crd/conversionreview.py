"""ConversionReviews: what a webhook is asked, and what is taken of its answer (behaviour J47, J48).

Pure functions on bytes. What an object has to keep is checked by :mod:`extapi.conversion.converter`. Each text is
kube-apiserver's, taken from its source and compared with a running one.

Source: ``apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from extapi.api.types import Obj
from extapi.client.webhookreply import WebhookError, shortened
from extapi.client.webhookreview import SUPPORTED, Member, ReviewFormat, json_type
from extapi.codec import strictjson
from extapi.codec.jsonsyntax import END
from extapi.errors import ApiError, StorageError, go_quote

GROUP: Final = "apiextensions.k8s.io"
KIND: Final = "ConversionReview"

_FORMAT: Final = ReviewFormat(
    GROUP,
    KIND,
    {
        "response": Member("ConversionReview.response", dict, "{version}.ConversionResponse"),
        "response.uid": Member("ConversionResponse.response.uid", str, "types.UID"),
        "response.convertedObjects": Member(
            "ConversionResponse.response.convertedObjects", list, "[]runtime.RawExtension"
        ),
        "response.result": Member("ConversionResponse.response.result", dict, "v1.Status"),
        "response.result.status": Member("Status.response.result.status", str, "string"),
        "response.result.message": Member("Status.response.result.message", str, "string"),
    },
    ("CustomResourceDefinition", "CustomResourceDefinitionList"),
)


class ReviewError(Exception):
    """A webhook has not converted; the text says why, after its name and that of the kind."""


class RefusedError(ReviewError):
    """It could not convert all of the objects: without one of them, it may."""


class _Result(msgspec.Struct):
    status: str | None = None
    message: str | None = None


class _Response(msgspec.Struct, rename="camel"):
    uid: str | None = None
    converted_objects: list[msgspec.Raw] | None = None
    result: _Result | None = None


class _Review(msgspec.Struct, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    response: _Response | None = None


_read = msgspec.json.Decoder(_Review).decode


def review_version(versions: Sequence[str]) -> str | None:
    """The first of a definition's ``conversionReviewVersions`` that is supported; None if none is."""
    return next((version for version in versions if version in SUPPORTED), None)


def request(version: str, uid: str, objects: Sequence[Obj], api_version: str) -> bytes:
    """The body of a request to a webhook, with the members of kube-apiserver's, the empty response included.

    Args:
        version: Of the review: ``v1`` or ``v1beta1``.
        uid: Of this request.
        objects: The objects to convert.
        api_version: The ``apiVersion`` to convert to.
    """
    encode = strictjson.encode
    return b"".join(
        (
            b'{"kind":"%b","apiVersion":"%b/%b",' % (KIND.encode(), GROUP.encode(), version.encode()),
            b'"request":{"uid":%b,"desiredAPIVersion":%b,"objects":[' % (encode(uid), encode(api_version)),
            b",".join([encode(each) for each in objects]),
            b']},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}\n',
        )
    )


def converted(body: bytes, version: str, uid: str, count: int) -> list[bytes]:
    """The converted objects, each as JSON, of an answer to a review.

    Args:
        body: The answer.
        version: Of the review that was sent.
        uid: Of the request.
        count: How many objects were sent.

    Raises:
        ReviewError: The answer is no review, is one of another request, or says that the conversion has failed.
    """
    review = _decoded(body, version)
    if version == "v1":
        found = _FORMAT.shown_type(review.api_version, review.kind)
        expected = f"{GROUP}/v1, Kind={KIND}"
        if found != expected:
            raise ReviewError(f"failed: expected webhook response of {expected}, got {found}")
    response = review.response
    if response is None:
        raise ReviewError("failed: no response provided")
    if version == "v1" and (response.uid or "") != uid:
        raise ReviewError(
            f"failed: expected response.uid={go_quote(uid)}, got {go_quote(shortened(response.uid or ''))}"
        )
    result = response.result or _Result()
    if result.status != "Success":
        said = f"response.result.status was '{result.status or ''}', not 'Success'"
        raise RefusedError(f"failed: {shortened(result.message or said)}")
    objects = response.converted_objects or ()
    if len(objects) != count:
        raise RefusedError(f"returned {len(objects)} objects, expected {count}")
    return [bytes(each) for each in objects]


def read_object(data: bytes) -> Obj | ApiError:
    """A converted object, or why it is none (``unstructured.UnmarshalJSON``)."""
    if data == b"null":
        return StorageError(END)
    try:
        value = strictjson.decode(data).value
    except ValueError as error:
        return StorageError(str(error))
    if not isinstance(value, dict):
        return StorageError(
            f"json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"
        )
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(kind, str) or not kind or (isinstance(api_version, str) and api_version.count("/") > 1):
        text = data.decode("utf-8", "replace")
        return StorageError(f"Object 'Kind' is missing in '{shortened(text)}'")
    return value


def _decoded(body: bytes, version: str) -> _Review:
    """The review, which is of the right type as far as it has one.

    Raises:
        ReviewError: The answer is no review.
    """
    try:
        try:
            review = _read(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            review = _explained(body, version)
        _FORMAT.check_type(review.api_version or "", review.kind or "", version)
    except WebhookError as error:
        raise ReviewError(f"failed: {error}") from None
    return review


def _explained(body: bytes, version: str) -> _Review:
    """The review in an answer that is no review in plain JSON.

    Raises:
        WebhookError: It is none, because of this.
    """
    value = _FORMAT.explained(body, version)
    response = value.get("response")
    if response is None:
        return _Review(value.get("apiVersion"), value.get("kind"))
    result, objects = response.get("result"), response.get("convertedObjects")
    return _Review(
        value.get("apiVersion"),
        value.get("kind"),
        _Response(
            response.get("uid"),
            None if objects is None else [msgspec.Raw(strictjson.encode(each)) for each in objects],
            None if result is None else _Result(result.get("status"), result.get("message")),
        ),
    )
