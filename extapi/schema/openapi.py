"""OpenAPI documents of the served kinds: one v3 document a group version, one v2 document for all (spec C18, C20, D14, D15).

They say what kubectl and kube-apiserver's aggregation look for: each operation's ``x-kubernetes-group-version-kind`` and
``x-kubernetes-action``, the ``fieldValidation``, ``dryRun`` and ``fieldManager`` parameters, and schemas named as those
of custom resources. The same input gives the same document, in the same order, so that hashes are stable. Nothing here
knows how documents are served. Source: ``apiextensions-apiserver/pkg/controller/openapi/builder``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from extapi.schema import openapi_v2 as v2, openapi_v3 as v3
from extapi.schema.openapi_model import ResourceModel, SubresourceModel, TypeModel

__all__ = ["ResourceModel", "SubresourceModel", "TypeModel", "openapi_v2", "openapi_v3"]

_INFO = {"title": "Kubernetes", "version": "unversioned"}
_BEARER = {"BearerToken": {"type": "apiKey", "in": "header", "name": "authorization", "description": "A bearer token"}}


def openapi_v3(group: str, version: str, resources: Iterable[ResourceModel]) -> dict[str, Any]:
    """The document served at ``/openapi/v3/apis/GROUP/VERSION`` or ``/openapi/v3/api/VERSION``; resources of other group versions are left out."""
    chosen = [model for model in resources if (model.group, model.version) == (group, version)]
    return {
        "openapi": "3.0.0",
        "info": dict(_INFO),
        "paths": _merged(v3.paths(model) for model in chosen),
        "components": {
            "schemas": _merged([v3.meta_schemas(), *(v3.schemas(model) for model in chosen)]),
            "securitySchemes": {name: dict(scheme) for name, scheme in _BEARER.items()},
        },
    }


def openapi_v2(resources: Iterable[ResourceModel]) -> dict[str, Any]:
    """The document served at ``/openapi/v2``: every resource of every group version."""
    chosen = list(resources)
    return {
        "swagger": "2.0",
        "info": dict(_INFO),
        "paths": _merged(v2.paths(model) for model in chosen),
        "definitions": _merged([v2.meta_schemas(), *(v2.schemas(model) for model in chosen)]),
        "securityDefinitions": {name: dict(scheme) for name, scheme in _BEARER.items()},
        "security": [{"BearerToken": []}],
    }


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One mapping of all, by key."""
    every = [item for part in parts for item in part.items()]
    return dict(sorted(every, key=lambda item: item[0]))
