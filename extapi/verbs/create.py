"""POST (spec E9-E19). The order of the checks is the order in which kube-apiserver reports them."""

from __future__ import annotations

from extapi.codec.options import create_options
from extapi.listener.call import Response
from extapi.registry.base import Creater, NamedCreater
from extapi.verbs.answer import negotiated, object_answer
from extapi.verbs.decoding import MAX_BODY, body_format, check_namespace, decoded
from extapi.verbs.ownership import dedupe_owners
from extapi.verbs.target import Target


async def create(target: Target[Creater]) -> Response:
    """Store a new object; 201 with the object as stored."""
    accepted = negotiated(target)
    form = body_format(target)
    body = await target.call.body.read(MAX_BODY)
    options = create_options(target.call.query)
    obj = decoded(target, body, form, options.field_validation)
    check_namespace(target, obj)
    dedupe_owners(target, obj)
    admission = target.admission("CreateOptions", options)
    resource = target.resource
    if resource.subresource and isinstance(resource, NamedCreater):
        stored = await resource.create_named(target.at, target.name, obj, admit=admission)
    else:
        stored = await resource.create(target.at, obj, admit=admission)
    return object_answer(target, accepted, stored, status=201)
