"""DELETE of a collection: a list, then a delete of each object in it (spec E53)."""

from __future__ import annotations

from typing import Protocol

from extapi.codec.options import list_options
from extapi.errors import NotFound
from extapi.listener.call import Response
from extapi.registry.base import Deleter, Lister, Place
from extapi.verbs.answer import list_answer, negotiated
from extapi.verbs.delete import read_options, rules
from extapi.verbs.list import query
from extapi.verbs.target import Target


class Collection(Deleter, Lister, Protocol):
    """A resource whose objects can be deleted together."""


async def deletecollection(target: Target[Collection]) -> Response:
    """Delete what the query selects, each object with its own admission; 200 with the list as it was."""
    accepted = negotiated(target, listing=True)
    selected = list_options(target.call.query)
    options = await read_options(target)
    admission = target.admission("DeleteOptions", options)
    listing = await target.resource.list(target.at, query(target, selected))
    for item in listing.items:
        metadata = item.decoded()["metadata"]
        at = Place(target.at.version, metadata.get("namespace", ""))
        try:
            await target.resource.delete(at, metadata["name"], rules(options), admit=admission)
        except NotFound:
            continue  # somebody else was faster
    return list_answer(target, accepted, listing)
