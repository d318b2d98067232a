"""What the OpenAPI documents are made of: resources, their types and their names, before either version writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extapi.api.behaviour import CUSTOM_RESOURCE, OpenAPIRules
from extapi.api.definition import NAMESPACED, Scope
from extapi.schema.structural import Structural

PATCH_TYPES = ("application/json-patch+json", "application/merge-patch+json")
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, kw_only=True)
class TypeModel:
    """A kind in one version, and its names."""

    group: str
    version: str
    kind: str
    rules: OpenAPIRules = CUSTOM_RESOURCE.openapi
    """How the documents name and describe its schemas and operations."""
    schema: str = ""
    """The name of its schema, where that is not the kind's: operations on ``scale`` name the kind, and send a Scale."""

    @property
    def name(self) -> str:
        """The name of the kind's schema: ``com.example.stable.v1.CronTab``, ``io.k8s.api.core.v1.Namespace``."""
        return self.schema or self.rules.model_name(self.group, self.version, self.kind)

    @property
    def gvk(self) -> dict[str, str]:
        """Group, version and kind, as the extensions of operations and schemas hold them."""
        return {"group": self.group, "kind": self.kind, "version": self.version}


@dataclass(frozen=True, kw_only=True)
class SubresourceModel:
    """A path below each object, besides ``status``."""

    path: str
    verbs: Sequence[str]
    type: TypeModel
    """The type of requests and responses."""
    structural: Structural | None = None
    """Its schema, where the type is not the kind itself."""
    connects: Sequence[str] = ()
    """The HTTP methods that its connecter answers; empty if it has none."""


@dataclass(frozen=True, kw_only=True)
class ResourceModel(TypeModel):
    """One resource in one version."""

    list_kind: str
    plural: str
    singular: str
    structural: Structural
    scope: Scope = NAMESPACED
    verbs: Sequence[str] = ALL_VERBS
    """The verbs that the resource has; other operations are left out."""
    status: bool = True
    """Whether there is a ``status`` subresource."""
    subresources: Sequence[SubresourceModel] = ()
    """All others."""
    patch_types: Sequence[str] = PATCH_TYPES
    selectable: Sequence[str] = ()
    """Paths of the fields that field selectors may name, such as ``spec.color``."""
    returns_deleted: bool = False
    """Whether a delete returns the object instead of a Status."""

    @property
    def list_name(self) -> str:
        """The name of the list's schema."""
        return self.rules.model_name(self.group, self.version, self.list_kind)
