"""What is remembered of stored versions after a migration: of a definition, ``status.storedVersions`` names the storage version.

kube-apiserver adds to that list and never takes anything off it (behaviour J3); only who has migrated everything can.
"""

from __future__ import annotations

from extapi.client.kube import Obj
from extapi.console.failure import told
from extapi.errors import ApiError, Conflict
from extapi.takeover.cluster import APISERVICES, DEFINITIONS, Cluster
from extapi.takeover.failure import TakeoverFailure

_ATTEMPTS = 5


def storage_version(definition: Obj) -> str:
    """The version in which new objects are stored."""
    return next(str(each["name"]) for each in definition["spec"]["versions"] if each.get("storage"))


async def serving_definition(cluster: Cluster, group: str, version: str, resource: str) -> Obj | None:
    """The definition whose objects kube-apiserver itself serves under that version; None if something else serves them."""
    definition = await cluster.get(DEFINITIONS, f"{resource}.{group}")
    if definition is None:
        return None
    route = await cluster.get(APISERVICES, f"{version}.{group}")
    return None if route is not None and route["spec"].get("service") else definition


async def prune(cluster: Cluster, before: Obj) -> list[str]:
    """Take the versions in which nothing is stored any more off ``status.storedVersions``.

    Args:
        cluster: The cluster.
        before: The definition as it was before the migration began.

    Returns:
        The versions that were taken off.

    Raises:
        TakeoverFailure: The storage version has changed since, so that newer objects may be in another one; or
            kube-apiserver refuses.
    """
    name, wanted = before["metadata"]["name"], storage_version(before)
    for attempt in range(_ATTEMPTS):
        live = await cluster.client.get(DEFINITIONS, name)
        if live["metadata"]["uid"] != before["metadata"]["uid"] or storage_version(live) != wanted:
            raise TakeoverFailure(
                f"{name}: its storage version has changed during the migration; run the same command again"
            )
        stored = list((live.get("status") or {}).get("storedVersions") or ())
        if stored == [wanted]:
            return []
        live["status"] = {**live.get("status", {}), "storedVersions": [wanted]}
        try:
            await cluster.client.update(DEFINITIONS, name, live, subresource="status")
        except Conflict as error:
            if attempt == _ATTEMPTS - 1:
                raise TakeoverFailure(
                    f"{name} changes all the time: {told(error)}; run the same command again"
                ) from error
        except ApiError as error:
            raise TakeoverFailure(f"{name}: status.storedVersions cannot be written: {told(error)}") from error
        else:
            return [version for version in stored if version != wanted]
    return []
