"""The body of a write becomes an object of the resource: read, decoded, checked against the request, pruned, defaulted.

What is not in the schema is refused, warned of or dropped, as ``fieldValidation`` says (spec E9, E10, E13, E21).
"""

from __future__ import annotations

from extapi.api.types import Obj
from extapi.codec.body import check_version, decode_object, refuse_strict, strict_warnings
from extapi.codec.native import decode_native
from extapi.codec.negotiation import BodyFormat, Format, request_format
from extapi.codec.options import Validation
from extapi.errors import BadRequest
from extapi.registry.base import Resource
from extapi.verbs.target import Target

MAX_BODY = 3 * 1024 * 1024
"""Bytes of a body that are read (spec G9)."""


def body_format(target: Target[Resource]) -> BodyFormat:
    """The format of the body. Raises :class:`extapi.errors.UnsupportedMediaType`; protobuf is for Kubernetes' own kinds."""
    return request_format(target.call.header("content-type"), protobuf=target.messages is not None)


def decoded(target: Target[Resource], body: bytes, form: BodyFormat, validation: Validation) -> Obj:
    """The object in ``body``, accepted by the resource. Raises :class:`BadRequest` with the texts of spec E10 and E21."""
    resource = target.resource
    kind, group_version = resource.kind, target.api_version
    messages = target.messages
    if messages is not None:
        found = decode_native(body, form, kind=kind, group_version=group_version, messages=messages, mode=validation)
    else:
        text: Format = "yaml" if form == "yaml" else "json"
        found = decode_object(body, text, kind=kind, group_version=group_version, mode=validation)
    unknown = unknown_fields(target, found.value)
    if validation == "Strict":
        version = str(found.value.get("apiVersion") or "").rpartition("/")[2]
        refuse_strict(found.value["kind"], version, unknown, found.duplicates)
    elif validation == "Warn":
        target.call.warnings += strict_warnings(unknown, found.duplicates)
    check_version(found.value, group_version)
    return found.value


def unknown_fields(target: Target[Resource], obj: Obj) -> list[str]:
    """Have the resource accept the object; the paths of fields that are not in the schema.

    Of an object that says it is of another kind or group, metadata alone is known. Raises :class:`BadRequest` for metadata
    of a wrong type.
    """
    resource, expected = target.resource, target.api_version
    kind, api_version = obj["kind"], str(obj.get("apiVersion") or "")
    try:
        unknown = resource.accept(target.at, obj)
    except BadRequest as error:
        said = f" cannot be handled as a {resource.kind}: "
        why = error.message.partition(said)[2]
        raise BadRequest(f'{kind} in version "{api_version.rpartition("/")[2]}"{said}{why}') from None
    if kind == resource.kind and api_version.rpartition("/")[0] == expected.rpartition("/")[0]:
        return unknown
    return [path for path in unknown if path.startswith("metadata.")]


def check_namespace(target: Target[Resource], obj: Obj) -> None:
    """The body's namespace is filled in from the URL, or must be the same; cluster-scoped objects have none (spec E13)."""
    metadata = obj["metadata"]
    if not target.resource.namespaced:
        metadata.pop("namespace", None)
    elif not metadata.get("namespace"):
        metadata["namespace"] = target.at.namespace
    elif metadata["namespace"] != target.at.namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")


def check_name(target: Target[Resource], obj: Obj) -> None:
    """An update's body must name the object of the URL (spec E37)."""
    name = obj["metadata"].get("name", "")
    if not name:
        raise BadRequest(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if name != target.name:
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
