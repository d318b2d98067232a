"""The tables of docs/explanation/scale.md, made of recorded unit costs by the model. Pure, but for :func:`write`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.bench.scale.model import Load, Measured, UnitCosts, Usage, breaks, start, usage

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "scale.md"
_SECTION = r"(<!-- table: {0} -->\n)(.*?)(<!-- end -->\n)"

MB, KB = 1e6, 1e3
_UNITS: Mapping[str, tuple[str, float, str]] = {
    "etcd_idle_cpu": ("etcd that has nothing to do, CPU ms per second", 1e3, "{:.1f}"),
    "etcd_memory": ("empty etcd, MB", MB, "{:.0f}"),
    "etcd_write_cpu": ("a write, etcd's CPU us", 1, "{:.0f}"),
    "etcd_event_cpu": ("an event to one tail, etcd's CPU us", 1, "{:.0f}"),
    "etcd_event_bytes": ("an event to one tail, bytes", 1, "{:,.0f}"),
    "etcd_question_cpu": ("a question for the revision, etcd's CPU us", 1, "{:.0f}"),
    "etcd_tail_memory": ("a server that follows, etcd's KB", KB, "{:.0f}"),
    "etcd_object_memory": ("an object, etcd's memory in bytes", 1, "{:,.0f}"),
    "etcd_object_disk": ("an object, etcd's database in bytes", 1, "{:,.0f}"),
    "etcd_revision_disk": ("an older revision, etcd's database in bytes", 1, "{:,.0f}"),
    "etcd_fill_cpu": ("an object that a server reads at its start, etcd's CPU us", 1, "{:.1f}"),
    "etcd_fill_bytes": ("an object that a server reads at its start, bytes", 1, "{:,.0f}"),
    "server_idle_cpu": ("a server that has nothing to do, CPU ms per second", 1e3, "{:.1f}"),
    "server_memory": ("a server without objects, MB", MB, "{:.0f}"),
    "server_start_cpu": ("its start, CPU s", 1e6, "{:.2f}"),
    "server_fill_cpu": ("an object at its start, server's CPU us", 1, "{:.1f}"),
    "server_object_memory": ("an object, server's memory in bytes", 1, "{:,.0f}"),
    "server_event_cpu": ("an event that another server wrote, CPU us", 1, "{:.0f}"),
    "server_write_cpu": ("a merge PATCH, 8 connections, server's CPU us", 1, "{:.0f}"),
    "server_read_cpu": ("a consistent GET, 16 connections, server's CPU us", 1, "{:.0f}"),
    "server_read_questions": ("a consistent GET, 16 connections, questions to etcd", 1, "{:.2f}"),
    "server_delivery_cpu": ("an event to one watcher, server's CPU us", 1, "{:.1f}"),
    "server_delivery_bytes": ("an event to one watcher, bytes", 1, "{:,.0f}"),
    "server_watcher_memory": ("an open watch, server's KB", KB, "{:.0f}"),
    "object_bytes": ("the object of all this, as stored, bytes", 1, "{:,.0f}"),
}


def sections(measured: Measured, origin: str) -> dict[str, str]:
    """The tables by their names in the page, each with its last newline."""
    costs = measured.costs
    return {
        "units": _text(_units(costs, origin)),
        "points": _text(_points(measured)),
        "replicas": _text(_replicas(costs)),
        "objects": _text(_objects(costs)),
        "watchers": _text(_watchers(costs)),
        "breaks": _text(_breaks(costs)),
    }


def found(page: str) -> dict[str, str]:
    """The tables that a page has, by their names."""
    pattern = re.compile(_SECTION.format(r"(?P<name>\w+)"), re.DOTALL)
    return {match["name"]: match[3] for match in pattern.finditer(page)}


def write(made: Mapping[str, str], page: Path = PAGE) -> None:
    """Put the tables into the page."""
    text = page.read_text(encoding="utf-8")
    for name, lines in made.items():
        match = re.search(_SECTION.format(name), text, re.DOTALL)
        if match is not None:
            text = text[: match.start(2)] + lines + text[match.end(2) :]
    page.write_text(text, encoding="utf-8")


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _head(*titles: str) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield "|---" * len(titles) + "|"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _units(costs: UnitCosts, origin: str) -> Iterator[str]:
    yield f"{origin[:1].upper()}{origin[1:]}."
    yield ""
    yield from _head("one of these", "costs")
    for name, (title, unit, form) in _UNITS.items():
        yield _row(title, form.format(getattr(costs, name) / unit))


def _points(measured: Measured) -> Iterator[str]:
    costs = measured.costs
    yield from _head("point", "what", "model", "measured", "measured / model")
    for point in measured.points:
        title, rows = _POINTS[str(point["what"])](costs, point)
        for what, form, model, real in rows:
            yield _row(title, what, form.format(model), form.format(real), f"{real / model:.2f}")


Rows = tuple[str, list[tuple[str, str, float, float]]]


def _tails(costs: UnitCosts, point: Mapping[str, Any]) -> Rows:
    number = point["number"]
    cpu = costs.etcd_write_cpu + number * costs.etcd_event_cpu
    return f"{number:,.0f} {'tail' if number == 1 else 'tails'} on one etcd", [
        ("etcd's CPU us per write", "{:,.0f}", cpu, point["cpu"]),
        ("bytes per write", "{:,.0f}", number * costs.etcd_event_bytes, point["bytes"]),
    ]


def _filled(costs: UnitCosts, point: Mapping[str, Any]) -> Rows:
    load = Load(replicas=1, objects=int(point["number"]))
    begun, used = start(costs, load), usage(costs, load)
    memory = used.etcd_memory - costs.etcd_memory - costs.etcd_tail_memory
    return f"{load.objects:,} objects", [
        ("a server's memory, MB", "{:,.0f}", used.server_memory / MB, point["server_memory"] / MB),
        ("a server's start, CPU s", "{:,.1f}", begun.server_cpu, point["server_cpu"] / 1e6),
        ("etcd's memory, MB more", "{:,.0f}", memory / MB, point["etcd_memory"] / MB),
        ("etcd's database, MB", "{:,.0f}", used.etcd_disk / MB, point["etcd_disk"] / MB),
        ("read from etcd at the start, MB", "{:,.0f}", begun.etcd_bytes / MB, point["etcd_bytes"] / MB),
        ("etcd's CPU for it, s", "{:,.2f}", begun.etcd_cpu, point["etcd_cpu"] / 1e6),
    ]


def _watched(costs: UnitCosts, point: Mapping[str, Any]) -> Rows:
    number = point["number"]
    cpu = costs.server_write_cpu + number * costs.server_delivery_cpu
    return f"{number:,.0f} watchers on one server", [
        ("server's CPU ms per write", "{:,.1f}", cpu / 1e3, point["cpu"] / 1e3),
        ("server's memory, MB more", "{:,.0f}", number * costs.server_watcher_memory / MB, point["memory"] / MB),
    ]


def _pair(costs: UnitCosts, point: Mapping[str, Any]) -> Rows:
    """Two servers; all writes go through the first."""
    number, writes, seconds = point["number"], point["writes"], point["seconds"]
    delivered = number * costs.server_delivery_cpu
    etcd = usage(costs, Load(replicas=2, writes=writes / seconds))
    return f"2 servers, {number:,.0f} watchers on each, {writes:,.0f} writes through the first", [
        ("first server's CPU s", "{:.2f}", writes * (costs.server_write_cpu + delivered) / 1e6, point["writer"] / 1e6),
        ("second server's CPU s", "{:.2f}", writes * (costs.server_event_cpu + delivered) / 1e6, point["other"] / 1e6),
        ("etcd's CPU s", "{:.2f}", etcd.etcd_cpu * seconds, point["etcd"] / 1e6),
        ("calls to etcd", "{:,.0f}", etcd.etcd_calls * seconds, point["calls"]),
    ]


_POINTS = {"tails": _tails, "objects": _filled, "watchers": _watched, "pair": _pair}


WRITES = 50
"""Writes per second in the tables, unless they say another number."""


def _replicas(costs: UnitCosts) -> Iterator[str]:
    """What the tails of many servers cost etcd."""
    yield from _head(
        "servers",
        "calls/s to etcd without load",
        "etcd's memory for them, MB",
        f"events/s with {WRITES} writes/s",
        "MB/s sent",
        "etcd's cores",
        "each server's cores for the others' writes",
    )
    for number in (1, 3, 10, 100, 1_000):
        idle = usage(costs, Load(replicas=number))
        used = usage(costs, Load(replicas=number, writes=WRITES))
        other = WRITES * (1 - 1 / number) * costs.server_event_cpu / 1e6
        yield _row(
            f"{number:,}",
            f"{idle.etcd_calls:,.1f}",
            f"{number * costs.etcd_tail_memory / MB:,.1f}",
            f"{used.etcd_events:,.0f}",
            f"{used.etcd_bytes / MB:,.2f}",
            f"{used.etcd_cpu:.2f}",
            f"{other:.3f}",
        )


def _objects(costs: UnitCosts) -> Iterator[str]:
    """What objects cost that nobody changes, and the start of three servers at once."""
    yield from _head(
        "objects",
        "a server's memory, MB",
        "its start, CPU s",
        "etcd's memory, MB",
        "etcd's database, MB",
        "3 servers start: MB from etcd",
        "etcd's CPU s",
    )
    for number in (1_000, 10_000, 100_000, 1_000_000):
        load = Load(replicas=3, objects=number)
        used, begun = usage(costs, load), start(costs, load)
        yield _row(
            f"{number:,}",
            f"{used.server_memory / MB:,.0f}",
            f"{begun.server_cpu:,.1f}",
            f"{used.etcd_memory / MB:,.0f}",
            f"{used.etcd_disk / MB:,.0f}",
            f"{begun.etcd_bytes / MB:,.0f}",
            f"{begun.etcd_cpu:,.1f}",
        )


def _watchers(costs: UnitCosts) -> Iterator[str]:
    """What watchers of everything cost the servers."""
    yield from _head(
        "watchers",
        "servers",
        "memory for watches in each, MB",
        "CPU ms of each per write",
        "MB sent by each per write",
        "writes/s until a core is full",
    )
    for watchers in (100, 1_000, 10_000):
        for number in (1, 3, 10):
            load = Load(replicas=number, watchers=watchers, writes=1)
            used, none = usage(costs, load), usage(costs, Load(replicas=number, watchers=watchers))
            cpu = used.server_cpu - none.server_cpu
            yield _row(
                f"{watchers:,}",
                f"{number:,}",
                f"{watchers / number * costs.server_watcher_memory / MB:,.0f}",
                f"{cpu * 1e3:,.1f}",
                f"{used.server_bytes / MB:,.2f}",
                f"{(1 - none.server_cpu) / cpu:,.0f}",
            )


CASES: Mapping[str, Load] = {
    "3 servers, 100,000 objects, no watchers": Load(replicas=3, objects=100_000),
    "the same, 10 reads for each write": Load(replicas=3, objects=100_000, writes=1, reads=10),
    "the same, 10,000 watchers that see 1 % of the changes each": Load(
        replicas=3, objects=100_000, watchers=10_000, part=0.01
    ),
    "3 servers, 100,000 objects, 10,000 watchers of everything": Load(replicas=3, objects=100_000, watchers=10_000),
    "10 servers, the same": Load(replicas=10, objects=100_000, watchers=10_000),
    "100 servers, the same": Load(replicas=100, objects=100_000, watchers=10_000),
    "1,000 servers, the same": Load(replicas=1_000, objects=100_000, watchers=10_000),
    "1,000 servers, no watchers": Load(replicas=1_000, objects=100_000),
    "3 servers, 2,000,000 objects": Load(replicas=3, objects=2_000_000),
}


def _breaks(costs: UnitCosts) -> Iterator[str]:
    """What is used up first when more and more is written."""
    yield from _head(
        "load", "writes/s at the end", "used up first", "etcd's cores then", "a server's cores", "MB/s from etcd"
    )
    for title, load in CASES.items():
        found = breaks(costs, load)
        ratio = load.reads / load.writes if load.writes else 0.0
        used: Usage = usage(
            costs,
            Load(
                replicas=load.replicas,
                objects=load.objects,
                watchers=load.watchers,
                part=load.part,
                writes=found.writes,
                reads=found.writes * ratio,
            ),
        )
        yield _row(
            title,
            f"{found.writes:,.0f}" if found.writes else "none",
            found.bound,
            f"{used.etcd_cpu:.2f}",
            f"{used.server_cpu:.2f}",
            f"{used.etcd_bytes / MB:,.1f}",
        )
