"""What documents say in Kubernetes' own words: the schemas of ``meta/v1``, that of a Scale, and the texts of parameters.

``metav1.json`` and ``autoscalingv1.json`` beside this module hold them as kube-apiserver publishes them for custom
resources. kube-apiserver merges the documents of all servers: a schema that differs from its own by a single word gets
another name there (``ObjectMeta_v2``), so no text here may be reworded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

DOCS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
AUTOSCALING: Final = "io.k8s.api.autoscaling.v1."


@cache
def _published(name: str = "metav1.json") -> Mapping[str, Any]:
    # Data of this package; importlib finds it wherever the package is, in a zip file too.
    found: dict[str, Any] = json.loads((files(__package__) / name).read_text("utf-8"))
    return found


def meta_schemas() -> dict[str, Any]:
    """The schemas of meta/v1 and of a Scale by their full names, as OpenAPI 3.0 writes them."""
    files_of = {META: "metav1.json", AUTOSCALING: "autoscalingv1.json"}
    return {
        prefix + name: schema
        for prefix, file in files_of.items()
        for name, schema in _published(file)["schemas"].items()
    }


def parameter_texts() -> Mapping[str, Mapping[str, str]]:
    """Type and description of each parameter, by name. ``fieldManager of a patch`` has its own description."""
    texts: Mapping[str, Mapping[str, str]] = _published()["parameters"]
    return texts


def type_meta() -> dict[str, Any]:
    """The properties apiVersion and kind (``metav1.TypeMeta``)."""
    properties = _published()["schemas"]["Status"]["properties"]
    return {name: dict(properties[name]) for name in ("apiVersion", "kind")}
