"""GET of a collection (spec E26-E36)."""

from __future__ import annotations

from extapi.api.selectors import escaped, parse_field_selector, supported
from extapi.codec.options import ListOptions, list_options
from extapi.errors import BadRequest
from extapi.listener.call import Response
from extapi.registry.base import Lister, Query, Resource
from extapi.registry.selectable import COMMON
from extapi.verbs.answer import list_answer, negotiated
from extapi.verbs.target import Target

MOST = 1 << 32
"""A larger ``limit`` is as good as this one: no collection has as many objects, and one more still fits an int64."""


async def list_(target: Target[Lister]) -> Response:
    """The objects that the query selects, or a page of them."""
    accepted = negotiated(target, listing=True)
    options = list_options(target.call.query, target.call.selectors)
    listing = await target.resource.list(target.at, query(target, options))
    return list_answer(target, accepted, listing)


def query(target: Target[Resource], options: ListOptions) -> Query:
    """What to select; a name in the path joins the field selector (spec F14)."""
    selectors = target.call.selectors
    labels, fields = selectors.labels, selectors.fields
    selectable = target.resource.selectable(target.at)
    supported(fields, selectable, native=selectable == COMMON and target.resource.native is not None)
    if target.name:
        wanted = fields.exact("metadata.name")
        if wanted is None:
            named = f"metadata.name={escaped(target.name)}"
            fields = parse_field_selector(f"{options.field_selector},{named}" if options.field_selector else named)
        elif wanted != target.name:
            raise BadRequest("fieldSelector metadata.name doesn't match requested name")
    limit = min(options.limit, MOST)
    return Query(labels, fields, limit, options.continue_, options.resource_version, options.resource_version_match)
