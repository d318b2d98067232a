"""OpenAPI documents of the served kinds: one v3 document a group version, one v2 document for all (spec C18, C20, D14, D15).

They say what kubectl and kube-apiserver's aggregation look for: each operation's ``x-kubernetes-group-version-kind`` and
``x-kubernetes-action``, the ``fieldValidation``, ``dryRun`` and ``fieldManager`` parameters, and schemas named as those
of custom resources. The same input gives the same document, in the same order, so that hashes are stable. Nothing here
knows how documents are served. Source: ``apiextensions-apiserver/pkg/controller/openapi/builder``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from extapi.schema import openapi_v2 as v2, openapi_v3 as v3
from extapi.schema.openapi_model import ResourceModel, SubresourceModel, TypeModel

__all__ = ["ResourceModel", "SubresourceModel", "TypeModel", "openapi_v2", "openapi_v3"]

_INFO = {"title": "Kubernetes", "version": "unversioned"}
_BEARER = {
    "BearerToken": {
        "type": "apiKey",
        "in": "header",
        "name": "authorization",
        "description": "Bearer Token authentication",
    }
}


def openapi_v3(group: str, version: str, resources: Iterable[ResourceModel]) -> dict[str, Any]:
    """The document served at ``/openapi/v3/apis/GROUP/VERSION`` or ``/openapi/v3/api/VERSION``; resources of other group versions are left out."""
    chosen = [model for model in resources if (model.group, model.version) == (group, version)]
    paths = _merged(v3.paths(model) for model in chosen)
    return {
        "openapi": "3.0.0",
        "info": dict(_INFO),
        "paths": paths,
        "components": {
            "schemas": _with_meta(paths, _merged(v3.schemas(model) for model in chosen), v3.meta_schemas()),
            "securitySchemes": {name: dict(scheme) for name, scheme in _BEARER.items()},
        },
    }


def openapi_v2(resources: Iterable[ResourceModel]) -> dict[str, Any]:
    """The document served at ``/openapi/v2``: every resource of every group version."""
    chosen = list(resources)
    paths = _merged(v2.paths(model) for model in chosen)
    definitions = _with_meta(paths, _merged(v2.schemas(model) for model in chosen), v2.meta_schemas())
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


def _with_meta(paths: Mapping[str, Any], kinds: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of kinds, and those of meta/v1 that anything refers to."""
    used: set[str] = set()
    fresh = meta.keys() & set(_references([paths, kinds]))
    while fresh:
        used |= fresh
        fresh = meta.keys() & set(_references([meta[name] for name in fresh])) - used
    return _merged([kinds, {name: meta[name] for name in used}])


def _references(value: Any) -> Iterator[str]:
    """The names of all schemas that are referred to."""
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _references(item)


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One mapping of all, by key."""
    every = [item for part in parts for item in part.items()]
    return dict(sorted(every, key=lambda item: item[0]))
