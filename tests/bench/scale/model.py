"""The model of docs/explanation/scale.md: what a load costs, computed from measured unit costs. Pure: no I/O, no clock.

Everything is linear: so much per write, per event and tail, per event and watcher, per object. Where that is wrong, the
comparison with measured points shows it (:mod:`tests.bench.scale.tables`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

SECOND = 1_000_000
"""CPU microseconds of one core."""
HEALTH = 0.5
"""Questions for etcd's revision per second that a server asks by itself: one per ``--etcd-healthcheck-timeout`` of 2 s."""
HISTORY = 600
"""Seconds of history that a store keeps at most: two compaction intervals of 5 minutes."""


@dataclass(frozen=True, kw_only=True)
class UnitCosts:
    """What one of each costs. CPU in microseconds, memory and traffic in bytes."""

    object_bytes: float
    """A stored object; all others are for objects of this size."""
    etcd_idle_cpu: float
    """Per second."""
    etcd_memory: float
    """Of an empty etcd."""
    etcd_write_cpu: float
    """Per transaction, without any tail."""
    etcd_event_cpu: float
    """Per event and tail."""
    etcd_event_bytes: float
    """Sent per event and tail: the object, the one before, and the frame."""
    etcd_question_cpu: float
    """Per question for the current revision."""
    etcd_tail_memory: float
    """Per server that is connected and follows the log."""
    etcd_object_memory: float
    """Per object, resident."""
    etcd_object_disk: float
    """Per object, in the database."""
    etcd_revision_disk: float
    """Per write whose predecessor has not been compacted, in the database."""
    etcd_fill_cpu: float
    """Per object that a server reads when it starts."""
    etcd_fill_bytes: float
    """Sent per object that a server reads when it starts."""
    server_idle_cpu: float
    """Per second."""
    server_memory: float
    """Of a server without objects."""
    server_start_cpu: float
    """To start without objects."""
    server_fill_cpu: float
    """Per object that it reads when it starts."""
    server_object_memory: float
    """Per object."""
    server_event_cpu: float
    """Per event of the log that was written through another server, without watchers."""
    server_write_cpu: float
    """Per merge patch, with eight connections, its own event included."""
    server_read_cpu: float
    """Per consistent GET, with sixteen connections."""
    server_read_questions: float
    """Questions for etcd's revision per consistent GET, with sixteen connections."""
    server_delivery_cpu: float
    """Per event and watcher."""
    server_delivery_bytes: float
    """Sent per event and watcher."""
    server_watcher_memory: float
    """Per open watch."""

    @classmethod
    def parse(cls, found: Mapping[str, float]) -> UnitCosts:
        """From recorded numbers.

        Raises:
            ValueError: One is missing, unknown, or not positive.
        """
        names = {field.name for field in fields(cls)}
        if set(found) != names or any(value <= 0 for value in found.values()):
            raise ValueError(f"not unit costs: {sorted(names ^ set(found)) or dict(found)}")
        return cls(**found)

    def as_dict(self) -> dict[str, float]:
        """As they are recorded."""
        return asdict(self)


Point = Mapping[str, float | str]
"""``what``: tails, objects, watchers or pair; how many; and what was measured, in the units of :class:`UnitCosts`."""


@dataclass(frozen=True)
class Measured:
    """Everything that is recorded."""

    costs: UnitCosts
    points: Sequence[Point]


@dataclass(frozen=True, kw_only=True)
class Load:
    """What there is, and what happens per second; all servers together, evenly spread."""

    replicas: int
    objects: int = 0
    watchers: int = 0
    part: float = 1.0
    """Of all events, those that one watcher gets."""
    writes: float = 0.0
    reads: float = 0.0
    """Consistent ones."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a load uses. CPU in cores, memory, disk and traffic in bytes; a server: each of them."""

    etcd_calls: float
    """Per second."""
    etcd_events: float
    """Per second, to all tails."""
    etcd_bytes: float
    """Sent per second."""
    etcd_cpu: float
    etcd_memory: float
    etcd_disk: float
    """After ten minutes of this."""
    server_cpu: float
    server_memory: float
    server_bytes: float
    """Sent per second to watchers."""
    server_connections: float


def usage(costs: UnitCosts, load: Load) -> Usage:
    """What a load uses: etcd as one member, to which all servers are connected."""
    questions = load.replicas * HEALTH + load.reads * costs.server_read_questions
    events = load.writes * load.replicas
    watched = load.writes * load.part * load.watchers / load.replicas
    others = load.writes * (1 - 1 / load.replicas)
    return Usage(
        etcd_calls=load.writes + questions,
        etcd_events=events,
        etcd_bytes=events * costs.etcd_event_bytes,
        etcd_cpu=(
            costs.etcd_idle_cpu
            + load.writes * costs.etcd_write_cpu
            + events * costs.etcd_event_cpu
            + questions * costs.etcd_question_cpu
        )
        / SECOND,
        etcd_memory=costs.etcd_memory
        + load.replicas * costs.etcd_tail_memory
        + load.objects * costs.etcd_object_memory,
        etcd_disk=load.objects * costs.etcd_object_disk + load.writes * HISTORY * costs.etcd_revision_disk,
        server_cpu=(
            costs.server_idle_cpu
            + load.writes / load.replicas * costs.server_write_cpu
            + others * costs.server_event_cpu
            + load.reads / load.replicas * costs.server_read_cpu
            + watched * costs.server_delivery_cpu
        )
        / SECOND,
        server_memory=costs.server_memory
        + load.objects * costs.server_object_memory
        + load.watchers / load.replicas * costs.server_watcher_memory,
        server_bytes=watched * costs.server_delivery_bytes,
        server_connections=load.watchers / load.replicas,
    )


@dataclass(frozen=True, kw_only=True)
class Start:
    """What it takes until servers that start at once have read everything. CPU in seconds, traffic in bytes."""

    etcd_cpu: float
    etcd_bytes: float
    server_cpu: float
    """Each."""


def start(costs: UnitCosts, load: Load) -> Start:
    """What the start of all servers at once takes."""
    read = load.replicas * load.objects
    return Start(
        etcd_cpu=read * costs.etcd_fill_cpu / SECOND,
        etcd_bytes=read * costs.etcd_fill_bytes,
        server_cpu=(costs.server_start_cpu + load.objects * costs.server_fill_cpu) / SECOND,
    )


BOUNDS: Mapping[str, tuple[str, float]] = {
    "a server's core": ("server_cpu", 1.0),
    "etcd's four cores": ("etcd_cpu", 4.0),
    "etcd's 1 Gbit/s": ("etcd_bytes", 125e6),
    "a server's 1 Gbit/s": ("server_bytes", 125e6),
    "etcd's quota of 2 GiB": ("etcd_disk", 2.0 * 2**30),
    "a server's 10,000 connections": ("server_connections", 10_000.0),
    "a server's 4 GB": ("server_memory", 4e9),
    "etcd's 8 GB": ("etcd_memory", 8e9),
}
"""What may be used up: a process of Python has one core; the others are those of usual machines, of etcd's default, and ours."""


@dataclass(frozen=True)
class Break:
    """What is used up first, and how many writes per second there are then; 0: without any write."""

    bound: str
    writes: float


def breaks(costs: UnitCosts, load: Load) -> Break:
    """Where it breaks when the writes per second grow and nothing else does; reads grow with them if there are any.

    All usage is linear in the writes, so two points are enough.
    """
    ratio = load.reads / load.writes if load.writes else 0.0
    none = usage(costs, replace(load, writes=0.0, reads=0.0))
    one = usage(costs, replace(load, writes=1.0, reads=ratio))
    found = []
    for bound, (name, most) in BOUNDS.items():
        fixed, grown = getattr(none, name), getattr(one, name)
        if fixed >= most:
            found.append(Break(bound, 0.0))
        elif grown > fixed:
            found.append(Break(bound, (most - fixed) / (grown - fixed)))
    return min(found, key=lambda each: each.writes)
