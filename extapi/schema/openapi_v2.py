"""OpenAPI 2.0 (Swagger): how operations and schemas are written there, and what cannot be said."""

from __future__ import annotations

import dataclasses
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from extapi.schema.openapi_kind import completed, extensions, list_schema
from extapi.schema.openapi_meta import meta_schemas as meta_schemas_v3
from extapi.schema.openapi_model import ANSWERS, MEDIA_TYPES, Operation, ResourceModel, TypeModel, paths as paths_of
from extapi.schema.openapi_parameters import Parameter
from extapi.schema.structural import MISSING, Structural

_UNSHARED = frozenset({"dryRun", "fieldValidation", "name"})
"""Parameters that stand in each operation: of a kind, or looked for there by kubectl before 1.27."""


def paths(model: ResourceModel) -> dict[str, Any]:
    """The paths of a resource."""
    return {
        each.path: {
            "parameters": [_parameter(parameter) for parameter in each.parameters],
            **{operation.method: _operation(operation) for operation in each.operations},
        }
        for each in paths_of(model)
    }


def share_parameters(paths: Mapping[str, Any]) -> dict[str, Any]:
    """Put references in the place of parameters, in place; the document's ``parameters``, by which they are found.

    kube-apiserver merges documents by these names. Source: ``k8s.io/kube-openapi/pkg/builder`` deduplicateParameters.
    """
    shared: dict[str, Any] = {}
    for parameters in _lists(paths):
        for at, parameter in enumerate(parameters):
            body = parameter.get("schema", {}).get("$ref", "")
            if parameter["name"] in _UNSHARED or (body and not body.startswith("#/definitions/io.k8s.apimachinery")):
                continue
            name = f"{parameter['name']}-{_hash(json.dumps(parameter, separators=(',', ':'), ensure_ascii=False))}"
            shared[name] = parameter
            parameters[at] = {"$ref": f"#/parameters/{name}"}
    return dict(sorted(shared.items()))


def _lists(paths: Mapping[str, Any]) -> Iterator[list[Any]]:
    for item in paths.values():
        yield item["parameters"]
        yield from (one["parameters"] for method, one in item.items() if method != "parameters" and "parameters" in one)


def _hash(text: str) -> str:
    """FNV-1 with 64 bits, its first 6 bytes."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = value * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF ^ byte
    return urlsafe_b64encode(value.to_bytes(8)[:6]).decode()


def _operation(operation: Operation) -> dict[str, Any]:
    parameters = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body:
        body: dict[str, Any] = {"name": "body", "in": "body"} | ({"required": True} if operation.body_required else {})
        parameters.append(body | {"schema": reference(operation.body)})
        parameters.sort(key=lambda parameter: str(parameter["name"]))
    responses: dict[str, Any] = {
        str(code): {"description": ANSWERS[code], "schema": reference(operation.answer)} for code in operation.codes
    }
    out: dict[str, Any] = {
        "description": operation.description,
        "operationId": operation.id,
        "tags": [operation.tag],
        "schemes": ["https"],
        "consumes": list(operation.body_types),
        "produces": [*MEDIA_TYPES],
        "responses": responses | {"401": {"description": ANSWERS[401]}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
    }
    return out | ({"parameters": parameters} if parameters else {})


def _parameter(parameter: Parameter) -> dict[str, Any]:
    """Its members are in the order in which Go writes them, of which :func:`share_parameters` makes a name."""
    out: dict[str, Any] = {
        "uniqueItems": True,
        "type": parameter.type,
        "description": parameter.description,
        "name": parameter.name,
        "in": parameter.where,
    }
    return out | ({"required": True} if parameter.where == "path" else {})


def reference(name: str, description: str = "") -> dict[str, Any]:
    """A reference to a schema; kubectl reads a description beside it."""
    found = {"$ref": f"#/definitions/{name}"}
    return found | ({"description": description} if description else {})


def meta_schemas() -> dict[str, Any]:
    """The schemas of meta/v1."""
    return {name: _meta(schema) for name, schema in meta_schemas_v3().items()}


def _meta(schema: Any) -> Any:
    """What OpenAPI 3.0 says, without defaults; a reference keeps its description beside it."""
    if isinstance(schema, list):
        return [_meta(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "allOf" in schema:
        name = schema["allOf"][0]["$ref"].rpartition("/")[2]
        return reference(name, schema.get("description", ""))
    return {key: _meta(value) for key, value in schema.items() if key != "default"}


def schemas(model: ResourceModel) -> dict[str, Any]:
    """The schemas of a kind, of its list, and of what its subresources speak.

    Of a kind that keeps unknown fields nothing is published but that it is an object: kubectl would refuse the rest.
    """
    found = {model.name: _kind(model.structural, model, model.selectable)}
    if "list" in model.verbs:
        found[model.list_name] = list_schema(model, reference)
    return found | {
        sub.type.name: _kind(sub.structural, sub.type) for sub in model.subresources if sub.structural is not None
    }


def _kind(structural: Structural, of: TypeModel, selectable: Sequence[str] = ()) -> dict[str, Any]:
    if structural.preserve_unknown:
        kind: dict[str, Any] = {"type": "object"}
    else:
        kind = completed(lowered(structural).to_openapi(), reference, keep_open=True)
    return kind | extensions(of.gvk, selectable)


def lowered(node: Structural) -> Structural:
    """What OpenAPI 2.0 and old kubectl can take: no junctors, no defaults; what may be null or anything has no type.

    Source: ``apiextensions-apiserver/pkg/controller/openapi/v2`` ToStructuralOpenAPIV2, ``k8s.io/kube-openapi/pkg/handler``
    PruneDefaults.
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
        default=MISSING,
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
