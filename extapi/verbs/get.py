"""GET of one object (behaviour E24, E25)."""

from __future__ import annotations

from extapi.errors import BadRequest
from extapi.http.response import Response
from extapi.registry.base import ResourceGetter
from extapi.verbs.answer import negotiated, object_answer
from extapi.verbs.request import ResourceRequest


async def get(request: ResourceRequest[ResourceGetter]) -> Response:
    """The object, in the format that the client accepts."""
    accepted = negotiated(request)
    resource_version = ""
    if request.http.query:
        if request.http.first("export") not in {"", "0", "false"}:
            raise BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
        resource_version = request.http.first("resourceVersion")
    found = await request.resource.get(request.scope, request.name, resource_version)
    return object_answer(request, accepted, found)
