"""ConversionReviews as a webhook reads and answers them: ``apiextensions.k8s.io`` v1 and v1beta1, which have the same members.

Pure functions on bytes. The other side, which asks, is :mod:`extapi.crd.conversionreview`.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go`` ConversionReview.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from extapi.codec.strictjson import encode_status
from extapi.webhooks.reviews.reading import BadReview, ReviewDecoder, check_type

KIND: Final = "ConversionReview"
VERSIONS: Final = {"apiextensions.k8s.io/v1": "v1", "apiextensions.k8s.io/v1beta1": "v1beta1"}


class _Request(msgspec.Struct):
    uid: str = ""
    desired: str = msgspec.field(name="desiredAPIVersion", default="")
    objects: list[msgspec.Raw] | None = None


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


_read = ReviewDecoder(_Review).decode


@dataclass(frozen=True, slots=True)
class ConversionRequest:
    """What a ConversionReview asks."""

    version: str
    """Of the review: ``v1`` or ``v1beta1``."""
    uid: str
    api_version: str
    """The ``apiVersion`` to convert to."""
    objects: Sequence[msgspec.Raw]
    """Each object as JSON, not yet read: one after the other takes the memory of one."""


def read_conversion(body: bytes) -> ConversionRequest:
    """The request in a review.

    Raises:
        BadReview: The body is no ConversionReview with a request.
    """
    review = _read(body)
    version = check_type(review.api_version, review.kind, VERSIONS, KIND)
    request = review.request
    if request is None:
        raise BadReview("the ConversionReview has no request")
    if not request.desired:
        raise BadReview("the ConversionReview has no request.desiredAPIVersion")
    return ConversionRequest(version, request.uid, request.desired, request.objects or ())


def converted(request: ConversionRequest, objects: Sequence[bytes]) -> bytes:
    """The answer with the converted objects, each as JSON, in the order of the request."""
    return b'%b"convertedObjects":[%b],"result":{"status":"Success"}}}\n' % (_head(request), b",".join(objects))


def failed(request: ConversionRequest, message: str) -> bytes:
    """The answer that the objects could not be converted. One that fails, fails all of them: there is no partial success."""
    return b'%b"convertedObjects":[],"result":%b}}\n' % (
        _head(request),
        encode_status({"status": "Failure", "message": message}),
    )


def _head(request: ConversionRequest) -> bytes:
    return b'{"kind":"%b","apiVersion":"apiextensions.k8s.io/%b","response":{"uid":%b,' % (
        KIND.encode(),
        request.version.encode(),
        msgspec.json.encode(request.uid),
    )
