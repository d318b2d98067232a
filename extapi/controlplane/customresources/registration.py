"""Registers the group versions of definitions: an APIService for each, which goes with the last definition.

An APIService that somebody else has made stays as it is: if it names a service, that serves the group version.

Source: ``kubernetes/pkg/controlplane/controller/crdregistration``, ``kube-aggregator/pkg/controllers/autoregister``.
"""

from __future__ import annotations

from typing import Final

from extapi import AlreadyExists, Conflict, Context, Informer, NotFound
from extapi.api.types import Obj
from extapi.controlplane.customresources.served import DEFINITIONS
from extapi.crd.kinds import MOST_VERSIONS

API_SERVICES: Final = ("apiregistration.k8s.io", "v1", "apiservices")
LABEL: Final = "kube-aggregator.kubernetes.io/automanaged"
MANAGED: Final = "true"
GROUP_PRIORITY, VERSION_PRIORITY = 1000, 100


class RegistrationController:
    """Keeps the APIServices of definitions."""

    async def run(self, context: Context) -> None:
        """Work until cancelled."""
        queue = context.queue()
        versions: dict[str, frozenset[str]] = {}
        """The APIServices of each definition, as they were seen last."""

        def defined(event: str, obj: Obj) -> None:
            name = obj["metadata"]["name"]
            now = frozenset() if event == "DELETED" else frozenset(_services(obj))
            for service in now | versions.pop(name, frozenset()):
                queue.add(service)
            versions[name] = now

        def registered(_event: str, obj: Obj) -> None:
            queue.add(obj["metadata"]["name"])

        definitions = context.informer(*DEFINITIONS, on_change=defined)
        services = context.informer(*API_SERVICES, on_change=registered)
        await definitions.wait_synced()
        await services.wait_synced()

        async def keep(name: str) -> None:
            wanted = _wanted(name, definitions)
            await _keep(context, name, wanted, services.get("", name))

        await queue.each(keep)


async def _keep(context: Context, name: str, wanted: Obj | None, found: Obj | None) -> None:
    try:
        if found is None:
            if wanted is not None:
                metadata = {"name": name, "labels": {LABEL: MANAGED}}
                obj = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata}
                await context.create(*API_SERVICES, {**obj, "spec": wanted})
        elif found["metadata"].get("labels", {}).get(LABEL) != MANAGED:
            return  # it is somebody else's
        elif wanted is None:
            await context.delete(*API_SERVICES, name, uid=found["metadata"]["uid"])
        elif found["spec"] != wanted:
            await context.update(*API_SERVICES, {**found, "spec": wanted})
    except (AlreadyExists, Conflict, NotFound):
        return  # it has changed meanwhile, and will be seen again


def _services(definition: Obj) -> list[str]:
    """The names of APIServices of a definition's versions."""
    spec = definition["spec"]
    return [f"{each['name']}.{spec['group']}" for each in _versions(definition)]


def _versions(definition: Obj) -> list[Obj]:
    """The versions that may be served: none if there are so many that the kind is not served at all."""
    found: list[Obj] = definition["spec"]["versions"]
    return found if len(found) <= MOST_VERSIONS else []


def _wanted(name: str, definitions: Informer) -> Obj | None:
    """The content of an APIService; None: no definition serves its version."""
    version, _, group = name.partition(".")
    for each in definitions.items():
        if each["spec"]["group"] == group and any(one["name"] == version and one["served"] for one in _versions(each)):
            return {
                "group": group,
                "version": version,
                "groupPriorityMinimum": GROUP_PRIORITY,
                "versionPriority": VERSION_PRIORITY,
            }
    return None
