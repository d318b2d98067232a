"""GET of a collection (behaviour E26-E36)."""

from __future__ import annotations

from extapi.api.selectors import escaped, parse_field_selector, unsupported
from extapi.codec.options import ListOptions, list_options
from extapi.errors import BadRequest
from extapi.http.response import Response
from extapi.registry.base import Query, Resource, ResourceLister
from extapi.verbs.answer import list_answer, negotiated
from extapi.verbs.request import ResourceRequest

MOST = 1 << 32
"""The bound on ``limit``: no collection has as many objects, and one more still fits an int64."""


async def list_(request: ResourceRequest[ResourceLister]) -> Response:
    """The objects that the query selects, or a page of them."""
    accepted = negotiated(request, listing=True)
    options = list_options(request.http.query, request.http.selectors)
    listing = await request.resource.list(request.scope, query(request, options))
    return list_answer(request, accepted, listing)


def query(request: ResourceRequest[Resource], options: ListOptions) -> Query:
    """What to select. A name in the path becomes a part of the field selector (behaviour F14)."""
    selectors = request.http.selectors
    labels, fields = selectors.labels, selectors.fields
    selectable = request.resource.selectable(request.scope)
    unknown = unsupported(fields, selectable)
    if unknown is not None:
        raise BadRequest(request.resource.behaviour.selecting.refusal(unknown, selectable))
    if request.name:
        wanted = fields.exact("metadata.name")
        if wanted is None:
            named = f"metadata.name={escaped(request.name)}"
            fields = parse_field_selector(f"{options.field_selector},{named}" if options.field_selector else named)
        elif wanted != request.name:
            raise BadRequest("fieldSelector metadata.name doesn't match requested name")
    limit = min(options.limit, MOST)
    return Query(labels, fields, limit, options.continue_, options.resource_version, options.resource_version_match)
