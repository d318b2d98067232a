"""OpenAPI 2.0 (Swagger): how operations and schemas are written there, and what cannot be said."""

from __future__ import annotations

import dataclasses
from typing import Any

from extapi.schema.openapi_meta import META_SCHEMAS, embed, list_schema, type_meta, written
from extapi.schema.openapi_model import (
    ANSWERS,
    MEDIA_TYPES,
    META,
    Operation,
    Parameter,
    ResourceModel,
    TypeModel,
    operations,
    path_parameters,
)
from extapi.schema.structural import Structural


def paths(model: ResourceModel) -> dict[str, Any]:
    """The paths of a resource."""
    out: dict[str, Any] = {}
    for operation in operations(model):
        item = out.setdefault(
            operation.path, {"parameters": [_parameter(p) for p in path_parameters(operation.path, model.kind)]}
        )
        item[operation.method] = _operation(operation)
    return out


def _operation(operation: Operation) -> dict[str, Any]:
    parameters = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body:
        body: dict[str, Any] = {"name": "body", "in": "body", "schema": reference(operation.body)}
        parameters.insert(0, body | ({"required": True} if operation.body_required else {}))
    responses: dict[str, Any] = {
        str(code): {"description": ANSWERS[code], "schema": reference(operation.answer)} for code in operation.codes
    }
    return {
        "description": operation.description,
        "operationId": operation.id,
        "tags": [operation.tag],
        "schemes": ["https"],
        "consumes": list(operation.body_types) if operation.method == "patch" else [*MEDIA_TYPES],
        "produces": [*MEDIA_TYPES],
        "parameters": parameters,
        "responses": responses | {"401": {"description": ANSWERS[401]}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.where,
        "description": parameter.description,
        "type": parameter.type,
        "uniqueItems": True,
    }
    return out | ({"required": True} if parameter.where == "path" else {})


def reference(name: str, description: str = "") -> dict[str, Any]:
    """A reference to a schema; kubectl reads a description beside it."""
    found = {"$ref": f"#/definitions/{name}"}
    return found | ({"description": description} if description else {})


def meta_schemas() -> dict[str, Any]:
    """The schemas of meta/v1."""
    return {META + name: written(schema, reference) for name, schema in META_SCHEMAS.items()}


def schemas(model: ResourceModel) -> dict[str, Any]:
    """The schemas of a kind, of its list, and of what its subresources speak.

    Of a kind that keeps unknown fields nothing is published but that it is an object: kubectl would refuse the rest.
    """
    found = {model.name: _kind(model.structural, model)}
    if "list" in model.verbs:
        found[model.list_name] = list_schema(model, reference)
    return found | {
        sub.type.name: _kind(sub.structural, sub.type) for sub in model.subresources if sub.structural is not None
    }


def _kind(structural: Structural, of: TypeModel) -> dict[str, Any]:
    if structural.preserve_unknown:
        kind: dict[str, Any] = {"type": "object"}
    else:
        kind = lowered(structural).to_openapi()
        embed(kind, reference, keep_open=True)
        kind["properties"] = type_meta() | {
            key: value for key, value in kind.get("properties", {}).items() if key not in {"apiVersion", "kind"}
        }
        kind["properties"]["metadata"] = reference(
            f"{META}ObjectMeta", "The object's metadata: name, labels and so on."
        )
    kind["x-kubernetes-group-version-kind"] = [of.gvk]
    return kind


def lowered(node: Structural) -> Structural:
    """What OpenAPI 2.0 and old kubectl can take: no junctors; what may be null or anything has no type.

    Source: ``apiextensions-apiserver/pkg/controller/openapi/v2`` ToStructuralOpenAPIV2.
    """
    anything = node.nullable or bool(node.preserve_unknown)
    items = None if node.items is None or anything else lowered(node.items)
    kind = node.type
    if node.nullable or (kind == "array" and items is None) or (node.preserve_unknown and kind == "object"):
        kind = ""
    required = tuple(key for key in node.required if key not in node.properties or not node.properties[key].nullable)
    if node.additional is not None and node.additional.nullable:
        required = ()
    return dataclasses.replace(
        node,
        type=kind,
        nullable=False,
        items=items,
        properties={} if anything else {key: lowered(sub) for key, sub in node.properties.items()},
        additional_properties=node.additional_properties if node.additional is None else lowered(node.additional),
        required=required,
        all_of=(),
        any_of=(),
        one_of=(),
        not_=None,
    )
