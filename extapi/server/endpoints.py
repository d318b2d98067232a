"""Which verbs a resource answers: those whose methods exist (spec C11)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from extapi.registry.base import Creater, Deleter, Getter, Lister, Place, Resource, Updater, Watcher
from extapi.verbs.create import create
from extapi.verbs.delete import delete
from extapi.verbs.deletecollection import deletecollection
from extapi.verbs.get import get
from extapi.verbs.list import list_
from extapi.verbs.patch import patch
from extapi.verbs.update import update
from extapi.verbs.watch import watch

_VERBS: Mapping[str, tuple[Any, tuple[type, ...]]] = {
    "create": (create, (Creater,)),
    "delete": (delete, (Deleter,)),
    "deletecollection": (deletecollection, (Deleter, Lister)),
    "get": (get, (Getter,)),
    "list": (list_, (Lister,)),
    "patch": (patch, (Updater,)),
    "update": (update, (Updater,)),
    "watch": (watch, (Watcher,)),
}


class TypeName(NamedTuple):
    """Group, version and kind of what is sent and answered."""

    group: str
    version: str
    kind: str


@dataclass(frozen=True)
class Endpoint:
    """A resource in one version. ``warning``: what every answer warns of, or the empty string (a deprecated version)."""

    resource: Resource
    version: str
    handlers: Mapping[str, Any]
    warning: str = ""

    @property
    def type(self) -> TypeName:
        """What is sent and answered: of subresources that may be of another group."""
        group, _, version = self.resource.api_version(Place(self.version)).rpartition("/")
        return TypeName(group, version, self.resource.kind)

    @property
    def verbs(self) -> list[str]:
        """The verbs as discovery lists them: sorted."""
        return sorted(self.handlers)


Endpoints = Mapping[tuple[str, str, str, str], Endpoint]
"""All endpoints of a server, by group, version, plural and subresource."""


def endpoint(
    resource: Resource, version: str, warning: str = "", *, without: Collection[str] = frozenset()
) -> Endpoint:
    """The endpoint of a resource with every verb that its methods allow, but for those in ``without``."""
    handlers = {
        verb: function
        for verb, (function, needs) in _VERBS.items()
        if verb not in without and all(isinstance(resource, need) for need in needs)
    }
    return Endpoint(resource, version, handlers, warning)
