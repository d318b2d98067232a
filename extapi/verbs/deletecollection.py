"""DELETE of a collection: lists the objects, then deletes each (behaviour E53)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Protocol

import msgspec

from extapi.codec.options import list_options
from extapi.errors import NotFound
from extapi.http.response import Response
from extapi.registry.base import ListResult, Query, RequestScope, ResourceDeleter, ResourceLister
from extapi.registry.results import ObjectResultList
from extapi.verbs.answer import list_answer, negotiated
from extapi.verbs.delete import read_options, rules
from extapi.verbs.list import query
from extapi.verbs.request import ResourceRequest

PAGE: Final = 10_000
"""Objects in the first page (``deleteCollectionPageSize``)."""


class Collection(ResourceDeleter, ResourceLister, Protocol):
    """A resource whose objects can be deleted together."""


async def deletecollection(request: ResourceRequest[Collection]) -> Response:
    """Delete the objects that the query selects, each with its own admission; 200 with the list as it was."""
    accepted = negotiated(request, listing=True)
    selected = query(request, list_options(request.http.query, request.http.selectors))
    options = await read_options(request)
    admission = msgspec.structs.replace(request.admission("DeleteOptions", options), of_collection=True)
    listing = await _listed(request, selected)
    for item in listing.items:
        metadata = item.decoded()["metadata"]
        scope = RequestScope(request.scope.version, metadata.get("namespace", ""))
        try:
            await request.resource.delete(scope, metadata["name"], rules(options), admit=admission)
        except NotFound:
            continue  # another client was faster
    return list_answer(request, accepted, listing)


async def _listed(request: ResourceRequest[Collection], selected: Query) -> ListResult:
    """The page that the client asked for, or all objects, in two reads of the same revision.

    Source: ``k8s.io/apiserver/pkg/registry/generic/registry/store.go`` DeleteCollection.
    """
    listing = await request.resource.list(request.scope, replace(selected, limit=selected.limit or PAGE))
    if selected.limit or not listing.continue_:
        return listing
    rest = replace(selected, continue_=listing.continue_, resource_version="", resource_version_match="")
    more = await request.resource.list(request.scope, rest)
    return ListResult(ObjectResultList([*listing.items, *more.items]), listing.revision)
