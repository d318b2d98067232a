"""What several processes say of themselves, as what their server would say if it were one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from extapi.server.exposition import Buckets, Family, Sample

_LEAST: Final = frozenset({"kubernetes_healthcheck", "process_start_time_seconds"})
"""Gauges of which the least counts: a check passes if it does everywhere."""
_SUMS: Final = frozenset(
    {
        "apiserver_current_inflight_requests",
        "apiserver_longrunning_requests",
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
    }
)
"""Gauges of which each process has its own part. Of all others, which say the same in each process or that one of them has
something, the greatest counts."""

Rows = list[tuple[tuple[str, ...], int | float | tuple[Sequence[float], Sequence[int], int | float]]]
_Wire = list[tuple[str, str, str, tuple[str, ...], Rows]]
_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[_Wire] = msgspec.msgpack.Decoder(_Wire)


def write(families: Iterable[Family]) -> bytes:
    """Families for another process."""
    return _encode(
        [
            (
                family.name,
                family.type,
                family.help,
                family.labels,
                [
                    (labels, (value.bounds, value.counts, value.total) if isinstance(value, Buckets) else value)
                    for labels, value in family.samples
                ],
            )
            for family in families
        ]
    )


def read(data: bytes) -> list[Family]:
    """What :func:`write` has written.

    Raises:
        msgspec.MsgspecError: It is something else.
    """
    return [
        Family(
            name,
            kind,
            text,
            labels,
            [(values, Buckets(*value) if isinstance(value, tuple) else value) for values, value in rows],
        )
        for name, kind, text, labels, rows in _decoder.decode(data)
    ]


def total(processes: Iterable[Iterable[Family]]) -> list[Family]:
    """The families of all processes as one: counters and histograms are sums, and so are some gauges."""
    families: dict[str, Family] = {}
    samples: dict[str, dict[tuple[str, ...], float | Buckets]] = {}
    for process in processes:
        for family in process:
            families.setdefault(family.name, family)
            known = samples.setdefault(family.name, {})
            join = _rule(family)
            for labels, value in family.samples:
                known[labels] = join(known[labels], value) if labels in known else value
    return [
        Family(family.name, family.type, family.help, family.labels, _listed(samples[name]))
        for name, family in families.items()
    ]


def _listed(samples: dict[tuple[str, ...], float | Buckets]) -> list[Sample]:
    return list(samples.items())


def _rule(family: Family) -> Callable[[Any, Any], Any]:
    if family.type == "histogram":
        return _buckets
    if family.type == "gauge":
        if family.name in _LEAST:
            return min
        if family.name not in _SUMS:
            return max
    return _sum


def _sum(one: float, other: float) -> float:
    return one + other


def _buckets(one: Buckets, other: Buckets) -> Buckets:
    counts = [a + b for a, b in zip(one.counts, other.counts, strict=True)]
    return Buckets(one.bounds, counts, one.total + other.total)
