"""Kinds that are stored by their author, for ``extapi serve tests.kubernetes.parlour:api``: with and without room for managers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from extapi import RELIST, Api, Context, Group, Kind, RESTRequest, Version

GROUP = "parlour.example.com"
VERSION = "v1"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"scoops": {"type": "integer"}, "flavour": {"type": "string"}}}
    },
}


class Keeping:
    """Keeps objects as they are given."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], dict[str, Any]] = {}

    def _keep(self, request: RESTRequest, obj: dict[str, Any]) -> dict[str, Any]:
        if not request.dry_run:
            self._kept[request.namespace, obj["metadata"]["name"]] = self._stored(obj)
        return obj

    def _stored(self, obj: dict[str, Any]) -> dict[str, Any]:
        return obj

    async def list(self, request: RESTRequest) -> list[dict[str, Any]]:
        return [obj for (namespace, _), obj in self._kept.items() if request.namespace in {"", namespace}]

    async def get(self, request: RESTRequest) -> dict[str, Any] | None:
        return self._kept.get((request.namespace, request.name))

    async def create(self, request: RESTRequest, obj: dict[str, Any]) -> dict[str, Any]:
        return self._keep(request, obj)

    async def update(self, request: RESTRequest, obj: dict[str, Any]) -> dict[str, Any]:
        return self._keep(request, obj)

    async def delete(self, request: RESTRequest) -> None:
        if not request.dry_run:
            del self._kept[request.namespace, request.name]


class Fed(Keeping):
    """With a feed, which has nothing to say but in answers."""

    async def changes(self, context: Context) -> AsyncIterator[Any]:
        yield RELIST
        while True:
            await context.sleep(3600)


class Forgetting(Fed):
    """Has room for the name and the spec only, and returns what is stored."""

    def _keep(self, request: RESTRequest, obj: dict[str, Any]) -> dict[str, Any]:
        return self._stored(super()._keep(request, obj))

    def _stored(self, obj: dict[str, Any]) -> dict[str, Any]:
        metadata = {name: obj["metadata"][name] for name in ("name", "namespace")}
        return {"metadata": metadata, "spec": obj.get("spec", {})}


def _kind(name: str, rest: Keeping) -> Kind:
    return Kind(name, storage=VERSION, status=False, versions={VERSION: Version(SCHEMA)}, rest=rest)


api = Api(Group(GROUP, _kind("Cone", Keeping()), _kind("Cup", Fed()), _kind("Lick", Forgetting())))
