"""OpenAPI 3.0: how operations and schemas are written there."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from extapi.schema.openapi_kind import completed, extensions, list_schema
from extapi.schema.openapi_meta import meta_schemas
from extapi.schema.openapi_model import ANSWERS, MEDIA_TYPES, Operation, ResourceModel, TypeModel, paths as paths_of
from extapi.schema.openapi_parameters import Parameter
from extapi.schema.structural import Structural

__all__ = ["meta_schemas", "paths", "reference", "schemas"]

_INT_OR_STRING = (Structural(type="integer"), Structural(type="string"))


def paths(model: ResourceModel) -> dict[str, Any]:
    """The paths of a resource."""
    return {
        each.path: {
            "parameters": [_parameter(parameter) for parameter in each.parameters],
            **{operation.method: _operation(operation) for operation in each.operations},
        }
        for each in paths_of(model)
    }


def _operation(operation: Operation) -> dict[str, Any]:
    answer = {media: {"schema": reference(operation.answer)} for media in MEDIA_TYPES}
    responses: dict[str, Any] = {
        str(code): {"description": ANSWERS[code], "content": answer} for code in operation.codes
    }
    out: dict[str, Any] = {
        "description": operation.description,
        "operationId": operation.id,
        "tags": [operation.tag],
        "responses": responses | {"401": {"description": ANSWERS[401]}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
    }
    if operation.parameters:
        # An empty list would be lost where a document goes through Go's types (k8s.io/kube-openapi/pkg/spec3).
        out["parameters"] = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body:
        content = {media: {"schema": reference(operation.body)} for media in operation.body_types}
        out["requestBody"] = {"content": content} | ({"required": True} if operation.body_required else {})
    return out


def _parameter(parameter: Parameter) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.where,
        "description": parameter.description,
        "schema": {"type": parameter.type, "uniqueItems": True},
    }
    return out | ({"required": True} if parameter.where == "path" else {})


def reference(name: str, description: str = "") -> dict[str, Any]:
    """A reference to a schema. What stands beside ``$ref`` is ignored in OpenAPI 3.0, hence the ``allOf``."""
    found = {"$ref": f"#/components/schemas/{name}"}
    return {"allOf": [found], "description": description} if description else found


def schemas(model: ResourceModel) -> dict[str, Any]:
    """The schemas of a kind, of its list, and of what its subresources speak."""
    found = {model.name: _kind(model.structural, model, model.selectable)}
    if "list" in model.verbs:
        found[model.list_name] = list_schema(model, reference)
    return found | {
        sub.type.name: _kind(sub.structural, sub.type) for sub in model.subresources if sub.structural is not None
    }


def _kind(structural: Structural, of: TypeModel, selectable: Sequence[str] = ()) -> dict[str, Any]:
    return completed(_unfold(structural).to_openapi(), reference) | extensions(of.gvk, selectable)


def _unfold(node: Structural) -> Structural:
    """Says int-or-string also in plain OpenAPI, for clients that do not know the extension."""
    changes: dict[str, Any] = {
        "properties": {key: _unfold(sub) for key, sub in node.properties.items()},
        "items": None if node.items is None else _unfold(node.items),
        "additional_properties": node.additional_properties if node.additional is None else _unfold(node.additional),
    }
    if node.int_or_string and not node.any_of and not any(branch.any_of for branch in node.all_of[:1]):
        changes["any_of"] = _INT_OR_STRING
    elif node.int_or_string and node.any_of != _INT_OR_STRING and node.any_of:
        changes["all_of"] = (Structural(any_of=_INT_OR_STRING), *node.all_of)
    return dataclasses.replace(node, **changes)
