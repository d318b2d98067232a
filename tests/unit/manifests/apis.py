"""APIs to render manifests for, as ``extapi manifests`` names them."""

from __future__ import annotations

from typing import Any

from extapi import CLUSTER, Api, Group, Kind, Scale, Subresource, Version
from extapi.controlplane.builtin.behaviour import built_in

ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class Desk:
    """Answers reviews."""

    async def create(self, _asked: Any, obj: Any) -> Any:
        return obj


class Shelf:
    """Lends books."""

    async def get(self, _asked: Any) -> Any:
        return {}

    async def update(self, _asked: Any, change: Any) -> Any:
        return change


reviews = Api(
    Group("desk.example.com", Kind("Review", scope=CLUSTER, storage="v1", versions={"v1": Version(ANY)}, rest=Desk()))
)
"""Nothing of it is stored."""

library = Api(
    Group(
        "library.example.com",
        Kind(
            "Book",
            storage="v1",
            versions={"v2beta1": Version(ANY), "v1": Version(ANY), "v1alpha1": Version(ANY)},
            subresources={"loan": Subresource(rest=Shelf()), "place": Subresource(field="place")},
        ),
        Kind("Reader", storage="v1", status=False, versions={"v1": Version(ANY)}),
    ),
    Group(
        "archive.example.com",
        Kind(
            "Chest",
            storage="v1",
            versions={"v1": Version(ANY)},
            scale=Scale(spec_replicas_path=".spec.n", status_replicas_path=".status.n"),
        ),
    ),
)
"""Two groups, several versions, subresources."""

core = Api(Group("", Kind("Thing", storage="v1", versions={"v1": Version(ANY)}, behaviour=built_in())))
"""What is Kubernetes' own."""


class Careless:
    """Says in words what it needs."""

    needs = ("list things",)

    async def start(self, _context: Any) -> None: ...


careless = Api(
    Group("careless.example.com", Kind("Thing", storage="v1", versions={"v1": Version(ANY)})), admission=[Careless()]
)
