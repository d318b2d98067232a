"""All conversations with what manifests define, and the manifests themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.differential.cases import Case
from tests.differential.crds import (
    defaulting,
    embedding,
    keywords,
    merging,
    preserving,
    printing,
    ratcheting,
    routing,
    ruling,
    selecting,
    versioning,
)

MANIFESTS = Path(__file__).parent / "manifests"
THEIRS = "kube.manifests.test"
"""The group in the manifests, which kube-apiserver serves."""
OURS = "ours.manifests.test"
"""As long as the other: errors quote the first bytes of a body."""

MODULES = {
    "keyword": keywords,
    "preserve": preserving,
    "embed": embedding,
    "default": defaulting,
    "merge": merging,
    "rule": ruling,
    "ratchet": ratcheting,
    "column": printing,
    "field": selecting,
    "version": versioning,
    "route": routing,
}


def all_cases() -> dict[str, Case]:
    """Name and conversation."""
    return {f"{name}: {case}": found for name, module in MODULES.items() for case, found in module.CASES.items()}


def texts(group: str) -> Iterator[tuple[str, str]]:
    """Name and text of each manifest, with another name for the group."""
    for path in sorted(MANIFESTS.glob("*.yaml")):
        yield path.name, path.read_text().replace(THEIRS, group)


def definitions(group: str = THEIRS) -> Iterator[dict[str, Any]]:
    """The definitions in the manifests. Keys such as ``n`` have to be quoted there: to clients in Go they are booleans."""
    for _, text in texts(group):
        yield from yaml.safe_load_all(text)


def served_versions() -> list[str]:
    """The versions that any of them serves."""
    return sorted({each["name"] for one in definitions() for each in one["spec"]["versions"] if each["served"]})
