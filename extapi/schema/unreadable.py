"""Schemas with keywords that no structural schema has: kube-apiserver does not look any further at their structure.

Source: ``apiextensions-apiserver/pkg/apiserver/schema`` NewStructural.
"""

from __future__ import annotations

from extapi.schema.structural import Structural


def unreadable(node: Structural) -> str:
    """Why a schema is none that could be structural: the first keyword that has no place in it; empty if there is none.

    Such a schema is not checked any further: its other errors are found, or it would be said once more.
    """
    for keyword, called in _NEVER.items():
        value = node.unsupported.get(keyword)
        if value or (keyword == "additionalItems" and value is not None):
            return f"OpenAPIV3Schema '{called}' is not supported"
    for _, branch in node.branches():
        if why := unreadable(branch):
            return why
    if node.preserve_unknown is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if node.unsupported.get("items"):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    for _, sub in node.nodes():
        if not sub.plain and (why := unreadable(sub)):
            return why
    return ""


_NEVER = {
    "id": "id",
    "$schema": "schema",
    "$ref": "$ref",
    "patternProperties": "patternProperties",
    "dependencies": "dependencies",
    "additionalItems": "additionalItems",
    "definitions": "definitions",
}
"""Keywords that a structural schema never has, and what they are called."""
