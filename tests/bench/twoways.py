"""The pizza API two ways behind kube-apiserver: as an aggregated server, and as CRDs with webhooks (``scripts/bench --ways``).

Both run the same module of types, conversion, and admission. Each has a control plane of its own, and its turn.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from extapi.dev.kube import KubeError
from tests.bench.load import TOPPINGS, pizza
from tests.bench.peer.generator import Address, Generator, Load
from tests.bench.peer.sides import cpu_of, resident
from tests.kubernetes import webhookserver
from tests.kubernetes.control_plane import ControlPlane, add_extension_server, running
from tests.kubernetes.pizzas import pizzas_path, topping
from tests.waiting import until

TARGET = "tests.bench.api:api"
NAMESPACE = "bench"
ROUNDS = 3
SEEDED = 500
"""Objects that are there while anything is measured; a LIST has so many."""
STORED, OTHER = "v1beta1", "v1alpha1"
WATCHES = 20
_IDLE = 3.0
"""Seconds over which the CPU without load is read; a control plane has work of its own."""
_RULE = {
    "apiGroups": ["restaurant.programming-kubernetes.info"],
    "apiVersions": ["*"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["pizzas"],
}
_READ_TOPPINGS = {"apiGroups": _RULE["apiGroups"], "resources": ["toppings"], "verbs": ["get", "list", "watch"]}


@dataclass(frozen=True)
class Row:
    """One kind of request, one way. CPU in microseconds per request (or per delivered event) of each process."""

    cpu: Mapping[str, float]
    rate: float
    """Requests (or deliveries) per second."""
    p50: float
    p99: float
    """Milliseconds."""

    @property
    def total(self) -> float:
        """CPU of all processes."""
        return sum(self.cpu.values())


@dataclass(frozen=True)
class Way:
    """A control plane that serves pizzas."""

    name: str
    plane: ControlPlane
    ours: str
    """The name of our process."""

    @property
    def pids(self) -> dict[str, int]:
        """All processes that work for a request."""
        return {name: self.plane.processes.pid(name) for name in ("kube-apiserver", "etcd", self.ours)}


@contextmanager
def aggregated(directory: Path) -> Iterator[Way]:
    """``extapi serve`` on SQLite, registered by APIServices."""
    with running(directory, "kube", durable=True) as plane:
        add_extension_server(plane, TARGET)
        yield Way("aggregated", plane, "extension-server")


@contextmanager
def with_webhooks(directory: Path) -> Iterator[Way]:
    """CustomResourceDefinitions, converted and admitted by ``extapi webhooks``."""
    with running(directory, "kube", durable=True) as plane:
        kubeconfig = webhookserver.account(plane, "pizzeria", [_READ_TOPPINGS])
        server = webhookserver.start(plane, TARGET, name="webhooks", kubeconfig=kubeconfig)
        server.define(TARGET)
        until(lambda: server.client.problem("/readyz") is None, 60)
        server.register(_RULE["apiGroups"][0], "pizza", _RULE)
        yield Way("CRDs with webhooks", plane, "webhooks")


def body(version: str) -> str:
    """A pizza of about 700 bytes as stored; the load generator numbers its name."""
    obj = pizza("{name}")
    if version == OTHER:
        obj |= {"apiVersion": f"{_RULE['apiGroups'][0]}/{OTHER}"}
        obj["spec"] = {"toppings": ["tomato", "mozzarella", "mozzarella", "salami", "salami", "salami"]}
    return json.dumps(obj, separators=(",", ":"))


def loads(scale: int) -> dict[str, Load]:
    """What is measured, by the name of the row. LISTs come first, since CREATEs leave objects behind."""
    stored, other = (pizzas_path(NAMESPACE, version) for version in (STORED, OTHER))
    patch = '{"metadata":{"labels":{"batch":"{unique}"}}}'
    watched = Load("PATCH", f"{stored}/seed-0", 100 // scale, 1, body=patch, watchers=WATCHES)
    return {
        "LIST of 500": Load("GET", stored, 100 // scale, 2),
        "LIST of 500, the other version": Load("GET", other, 50 // scale, 2),
        "GET": Load("GET", f"{stored}/seed-7", 2000 // scale, 4),
        "GET, the other version": Load("GET", f"{other}/seed-7", 1000 // scale, 4),
        "PATCH": Load("PATCH", f"{stored}/seed-{{i}}", 1000 // scale, 4, body=patch),
        f"watch delivery, {WATCHES} watches": _watching(watched, stored),
        f"watch delivery, {WATCHES} watches, the other version": _watching(watched, other),
        "CREATE, 1 connection": _creating(stored, "one-{n}", 300 // scale, 1, STORED),
        "CREATE, 4 connections": _creating(stored, "many-{n}", 1000 // scale, 4, STORED),
        "CREATE, 4 connections, the other version": _creating(other, "other-{n}", 1000 // scale, 4, OTHER),
    }


def _watching(load: Load, path: str) -> Load:
    return Load(**{**vars(load), "watch": f"{path}?watch=true&resourceVersion={{revision}}"})


def _creating(path: str, name: str, count: int, connections: int, version: str) -> Load:
    return Load("POST", path, count, connections, body=body(version).replace("{name}", name), status=201)


class Measurement:
    """Measures one way."""

    def __init__(self, generator: Generator, way: Way, scale: int) -> None:
        keys = way.plane.certificates
        self._generator = generator
        self._pids = way.pids
        self._scale = scale
        self._kube = Address(
            way.plane.cluster.port, keys.certificate("cluster-ca"), keys.certificate("admin"), keys.key("admin")
        )
        self._client = way.plane.client
        self._idle: dict[str, float] = {}

    def prepare(self) -> None:
        """Create what is read, and see what the processes use by themselves."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self._client.apply(f"/api/v1/namespaces/{NAMESPACE}", namespace)
        for name in ("tomato", "mozzarella", "salami"):
            self._client.apply(f"{TOPPINGS}/{name}", topping(name, "1.50"))
        probe = json.loads(body(STORED).replace("{name}", "probe"))
        until(partial(self._accepted, probe), 60)
        self._run(_creating(pizzas_path(NAMESPACE), "seed-{n}", SEEDED, 4, STORED))
        before = self._cpu()
        time.sleep(_IDLE)
        self._idle = {name: (used - before[name]) / _IDLE for name, used in self._cpu().items()}

    def memory(self) -> dict[str, float]:
        """Resident megabytes of each process."""
        return {name: resident(pid) for name, pid in self._pids.items()}

    def rows(self) -> dict[str, Row]:
        """Every row once."""
        found = {}
        for name, load in loads(self._scale).items():
            found[name] = self._run(load)
            if load.method == "POST":
                stem = json.loads(load.body)["metadata"]["name"]
                self._run(Load("DELETE", f"{pizzas_path(NAMESPACE)}/{stem}", load.count, 4))
        return found

    def _accepted(self, obj: dict[str, object]) -> bool:
        path = f"{pizzas_path(NAMESPACE)}?dryRun=All"
        try:
            self._client.request("POST", path, obj)
        except KubeError:
            return False
        return True

    def _cpu(self) -> dict[str, float]:
        return {name: cpu_of(pid) for name, pid in self._pids.items()}

    def _run(self, load: Load) -> Row:
        figures = self._generator.run(self._kube, load, self._cpu)
        cpu = {
            name: (used - self._idle.get(name, 0.0) * figures.seconds) / figures.count
            for name, used in figures.used.items()
        }
        return Row(cpu, figures.count / figures.seconds, figures.p50, figures.p99)


def main(say: Callable[[str], None], directory: Path, *, quick: bool) -> None:
    """Measure both ways, and print the tables; the control plane is compiled first where it is not there."""
    generator = Generator(say)
    found: dict[str, dict[str, Row]] = {}
    memory: dict[str, dict[str, float]] = {}
    ours: dict[str, str] = {}
    for number, start in enumerate((aggregated, with_webhooks)):
        with start(directory / str(number)) as way:
            say(way.name)
            measurement = Measurement(generator, way, 10 if quick else 1)
            measurement.prepare()
            ours[way.name] = way.ours
            memory[way.name] = measurement.memory()
            found[way.name] = middle([measurement.rows() for _ in range(1 if quick else ROUNDS)])
    for line in tables(found, memory, ours):
        say(line)


def middle(rounds: list[dict[str, Row]]) -> dict[str, Row]:
    """The medians of several rounds."""
    made = {}
    for name in rounds[0]:
        rows = [each[name] for each in rounds]
        cpu = {process: median(row.cpu[process] for row in rows) for process in rows[0].cpu}
        made[name] = Row(cpu, *(median(getattr(row, part) for row in rows) for part in ("rate", "p50", "p99")))
    return made


def tables(
    found: Mapping[str, Mapping[str, Row]], memory: Mapping[str, Mapping[str, float]], ours: Mapping[str, str]
) -> Iterator[str]:
    """The rows of both ways side by side, and the memory."""
    one, two = found.values()
    yield ""
    yield f"| CPU us per request, all processes | {' | '.join(f'{name} | of it ours' for name in found)} | ratio |"
    yield "|---|---|---|---|---|---|"
    for name, row in one.items():
        shares = (f"{each[name].total:,.0f} | {each[name].cpu[ours[way]]:,.0f}" for way, each in found.items())
        yield f"| {name} | {' | '.join(shares)} | {row.total / two[name].total:.2f} |"
    yield ""
    yield f"| | {' | '.join(f'{name}: per s | p50 ms | p99 ms' for name in found)} |"
    yield "|---|---|---|---|---|---|---|"
    for name in one:
        rows = (each[name] for each in found.values())
        yield f"| {name} | {' | '.join(f'{row.rate:,.0f} | {row.p50:.2f} | {row.p99:.2f}' for row in rows)} |"
    yield ""
    yield "| RSS with 500 pizzas, MB | |"
    yield "|---|---|"
    for name, processes in memory.items():
        for process, megabytes in processes.items():
            yield f"| {name}: {process} | {megabytes:.1f} |"
