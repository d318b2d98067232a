"""The objects that every namespace has: the service account ``default`` and the CA certificate of kube-apiserver.

Source: ``kubernetes/pkg/controller/serviceaccount`` and ``kubernetes/pkg/controller/certificates/rootcacertpublisher``.
"""

from __future__ import annotations

from typing import Any

from extapi import AlreadyExists, Context, Informer
from extapi.controlplane.controllers.resources import NamespacedResource

ACCOUNTS = NamespacedResource("", "v1", "serviceaccounts")
CONFIG_MAPS = NamespacedResource("", "v1", "configmaps")
ROOT_CA = "kube-root-ca.crt"
_ABOUT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal "
    "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)


class AccountController:
    """Creates both where they are missing, and restores a changed CA certificate.

    Args:
        root_ca: The CA certificate, PEM.
    """

    def __init__(self, root_ca: str) -> None:
        annotations = {"kubernetes.io/description": _ABOUT}
        self._wanted: dict[NamespacedResource, dict[str, Any]] = {
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
                *resource,
                field_selector=f"metadata.name={name}",
                on_change=content_changed,
            )

        async def fill(name: str) -> None:
            namespace = namespaces.get("", name)
            if namespace is None or "deletionTimestamp" in namespace["metadata"]:
                return
            for resource, informer in content.items():
                await self._ensure(context, name, resource, informer)

        for informer in (namespaces, *content.values()):
            await informer.wait_synced()
        await queue.each(fill)

    async def _ensure(self, context: Context, namespace: str, resource: NamespacedResource, informer: Informer) -> None:
        wanted = self._wanted[resource]
        name = wanted["metadata"]["name"]
        found = informer.get(namespace, name)
        if found is None:
            try:
                await context.create(*resource, wanted, namespace=namespace)
            except AlreadyExists:
                return  # the informer has not seen it yet
        elif "data" in wanted and found.get("data") != wanted["data"]:
            data = {**dict.fromkeys(found.get("data", ())), **wanted["data"]}
            await context.patch(*resource, name, {"data": data}, namespace=namespace)
