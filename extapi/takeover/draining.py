"""Ends what kube-apiserver still does for a definition's objects: requests in flight, then open watches.

A change of a definition's spec makes kube-apiserver build the storage of its objects anew. The old one goes when the last
request in flight has ended, and takes the watches on it along. So a watch of our own that began before the change and has
ended says that no older write is on its way any more. The change is a remark in a description, made and taken back by turns.

Source: ``apiextensions-apiserver/pkg/apiserver/customresource_handler.go`` updateCustomResourceDefinition, tearDown.
"""

from __future__ import annotations

from collections.abc import Callable

from extapi.client.kube import JSON_PATCH, Obj
from extapi.client.transport import TransportError
from extapi.clock import stop_timer
from extapi.console.failure import told
from extapi.errors import ApiError, Conflict, Invalid
from extapi.takeover.cluster import DEFINITIONS, Cluster
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.moved import MovedKind, read_definition

REMARK = " (extapi: being moved)"
"""Is appended to the description of the first version's schema, and taken off again."""
SECONDS = 150.0
"""How long that may take: twice the time that kube-apiserver gives a request, and some more."""
_ATTEMPTS = 5


async def drain(cluster: Cluster, kind: MovedKind) -> None:
    """Wait until all requests that began before this call have ended; open watches end as well.

    Raises:
        TakeoverFailure: They do not end, or the definition cannot be changed.
    """
    version = str((await cluster.client.list(kind.resource, query={"limit": "1"}))["metadata"]["resourceVersion"])
    query = {"resourceVersion": version, "timeoutSeconds": str(int(2 * SECONDS))}
    watch = await cluster.client.watch(kind.resource, query=query)
    late = False

    def end() -> None:
        nonlocal late
        late = True
        watch.close()

    timer = cluster.clock.callLater(SECONDS, end)
    try:
        await change(cluster, kind)
        async for _ in watch:
            pass
    except TransportError:
        pass  # cut off is ended, too
    except ApiError as error:
        raise TakeoverFailure(f"the watch of {kind.name} failed: {told(error)}; run it again") from error
    finally:
        stop_timer(timer)
        watch.close()
    if late:
        raise TakeoverFailure(
            f"requests to {kind.name} that began before its freeze have not ended within {SECONDS:g} s; run it again"
        )


async def change(cluster: Cluster, kind: MovedKind) -> None:
    """Add the remark to the definition, or take it off.

    Raises:
        TakeoverFailure: The definition cannot be changed.
    """
    await _described(cluster, kind, lambda text: text.removesuffix(REMARK) if text.endswith(REMARK) else text + REMARK)


async def restore(cluster: Cluster, kind: MovedKind) -> None:
    """Take the remark off, if it is there.

    Raises:
        TakeoverFailure: The definition cannot be changed.
    """
    await _described(cluster, kind, lambda text: text.removesuffix(REMARK))


async def _described(cluster: Cluster, kind: MovedKind, change: Callable[[str], str]) -> None:
    """Change the description, again after each conflict."""
    for attempt in range(_ATTEMPTS):
        definition = await read_definition(cluster, kind.name)
        patch = description_patch(definition, change)
        if not patch:
            return
        try:
            await cluster.client.patch(DEFINITIONS, kind.name, patch, content_type=JSON_PATCH)
        except (Conflict, Invalid) as error:
            # Of a failed test operation in a patch, kube-apiserver says 422.
            if attempt == _ATTEMPTS - 1:
                raise TakeoverFailure(f"{kind.name} cannot be changed: {told(error)}; run it again") from error
        except ApiError as error:
            raise TakeoverFailure(f"{kind.name} cannot be changed: {told(error)}") from error
        else:
            return


def description_patch(definition: Obj, change: Callable[[str], str]) -> list[Obj]:
    """The JSON patch that changes the description; empty if nothing changes.

    Raises:
        TakeoverFailure: The first version has no schema, as none that was made through apiextensions.k8s.io/v1.
    """
    schema = ((definition["spec"]["versions"][0].get("schema") or {}).get("openAPIV3Schema")) or {}
    if not schema:
        raise TakeoverFailure(
            f"{definition['metadata']['name']} has no schema for {definition['spec']['versions'][0]['name']}: give it one"
        )
    before = str(schema.get("description", ""))
    after = change(before)
    if after == before:
        return []
    path = "/spec/versions/0/schema/openAPIV3Schema/description"
    what: Obj = {"op": "add", "path": path, "value": after} if after else {"op": "remove", "path": path}
    version = definition["metadata"]["resourceVersion"]
    return [{"op": "test", "path": "/metadata/resourceVersion", "value": version}, what]
