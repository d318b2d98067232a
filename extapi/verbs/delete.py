"""DELETE of one object (spec E45-E52)."""

from __future__ import annotations

from extapi.codec.deletion import DeleteOptions, delete_options
from extapi.listener.call import Response
from extapi.registry.base import Deleter, DeleteRules, Preconditions
from extapi.verbs.answer import negotiated, object_answer, status_answer
from extapi.verbs.decoding import MAX_BODY, body_format
from extapi.verbs.target import Target


async def delete(target: Target[Deleter]) -> Response:
    """Delete, or mark for deletion: 200 with a Status if the object is gone, with the object if it waits for finalizers.

    Some of Kubernetes' own kinds answer with the object in any case.
    """
    accepted = negotiated(target)
    options = await read_options(target)
    admission = target.admission("DeleteOptions", options)
    left, gone = await target.resource.delete(target.at, target.name, rules(options), admit=admission)
    native = target.resource.native
    if not gone or (native is not None and native.returns_deleted):
        # 202 tells a client of old that it asked for orphans explicitly and has to wait (spec E48).
        return object_answer(
            target, accepted, left, status=202 if not gone and options.orphan_dependents is False else 200
        )
    details = {
        "name": target.name,
        "group": target.resource.group,
        "kind": target.resource.plural,
        "uid": left.decoded()["metadata"]["uid"],
    }
    if not target.resource.group:  # the core group
        del details["group"]
    return status_answer(accepted, details)


async def read_options(target: Target[Deleter]) -> DeleteOptions:
    """The options: those in the body, if there is one, else those of the query."""
    body = await target.call.body.read(MAX_BODY)
    form = body_format(target) if body else "json"
    return delete_options(target.call.query, body, form, target.messages)


def rules(options: DeleteOptions) -> DeleteRules:
    """What the options mean to the registry."""
    propagation = options.propagation_policy or None
    if propagation is None and options.orphan_dependents is not None:
        propagation = "Orphan" if options.orphan_dependents else "Background"
    return DeleteRules(Preconditions(options.precondition_uid, options.precondition_resource_version), propagation)
