"""PUT (behaviour E37-E44). It does not create: a missing object is 404."""

from __future__ import annotations

from extapi.api.jsonvalue import json_copy
from extapi.api.types import Obj
from extapi.codec.options import update_options
from extapi.errors import BadRequest, Conflict
from extapi.http.response import Response
from extapi.registry.base import ResourceUpdater
from extapi.verbs.answer import negotiated, object_answer
from extapi.verbs.decoding import MAX_BODY, check_name, check_namespace, decoded, dedupe_owners, request_body_format
from extapi.verbs.fieldmanagement import with_managers
from extapi.verbs.request import ResourceRequest


async def update(request: ResourceRequest[ResourceUpdater]) -> Response:
    """Replace the object by the body; 200 with the object as stored."""
    if not request.name:
        raise BadRequest("name must be provided")
    accepted = negotiated(request)
    body = await request.http.body.read(MAX_BODY)
    options = update_options(request.http.query)
    body_format = request_body_format(request)
    new = decoded(request, body, body_format, options.field_validation)
    check_namespace(request, new)
    check_name(request, new)
    dedupe_owners(request, new)

    async def replace(old: Obj) -> Obj:
        _check_uid(request, new, old)
        copied = {**json_copy(new), "metadata": dict(new["metadata"])}
        return await with_managers(request, old, copied, options)

    admission = request.admission("UpdateOptions", options)
    stored = await request.resource.update(request.scope, request.name, replace, admit=admission)
    return object_answer(request, accepted, stored)


def _check_uid(request: ResourceRequest[ResourceUpdater], new: Obj, old: Obj) -> None:
    """A uid in the body is a precondition. The text is that of kube-apiserver's store (behaviour E39).

    Raises:
        Conflict: The object has another uid.
    """
    wanted, actual = new["metadata"].get("uid", ""), old["metadata"].get("uid", "")
    if wanted and wanted != actual:
        resource = request.resource
        prefix = f"{resource.group}/{resource.plural}/" if resource.group else f"{resource.plural}/"
        prefix += f"{request.scope.namespace}/" if resource.namespaced else ""
        why = (
            f"StorageError: invalid object, Code: 4, Key: /registry/{prefix}{request.name}, "
            "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            f"UID in precondition: {wanted}, UID in object meta: {actual}"
        )
        raise Conflict.on(resource.plural, resource.group, request.name, why)
