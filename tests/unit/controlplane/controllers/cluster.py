"""A small cluster for the controllers: core kinds, a kind of an author, and RBAC, served in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from extapi import Api, Group, Kind, Object, Version
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.core import CONFIG_MAP, NAMESPACE, service_account
from extapi.controlplane.kinds.rbac import CLUSTER_ROLE
from extapi.testing import InMemoryServer, serve

ROOT = "/api/v1/namespaces"
MERGE = {"Content-Type": "application/merge-patch+json"}


class Widget(Object):
    """A thing."""


class Gadget(Object):
    """A thing of which each has to be deleted by its own."""


class NoTokens:
    """The subresource that service accounts have; nothing here asks for tokens."""

    async def create(self, asked: Any, obj: Any) -> Any:
        """Never called."""
        raise NotImplementedError


WIDGETS = Group(
    "example.com",
    Kind("Widget", versions={"v1": Version(Widget), "v1beta1": Version(Widget)}, storage="v1"),
    Kind(
        "Gadget",
        versions={"v1": Version(Gadget)},
        storage="v1",
        behaviour=built_in(without=frozenset({"deletecollection"})),
    ),
)


@contextmanager
def cluster(*controllers: Any, **settings: Any) -> Iterator[InMemoryServer]:
    """The server, with ``controllers`` running."""
    api = Api(
        Group("", NAMESPACE, CONFIG_MAP, service_account(NoTokens())),
        Group("rbac.authorization.k8s.io", CLUSTER_ROLE),
        WIDGETS,
        controllers=controllers,
    )
    with serve(api, **settings) as server:
        yield server


def create(server: InMemoryServer, path: str, name: str, **rest: Any) -> dict[str, Any]:
    """Create an object called ``name``; what it became."""
    metadata = {"name": name, **rest.pop("metadata", {})}
    versions = {"/api/v1": "v1", "/apis/example.com": "example.com/v1", "/apis/rbac": "rbac.authorization.k8s.io/v1"}
    version = next(value for start, value in versions.items() if path.startswith(start))
    kinds = {
        "namespaces": "Namespace", "configmaps": "ConfigMap", "serviceaccounts": "ServiceAccount", "widgets": "Widget",
        "clusterroles": "ClusterRole", "gadgets": "Gadget",
    }  # fmt: skip
    body = {"apiVersion": version, "kind": kinds[path.rpartition("/")[2]], "metadata": metadata, **rest}
    answer = server.request("POST", path, body=body)
    assert answer.status == 201, answer.body
    made: dict[str, Any] = answer.json()
    return made
