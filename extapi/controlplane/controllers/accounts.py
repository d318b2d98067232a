"""What is in every namespace: the service account ``default``, and the CA by which pods would know kube-apiserver.

Source: ``kubernetes/pkg/controller/serviceaccount`` and ``kubernetes/pkg/controller/certificates/rootcacertpublisher``.
"""

from __future__ import annotations

from typing import Any

from extapi import Context, Informer
from extapi.client.kube import Client, ResourceName
from extapi.errors import AlreadyExists

ACCOUNTS = ResourceName("", "v1", "serviceaccounts")
CONFIG_MAPS = ResourceName("", "v1", "configmaps")
ROOT_CA = "kube-root-ca.crt"
_ABOUT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal "
    "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)


class AccountController:
    """Makes both where they are missing, and puts the CA right where it was changed. ``root_ca``: PEM."""

    def __init__(self, root_ca: str) -> None:
        annotations = {"kubernetes.io/description": _ABOUT}
        self._wanted: dict[ResourceName, dict[str, Any]] = {
            ACCOUNTS: {"metadata": {"name": "default"}},
            CONFIG_MAPS: {"metadata": {"name": ROOT_CA, "annotations": annotations}, "data": {"ca.crt": root_ca}},
        }

    async def run(self, context: Context) -> None:
        """Work until cancelled."""
        queue = context.queue()

        def namespace_changed(_event: str, namespace: dict[str, Any]) -> None:
            queue.add(namespace["metadata"]["name"])

        def content_changed(_event: str, obj: dict[str, Any]) -> None:
            queue.add(obj["metadata"]["namespace"])

        namespaces = context.informer("", "v1", "namespaces", on_change=namespace_changed)
        content = {}
        for resource, wanted in self._wanted.items():
            name = wanted["metadata"]["name"]
            content[resource] = context.informer(
                *(resource.group, resource.version, resource.resource),
                field_selector=f"metadata.name={name}",
                on_change=content_changed,
            )

        async def fill(name: str) -> None:
            namespace = namespaces.get("", name)
            if namespace is None or "deletionTimestamp" in namespace["metadata"]:
                return
            for resource, informer in content.items():
                await self._ensure(context.client, name, resource, informer)

        for followed in (namespaces, *content.values()):
            await followed.wait_synced()
        await queue.each(fill)

    async def _ensure(self, client: Client, namespace: str, resource: ResourceName, informer: Informer) -> None:
        wanted = self._wanted[resource]
        name = wanted["metadata"]["name"]
        found = informer.get(namespace, name)
        if found is None:
            try:
                await client.create(resource, wanted, namespace=namespace)
            except AlreadyExists:
                return  # the informer has not heard of it yet
        elif "data" in wanted and found.get("data") != wanted["data"]:
            data = {**dict.fromkeys(found.get("data", ())), **wanted["data"]}
            await client.patch(resource, name, {"data": data}, namespace=namespace)
