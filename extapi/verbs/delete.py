"""DELETE of one object (behaviour E45-E52)."""

from __future__ import annotations

from extapi.codec.deletion import DeleteOptions, delete_options
from extapi.http.response import Response
from extapi.registry.base import DeleteRules, Preconditions, ResourceDeleter
from extapi.verbs.answer import negotiated, object_answer, status_answer
from extapi.verbs.decoding import MAX_BODY, request_body_format
from extapi.verbs.request import ResourceRequest


async def delete(request: ResourceRequest[ResourceDeleter]) -> Response:
    """Delete an object, or mark it for deletion; 200 with a Status if it is gone, else with the object.

    Some kinds answer with the object in any case.
    """
    accepted = negotiated(request)
    options = await read_options(request)
    admission = request.admission("DeleteOptions", options)
    left, gone = await request.resource.delete(request.scope, request.name, rules(options), admit=admission)
    if not gone or request.resource.behaviour.answering.returns_deleted:
        # 202 is for old clients: they asked for no orphans, and have to wait for the deletion (behaviour E48).
        return object_answer(
            request, accepted, left, status=202 if not gone and options.orphan_dependents is False else 200
        )
    details = {
        "name": request.name,
        "group": request.resource.group,
        "kind": request.resource.plural,
        "uid": left.decoded()["metadata"]["uid"],
    }
    if not request.resource.group:  # the core group
        del details["group"]
    return status_answer(accepted, details)


async def read_options(request: ResourceRequest[ResourceDeleter]) -> DeleteOptions:
    """The options in the body, or without a body those of the query."""
    body = await request.http.body.read(MAX_BODY)
    body_format = request_body_format(request) if body else "json"
    return delete_options(request.http.query, body, body_format, request.protobuf)


def rules(options: DeleteOptions) -> DeleteRules:
    """The options that concern the registry."""
    propagation = options.propagation_policy or None
    if propagation is None and options.orphan_dependents is not None:
        propagation = "Orphan" if options.orphan_dependents else "Background"
    return DeleteRules(Preconditions(options.precondition_uid, options.precondition_resource_version), propagation)
