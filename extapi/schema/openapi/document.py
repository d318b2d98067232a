"""The OpenAPI documents of a server: one v3 document per group version, one v2 document for all; each put together of parts.

A part is what one resource in one version adds. It depends on nothing else, so that it is made once, whatever comes beside it.

The documents hold what kubectl and kube-apiserver's aggregation layer look for: each operation's
``x-kubernetes-group-version-kind`` and ``x-kubernetes-action``, the parameters ``fieldValidation``, ``dryRun`` and
``fieldManager``, and schemas named like those of custom resources. The same input always gives the same document, in
the same order, so hashes are stable. Nothing here knows how documents are served (behaviour C18, C20, D14, D15).

Source: ``apiextensions-apiserver/pkg/controller/openapi/builder``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """What a resource in one version adds to a document. The values are JSON, or JSON that is encoded already."""

    paths: Mapping[str, Any]
    schemas: Mapping[str, Any]
    """Of the kind, of its list and of its subresources, by name."""
    references: frozenset[str]
    """The names of all schemas that it refers to."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """In v2, those of its operations that a document has once."""

    def encoded(self, encode: Callable[[Any], bytes]) -> DocumentPart:
        """The same with its values encoded."""
        paths, schemas, parameters = (
            {name: encode(value) for name, value in values.items()}
            for values in (self.paths, self.schemas, self.parameters)
        )
        return DocumentPart(paths, schemas, self.references, parameters)


def v3_part(model: ResourceModel) -> DocumentPart:
    """What a resource adds to the document at ``/openapi/v3/apis/GROUP/VERSION`` or ``/openapi/v3/api/VERSION``."""
    paths, schemas = _paths(v3, model), dict(_schemas_of(v3, model))
    return DocumentPart(paths, schemas, frozenset(_references([paths, schemas])))


def v2_part(model: ResourceModel) -> DocumentPart:
    """What a resource adds to the document at ``/openapi/v2``."""
    paths, schemas = _paths(v2, model), dict(_schemas_of(v2, model))
    references = frozenset(_references([paths, schemas]))
    parameters = v2.share_parameters(paths)  # replaces them in the paths
    return DocumentPart(paths, schemas, references, parameters)


def openapi_v3(parts: Collection[DocumentPart]) -> dict[str, Any]:
    """The document of one group version."""
    return {
        "openapi": "3.0.0",
        "info": dict(_INFO),
        "paths": _sorted(each.paths for each in parts),
        "components": {
            "schemas": _schemas(v3, parts),
            "securitySchemes": {name: dict(scheme) for name, scheme in _BEARER.items()},
        },
    }


def openapi_v2(parts: Collection[DocumentPart]) -> dict[str, Any]:
    """The document of every resource of every group version."""
    return {
        "swagger": "2.0",
        "info": dict(_INFO),
        "paths": _sorted(each.paths for each in parts),
        "definitions": _schemas(v2, parts),
        "parameters": _sorted(each.parameters for each in parts),
        "securityDefinitions": {name: dict(scheme) for name, scheme in _BEARER.items()},
        "security": [{"BearerToken": []}],
    }


def _paths(dialect: Dialect, model: ResourceModel) -> dict[str, Any]:
    """The paths of a resource."""
    return {
        path.path: {
            "parameters": [dialect.write_parameter(parameter) for parameter in path.parameters],
            **{operation.method: dialect.write_operation(operation) for operation in path.operations},
        }
        for path in paths_of(model)
    }


def _schemas(dialect: Dialect, parts: Collection[DocumentPart]) -> dict[str, Any]:
    """The schemas of kinds, of their lists and of their subresources, and those of Kubernetes that anything refers to."""
    meta = dialect.meta_schemas()
    used: set[str] = set()
    fresh = meta.keys() & set().union(*(each.references for each in parts))
    while fresh:
        used |= fresh
        fresh = meta.keys() & _references([meta[name] for name in fresh]) - used
    return _sorted([*(each.schemas for each in parts), {name: meta[name] for name in used}])


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


def _sorted(mappings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A dict of all items by key; the last one of a key wins."""
    merged: dict[str, Any] = {}
    for each in mappings:
        merged.update(each)
    return dict(sorted(merged.items(), key=lambda item: item[0]))
