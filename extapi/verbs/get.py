"""GET of one object (spec E24, E25)."""

from __future__ import annotations

from extapi.errors import BadRequest
from extapi.listener.call import Response
from extapi.registry.base import Getter
from extapi.verbs.answer import negotiated, object_answer
from extapi.verbs.target import Target


async def get(target: Target[Getter]) -> Response:
    """The object in the form that the client accepts."""
    accepted = negotiated(target)
    if target.call.first("export") not in {"", "0", "false"}:
        raise BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
    found = await target.resource.get(target.at, target.name, target.call.first("resourceVersion"))
    return object_answer(target, accepted, found)
