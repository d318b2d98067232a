"""Which verbs a resource has: those whose methods exist (behaviour C11)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from extapi.registry.base import (
    RequestScope,
    Resource,
    ResourceCreater,
    ResourceDeleter,
    ResourceGetter,
    ResourceLister,
    ResourceUpdater,
    ResourceWatcher,
)
from extapi.registry.connecting import ConnectResource
from extapi.registry.served import ServedKind
from extapi.verbs.connect import connect
from extapi.verbs.create import create
from extapi.verbs.delete import delete
from extapi.verbs.deletecollection import deletecollection
from extapi.verbs.get import get
from extapi.verbs.list import list_
from extapi.verbs.patch import patch
from extapi.verbs.update import update
from extapi.verbs.watch import watch

_VERBS: Mapping[str, tuple[Any, tuple[type, ...]]] = {
    "create": (create, (ResourceCreater,)),
    "delete": (delete, (ResourceDeleter,)),
    "deletecollection": (deletecollection, (ResourceDeleter, ResourceLister)),
    "get": (get, (ResourceGetter,)),
    "list": (list_, (ResourceLister,)),
    "patch": (patch, (ResourceUpdater,)),
    "update": (update, (ResourceUpdater,)),
    "watch": (watch, (ResourceWatcher,)),
}


class TypeName(NamedTuple):
    """Group, version and kind of the objects in requests and responses."""

    group: str
    version: str
    kind: str


@dataclass(frozen=True)
class Endpoint:
    """A resource in one version."""

    resource: Resource
    version: str
    handlers: Mapping[str, Any]
    """The functions that handle requests, by verb."""
    warning: str = ""
    """What every response warns of: a deprecated version."""
    connects: tuple[str, ...] = ()
    """The methods that its connecter answers; empty if it has none."""
    series: dict[Any, Any] = field(default_factory=dict, compare=False)
    """The series of its requests, by what is at hand of a request: see :mod:`extapi.server.requestmetrics`."""

    @property
    def type(self) -> TypeName:
        """The type of the objects; that of a subresource may be in another group."""
        group, _, version = self.resource.api_version(RequestScope(self.version)).rpartition("/")
        return TypeName(group, version, self.resource.kind)

    @property
    def verbs(self) -> list[str]:
        """The verbs in alphabetical order."""
        return sorted(filter(None, self.handlers))


CONNECT_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
    "OPTIONS": "",
}
"""What authorization asks for each method of a connecter; OPTIONS has no verb (behaviour B5)."""


Endpoints = Mapping[tuple[str, str, str, str], Endpoint]
"""Endpoints by group, version, plural and subresource."""


class InstalledKinds:
    """Kinds with their endpoints, in order.

    Args:
        endpoints: The endpoints of each kind.
    """

    def __init__(self, endpoints: Mapping[ServedKind, Endpoints]) -> None:
        self.endpoints = endpoints
        self._served: dict[tuple[str, str], list[ServedKind]] = {}
        for kind in endpoints:
            for version in kind.kind.served_versions():
                self._served.setdefault((kind.group, version), []).append(kind)

    def served(self, group: str, version: str) -> list[ServedKind]:
        """The kinds of a group that are served in a version."""
        return self._served.get((group, version), [])


def endpoint(
    resource: Resource, version: str, warning: str = "", *, without: Collection[str] = frozenset()
) -> Endpoint:
    """The endpoint of a resource, with every verb that its methods allow except those in ``without``."""
    if isinstance(resource, ConnectResource):
        connecting = {verb: connect for method, verb in CONNECT_VERBS.items() if method in resource.methods}
        return Endpoint(resource, version, connecting, warning, tuple(resource.methods))
    handlers = {
        verb: function
        for verb, (function, needs) in _VERBS.items()
        if verb not in without and all(isinstance(resource, need) for need in needs)
    }
    return Endpoint(resource, version, handlers, warning)
