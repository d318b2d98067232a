"""The operations of a resource and their parameters, before OpenAPI 2 or 3 writes them.

Source: ``k8s.io/apiserver/pkg/endpoints`` installer.go and AddObjectParams, ``k8s.io/kube-openapi/pkg/builder``
findCommonParameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extapi.api.definition import NAMESPACED
from extapi.schema.openapi.meta import META, parameter_texts
from extapi.schema.openapi.model import ResourceModel, SubresourceModel, TypeModel

MEDIA_TYPES = ("application/json", "application/yaml")
ANY = ("*/*",)
"""The media types of what a connecter answers."""
CONNECT = "connect"
"""The action of what a connecter answers."""
STRING = "string"
"""In place of a schema's name: what a connecter answers is described as a string."""
GET: Final = ("resourceVersion",)
WATCHING: Final = frozenset({"allowWatchBookmarks", "watch"})
"""The parameters of lists that are about watches."""
LIST: Final = (
    *WATCHING, "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch",
    "sendInitialEvents", "shardSelector", "timeoutSeconds",
)  # fmt: skip
WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
PATCH: Final = ("dryRun", "fieldManager of a patch", "fieldValidation", "force")
DELETE: Final = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
    "propagationPolicy",
)  # fmt: skip
DELETECOLLECTION: Final = (*DELETE, *(name for name in LIST if name not in WATCHING))
"""Of built-in kinds; custom resources name only the parameters of lists."""


@dataclass(frozen=True, order=True)
class Parameter:
    """A parameter of the path or the query."""

    name: str
    location: str
    """``path`` or ``query``."""
    type: str
    description: str


def _query(names: Iterable[str]) -> list[Parameter]:
    """Query parameters by their names in the tuples above."""
    texts = parameter_texts()
    return [
        Parameter(name.removesuffix(" of a patch"), "query", texts[name]["type"], texts[name]["description"])
        for name in names
    ]


def _of_path(path: str, kind: str, *, pretty: bool) -> list[Parameter]:
    """The parameters in the path, and ``pretty``, which every operation has that answers with an object."""
    namespace = parameter_texts()["namespace"]["description"]
    known = {
        "path": Parameter("path", "path", "string", "path to the resource"),
        "name": Parameter("name", "path", "string", f"name of the {kind}"),
        "namespace": Parameter("namespace", "path", "string", namespace),
    }
    return [one for name, one in known.items() if f"{{{name}}}" in path] + _query(["pretty"] * pretty)


def _common(each: Sequence[Sequence[Parameter]]) -> list[Parameter]:
    """The parameters that all operations of a path share."""
    return sorted(set(each[0]).intersection(*each[1:]))


@dataclass(frozen=True, kw_only=True)
class OpenAPIOperation:
    """One method on one path. Schemas have their full names; with an empty ``body`` nothing is sent."""

    path: str
    method: str
    action: str
    id: str
    description: str
    response: str
    """The schema of the response; :data:`STRING` for a string."""
    produces: Sequence[str] = MEDIA_TYPES
    """The media types of the response."""
    codes: Sequence[int] = (200,)
    parameters: Sequence[Parameter] = ()
    """Query parameters, but for those that :class:`PathModel` holds for all of its operations."""
    body: str = ""
    body_required: bool = True
    body_types: Sequence[str] = MEDIA_TYPES
    tag: str
    gvk: Mapping[str, str]


@dataclass(frozen=True)
class PathModel:
    """A path: its operations, and the parameters that they share."""

    path: str
    parameters: Sequence[Parameter]
    operations: Sequence[OpenAPIOperation]


def paths(model: ResourceModel) -> Iterator[PathModel]:
    """The paths of a resource and its subresources."""
    found: dict[str, list[OpenAPIOperation]] = {}
    for operation in _operations(model):
        found.setdefault(operation.path, []).append(operation)
    for path, each in found.items():
        shared = _common([operation.parameters for operation in each])
        own = [replace(one, parameters=sorted(set(one.parameters).difference(shared))) for one in each]
        connects = each[0].action == CONNECT
        kind = each[0].gvk["kind"] if connects else model.kind
        yield PathModel(path, sorted([*shared, *_of_path(path, kind, pretty=not connects)]), own)


def _operations(model: ResourceModel) -> Iterator[OpenAPIOperation]:
    """The operations of a resource and its subresources, without path parameters."""
    root = f"/apis/{model.group}/{model.version}" if model.group else f"/api/{model.version}"
    flat = f"{root}/{model.plural}"
    namespaced = model.scope is NAMESPACED
    items = f"{root}/namespaces/{{namespace}}/{model.plural}" if namespaced else flat
    of = _Operations(model)
    listing = _query(name for name in LIST if "watch" in model.verbs or name not in WATCHING)
    if namespaced and "list" in model.verbs:
        yield of.operation(flat, "get", "list", f"list{of.group}{model.kind}ForAllNamespaces", of.many, options=listing)
    if "list" in model.verbs:
        yield of.operation(items, "get", "list", of.id("list"), of.many, options=listing)
    if "create" in model.verbs:
        yield of.write(items, "post", "create", codes=(200, 201, 202))
    if "deletecollection" in model.verbs:
        name = of.id("delete", "Collection")
        as_delete = model.rules.deletecollection_options
        options = _query(DELETECOLLECTION) if as_delete else listing
        yield of.delete(items, "deletecollection", name, (200,), options, body=as_delete)
    one = f"{items}/{{name}}"
    yield from of.single(one)
    if "delete" in model.verbs:
        yield of.delete(one, "delete", of.id("delete"), (200, 202), _query(DELETE))
    if model.status:
        yield from of.single(f"{one}/status", "Status")
    for sub in model.subresources:
        part = _Operations(model, sub.type)
        where, name = f"{one}/{sub.path}", operation_name(sub.path)
        if sub.connects:
            yield from part.connects(where, sub)
            continue
        if "create" in sub.verbs:
            yield part.write(where, "post", "create", codes=(200, 201, 202), sub=name)
        yield from part.single(where, name, sub.verbs)
        if "delete" in sub.verbs:
            yield part.delete(where, "delete", of.id("delete", sub=name), (200, 202), _query(DELETE))


class _Operations:
    """Makes the operations of one resource: names, descriptions, schemas."""

    def __init__(self, model: ResourceModel, of: TypeModel | None = None) -> None:
        self.model = model
        self.type = of or model
        self.many = model.list_name
        head = operation_name(model.rules.operation_group(model.group) or "core")
        self.group = f"{head}{operation_name(model.version)}"
        self.tag = f"{head[:1].lower()}{head[1:]}_{model.version}"
        self.body_types = model.rules.body_types

    def id(self, verb: str, detail: str = "", sub: str = "") -> str:
        namespaced = "Namespaced" if self.model.scope is NAMESPACED else ""
        return f"{verb}{self.group}{detail}{namespaced}{self.model.kind}{sub}"

    def operation(
        self,
        path: str,
        method: str,
        action: str,
        name: str,
        response: str,
        *,
        options: Sequence[Parameter] = (),
        sub: str = "",
    ) -> OpenAPIOperation:
        """An operation that sends nothing."""
        kind = self.model.kind
        whose = f"{sub.lower()} of " if sub else ""
        described = f"list objects of kind {kind}" if action == "list" else f"read {whose}the specified {kind}"
        return OpenAPIOperation(
            path=path,
            method=method,
            action=action,
            id=name,
            description=described,
            response=response,
            parameters=options,
            tag=self.tag,
            gvk=self.type.gvk,
        )

    def write(self, path: str, method: str, verb: str, *, codes: Sequence[int], sub: str = "") -> OpenAPIOperation:
        """An operation that sends an object or a patch."""
        patch = method == "patch"
        described = {"create": "create", "replace": "replace", "patch": "partially update"}[verb]
        whose = f"{sub.lower()} of " if sub else ""
        which = _article(self.model.kind) if verb == "create" else f"the specified {self.model.kind}"
        return OpenAPIOperation(
            path=path,
            method=method,
            action=method,
            id=self.id(verb, sub=sub),
            description=f"{described} {whose}{which}",
            response=self.type.name,
            codes=codes,
            parameters=_query(PATCH if patch else WRITE),
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
    ) -> OpenAPIOperation:
        """A deletion, with or without options in the body."""
        kind = self.model.kind
        text = f"delete collection of {kind}" if action == "deletecollection" else f"delete {_article(kind)}"
        return OpenAPIOperation(
            path=path,
            method="delete",
            action=action,
            id=name,
            description=text,
            response=self.type.name if action == "delete" and self.model.returns_deleted else f"{META}Status",
            codes=codes,
            parameters=options,
            body=f"{META}DeleteOptions" if body else "",
            body_required=False,
            body_types=self.body_types,
            tag=self.tag,
            gvk=self.type.gvk,
        )

    def connects(self, path: str, sub: SubresourceModel) -> Iterator[OpenAPIOperation]:
        """What a connecter answers, at its path and below it: anything may be sent, and anything may come."""
        for where, suffix in ((path, ""), (f"{path}/{{path}}", "WithPath")):
            for method in sub.connects:
                yield OpenAPIOperation(
                    path=where,
                    method=method.lower(),
                    action=CONNECT,
                    id=self.id(CONNECT, method.capitalize(), f"{operation_name(sub.path)}{suffix}"),
                    description=f"connect {method} requests to {sub.path} of {self.model.kind}",
                    response=STRING,
                    produces=ANY,
                    body_types=ANY,
                    tag=self.tag,
                    gvk=self.type.gvk,
                )

    def single(self, path: str, sub: str = "", verbs: Sequence[str] | None = None) -> Iterator[OpenAPIOperation]:
        """Read, replace and patch an object or a subresource, as far as ``verbs`` (by default the resource's) allow."""
        verbs = self.model.verbs if verbs is None else verbs
        if "get" in verbs:
            options = _query(GET) if self.model.rules.get_resource_version else ()
            yield self.operation(path, "get", "get", self.id("read", sub=sub), self.type.name, options=options, sub=sub)
        if "update" in verbs:
            yield self.write(path, "put", "replace", codes=(200, 201), sub=sub)
        if "patch" in verbs:
            yield self.write(path, "patch", "patch", codes=self.model.rules.patch_codes, sub=sub)


def operation_name(text: str) -> str:
    """``stable.example-x.com`` becomes ``StableExampleXCom``: other characters are dropped, and a capital follows."""
    parts = "".join(char if char.isalnum() or char == "_" else " " for char in text).split()
    return "".join(part[:1].upper() + part[1:] for part in parts)


def _article(kind: str) -> str:
    """The kind with its article; one that ends in a single ``s`` passes for a plural and gets none.

    Source: ``k8s.io/apiserver/pkg/endpoints`` GetArticleForNoun.
    """
    if kind.endswith("s") and not kind.endswith("ss"):
        return kind
    return f"{'an' if kind[:1] in 'AEIOU' else 'a'} {kind}"


RESPONSES = {200: "OK", 201: "Created", 202: "Accepted", 401: "Unauthorized"}
"""Descriptions of status codes."""
