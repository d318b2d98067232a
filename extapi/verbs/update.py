"""PUT (spec E37-E44). There is no create on update: a missing object is 404."""

from __future__ import annotations

from extapi.api.types import Obj
from extapi.codec import strictjson
from extapi.codec.options import update_options
from extapi.errors import BadRequest, Conflict
from extapi.listener.call import Response
from extapi.registry.base import Updater
from extapi.verbs.answer import negotiated, object_answer
from extapi.verbs.decoding import MAX_BODY, body_format, check_name, check_namespace, decoded
from extapi.verbs.ownership import dedupe_owners
from extapi.verbs.target import Target


async def update(target: Target[Updater]) -> Response:
    """Replace the object by the body; 200 with the object as stored."""
    if not target.name:
        raise BadRequest("name must be provided")
    accepted = negotiated(target)
    body = await target.call.body.read(MAX_BODY)
    options = update_options(target.call.query)
    form = body_format(target)
    new = decoded(target, body, form, options.field_validation)
    check_namespace(target, new)
    check_name(target, new)
    dedupe_owners(target, new)

    async def replace(old: Obj) -> Obj:
        _check_uid(target, new, old)
        return {**strictjson.copy(new), "metadata": dict(new["metadata"])}

    admission = target.admission("UpdateOptions", options)
    stored = await target.resource.update(target.at, target.name, replace, admit=admission)
    return object_answer(target, accepted, stored)


def _check_uid(target: Target[Updater], new: Obj, old: Obj) -> None:
    """A uid in the body is a precondition; the text is that of etcd3's store in kube-apiserver (spec E39)."""
    wanted, actual = new["metadata"].get("uid", ""), old["metadata"].get("uid", "")
    if wanted and wanted != actual:
        resource = target.resource
        place = f"{resource.group}/{resource.plural}/" if resource.group else f"{resource.plural}/"
        place += f"{target.at.namespace}/" if resource.namespaced else ""
        why = (
            f"StorageError: invalid object, Code: 4, Key: /registry/{place}{target.name}, "
            "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            f"UID in precondition: {wanted}, UID in object meta: {actual}"
        )
        raise Conflict.on(resource.plural, resource.group, target.name, why)
