"""What is asked of each side, and what comes of it: one row of the table for each kind of request."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from tests.bench.peer.generator import Address, Figures, Generator, Load
from tests.bench.peer.sides import VERSION, Side

SEEDED = 500
"""Objects that are there when anything is measured; a LIST has so many."""
CYCLE = 400
"""How many objects writes change in turn: the load generator's ``-cycle``."""
APPLY = "application/apply-patch+yaml"
_IDLE = 2.0
"""Seconds over which a side's CPU without load is read; a control plane has work of its own."""


def flunder(group: str, name: str) -> str:
    """A Flunder of about 700 bytes as stored."""
    obj = {
        "apiVersion": f"{group}/{VERSION}",
        "kind": "Flunder",
        "metadata": {
            "name": name,
            "labels": {"app": "bench", "batch": "1"},
            "annotations": {"example.com/note": "measured beside its peers, " * 8},
        },
        "spec": {"flunderReference": "another", "referenceType": "Flunder"},
    }
    return json.dumps(obj, separators=(",", ":"))


def configuration(group: str, applied: str) -> str:
    """What a manager of its own applies to the object ``seed-{i}``: all that it was created with, and a label."""
    obj = json.loads(flunder(group, "seed-{i}"))
    obj["metadata"]["labels"] = {"app": "bench", "applied": applied}
    return json.dumps(obj, separators=(",", ":"))


def loads(side: Side, scale: int) -> dict[str, Load]:
    """What is measured, by the name of the row. Only LISTs count on how many objects there are, so they come first."""
    at = side.flunders
    patch = '{"metadata":{"labels":{"batch":"{unique}"}}}'
    one = f"{at}/seed-7"
    changes = Load("PATCH", f"{at}/seed-0", 200 // scale, 1, body=patch)
    apply = Load("PATCH", f"{at}/seed-{{i}}?fieldManager=applier", 2000 // scale, 8, kind=APPLY)
    return {
        "GET": Load("GET", one, 6000 // scale, 4),
        "LIST of 500": Load("GET", at, 400 // scale, 2),
        "LIST of 500, gzip": Load("GET", at, 400 // scale, 2, headers=("Accept-Encoding: gzip",)),
        "PATCH": Load("PATCH", f"{at}/seed-{{i}}", 2000 // scale, 8, body=patch),
        "apply, no change": replace(apply, body=configuration(side.group, "once"), unmeasured=CYCLE),
        "apply, with change": replace(apply, body=configuration(side.group, "{unique}")),
        "watch delivery, 100 watches": replace(
            changes, watchers=100, watch=f"{at}?watch=true&resourceVersion={{revision}}"
        ),
        "CREATE, 1 connection": Load("POST", at, 1000 // scale, 1, body=flunder(side.group, "one-{n}"), status=201),
        "CREATE, 8 connections": Load("POST", at, 2000 // scale, 8, body=flunder(side.group, "many-{n}"), status=201),
    }


def store_loads(side: Side, scale: int) -> dict[str, Load]:
    """What is measured of servers that share an etcd with others, likewise."""
    all_loads = loads(side, scale)
    get = all_loads["GET"]
    return {
        "GET, 4 connections": get,
        "GET, 16 connections": replace(get, connections=16),
        "GET, resourceVersion=0": replace(get, path=f"{get.path}?resourceVersion=0"),
        **{name: all_loads[name] for name in _STORED},
    }


_STORED: Final = (
    "LIST of 500",
    "PATCH",
    "watch delivery, 100 watches",
    "CREATE, 1 connection",
    "CREATE, 8 connections",
)


@dataclass(frozen=True)
class Row:
    """One kind of request at one side. CPU in microseconds a request, or a delivered event."""

    cpu: float
    """Of all processes of the side."""
    store: float
    """Of its etcd alone."""
    proxy: float
    """Of kube-apiserver and its etcd, where the request came through them."""
    rate: float
    """Requests, or deliveries, a second."""
    p50: float
    p99: float
    """Milliseconds."""


class Measurement:
    """Measures at one side, directly or through the aggregator."""

    def __init__(
        self,
        generator: Generator,
        side: Side,
        address: Address,
        proxy: Callable[[], dict[str, float]] = dict,
        *,
        scale: int = 1,
        loads: Callable[[Side, int], dict[str, Load]] = loads,
    ) -> None:
        """:param proxy: reads the CPU of kube-apiserver where requests pass it; nothing otherwise."""
        self._loads = loads
        self._generator = generator
        self.side = side
        self._address = address
        self._proxy = proxy
        self._scale = scale
        self._idle = {}
        self._idle = self._idling()

    def seed(self) -> None:
        """Create what is read."""
        body = flunder(self.side.group, "seed-{n}")
        self._run(Load("POST", self.side.flunders, SEEDED, 4, body=body, status=201))

    def clear(self) -> None:
        """Delete what was created by a measurement, so that a LIST has as many objects as before."""
        for name, count in (("one", 1000), ("many", 2000)):
            self._run(Load("DELETE", f"{self.side.flunders}/{name}-{{n}}", count // self._scale, 8))

    def rows(self) -> dict[str, Row]:
        """Every row once."""
        found = {}
        for name, load in self._loads(self.side, self._scale).items():
            found[name] = self._watching(load) if load.watchers else self._plain(load)
        self.clear()
        return found

    def _plain(self, load: Load) -> Row:
        if load.unmeasured:
            self._run(replace(load, count=load.unmeasured))
        figures = self._run(load)
        return _row(figures, self._shares(figures))

    def _watching(self, load: Load) -> Row:
        """Deliveries: the changes themselves are measured without watches first, and taken off."""
        alone = self._shares(self._run(replace(load, watchers=0)))
        figures = self._run(load)
        return _row(figures, [of - less for of, less in zip(self._shares(figures), alone, strict=True)])

    def _run(self, load: Load) -> Figures:
        return self._generator.run(self._address, load, self._cpu)

    def _cpu(self) -> dict[str, float]:
        return {**{f"side {name}": used for name, used in self.side.cpu().items()}, **self._proxy()}

    def _idling(self) -> dict[str, float]:
        """Microseconds of CPU a second that each process uses by itself."""
        before = self._cpu()
        time.sleep(_IDLE)
        return {name: (used - before[name]) / _IDLE for name, used in self._cpu().items()}

    def _shares(self, figures: Figures) -> list[float]:
        """CPU of the side, of its etcd, and of the proxy, without what they use by themselves."""
        own = {name: used - self._idle[name] * figures.seconds for name, used in figures.used.items()}
        side = {name: used for name, used in own.items() if name.startswith("side ")}
        store = sum(used for name, used in side.items() if name.endswith("etcd"))
        return [sum(side.values()), store, sum(own.values()) - sum(side.values())]


def _row(figures: Figures, shares: Sequence[float]) -> Row:
    side, store, proxy = (share / figures.count for share in shares)
    return Row(side, store, proxy, figures.count / figures.seconds, figures.p50, figures.p99)


def middle(rounds: Sequence[Mapping[str, Row]]) -> dict[str, Row]:
    """The median of several rounds, figure by figure."""
    return {
        name: Row(
            *(
                median(getattr(each[name], figure) for each in rounds)
                for figure in ("cpu", "store", "proxy", "rate", "p50", "p99")
            )
        )
        for name in rounds[0]
    }
