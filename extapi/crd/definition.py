"""A CustomResourceDefinition of ``apiextensions.k8s.io/v1``: what its object says, with the names that are derived.

Only reads: an object that breaks the rules of :mod:`extapi.crd.validation` may raise anything here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from extapi.api.types import Obj
from extapi.api.versions import by_priority

API_GROUP: Final = "apiextensions.k8s.io"
API_VERSION: Final = f"{API_GROUP}/v1"
KIND: Final = "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class Definition:
    """The view of one definition. ``obj`` must not be changed while it is in use."""

    obj: Obj

    @property
    def name(self) -> str:
        """The object's name: ``crontabs.stable.example.com``."""
        found: str = self.obj["metadata"]["name"]
        return found

    @property
    def spec(self) -> Obj:
        """The wanted state."""
        found: Obj = self.obj["spec"]
        return found

    @property
    def group(self) -> str:
        """The API group."""
        found: str = self.spec["group"]
        return found

    @property
    def names(self) -> Mapping[str, Any]:
        """``spec.names``, as they were written."""
        found: Mapping[str, Any] = self.spec["names"]
        return found

    @property
    def plural(self) -> str:
        """The resource."""
        found: str = self.names["plural"]
        return found

    @property
    def kind(self) -> str:
        """The kind of one object."""
        found: str = self.names["kind"]
        return found

    @property
    def singular(self) -> str:
        """The resource's name for one object; by default the kind in lower case."""
        return self.names.get("singular") or self.kind.lower()

    @property
    def list_kind(self) -> str:
        """The kind of lists; by default the kind followed by ``List``."""
        return self.names.get("listKind") or f"{self.kind}List"

    @property
    def short_names(self) -> Sequence[str]:
        """More names for clients."""
        return self.names.get("shortNames") or ()

    @property
    def categories(self) -> Sequence[str]:
        """Groups of resources for clients."""
        return self.names.get("categories") or ()

    @property
    def namespaced(self) -> bool:
        """Whether objects live in namespaces."""
        return bool(self.spec["scope"] == "Namespaced")

    @property
    def versions(self) -> Sequence[Mapping[str, Any]]:
        """The versions, in the order in which they are written."""
        found: Sequence[Mapping[str, Any]] = self.spec["versions"]
        return found

    @property
    def storage_version(self) -> str:
        """The version in which objects are stored."""
        found: str = next(version["name"] for version in self.versions if version.get("storage"))
        return found

    @property
    def served_versions(self) -> list[str]:
        """The versions that clients may use, highest priority first."""
        return by_priority(version["name"] for version in self.versions if version.get("served"))

    @property
    def conversion(self) -> Mapping[str, Any]:
        """``spec.conversion``; empty if only ``apiVersion`` differs between versions."""
        return self.spec.get("conversion") or {}

    @property
    def converts_by_webhook(self) -> bool:
        """Whether objects are converted by a webhook."""
        return self.conversion.get("strategy") == "Webhook"
