"""The tables of ``scripts/bench --peer``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.bench.peer.rows import Row
from tests.bench.peer.sides import Side

DIRECT = {
    "GET": 0.15,
    "LIST of 500": 0.06,
    "PATCH": 0.25,
    "apply, no change": 0.3,
    "apply, with change": 0.35,
    "watch delivery, 100 watches": 0.4,
    "CREATE, 1 connection": 0.27,
    "CREATE, 8 connections": 0.25,
}
"""Our CPU by that of sample-apiserver: what a row should stay under; other rows have no bar."""
AGGREGATED = {
    "GET": 0.2,
    "LIST of 500": 0.13,
    "LIST of 500, gzip": 0.12,
    "PATCH": 0.37,
    "apply, no change": 0.3,
    "apply, with change": 0.35,
    "watch delivery, 100 watches": 0.64,
    "CREATE, 1 connection": 0.26,
    "CREATE, 8 connections": 0.35,
}
"""The same through kube-apiserver: what was measured once, so that no row gets worse; of an apply, what it is held to directly."""
MEMORY = 0.8
"""Our memory by that of sample-apiserver without its etcd, likewise."""


def direct(ours: Mapping[str, Row], sample: Mapping[str, Row], custom: Mapping[str, Row]) -> Iterator[str]:
    """CPU a request of all processes of each side, and ours by theirs."""
    yield "| direct, CPU us per request | extapi | sample-apiserver | ratio | custom resource | ratio | bar |"
    yield "|---|---|---|---|---|---|---|"
    for name, row in ours.items():
        theirs, beside = sample[name], custom[name]
        yield (
            f"| {name} | {row.cpu:,.1f} | {theirs.cpu:,.1f} | {row.cpu / theirs.cpu:.2f} "
            f"| {beside.cpu:,.1f} | {row.cpu / beside.cpu:.2f} | {_bar(DIRECT.get(name), row.cpu / theirs.cpu)} |"
        )


def aggregated(ours: Mapping[str, Row], sample: Mapping[str, Row]) -> Iterator[str]:
    """The same through kube-apiserver, whose share is beside it."""
    yield "| through kube-apiserver, CPU us per request | extapi | sample-apiserver | ratio | kube-apiserver before extapi | before sample-apiserver | bar |"
    yield "|---|---|---|---|---|---|---|"
    for name, row in ours.items():
        theirs = sample[name]
        yield (
            f"| {name} | {row.cpu:,.1f} | {theirs.cpu:,.1f} | {row.cpu / theirs.cpu:.2f} "
            f"| {row.proxy:,.1f} | {theirs.proxy:,.1f} | {_bar(AGGREGATED.get(name), row.cpu / theirs.cpu)} |"
        )


ON_ETCD = {
    "GET, 4 connections": 0.6,
    "GET, 16 connections": 0.4,
    "GET, resourceVersion=0": 0.2,
    "LIST of 500": 0.12,
    "PATCH": 0.55,
    "watch delivery, 100 watches": 0.5,
    "CREATE, 8 connections": 0.5,
}
"""Our CPU by that of sample-apiserver, both with their etcd."""
TLS = 1.3
"""What etcd over TLS may cost, by the same without."""


def on_etcd(
    sample: Mapping[str, Row], plain: Mapping[str, Row], tls: Mapping[str, Row], apart: Mapping[str, Row]
) -> Iterator[str]:
    """CPU per request of server and etcd together, with the part of etcd; all by sample-apiserver's, which has no TLS to its etcd.

    ``tls``: as etcd is by default; ``apart``: with HTTP on a port of its own, as etcd recommends.
    """
    yield (
        "| direct, CPU us per request (of etcd) | sample-apiserver, etcd | extapi, etcd | ratio | bar "
        "| extapi, etcd over TLS | ratio | bar | with HTTP apart | ratio | bar |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for name, row in sample.items():
        bar = ON_ETCD.get(name)
        secured = bar and round(bar * TLS, 3)
        cells = [_parts(row)]
        for side, limit in ((plain, bar), (tls, secured), (apart, secured)):
            ours = side[name]
            ratio = ours.cpu / row.cpu
            cells += [_parts(ours), f"{ratio:.2f}", _bar(limit, ratio)]
        yield f"| {name} | {' | '.join(cells)} |"


def _parts(row: Row) -> str:
    return f"{row.cpu:,.1f} ({row.store:,.1f})"


def times(title: str, measured: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    """Requests a second and latencies; ``measured``: rows by side."""
    yield f"| {title} | {' | '.join(f'{side}: per s | p50 ms | p99 ms' for side in measured)} |"
    yield "|---" * (1 + 3 * len(measured)) + "|"
    for name in next(iter(measured.values())):
        rows = (side[name] for side in measured.values())
        yield f"| {name} | {' | '.join(f'{row.rate:,.0f} | {row.p50:.2f} | {row.p99:.2f}' for row in rows)} |"


def memory(sides: Sequence[Side]) -> Iterator[str]:
    """Before any load."""
    yield "| RSS idle, MB | |"
    yield "|---|---|"
    for side in sides:
        for process, megabytes in side.idle.items():
            yield f"| {side.name}: {process} | {megabytes:.1f} |"
    ours, sample = sides[0].idle["wardle"], sides[1].idle["sample-apiserver"]
    yield f"| wardle by sample-apiserver, bar {_bar(MEMORY, ours / sample)} | {ours / sample:.2f} |"


def _bar(bar: float | None, ratio: float) -> str:
    """What a ratio should stay under, and whether it does not."""
    if bar is None:
        return ""
    return f"{bar}, over" if ratio > bar else f"{bar}"
