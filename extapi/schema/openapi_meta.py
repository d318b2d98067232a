"""What every document says in Kubernetes' own words: the schemas of ``meta/v1``, and metadata in the schemas of kinds.

``metav1.json`` beside this module holds the schemas and the parameters as kube-apiserver publishes them for custom
resources. kube-apiserver merges the documents of all servers, and a schema that differs from its own by one word gets
another name there (``ObjectMeta_v2``), so nothing may be put in other words here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

DOCS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
METADATA: Final = f"Standard object's metadata. More info: {DOCS}#metadata"
LIST_METADATA: Final = f"Standard list metadata. More info: {DOCS}#types-kinds"

Reference = Callable[[str, str], dict[str, Any]]


@cache
def _published() -> Mapping[str, Any]:
    # Data of this package, read as its modules are.
    found: dict[str, Any] = json.loads((files(__package__) / "metav1.json").read_text("utf-8"))
    return found


def meta_schemas() -> dict[str, Any]:
    """The schemas of meta/v1 by their full names, as OpenAPI 3.0 has them."""
    return {META + name: schema for name, schema in _published()["schemas"].items()}


def parameter_texts() -> Mapping[str, Mapping[str, str]]:
    """Type and description of each parameter by name; ``fieldManager of a patch`` has a description of its own."""
    texts: Mapping[str, Mapping[str, str]] = _published()["parameters"]
    return texts


def type_meta() -> dict[str, Any]:
    """The properties apiVersion and kind (``metav1.TypeMeta``)."""
    properties = _published()["schemas"]["Status"]["properties"]
    return {name: dict(properties[name]) for name in ("apiVersion", "kind")}


def embedded_type_meta() -> dict[str, Any]:
    """The properties apiVersion and kind of an object in an object."""
    about = {
        "apiVersion": "apiVersion defines the versioned schema of this representation of an object. "
        f"More info: {DOCS}#resources",
        "kind": "kind is a string value representing the type of this object. In CamelCase. "
        f"More info: {DOCS}#types-kinds",
    }
    return {name: {"type": "string", "description": text} for name, text in about.items()}


def embed(schema: dict[str, Any], reference: Reference, *, keep_open: bool = False) -> None:
    """Add apiVersion, kind and metadata to embedded objects, in place.

    ``keep_open``: not where unknown fields are kept, since old kubectl would then refuse them.
    """
    for sub in schema.get("properties", {}).values():
        embed(sub, reference, keep_open=keep_open)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            embed(schema[key], reference, keep_open=keep_open)
    if not schema.get("x-kubernetes-embedded-resource"):
        return
    if keep_open and schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    metadata = reference(f"{META}ObjectMeta", METADATA)
    schema["properties"] = {**schema.get("properties", {}), **embedded_type_meta(), "metadata": metadata}
    required = list(schema.get("required", []))
    schema["required"] = required + [key for key in ("kind", "apiVersion") if key not in required]
