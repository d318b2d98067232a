"""DELETE of a collection: a list, then a delete of each object in it (spec E53)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Protocol

from extapi.codec.options import list_options
from extapi.errors import NotFound
from extapi.listener.call import Response
from extapi.registry.base import Deleter, Lister, Listing, Place, Query
from extapi.registry.rendering import FreshRenderings
from extapi.verbs.answer import list_answer, negotiated
from extapi.verbs.delete import read_options, rules
from extapi.verbs.list import query
from extapi.verbs.target import Target

PAGE: Final = 10_000
"""Objects that are read first (``deleteCollectionPageSize``)."""


class Collection(Deleter, Lister, Protocol):
    """A resource whose objects can be deleted together."""


async def deletecollection(target: Target[Collection]) -> Response:
    """Delete what the query selects, each object with its own admission; 200 with the list as it was."""
    accepted = negotiated(target, listing=True)
    selected = query(target, list_options(target.call.query, target.call.selectors))
    options = await read_options(target)
    admission = target.admission("DeleteOptions", options)
    listing = await _listed(target, selected)
    for item in listing.items:
        metadata = item.decoded()["metadata"]
        at = Place(target.at.version, metadata.get("namespace", ""))
        try:
            await target.resource.delete(at, metadata["name"], rules(options), admit=admission)
        except NotFound:
            continue  # somebody else was faster
    return list_answer(target, accepted, listing)


async def _listed(target: Target[Collection], selected: Query) -> Listing:
    """The page that the client asked for, or all objects, read as a page and the rest.

    So a ``resourceVersion`` is that of the one state that is deleted, as in kube-apiserver (``Store.DeleteCollection``).
    """
    listing = await target.resource.list(target.at, replace(selected, limit=selected.limit or PAGE))
    if selected.limit or not listing.continue_:
        return listing
    rest = replace(selected, continue_=listing.continue_, resource_version="", resource_version_match="")
    more = await target.resource.list(target.at, rest)
    return Listing(FreshRenderings([*listing.items, *more.items]), listing.revision)
