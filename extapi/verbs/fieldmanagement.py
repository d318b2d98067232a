"""Who manages the fields of an object after a create, an update or a patch (behaviour E69, E70)."""

from __future__ import annotations

from extapi.api.timestamp import format_timestamp
from extapi.api.types import Obj
from extapi.clock import wall_time
from extapi.codec.options import WriteOptions, manager_of
from extapi.registry.base import Resource
from extapi.verbs.request import ResourceRequest


async def with_managers(request: ResourceRequest[Resource], live: Obj | None, new: Obj, options: WriteOptions) -> Obj:
    """The new object with its managed fields, if the resource tracks them; ``live``: the object before.

    Comes before admission, so that plugins' changes have the manager of the request only by a later write, as in
    kube-apiserver.

    Raises:
        ApiError: A conversion failed.
    """
    fields = request.resource.field_manager(request.scope)
    if fields is None:
        new["metadata"].pop("managedFields", None)
        return new
    manager = manager_of(options.field_manager, request.http.header("user-agent"))
    return await fields.update(live, new, manager, now(request))


def now(request: ResourceRequest[Resource]) -> str:
    """The time of a write, as ``metav1.Time`` writes it."""
    return format_timestamp(wall_time(request.clock))
