"""Metrics as text: the families of a scrape, in Prometheus' text format or in OpenMetrics.

Must not know where figures come from. Our own, because the Python client takes 90 us per line, and a server with 100 kinds has
10,000 lines: that would hold up requests for a second.

Source: the text format of Prometheus (version 0.0.4) and OpenMetrics 1.0; ``prometheus/common/expfmt``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_VERSIONS = frozenset({"", "0.0.1", "1.0.0"})
"""The versions of OpenMetrics that are asked for and are written alike."""
_VALUE = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
_HELP = str.maketrans({"\\": "\\\\", "\n": "\\n"})


@dataclass(frozen=True, slots=True)
class Buckets:
    """A histogram's value: how many observations were in each bucket, not cumulative, and their sum.

    The last count is that of observations above all bounds.
    """

    bounds: Sequence[float]
    counts: Sequence[int]
    total: float


Sample = tuple[tuple[str, ...], float | Buckets]
"""The values of the labels, and the value; :class:`Buckets` for a histogram."""


@dataclass(frozen=True, slots=True)
class Family:
    """All samples of one metric. ``name`` is as Prometheus shows it; that of a counter ends with ``_total`` unless it is old."""

    name: str
    type: str
    """counter, gauge or histogram."""
    help: str
    labels: tuple[str, ...]
    samples: Iterable[Sample]


def wants_openmetrics(accept: str) -> bool:
    """Whether a client that sends this Accept header takes OpenMetrics."""
    for clause in accept.split(","):
        media_type, *parameters = (part.strip() for part in clause.lower().split(";"))
        given = dict(each.split("=", 1) for each in parameters if "=" in each)
        if media_type == "application/openmetrics-text" and given.get("version", "") in _VERSIONS:
            return given.get("q", "1").strip("0.") != ""
    return False


def exposition(families: Iterable[Family], *, openmetrics: bool = False) -> bytes:
    """The families as text; those without samples are left out."""
    lines: list[str] = []
    for family in families:
        samples = list(_lines(family, openmetrics=openmetrics))
        if samples:
            # In OpenMetrics a family of counters has no suffix; its samples do.
            name = family.name.removesuffix("_total") if openmetrics and family.type == "counter" else family.name
            text = family.help.translate(_VALUE if openmetrics else _HELP)
            lines += (f"# HELP {name} {text}", f"# TYPE {name} {family.type}", *samples)
    if openmetrics:
        lines.append("# EOF")
    lines.append("")
    return "\n".join(lines).encode()


def _lines(family: Family, *, openmetrics: bool) -> Iterator[str]:
    name = family.name
    if openmetrics and family.type == "counter":  # there each of them ends so, as Go's expfmt writes it, too
        name = f"{name.removesuffix('_total')}_total"
    for values, value in family.samples:
        pairs = [f'{label}="{each.translate(_VALUE)}"' for label, each in zip(family.labels, values, strict=True)]
        labels = ",".join(pairs)
        braces = f"{{{labels}}}" if labels else ""
        if not isinstance(value, Buckets):
            yield f"{name}{braces} {_number(value)}"
            continue
        start = f'{name}_bucket{{{labels}{"," if labels else ""}le="'
        cumulative = list(accumulate(value.counts))
        for bound, count in zip((*value.bounds, math.inf), cumulative, strict=True):
            yield f'{start}{_bound(bound, openmetrics=openmetrics)}"}} {count}'
        yield f"{name}_sum{braces} {_number(value.total)}"
        yield f"{name}_count{braces} {cumulative[-1]}"


def _bound(bound: float, *, openmetrics: bool) -> str:
    """A bucket's bound: ``1`` in Prometheus' format, as Go writes it, and ``1.0`` in OpenMetrics."""
    if bound == math.inf:
        return "+Inf"
    return repr(float(bound)) if openmetrics else f"{bound:.17g}" if bound >= 1e6 else repr(bound).removesuffix(".0")


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else repr(value)
