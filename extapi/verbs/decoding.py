"""Decodes the body of a write, and checks the object against the request (behaviour E9, E10, E13, E17, E21, E37).

Fields that are not in the schema are refused, warned of or dropped, as ``fieldValidation`` says.
"""

from __future__ import annotations

from extapi.api.metadata import dedupe_owner_references
from extapi.api.types import Obj
from extapi.codec.body import check_version, decode_envelope, decode_object, refuse_strict, strict_warnings
from extapi.codec.contenttype import request_format
from extapi.codec.negotiation import Format
from extapi.codec.options import Validation
from extapi.errors import BadRequest
from extapi.registry import target
from extapi.registry.base import Resource
from extapi.verbs.request import ResourceRequest

MAX_BODY = 3 * 1024 * 1024
"""The bound on bytes of a body (behaviour G9)."""


def request_body_format(request: ResourceRequest[Resource]) -> Format:
    """The format of the body.

    Raises:
        UnsupportedMediaType: The resource does not read the Content-Type.
    """
    return request_format(request.http.header("content-type"), protobuf=request.protobuf is not None)


def decoded(request: ResourceRequest[Resource], body: bytes, body_format: Format, validation: Validation) -> Obj:
    """The object in ``body``, pruned and defaulted.

    Raises:
        BadRequest: The body cannot be decoded, or has unknown fields with ``fieldValidation=Strict`` (behaviour E10, E21).
    """
    try:
        return _decoded(request, body, body_format, validation)
    except BadRequest as error:
        raise request.resource.behaviour.decoding.refusal(error) from None


def _decoded(request: ResourceRequest[Resource], body: bytes, body_format: Format, validation: Validation) -> Obj:
    resource = request.resource
    kind, group_version = resource.kind, request.api_version
    rules, serializer = resource.behaviour.decoding, request.protobuf
    if body_format == "protobuf" and serializer is not None:
        found = decode_envelope(body, serializer, kind=kind, group_version=group_version, rules=rules)
    else:
        found = decode_object(body, body_format, kind=kind, group_version=group_version, mode=validation, rules=rules)
    unknown = unknown_fields(request, found.value)
    if validation == "Strict":
        version = str(found.value.get("apiVersion") or "").rpartition("/")[2]
        refuse_strict(found.value["kind"], version, unknown, found.duplicates)
    elif validation == "Warn" and (unknown or found.duplicates):
        request.http.warnings += strict_warnings(unknown, found.duplicates)
    check_version(found.value, group_version)
    return found.value


def unknown_fields(request: ResourceRequest[Resource], obj: Obj) -> list[str]:
    """Coerce, prune and default the object in place.

    Returns:
        The paths of unknown fields; for an object of another kind or group, which has no schema, only those in metadata.

    Raises:
        BadRequest: Metadata has a wrong type.
    """
    resource, expected = request.resource, request.api_version
    kind, api_version = obj["kind"], str(obj.get("apiVersion") or "")
    try:
        unknown = resource.coerce_and_default(request.scope, obj)
    except BadRequest as error:
        said = f" cannot be handled as a {resource.kind}: "
        why = error.message.partition(said)[2]
        raise BadRequest(f'{kind} in version "{api_version.rpartition("/")[2]}"{said}{why}') from None
    if kind == resource.kind and api_version.rpartition("/")[0] == expected.rpartition("/")[0]:
        return unknown
    return [path for path in unknown if path.startswith("metadata.")]


def check_namespace(request: ResourceRequest[Resource], obj: Obj) -> None:
    """See :func:`extapi.registry.target.check_namespace`."""
    target.check_namespace(obj, request.scope.namespace, namespaced=request.resource.namespaced)


def check_name(request: ResourceRequest[Resource], obj: Obj) -> None:
    """See :func:`extapi.registry.target.check_name`."""
    target.check_name(obj, request.name)


def dedupe_owners(request: ResourceRequest[Resource], obj: Obj, *, patched: bool = False) -> None:
    """Drop owner references that occur twice, in place, with a warning (behaviour E17).

    kube-apiserver does so with a ``patched`` object only after mutating admission, and says so.
    """
    warning = dedupe_owner_references(obj, after_admission=patched)
    if warning:
        request.http.warnings.append(warning)
