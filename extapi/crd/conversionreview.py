"""ConversionReviews: what a webhook is asked, and what is taken of its answer (behaviour J47, J48).

Pure functions on bytes. What an object has to keep is checked by :mod:`extapi.conversion.converter`. Each text is
kube-apiserver's, taken from its source and compared with a running one.

Source: ``apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from extapi.api.types import Obj
from extapi.codec import strictjson, strictyaml
from extapi.codec.jsonsyntax import END
from extapi.errors import ApiError, StorageError, go_quote

GROUP: Final = "apiextensions.k8s.io"
KIND: Final = "ConversionReview"
LONGEST = 16 * 1024
"""Characters that a text of a webhook's, or a piece of its answer, has in an error."""

_SUPPORTED: Final = ("v1", "v1beta1")
_KNOWN: Final = {
    **dict.fromkeys(
        (
            *("ConversionReview", "CustomResourceDefinition", "CustomResourceDefinitionList", "CreateOptions"),
            *("DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"),
        ),
        tuple(f"{GROUP}/{version}" for version in _SUPPORTED),
    ),
    **dict.fromkeys(("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"), ("v1",)),
}
"""The kinds that kube-apiserver could decode, and in which versions, though it takes none but the right one."""
_ENVELOPE: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_FIELDS: Final[Mapping[str, tuple[str, type, str]]] = {
    "response": ("ConversionReview.response", dict, "{version}.ConversionResponse"),
    "response.uid": ("ConversionResponse.response.uid", str, "types.UID"),
    "response.convertedObjects": ("ConversionResponse.response.convertedObjects", list, "[]runtime.RawExtension"),
    "response.result": ("ConversionResponse.response.result", dict, "v1.Status"),
    "response.result.status": ("Status.response.result.status", str, "string"),
    "response.result.message": ("Status.response.result.message", str, "string"),
}
"""The members that are read: how Go names them in errors, their types here, and in Go."""


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
    return next((version for version in versions if version in _SUPPORTED), None)


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
        group, _, number = (review.api_version or "").rpartition("/")
        found = f"{group}/{number}, Kind={review.kind or ''}"
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
            f"json: cannot unmarshal {_json_type(value)} into Go value of type map[string]interface {{}}"
        )
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(kind, str) or not kind or (isinstance(api_version, str) and api_version.count("/") > 1):
        text = data.decode("utf-8", "replace")
        return StorageError(f"Object 'Kind' is missing in '{shortened(text)}'")
    return value


def shortened(text: str) -> str:
    """A text for an error, not longer than :data:`LONGEST`."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _decoded(body: bytes, version: str) -> _Review:
    """The review, which is of the right type as far as it has one.

    Raises:
        ReviewError: The answer is no review.
    """
    try:
        review = _read(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        review = _explained(body, version)
    _check_type(review.api_version or "", review.kind or "", version)
    return review


def _check_type(api_version: str, kind: str, version: str) -> None:
    """Check that kube-apiserver would decode the answer as a review. What says nothing of its type, is one.

    Raises:
        ReviewError: It would not.
    """
    if api_version.count("/") > 1:
        raise ReviewError(f"failed: unexpected GroupVersion string: {shortened(api_version)}")
    kind, api_version = kind or KIND, api_version or f"{GROUP}/{version}"
    if (api_version, kind) == (f"{GROUP}/{version}", KIND):
        return
    if api_version in _KNOWN.get(kind, ()):
        kinds = f"({api_version.rpartition('/')[2]}.{kind}) to ({version}.{KIND})"
        raise ReviewError(f"failed: converting {kinds}: unknown conversion")
    shown, of = go_quote(shortened(kind)), go_quote(shortened(api_version))
    raise ReviewError(f'failed: no kind {shown} is registered for version {of} in scheme "pkg/runtime/scheme.go:111"')


def _explained(body: bytes, version: str) -> _Review:
    """The review in an answer that is no review in plain JSON: it may be YAML, or have odd characters.

    Raises:
        ReviewError: It is none, because of this.
    """
    value = _loosely(body)
    if value is None:
        return _Review()
    if not isinstance(value, dict):
        raise _unreadable(f"json: cannot unmarshal {_json_type(value)} into Go value of type {_ENVELOPE}")
    for member in value:  # the first mistake is told
        if member in ("apiVersion", "kind") and not isinstance(value[member], str | None):
            why = f"json: cannot unmarshal {_json_type(value[member])} into Go struct field .{member} of type string"
            raise _unreadable(why)
    _check_type(value.get("apiVersion") or "", value.get("kind") or "", version)
    _check_members(value, "", version)
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


def _loosely(body: bytes) -> Any:
    """The value of JSON or YAML, as kube-apiserver tells them apart.

    Raises:
        ReviewError: It is neither.
    """
    try:
        if body.lstrip(b" \t\r\n\f\v").startswith(b"{"):
            return strictjson.decode(body).value
        return strictyaml.decode(body).value
    except strictyaml.YAMLError as error:
        raise ReviewError(f"failed: error converting YAML to JSON: {shortened(str(error))}") from None
    except ValueError as error:
        raise _unreadable(str(error)) from None


def _check_members(value: Obj, prefix: str, version: str) -> None:
    """Check the types of those members that are read, in their order.

    Raises:
        ReviewError: One of them has a wrong type.
    """
    for member, found in value.items():
        path = f"{prefix}{member}"
        if found is None or path not in _FIELDS:
            continue
        shown, wanted, name = _FIELDS[path]
        if not isinstance(found, wanted):
            raise ReviewError(
                f"failed: json: cannot unmarshal {_json_type(found)} into Go struct field {shown} of type "
                f"{name.format(version=version)}"
            )
        if isinstance(found, dict):
            _check_members(found, f"{path}.", version)


def _unreadable(why: str) -> ReviewError:
    return ReviewError(f"failed: couldn't get version/kind; json parse error: {shortened(why)}")


def _json_type(value: Any) -> str:
    """What Go calls a JSON value of another type than the one that it reads."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"
