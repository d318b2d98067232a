"""The OpenAPI documents of a server: one v3 document per group version, one v2 document for all.

The documents hold what kubectl and kube-apiserver's aggregation layer look for: each operation's
``x-kubernetes-group-version-kind`` and ``x-kubernetes-action``, the parameters ``fieldValidation``, ``dryRun`` and
``fieldManager``, and schemas named like those of custom resources. The same input always gives the same document, in
the same order, so hashes are stable. Nothing here knows how documents are served (behaviour C18, C20, D14, D15).

Source: ``apiextensions-apiserver/pkg/controller/openapi/builder``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from extapi.schema.openapi import v2, v3
from extapi.schema.openapi.kinds import list_schema
from extapi.schema.openapi.model import ResourceModel, TypeModel
from extapi.schema.openapi.operations import OpenAPIOperation, Parameter, paths as paths_of
from extapi.schema.structural import Structural

_CONTAINERS = (dict, list)
_INFO = {"title": "Kubernetes", "version": "unversioned"}
_BEARER = {
    "BearerToken": {
        "type": "apiKey",
        "in": "header",
        "name": "authorization",
        "description": "Bearer Token authentication",
    }
}


class Dialect(Protocol):
    """What the two versions of OpenAPI write differently: the modules ``v2`` and ``v3``."""

    def write_operation(self, operation: OpenAPIOperation, /) -> dict[str, Any]:
        """An operation without its path and method."""
        ...

    def write_parameter(self, parameter: Parameter, /) -> dict[str, Any]:
        """A parameter of the path or the query."""
        ...

    def reference(self, name: str, description: str = "", /) -> dict[str, Any]:
        """A reference to a schema."""
        ...

    def kind_schema(self, structural: Structural, of: TypeModel, selectable: Sequence[str] = (), /) -> dict[str, Any]:
        """The schema of a kind."""
        ...

    def meta_schemas(self) -> dict[str, Any]:
        """The schemas of ``meta/v1``, and that of a Scale."""
        ...


def openapi_v3(group: str, version: str, resources: Iterable[ResourceModel]) -> dict[str, Any]:
    """The document at ``/openapi/v3/apis/GROUP/VERSION`` or ``/openapi/v3/api/VERSION``.

    Resources of other group versions are left out.
    """
    chosen = [model for model in resources if (model.group, model.version) == (group, version)]
    paths = _paths(v3, chosen)
    return {
        "openapi": "3.0.0",
        "info": dict(_INFO),
        "paths": paths,
        "components": {
            "schemas": _schemas(v3, chosen, paths),
            "securitySchemes": {name: dict(scheme) for name, scheme in _BEARER.items()},
        },
    }


def openapi_v2(resources: Iterable[ResourceModel]) -> dict[str, Any]:
    """The document at ``/openapi/v2``: every resource of every group version."""
    chosen = list(resources)
    paths = _paths(v2, chosen)
    definitions = _schemas(v2, chosen, paths)
    parameters = v2.share_parameters(paths)
    return {
        "swagger": "2.0",
        "info": dict(_INFO),
        "paths": paths,
        "definitions": definitions,
        "parameters": parameters,
        "securityDefinitions": {name: dict(scheme) for name, scheme in _BEARER.items()},
        "security": [{"BearerToken": []}],
    }


def _paths(dialect: Dialect, resources: Iterable[ResourceModel]) -> dict[str, Any]:
    """The paths of all resources, sorted."""
    return _sorted(
        (
            path.path,
            {
                "parameters": [dialect.write_parameter(parameter) for parameter in path.parameters],
                **{operation.method: dialect.write_operation(operation) for operation in path.operations},
            },
        )
        for model in resources
        for path in paths_of(model)
    )


def _schemas(dialect: Dialect, resources: Iterable[ResourceModel], paths: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of kinds, of their lists and of their subresources, and those of Kubernetes that anything refers to."""
    kinds = _sorted(found for model in resources for found in _schemas_of(dialect, model))
    meta = dialect.meta_schemas()
    used: set[str] = set()
    fresh = meta.keys() & _references([paths, kinds])
    while fresh:
        used |= fresh
        fresh = meta.keys() & _references([meta[name] for name in fresh]) - used
    return _sorted([*kinds.items(), *((name, meta[name]) for name in used)])


def _schemas_of(dialect: Dialect, model: ResourceModel) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = dialect.kind_schema(model.structural, model, model.selectable)
    yield from model.rules.complete(kind, dialect.reference).items()
    yield model.name, kind
    if "list" in model.verbs:
        yield model.list_name, list_schema(model, dialect.reference)
    for sub in model.subresources:
        if sub.structural is not None:
            yield sub.type.name, dialect.kind_schema(sub.structural, sub.type)


def _references(value: Any) -> set[str]:
    """The names of all schemas that are referred to."""
    found: set[str] = set()
    rest = [value]
    while rest:
        each = rest.pop()
        if each.__class__ is dict:
            if isinstance(each.get("$ref"), str):
                found.add(each["$ref"].rpartition("/")[2])
            each = each.values()
        rest += [inner for inner in each if inner.__class__ in _CONTAINERS]
    return found


def _sorted(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A dict of the items by key; the last one of a key wins."""
    return dict(sorted(items, key=lambda item: item[0]))
