"""Metrics as Prometheus reads them: families, their types, labels and buckets, by the Python client's own parser."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

OWN = ("extapi_", "python_")
"""Beginnings of names that kube-apiserver does not have."""


@dataclass(frozen=True)
class Described:
    """What a family is, without its values."""

    type: str
    labels: tuple[str, ...]
    bounds: tuple[float, ...] = ()


def known() -> Mapping[str, Any]:
    """The families of kube-apiserver in ``metrics.toml``."""
    return tomllib.loads((Path(__file__).parent / "metrics.toml").read_text())


def described(entry: Mapping[str, Any]) -> Described:
    """An entry of ``metrics.toml``."""
    return Described(entry["type"], tuple(entry["labels"]), tuple(map(float, entry.get("bounds", ()))))


def section(text: str, name: str) -> str:
    """The lines of one family."""
    begins = (f"{name}{{", f"{name} ", f"# HELP {name} ", f"# TYPE {name} ")
    return "".join(line for line in text.splitlines(keepends=True) if line.startswith(begins))


def families(text: str) -> dict[str, Metric]:
    """The families of a scrape, by the names that Prometheus shows."""
    found = {}
    for family in text_string_to_metric_families(text):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert name not in found, f"{name} is there twice"
        found[name] = family
    return found


def describe(family: Metric) -> Described:
    """What the samples of a family show; all have the same labels."""
    labels = {tuple(sorted(sample.labels.keys() - {"le"})) for sample in family.samples}
    assert len(labels) == 1, f"samples of {family.name} have different labels: {labels}"
    bounds = sorted({float(sample.labels["le"]) for sample in family.samples if "le" in sample.labels})
    return Described(family.type, labels.pop(), tuple(bounds[:-1]))


def values(family: Metric, **labels: str) -> float:
    """The sum of the samples with these labels, of a counter or a gauge."""
    return float(sum(sample.value for sample in matching(family, labels)))


def matching(family: Metric, labels: Mapping[str, str]) -> Iterable[Any]:
    """The samples that have these labels."""
    return (sample for sample in family.samples if labels.items() <= sample.labels.items())
