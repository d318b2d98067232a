"""The CustomResourceDefinitions of real projects, as their Go modules have them: fetched at need, never kept here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.differential.cel import fetching

VARIABLE = "EXTAPI_CRDS"
"""Names directories, separated by colons, with manifests of further projects: those whose modules a proxy lacks."""
PROJECTS: dict[str, dict[str, tuple[str, ...]]] = {
    "argo-cd": {"github.com/argoproj/argo-cd/v3": ("manifests/crds",)},
    "cert-manager": {"github.com/cert-manager/cert-manager": ("deploy/crds",)},
    "cilium": {
        "github.com/cilium/cilium": (
            "pkg/k8s/apis/cilium.io/client/crds/v2",
            "pkg/k8s/apis/cilium.io/client/crds/v2alpha1",
        )
    },
    "cluster-api": {
        "sigs.k8s.io/cluster-api": (
            "core/config/crd/bases",
            "bootstrap/kubeadm/config/crd/bases",
            "controlplane/kubeadm/config/crd/bases",
            "cmd/clusterctl/config/crd/bases",
            "util/test/builder/crd",
        )
    },
    "flux": {
        "github.com/fluxcd/source-controller": ("config/crd/bases",),
        "github.com/fluxcd/kustomize-controller": ("config/crd/bases",),
    },
    "gateway-api": {"sigs.k8s.io/gateway-api": ("config/crd/experimental", "config/crd/standard")},
    "istio": {"istio.io/api": ("kubernetes",)},
    "karpenter": {"sigs.k8s.io/karpenter": ("pkg/apis/crds", "kwok/apis/crds", "pkg/test/v1alpha1/crds")},
    "keda": {"github.com/kedacore/keda/v2": ("config/crd/bases",)},
    "kueue": {"sigs.k8s.io/kueue": ("config/components/crd/bases",)},
    "prometheus-operator": {
        "github.com/prometheus-operator/prometheus-operator": ("example/prometheus-operator-crd-full",)
    },
}
"""The projects, and where their modules have manifests. Those of Crossplane and Tekton are not on every proxy."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # one of two bases
    """Reads dates, and ``=``, as Kubernetes does: as text."""


for _tag in ("timestamp", "value"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", yaml.SafeLoader.construct_yaml_str)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One definition."""

    project: str
    definition: dict[str, Any]

    @property
    def name(self) -> str:
        """Such as ``gateways.gateway.networking.k8s.io``."""
        return str(self.definition["metadata"]["name"])


def manifests(project: str) -> tuple[Manifest, ...]:
    """Those of a project, each name once: of several, the first."""
    found: dict[str, Manifest] = {}
    for module, directories in PROJECTS[project].items():
        for name in directories:
            for each in _in(project, fetching.directory(module) / name):
                found.setdefault(each.name, each)
    return tuple(found.values())


def further() -> tuple[Manifest, ...]:
    """Those in the directories that :data:`VARIABLE` names; the project is the directory's name."""
    paths = [Path(name) for name in os.environ.get(VARIABLE, "").split(":") if name]
    return tuple(each for path in paths for each in _in(path.name, path))


@cache
def everything() -> tuple[Manifest, ...]:
    """All of them, each name once."""
    found: dict[str, Manifest] = {}
    for each in (*(each for project in PROJECTS for each in manifests(project)), *further()):
        found.setdefault(each.name, each)
    return tuple(found.values())


def _in(project: str, directory: Path) -> Iterator[Manifest]:
    for file in sorted(directory.glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        if "kind: CustomResourceDefinition" in text:
            for document in yaml.load_all(text, Loader=_Loader):
                if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
                    yield Manifest(project, document)
