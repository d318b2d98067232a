"""kubectl's annotation with what client-side apply has last applied.

Knows nothing of managers. Source: ``k8s.io/apimachinery/pkg/util/managedfields/internal``: ``lastapplied.go``,
``lastappliedupdater.go``.
"""

from __future__ import annotations

from typing import Any, Final

from extapi.api.types import Obj
from extapi.codec.strictjson import encode

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
MOST_ANNOTATIONS: Final = 256 * 1024
"""Bytes of all annotations together; kube-apiserver's TotalAnnotationSizeLimitB."""


def last_applied(obj: Obj) -> str:
    """The annotation; empty if there is none, or annotations are malformed."""
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict) or not all(isinstance(text, str) for text in annotations.values()):
        return ""
    text: str = annotations.get(LAST_APPLIED, "")
    return text


def with_last_applied(obj: Obj, config: Obj) -> Obj:
    """The object with the configuration in kubectl's annotation, or without it if that would be too large."""
    annotations: dict[str, Any] = {**obj["metadata"]["annotations"], LAST_APPLIED: _written(config)}
    if sum(len(name.encode()) + len(value.encode()) for name, value in annotations.items()) > MOST_ANNOTATIONS:
        del annotations[LAST_APPLIED]
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _written(config: Obj) -> str:
    """The configuration without the annotation itself, as Go's encoder writes unstructured objects."""
    metadata = config.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict):
        left = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
        config = {**config, "metadata": {**config["metadata"], "annotations": left}}
    return encode(config).decode() + "\n"
