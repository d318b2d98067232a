"""What OpenAPI documents say of a resource, before it is said in version 2 or 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from extapi.api.definition import NAMESPACED, Scope
from extapi.schema.structural import Structural

DOCS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
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
    returns_deleted: bool = False
    """Whether a deletion answers with the object, not with a Status."""

    @property
    def list_name(self) -> str:
        """The name of the list's schema."""
        return model_name(self.group, self.version, self.list_kind, native=self.native)


@dataclass(frozen=True)
class Parameter:
    """A parameter of the path or the query."""

    name: str
    type: str
    description: str
    where: str = "query"


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
    body: str = ""
    body_required: bool = True
    body_types: Sequence[str] = ("*/*",)
    tag: str
    gvk: Mapping[str, str]


PRETTY = Parameter(
    "pretty", "string", "If 'true', the answer is indented; browsers, curl and wget get that by default."
)
_DRY_RUN = Parameter("dryRun", "string", "Check only, do not store. The one allowed value is All: every stage is run.")
_MANAGER = Parameter(
    "fieldManager",
    "string",
    "Who makes the change, at most 128 printable characters; by default taken from User-Agent.",
)
_VALIDATION = Parameter(
    "fieldValidation",
    "string",
    "What happens to unknown and duplicate fields. Ignore: dropped silently. Warn (the default): dropped, with a warning "
    "for each. Strict: the request fails, naming all of them.",
)
_FORCE = Parameter("force", "boolean", "For apply: take fields over that another manager holds.")
_SELECTORS = (
    Parameter("fieldSelector", "string", "Only objects whose fields match."),
    Parameter("labelSelector", "string", "Only objects whose labels match."),
)
_PAGE = (
    Parameter("continue", "string", "The token from metadata.continue of the page before."),
    Parameter("limit", "integer", "At most so many objects; metadata.continue of the answer leads to the rest."),
    Parameter("resourceVersion", "string", "How fresh the answer has to be, or where a watch begins."),
    Parameter("resourceVersionMatch", "string", "How resourceVersion is meant: NotOlderThan or Exact."),
    Parameter("sendInitialEvents", "boolean", "Whether a watch begins with the objects that are there."),
    Parameter("timeoutSeconds", "integer", "When the call ends, active or not."),
)
_WATCH = (
    Parameter("allowWatchBookmarks", "boolean", "Whether a watch may carry BOOKMARK events."),
    Parameter("watch", "boolean", "Follow changes instead of listing."),
)
_DELETE = (
    _DRY_RUN,
    Parameter("gracePeriodSeconds", "integer", "Seconds until the object goes; 0: at once."),
    Parameter("orphanDependents", "boolean", "Deprecated, use propagationPolicy: whether dependents stay."),
    Parameter("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
)
_WRITE = (_DRY_RUN, _MANAGER, _VALIDATION)
_LIST = (*_WATCH, *_PAGE, *_SELECTORS)


def path_parameters(path: str, kind: str) -> list[Parameter]:
    """The parameters that a path names."""
    known = {
        "name": Parameter("name", "string", f"name of the {kind}", "path"),
        "namespace": Parameter("namespace", "string", "the namespace that the object is in", "path"),
    }
    return [parameter for name, parameter in known.items() if f"{{{name}}}" in path] + [PRETTY]


def operations(model: ResourceModel) -> Iterator[Operation]:
    """Every operation of a resource and of its subresources."""
    root = f"/apis/{model.group}/{model.version}" if model.group else f"/api/{model.version}"
    flat = f"{root}/{model.plural}"
    namespaced = model.scope is NAMESPACED
    items = f"{root}/namespaces/{{namespace}}/{model.plural}" if namespaced else flat
    of = _Naming(model)
    listing = _LIST if "watch" in model.verbs else (*_PAGE, *_SELECTORS)
    if namespaced and "list" in model.verbs:
        yield of.operation(
            flat, "get", "list", f"list{of.group}{model.kind}ForAllNamespaces", of.many, parameters=listing
        )
    if "list" in model.verbs:
        yield of.operation(items, "get", "list", of.id("list"), of.many, parameters=listing)
    if "create" in model.verbs:
        yield of.write(items, "post", "create", codes=(200, 201, 202))
    if "deletecollection" in model.verbs:
        name = of.id("delete", "Collection")
        parameters = (*_DELETE, *_PAGE, *_SELECTORS)
        yield of.delete(items, "deletecollection", name, (200,), parameters)
    one = f"{items}/{{name}}"
    yield from of.single(one)
    if "delete" in model.verbs:
        yield of.delete(one, "delete", of.id("delete"), (200, 202), _DELETE)
    if model.status:
        yield from of.single(f"{one}/status", "Status")
    for sub in model.subresources:
        part = _Naming(model, sub.type)
        where, name = f"{one}/{sub.path}", operation_name(sub.path)
        if "create" in sub.verbs:
            yield part.write(where, "post", "create", codes=(200, 201, 202), sub=name)
        yield from part.single(where, name, sub.verbs)
        if "delete" in sub.verbs:
            yield part.delete(where, "delete", of.id("delete", sub=name), (200, 202), _DELETE)


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
        parameters: Sequence[Parameter] = (),
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
            parameters=parameters,
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
            parameters=(*_WRITE, _FORCE) if patch else _WRITE,
            body=f"{META}Patch" if patch else self.type.name,
            body_types=tuple(self.model.patch_types) if patch else ("*/*",),
            tag=self.tag,
            gvk=self.type.gvk,
        )

    def delete(
        self, path: str, action: str, name: str, codes: Sequence[int], parameters: Sequence[Parameter]
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
            parameters=parameters,
            body=f"{META}DeleteOptions",
            body_required=False,
            tag=self.tag,
            gvk=self.type.gvk,
        )

    def single(self, path: str, sub: str = "", verbs: Sequence[str] | None = None) -> Iterator[Operation]:
        """Read, replace and patch one object, or a subresource of it; by default with the verbs of the resource."""
        verbs = self.model.verbs if verbs is None else verbs
        if "get" in verbs:
            yield self.operation(path, "get", "get", self.id("read", sub=sub), self.type.name, sub=sub)
        if "update" in verbs:
            yield self.write(path, "put", "replace", codes=(200, 201), sub=sub)
        if "patch" in verbs:
            yield self.write(path, "patch", "patch", codes=(200, 201), sub=sub)


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
    return f"{'an' if kind[:1] in 'AEIOU' else 'a'} {kind}"


ANSWERS = {200: "OK", 201: "Created", 202: "Accepted", 401: "Unauthorized"}
"""What the codes of answers are called."""
