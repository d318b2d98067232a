"""PATCH by JSON patch or merge patch (spec E55-E63), and of Kubernetes' own kinds by strategic merge patch.

Other kinds of patches are 415, as negotiation says.

A patch without resourceVersion is applied again to whatever is there when somebody else wrote in between.
"""

from __future__ import annotations

from extapi.api.native import Native
from extapi.api.types import Obj
from extapi.codec.body import strict_warnings
from extapi.codec.native import not_registered
from extapi.codec.negotiation import patch_type
from extapi.codec.options import patch_options
from extapi.codec.patches import Patched, json_patch, merge_patch, patched_error, refuse_strict_patch
from extapi.codec.strategic import go_value, strategic_merge_patch
from extapi.errors import BadRequest
from extapi.listener.call import Response
from extapi.registry.base import Structured, Updater
from extapi.schema.structural import Structural
from extapi.verbs.answer import negotiated, object_answer
from extapi.verbs.decoding import MAX_BODY, check_name, check_namespace, unknown_fields
from extapi.verbs.ownership import dedupe_owners
from extapi.verbs.target import Target


async def patch(target: Target[Updater]) -> Response:
    """Change the object as the patch says; 200 with the object as stored."""
    schema = _merge_schema(target)
    kind = patch_type(target.call.header("content-type"), strategic=schema is not None)
    if not target.name:
        raise BadRequest("name must be provided")
    accepted = negotiated(target)
    body = await target.call.body.read(MAX_BODY)
    options = patch_options(target.call.query)
    validation = options.field_validation

    async def change(old: Obj) -> Obj:
        if kind == "strategic-merge-patch" and schema is not None:
            patched = strategic_merge_patch(old, body, schema, target.resource.kind, validation)
            # The type is the endpoint's, whatever the patch says, since the patch is no object.
            patched.value.update(apiVersion=target.api_version, kind=target.resource.kind)
        else:
            patched = (json_patch if kind == "json-patch" else merge_patch)(old, body, validation)
        new = patched.value
        if target.resource.native is not None:
            _check_type(target, new)
        unknown = _accepted(target, patched)
        if validation == "Strict":
            refuse_strict_patch(_shown(patched), unknown, patched.duplicates)
        if validation == "Warn":
            # Also when the write is refused later; what a second attempt says again is told once.
            target.call.warnings += strict_warnings(unknown, patched.duplicates)
        check_namespace(target, new)
        check_name(target, new)
        dedupe_owners(target, new)
        return new

    admission = target.admission("PatchOptions", options)
    stored = await target.resource.update(target.at, target.name, change, admit=admission)
    return object_answer(target, accepted, stored)


def _merge_schema(target: Target[Updater]) -> Structural | None:
    """The schema for strategic merge patches, where the resource takes them."""
    resource = target.resource
    native: Native | None = resource.native
    if native is None or not native.strategic_merge or not isinstance(resource, Structured):
        return None
    return resource.structural(target.at)


def _shown(patched: Patched) -> Obj | str:
    """What a refusal shows: the result, or a strategic merge patch as Go prints it."""
    return patched.value if patched.patch is None else go_value(patched.patch)


def _accepted(target: Target[Updater], patched: Patched) -> list[str]:
    """The paths of unknown fields. What a patch made of metadata is told like all that a patch led to (spec E60)."""
    try:
        return unknown_fields(target, patched.value)
    except BadRequest as error:
        why = error.message.partition(f" cannot be handled as a {target.resource.kind}: ")[2]
        raise patched_error(_shown(patched), why) from None


def _check_type(target: Target[Updater], new: Obj) -> None:
    """A patch must leave an object of Kubernetes' own kinds its version and kind; of others the registry says so."""
    api_version, kind = new.get("apiVersion") or "", new["kind"]
    if (kind, api_version) != (target.resource.kind, target.api_version):
        raise patched_error(new, not_registered(kind, api_version))
