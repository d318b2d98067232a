"""PATCH by JSON patch or merge patch, by apply, or by a further type of the kind's behaviour (behaviour E55-E63).

Other types are 415. A patch without resourceVersion is applied again, to the new object, after each conflict.
"""

from __future__ import annotations

from typing import Any

from extapi.api.types import Obj
from extapi.codec.body import strict_warnings
from extapi.codec.contenttype import APPLY, JSON_PATCH, MERGE_PATCH, patch_type
from extapi.codec.options import Validation, patch_options
from extapi.codec.patches import Patched, json_patch, merge_patch, patched_error, refuse_strict_patch
from extapi.errors import BadRequest
from extapi.http.response import Response
from extapi.managedfields.fieldmanager import without_managed_fields
from extapi.registry.base import ResourceUpdater, Structured
from extapi.verbs.answer import negotiated, object_answer
from extapi.verbs.apply import apply
from extapi.verbs.decoding import MAX_BODY, check_name, check_namespace, dedupe_owners, unknown_fields
from extapi.verbs.fieldmanagement import with_managers
from extapi.verbs.request import ResourceRequest


async def patch(request: ResourceRequest[ResourceUpdater]) -> Response:
    """Change the object as the patch says; 200 with the object as stored, 201 if an apply has made it."""
    media = patch_type(request.http.header("content-type"), _further(request))
    if media == APPLY:
        return await apply(request)
    if not request.name:
        raise BadRequest("name must be provided")
    accepted = negotiated(request)
    body = await request.http.body.read(MAX_BODY)
    options = patch_options(request.http.query)
    validation = options.field_validation

    # A merge patch replaces all managed fields or none, so it needs not see them: without, those of the live object count.
    bare = media == MERGE_PATCH

    async def change(old: Obj) -> Obj:
        patched = _patched(request, media, without_managed_fields(old) if bare else old, body, validation)
        new = patched.value
        _check_type(request, new)
        unknown = _accepted(request, patched)
        if validation == "Strict":
            refuse_strict_patch(patched.shown(), unknown, patched.duplicates)
        if validation == "Warn":
            # Also if the write is refused later. Warnings of a further attempt are dropped if they are the same.
            request.http.warnings += strict_warnings(unknown, patched.duplicates)
        check_namespace(request, new)
        check_name(request, new)
        new = await with_managers(request, old, new, options)
        dedupe_owners(request, new, patched=True)
        return new

    admission = request.admission("UpdateOptions", options)
    stored = await request.resource.update(request.scope, request.name, change, admit=admission)
    return object_answer(request, accepted, stored)


def _further(request: ResourceRequest[ResourceUpdater]) -> tuple[str, ...]:
    """The media types of further patches. Those of the kind's behaviour need a schema."""
    resource = request.resource
    own = resource.behaviour.patch_types
    further = tuple(own) if own and isinstance(resource, Structured) else ()
    return further if resource.field_manager(request.scope) is None else (*further, APPLY)


def _patched(request: ResourceRequest[ResourceUpdater], media: str, old: Obj, body: bytes, mode: Validation) -> Patched:
    """The object after the patch."""
    if media == JSON_PATCH:
        return json_patch(old, body, mode)
    if media == MERGE_PATCH:
        return merge_patch(old, body, mode)
    resource: Any = request.resource
    schema = resource.structural(request.scope)
    patched: Patched = resource.behaviour.patch_types[media].apply(
        old, body, schema, kind=resource.kind, api_version=request.api_version, mode=mode
    )
    return patched


def _accepted(request: ResourceRequest[ResourceUpdater], patched: Patched) -> list[str]:
    """Coerce, prune and default the patched object.

    Returns:
        The paths of unknown fields.

    Raises:
        Invalid: The patch has led to metadata of a wrong type (behaviour E60).
    """
    try:
        return unknown_fields(request, patched.value)
    except BadRequest as error:
        why = error.message.partition(f" cannot be handled as a {request.resource.kind}: ")[2]
        raise patched_error(patched.shown(), why) from None


def _check_type(request: ResourceRequest[ResourceUpdater], new: Obj) -> None:
    """Check the type of the patched object, where that is not left to the registry.

    Raises:
        Invalid: It is not the resource's.
    """
    resource, api_version = request.resource, new.get("apiVersion") or ""
    why = resource.behaviour.decoding.wrong_patched_type(new["kind"], api_version, resource.kind, request.api_version)
    if why:
        raise patched_error(new, why)
