"""What OpenAPI documents say of a resource, before it is said in version 2 or 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from extapi.api.definition import NAMESPACED, Scope
from extapi.schema.openapi_meta import META
from extapi.schema.openapi_parameters import (
    DELETE,
    DELETECOLLECTION,
    GET,
    LIST,
    PATCH,
    WATCHING,
    WRITE,
    Parameter,
    common,
    of_path,
    parameters,
)
from extapi.schema.structural import Structural

MEDIA_TYPES = ("application/json", "application/yaml")
PATCH_TYPES = ("application/json-patch+json", "application/merge-patch+json")
STRATEGIC = "application/strategic-merge-patch+json"
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, kw_only=True)
class TypeModel:
    """A kind in one version, as it is named."""

    group: str
    version: str
    kind: str
    native: bool = False
    """Whether it is one of Kubernetes' own, whose schemas and operations are named in another way."""

    @property
    def name(self) -> str:
        """The name of the kind's schema: ``com.example.stable.v1.CronTab``, ``io.k8s.api.core.v1.Namespace``."""
        return model_name(self.group, self.version, self.kind, native=self.native)

    @property
    def gvk(self) -> dict[str, str]:
        """Group, version and kind, as extensions of operations and schemas hold them."""
        return {"group": self.group, "kind": self.kind, "version": self.version}


@dataclass(frozen=True, kw_only=True)
class SubresourceModel:
    """A path below each object, besides ``status``."""

    path: str
    verbs: Sequence[str]
    type: TypeModel
    """What is sent and answered."""
    structural: Structural | None = None
    """Its schema, where that is not the kind itself."""


@dataclass(frozen=True, kw_only=True)
class ResourceModel(TypeModel):
    """One resource in one version."""

    list_kind: str
    plural: str
    singular: str
    structural: Structural
    scope: Scope = NAMESPACED
    verbs: Sequence[str] = ALL_VERBS
    """The verbs that the resource has; operations of others are left out."""
    status: bool = True
    """Whether there is a ``status`` subresource."""
    subresources: Sequence[SubresourceModel] = ()
    """All others."""
    patch_types: Sequence[str] = PATCH_TYPES
    selectable: Sequence[str] = ()
    """Paths of the fields that field selectors may name, such as ``spec.color``."""
    returns_deleted: bool = False
    """Whether a deletion answers with the object, not with a Status."""

    @property
    def list_name(self) -> str:
        """The name of the list's schema."""
        return model_name(self.group, self.version, self.list_kind, native=self.native)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method on one path. Schemas are named in full; an empty ``body`` means that nothing is sent."""

    path: str
    method: str
    action: str
    id: str
    description: str
    answer: str
    codes: Sequence[int] = (200,)
    parameters: Sequence[Parameter] = ()
    """Those of the query that the path does not name for all of its operations."""
    body: str = ""
    body_required: bool = True
    body_types: Sequence[str] = MEDIA_TYPES
    tag: str
    gvk: Mapping[str, str]


@dataclass(frozen=True)
class PathModel:
    """A path: its operations, and the parameters that all of them have."""

    path: str
    parameters: Sequence[Parameter]
    operations: Sequence[Operation]


def paths(model: ResourceModel) -> Iterator[PathModel]:
    """Every path of a resource and of its subresources."""
    found: dict[str, list[Operation]] = {}
    for operation in operations(model):
        found.setdefault(operation.path, []).append(operation)
    for path, each in found.items():
        shared = common([operation.parameters for operation in each])
        own = [replace(one, parameters=sorted(set(one.parameters).difference(shared))) for one in each]
        yield PathModel(path, sorted([*shared, *of_path(path, model.kind)]), own)


def operations(model: ResourceModel) -> Iterator[Operation]:
    """Every operation of a resource and of its subresources, but for the parameters that stand in its path."""
    root = f"/apis/{model.group}/{model.version}" if model.group else f"/api/{model.version}"
    flat = f"{root}/{model.plural}"
    namespaced = model.scope is NAMESPACED
    items = f"{root}/namespaces/{{namespace}}/{model.plural}" if namespaced else flat
    of = _Naming(model)
    listing = parameters(name for name in LIST if "watch" in model.verbs or name not in WATCHING)
    if namespaced and "list" in model.verbs:
        yield of.operation(flat, "get", "list", f"list{of.group}{model.kind}ForAllNamespaces", of.many, options=listing)
    if "list" in model.verbs:
        yield of.operation(items, "get", "list", of.id("list"), of.many, options=listing)
    if "create" in model.verbs:
        yield of.write(items, "post", "create", codes=(200, 201, 202))
    if "deletecollection" in model.verbs:
        name = of.id("delete", "Collection")
        options = parameters(DELETECOLLECTION) if model.native else listing
        yield of.delete(items, "deletecollection", name, (200,), options, body=model.native)
    one = f"{items}/{{name}}"
    yield from of.single(one)
    if "delete" in model.verbs:
        yield of.delete(one, "delete", of.id("delete"), (200, 202), parameters(DELETE))
    if model.status:
        yield from of.single(f"{one}/status", "Status")
    for sub in model.subresources:
        part = _Naming(model, sub.type)
        where, name = f"{one}/{sub.path}", operation_name(sub.path)
        if "create" in sub.verbs:
            yield part.write(where, "post", "create", codes=(200, 201, 202), sub=name)
        yield from part.single(where, name, sub.verbs)
        if "delete" in sub.verbs:
            yield part.delete(where, "delete", of.id("delete", sub=name), (200, 202), parameters(DELETE))


class _Naming:
    """How operations of one resource are named and described."""

    def __init__(self, model: ResourceModel, of: TypeModel | None = None) -> None:
        self.model = model
        self.type = of or model
        self.many = model.list_name
        group = model.group.removesuffix(".k8s.io") if model.native else model.group
        head = operation_name(group or "core")
        self.group = f"{head}{operation_name(model.version)}"
        self.tag = f"{head[:1].lower()}{head[1:]}_{model.version}"
        self.body_types = ("*/*",) if model.native else MEDIA_TYPES

    def id(self, verb: str, collection: str = "", sub: str = "") -> str:
        namespaced = "Namespaced" if self.model.scope is NAMESPACED else ""
        return f"{verb}{self.group}{collection}{namespaced}{self.model.kind}{sub}"

    def operation(
        self,
        path: str,
        method: str,
        action: str,
        name: str,
        answer: str,
        *,
        options: Sequence[Parameter] = (),
        sub: str = "",
    ) -> Operation:
        """An operation that sends nothing."""
        kind = self.model.kind
        whose = f"{sub.lower()} of " if sub else ""
        described = f"list objects of kind {kind}" if action == "list" else f"read {whose}the specified {kind}"
        return Operation(
            path=path,
            method=method,
            action=action,
            id=name,
            description=described,
            answer=answer,
            parameters=options,
            tag=self.tag,
            gvk=self.type.gvk,
        )

    def write(self, path: str, method: str, verb: str, *, codes: Sequence[int], sub: str = "") -> Operation:
        """An operation that sends an object or a patch."""
        patch = method == "patch"
        described = {"create": "create", "replace": "replace", "patch": "partially update"}[verb]
        whose = f"{sub.lower()} of " if sub else ""
        which = _article(self.model.kind) if verb == "create" else f"the specified {self.model.kind}"
        return Operation(
            path=path,
            method=method,
            action=method,
            id=self.id(verb, sub=sub),
            description=f"{described} {whose}{which}",
            answer=self.type.name,
            codes=codes,
            parameters=parameters(PATCH if patch else WRITE),
            body=f"{META}Patch" if patch else self.type.name,
            body_types=tuple(self.model.patch_types) if patch else self.body_types,
            tag=self.tag,
            gvk=self.type.gvk,
        )

    def delete(
        self,
        path: str,
        action: str,
        name: str,
        codes: Sequence[int],
        options: Sequence[Parameter],
        *,
        body: bool = True,
    ) -> Operation:
        """A deletion, with options in the body where wanted."""
        kind = self.model.kind
        text = f"delete collection of {kind}" if action == "deletecollection" else f"delete {_article(kind)}"
        return Operation(
            path=path,
            method="delete",
            action=action,
            id=name,
            description=text,
            answer=self.type.name if action == "delete" and self.model.returns_deleted else f"{META}Status",
            codes=codes,
            parameters=options,
            body=f"{META}DeleteOptions" if body else "",
            body_required=False,
            body_types=self.body_types,
            tag=self.tag,
            gvk=self.type.gvk,
        )

    def single(self, path: str, sub: str = "", verbs: Sequence[str] | None = None) -> Iterator[Operation]:
        """Read, replace and patch one object, or a subresource of it; by default with the verbs of the resource."""
        verbs = self.model.verbs if verbs is None else verbs
        if "get" in verbs:
            options = () if self.model.native else parameters(GET)
            yield self.operation(path, "get", "get", self.id("read", sub=sub), self.type.name, options=options, sub=sub)
        if "update" in verbs:
            yield self.write(path, "put", "replace", codes=(200, 201), sub=sub)
        if "patch" in verbs:
            # A patch of a custom resource creates nothing; one of Kubernetes' own kinds may, by server-side apply.
            yield self.write(path, "patch", "patch", codes=(200, 201) if self.model.native else (200,), sub=sub)


def model_name(group: str, version: str, kind: str, *, native: bool = False) -> str:
    """The name of a kind's schema: the group's parts in reverse, the version, the kind.

    Of Kubernetes' own groups only the first part counts, below ``io.k8s.api``.
    """
    if native or not group:
        return f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{kind}"
    return ".".join([*reversed(group.split(".")), version, kind])


def operation_name(text: str) -> str:
    """``stable.example-x.com`` becomes ``StableExampleXCom``: what is no letter or digit starts a capital."""
    parts = "".join(char if char.isalnum() or char == "_" else " " for char in text).split()
    return "".join(part[:1].upper() + part[1:] for part in parts)


def _article(kind: str) -> str:
    """Source: ``k8s.io/apiserver/pkg/endpoints`` GetArticleForNoun, which takes an ``s`` for that of a plural."""
    if kind.endswith("s") and not kind.endswith("ss"):
        return kind
    return f"{'an' if kind[:1] in 'AEIOU' else 'a'} {kind}"


ANSWERS = {200: "OK", 201: "Created", 202: "Accepted", 401: "Unauthorized"}
"""What the codes of answers are called."""
