"""POST (behaviour E9-E19)."""

from __future__ import annotations

from extapi.codec.options import create_options
from extapi.http.response import Response
from extapi.registry.base import NamedResourceCreater, ResourceCreater
from extapi.registry.create import wipe_system_metadata
from extapi.verbs.answer import negotiated, object_answer
from extapi.verbs.decoding import MAX_BODY, check_namespace, decoded, dedupe_owners, request_body_format
from extapi.verbs.fieldmanagement import with_managers
from extapi.verbs.request import ResourceRequest


async def create(request: ResourceRequest[ResourceCreater]) -> Response:
    """Create an object; 201 with the object as stored."""
    accepted = negotiated(request)
    body_format = request_body_format(request)
    body = await request.http.body.read(MAX_BODY)
    options = create_options(request.http.query)
    obj = decoded(request, body, body_format, options.field_validation)
    check_namespace(request, obj)
    dedupe_owners(request, obj)
    wipe_system_metadata(obj)
    obj = await with_managers(request, None, obj, options)
    admission = request.admission("CreateOptions", options)
    resource = request.resource
    if resource.subresource and isinstance(resource, NamedResourceCreater):
        stored = await resource.create_named(request.scope, request.name, obj, admit=admission)
    else:
        stored = await resource.create(request.scope, obj, admit=admission)
    return object_answer(request, accepted, stored, status=201)
