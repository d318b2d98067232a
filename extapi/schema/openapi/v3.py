"""How OpenAPI 3.0 writes operations, parameters and schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extapi.schema.openapi.kinds import completed, extensions
from extapi.schema.openapi.meta import meta_schemas
from extapi.schema.openapi.model import TypeModel
from extapi.schema.openapi.operations import RESPONSES, STRING, OpenAPIOperation, Parameter
from extapi.schema.structural import Structural, replace

__all__ = ["kind_schema", "meta_schemas", "reference", "write_operation", "write_parameter"]

_INT_OR_STRING = (Structural(type="integer"), Structural(type="string"))


def write_operation(operation: OpenAPIOperation) -> dict[str, Any]:
    """An operation without its path and method."""
    answered = {"type": STRING} if operation.response == STRING else reference(operation.response)
    content = {media: {"schema": answered} for media in operation.produces}
    responses: dict[str, Any] = {
        str(code): {"description": RESPONSES[code], "content": content} for code in operation.codes
    }
    out: dict[str, Any] = {
        "description": operation.description,
        "operationId": operation.id,
        "tags": [operation.tag],
        "responses": responses | {"401": {"description": RESPONSES[401]}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
    }
    if operation.parameters:
        # Never an empty list: Go's types (k8s.io/kube-openapi/pkg/spec3) drop it, and the document would differ.
        out["parameters"] = [write_parameter(parameter) for parameter in operation.parameters]
    if operation.body:
        sent = {media: {"schema": reference(operation.body)} for media in operation.body_types}
        out["requestBody"] = {"content": sent} | ({"required": True} if operation.body_required else {})
    return out


def write_parameter(parameter: Parameter) -> dict[str, Any]:
    """A parameter of the path or the query."""
    out: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.location,
        "description": parameter.description,
        "schema": {"type": parameter.type, "uniqueItems": True},
    }
    return out | ({"required": True} if parameter.location == "path" else {})


def reference(name: str, description: str = "") -> dict[str, Any]:
    """A reference to a schema. OpenAPI 3.0 ignores what stands beside ``$ref``, hence ``allOf`` with a description."""
    found = {"$ref": f"#/components/schemas/{name}"}
    return {"allOf": [found], "description": description} if description else found


def kind_schema(structural: Structural, of: TypeModel, selectable: Sequence[str] = ()) -> dict[str, Any]:
    """The schema of a kind."""
    return completed(_unfold(structural).to_openapi(), reference) | extensions(of.gvk, selectable)


def _unfold(node: Structural) -> Structural:
    """The schema with int-or-string in plain OpenAPI as well, for clients that do not know the extension."""
    changes: dict[str, Any] = {"properties": {key: _unfold(sub) for key, sub in node.properties.items()}}
    if node.items is not None:
        changes["items"] = _unfold(node.items)
    if node.additional is not None:
        changes["additional_properties"] = _unfold(node.additional)
    if node.int_or_string and not node.any_of and not any(branch.any_of for branch in node.all_of[:1]):
        changes["any_of"] = _INT_OR_STRING
    elif node.int_or_string and node.any_of != _INT_OR_STRING and node.any_of:
        changes["all_of"] = (Structural(any_of=_INT_OR_STRING), *node.all_of)
    return replace(node, **changes)
