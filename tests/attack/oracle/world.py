"""Objects that are told apart by marks: where a mark is read, its object has been shown.

``api`` is served in memory, and by ``extapi serve tests.attack.oracle.world:api``.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from extapi import CLUSTER, Api, Group, Kind, Object, RESTRequest, Struct, Subresource, Version

GROUP = "oracle.example.com"


class Place(NamedTuple):
    """An object, by resource, namespace and name."""

    plural: str
    namespace: str
    name: str

    @property
    def mark(self) -> str:
        """What only this object carries."""
        return "mark" + hashlib.sha256("/".join(self).encode()).hexdigest()[:12]

    @property
    def collection(self) -> str:
        """The path of its collection."""
        return (
            f"/apis/{GROUP}/v1/namespaces/{self.namespace}/{self.plural}"
            if self.namespace
            else f"/apis/{GROUP}/v1/{self.plural}"
        )

    @property
    def path(self) -> str:
        """Its path."""
        return f"{self.collection}/{self.name}"

    def obj(self) -> dict[str, Any]:
        """The object as it is at first."""
        metadata: dict[str, Any] = {
            "name": self.name,
            "labels": {"mark": self.mark, "app": "x"},
            "annotations": {"mark": self.mark},
        }
        if self.namespace:
            metadata["namespace"] = self.namespace
        return {
            "apiVersion": f"{GROUP}/v1",
            "kind": KINDS[self.plural],
            "metadata": metadata,
            "spec": {"mark": self.mark, "color": "red"},
            "notes": [self.mark],
        }


KINDS = {"things": "Thing", "others": "Other", "globals": "Global", "vaults": "Vault"}

STORED = tuple(
    [
        Place(plural, namespace, name)
        for plural in ("things", "others")
        for namespace in ("a", "b", "c")
        for name in ("one", "two", "three")
    ]
    + [Place("globals", "", name) for name in ("one", "two")]
)
VIRTUAL = tuple(Place("vaults", namespace, name) for namespace in ("a", "b") for name in ("one", "two"))
PLACES = STORED + VIRTUAL
MARKS = {place.mark: place for place in PLACES}


class Spec(Struct):
    mark: str = ""
    color: str = ""


class Vault(Object):
    """Answers itself."""

    spec: Spec = Spec()


class Vaults:
    """Two in each of two namespaces."""

    async def get(self, asked: RESTRequest) -> Vault | None:
        """One of them."""
        place = Place("vaults", asked.namespace, asked.name)
        return self._vault(place) if place in VIRTUAL else None

    async def list(self, asked: RESTRequest) -> list[Vault]:
        """Those of a namespace, or all."""
        return [self._vault(place) for place in VIRTUAL if asked.namespace in ("", place.namespace)]

    @staticmethod
    def _vault(place: Place) -> Vault:
        vault = Vault(spec=Spec(mark=place.mark))
        vault.metadata.name, vault.metadata.namespace = place.name, place.namespace
        return vault


class Act(Object):
    """What is sent to a thing to act on it."""

    spec: Spec = Spec()


class Acts:
    """Shows the mark of the thing that it acts on."""

    async def create(self, asked: RESTRequest, act: Act) -> Act:
        """The mark."""
        act.spec.mark = Place("things", asked.namespace, asked.name).mark
        return act


_SPEC = {"type": "object", "properties": {"mark": {"type": "string"}, "color": {"type": "string"}}}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": _SPEC,
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        "notes": {"type": "array", "items": {"type": "string"}},
    },
}

api = Api(
    Group(
        GROUP,
        Kind(
            "Thing",
            storage="v1",
            versions={"v1": Version(_SCHEMA), "v1beta1": Version(_SCHEMA)},
            selectable=[".spec.color"],
            subresources={"notes": Subresource(field="notes"), "act": Subresource(rest=Acts(), kind="Act", type=Act)},
        ),
        Kind("Other", storage="v1", versions={"v1": Version(_SCHEMA)}),
        Kind("Global", scope=CLUSTER, storage="v1", versions={"v1": Version(_SCHEMA)}),
        Kind("Vault", storage="v1", status=False, versions={"v1": Version(Vault)}, rest=Vaults()),
    )
)
