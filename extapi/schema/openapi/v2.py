"""How OpenAPI 2.0 (Swagger) writes operations, parameters and schemas, and what it leaves out."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from extapi.schema.openapi.kinds import completed, extensions
from extapi.schema.openapi.meta import meta_schemas as meta_schemas_v3
from extapi.schema.openapi.model import TypeModel
from extapi.schema.openapi.operations import RESPONSES, STRING, OpenAPIOperation, Parameter
from extapi.schema.structural import MISSING, Structural, replace

_UNSHARED = frozenset({"dryRun", "fieldValidation", "name"})
"""Parameters written out in each operation: they differ by kind, or kubectl before 1.27 looks for them there."""


def share_parameters(paths: Mapping[str, Any]) -> dict[str, Any]:
    """Replace parameters by references, in place.

    Returns:
        The document's ``parameters``, which the references point to. kube-apiserver merges documents by these names.

    Source: ``k8s.io/kube-openapi/pkg/builder`` deduplicateParameters.
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


@lru_cache(maxsize=256)
def _hash(text: str) -> str:
    """The first 6 bytes of the 64-bit FNV-1 hash, in base64. All kinds share some dozens of texts."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = value * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF ^ byte
    return urlsafe_b64encode(value.to_bytes(8)[:6]).decode()


def write_operation(operation: OpenAPIOperation) -> dict[str, Any]:
    """An operation without its path and method."""
    parameters = [write_parameter(parameter) for parameter in operation.parameters]
    if operation.body:
        body: dict[str, Any] = {"name": "body", "in": "body"} | ({"required": True} if operation.body_required else {})
        parameters.append(body | {"schema": reference(operation.body)})
        parameters.sort(key=lambda parameter: str(parameter["name"]))
    answered = {"type": STRING} if operation.response == STRING else reference(operation.response)
    responses: dict[str, Any] = {
        str(code): {"description": RESPONSES[code], "schema": answered} for code in operation.codes
    }
    out: dict[str, Any] = {
        "description": operation.description,
        "operationId": operation.id,
        "tags": [operation.tag],
        "schemes": ["https"],
        "consumes": list(operation.body_types),
        "produces": list(operation.produces),
        "responses": responses | {"401": {"description": RESPONSES[401]}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
    }
    return out | ({"parameters": parameters} if parameters else {})


def write_parameter(parameter: Parameter) -> dict[str, Any]:
    """A parameter of the path or the query.

    The members have Go's order: :func:`share_parameters` hashes the JSON text to name the parameter.
    """
    out: dict[str, Any] = {
        "uniqueItems": True,
        "type": parameter.type,
        "description": parameter.description,
        "name": parameter.name,
        "in": parameter.location,
    }
    return out | ({"required": True} if parameter.location == "path" else {})


def reference(name: str, description: str = "") -> dict[str, Any]:
    """A reference to a schema; kubectl reads the description beside it."""
    found = {"$ref": f"#/definitions/{name}"}
    return found | ({"description": description} if description else {})


def meta_schemas() -> dict[str, Any]:
    """The schemas of meta/v1, and that of a Scale."""
    return {name: _meta(schema) for name, schema in meta_schemas_v3().items()}


def _meta(schema: Any) -> Any:
    """A schema of OpenAPI 3.0 for 2.0: without defaults, with descriptions beside references."""
    if isinstance(schema, list):
        return [_meta(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "allOf" in schema:
        name = schema["allOf"][0]["$ref"].rpartition("/")[2]
        return reference(name, schema.get("description", ""))
    return {key: _meta(value) for key, value in schema.items() if key != "default"}


def kind_schema(structural: Structural, of: TypeModel, selectable: Sequence[str] = ()) -> dict[str, Any]:
    """The schema of a kind.

    One that keeps unknown fields is published as a plain object: kubectl would refuse the rest.
    """
    if structural.preserve_unknown:
        kind: dict[str, Any] = {"type": "object"}
    else:
        kind = completed(_lowered(structural).to_openapi(), reference, keep_open=True)
    return kind | extensions(of.gvk, selectable)


def _lowered(node: Structural) -> Structural:
    """The part of a schema that OpenAPI 2.0 and old kubectl understand.

    Junctors and defaults are dropped. Values that may be null or anything lose their type.

    Source: ``apiextensions-apiserver/pkg/controller/openapi/v2`` ToStructuralOpenAPIV2,
    ``k8s.io/kube-openapi/pkg/handler`` PruneDefaults.
    """
    anything = node.nullable or bool(node.preserve_unknown)
    items = None if node.items is None or anything else _lowered(node.items)
    kind = node.type
    if node.nullable or (kind == "array" and items is None) or (node.preserve_unknown and kind == "object"):
        kind = ""
    kept = {} if anything else node.properties
    required = tuple(key for key in node.required if key not in kept or not kept[key].nullable)
    if node.additional is not None and node.additional.nullable:
        required = ()
    return replace(
        node,
        type=kind,
        default=MISSING,
        nullable=False,
        items=items,
        properties={key: _lowered(sub) for key, sub in kept.items()},
        additional_properties=node.additional_properties if node.additional is None else _lowered(node.additional),
        required=required,
        all_of=(),
        any_of=(),
        one_of=(),
        not_=None,
    )
