"""The CustomResourceDefinitions of real projects: schemas with rules, as their Go modules have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.differential.cel import fetching

DIRECTORIES = {
    "sigs.k8s.io/gateway-api": ("config/crd/standard", "config/crd/experimental"),
    "sigs.k8s.io/karpenter": ("pkg/apis/crds", "kwok/charts/crds"),
    "sigs.k8s.io/kueue": ("config/components/crd/bases",),
    "sigs.k8s.io/cluster-api": (
        "core/config/crd/bases",
        "bootstrap/kubeadm/config/crd/bases",
        "controlplane/kubeadm/config/crd/bases",
    ),
    "github.com/cert-manager/cert-manager": ("deploy/crds",),
    "github.com/cilium/cilium": (
        "pkg/k8s/apis/cilium.io/client/crds/v2",
        "pkg/k8s/apis/cilium.io/client/crds/v2alpha1",
    ),
}
"""Where each module has its manifests."""


@dataclass(frozen=True, slots=True)
class RealSchema:
    """A version of a definition that has rules."""

    name: str
    """Such as ``gateways.gateway.networking.k8s.io/v1``, and a number if several have that name."""
    schema: dict[str, Any]
    definition: dict[str, Any]


@cache
def real_schemas() -> tuple[RealSchema, ...]:
    """All of them, each schema once."""
    found: dict[str, RealSchema] = {}
    names: dict[str, int] = {}
    for definition in _definitions():
        for version in definition["spec"]["versions"]:
            schema = (version.get("schema") or {}).get("openAPIV3Schema")
            text = json.dumps(schema, sort_keys=True)
            if schema is None or '"x-kubernetes-validations"' not in text or text in found:
                continue
            name = f"{definition['metadata']['name']}/{version['name']}"
            names[name] = names.get(name, 0) + 1
            numbered = name if names[name] == 1 else f"{name} #{names[name]}"
            found[text] = RealSchema(numbered, schema, definition)
    return tuple(found.values())


def _definitions() -> Iterator[dict[str, Any]]:
    for module, directories in DIRECTORIES.items():
        for name in directories:
            for file in sorted((fetching.directory(module) / name).glob("*.yaml")):
                yield from _read(file)


def _read(file: Path) -> Iterator[dict[str, Any]]:
    text = file.read_text(encoding="utf-8")
    if "x-kubernetes-validations" in text:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        for document in yaml.load_all(text, Loader=loader):
            if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
                # What YAML takes for dates is text in JSON.
                yield json.loads(json.dumps(document, default=str))


def rules(schema: Any) -> Iterator[dict[str, Any]]:
    """Each rule in a schema, whatever its place."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "x-kubernetes-validations" and isinstance(value, list):
                yield from value
            else:
                yield from rules(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from rules(value)
