"""How many reads fail when a process of a server dies, behind the real aggregator: ours, and Kubernetes' own sample-apiserver.

``python -m tests.kubernetes.killedreplica``: three client-go readers go on all the time while a process is killed again and again.
Prints a row per server and situation, and what kube-apiserver said. Not part of a test run: the numbers depend on the moment.
Needs root and iproute2.
"""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extapi.dev.processes import Child
from extapi.dev.registration import GroupVersions
from tests.bench.peer.generator import sample_apiserver
from tests.etcds import etcd
from tests.kubernetes import ledger
from tests.kubernetes.control_plane import ControlPlane, running
from tests.kubernetes.killing import kill_worker, processes_of
from tests.kubernetes.reading import GoReader
from tests.kubernetes.replicas import Replica, Replicas, replicas
from tests.waiting import until

NAMESPACE = "default"
NAMES = [f"object-{number}" for number in range(8)]
_WARDLE = ("wardle.example.com", "v1beta1", "flunders")
_STEADY = 2.0
"""Seconds of reads before a process is killed, and after that is known."""


class SampleReplicas(Replicas):
    """sample-apiserver in the place of ours."""

    def _groups(self) -> list[GroupVersions]:
        return [GroupVersions(_WARDLE[0], (_WARDLE[1],))]

    def _serve(self, name: str, address: str) -> Child:
        serving = self._serving(address, "admin")
        config = serving[-1].removeprefix("--kubeconfig=")
        delegated = [f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}"]
        return self._processes.start(name, [str(sample_apiserver(print)), *serving, *delegated, *self.flags])


@dataclass(frozen=True)
class Situation:
    """``unseen``: seconds until a killed replica is no endpoint any more. ``workers``: one of so many in one replica is killed."""

    title: str
    resource: tuple[str, str, str]
    kind: type[Replicas] = Replicas
    flags: Sequence[str] = ()
    unseen: float = 0
    workers: int = 0

    def body(self, name: str) -> dict[str, Any]:
        """One of its objects."""
        if self.kind is Replicas:
            return ledger.line(name, 1)
        spec = {"flunderReference": "another", "referenceType": "Flunder"}
        return {
            "apiVersion": "/".join(self.resource[:2]),
            "kind": "Flunder",
            "metadata": {"name": name},
            "spec": spec,
        }


_OURS = (ledger.GROUP, ledger.VERSION, ledger.PLURAL)
_SERVE = ("--storage=etcd:", "--leader-elect=false")
SITUATIONS = (
    Situation("two of `extapi serve`, one is killed", _OURS, flags=_SERVE),
    Situation("two of sample-apiserver, one is killed", _WARDLE, SampleReplicas),
    Situation("two of `extapi serve`, seen after 1 s", _OURS, flags=_SERVE, unseen=1),
    Situation("two of sample-apiserver, seen after 1 s", _WARDLE, SampleReplicas, unseen=1),
    Situation("one `extapi serve --workers 2`, a worker is killed", _OURS, flags=(*_SERVE, "--workers=2"), workers=2),
)


def watched(plane: ControlPlane, directory: Path, situation: Situation, times: int) -> str:
    """Kill so many times; the row."""
    (directory / "etcd").mkdir(parents=True)
    with etcd(directory / "etcd") as member:
        flags = (*situation.flags, f"--etcd-servers={member.url}")
        number = 1 if situation.workers else 2
        with (
            replicas(plane, "tests.kubernetes.ledger:api", number, flags, kind=situation.kind) as made,
            _reading(plane, directory, situation) as failures,
        ):
            for _ in range(times):
                time.sleep(_STEADY)
                if situation.workers:
                    _kill_worker(made.running[0], situation.workers)
                    time.sleep(_STEADY)
                else:
                    made.kill(made.running[0], situation.unseen)
                    time.sleep(_STEADY)
                    made.start()
            said = Counter(_cause(each) for each in failures())
    kinds = "; ".join(f"{number} {what}" for what, number in said.most_common()) or "none"
    return f"| {situation.title} | {times} | {said.total() / times:.1f} | {kinds} |"


@contextmanager
def _reading(
    plane: ControlPlane, directory: Path, situation: Situation
) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    path = f"/apis/{situation.resource[0]}/{situation.resource[1]}/namespaces/{NAMESPACE}/{situation.resource[2]}"
    until(lambda: plane.client.problem(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default") is None, 30)
    for name in NAMES:
        plane.client.apply(f"{path}/{name}", situation.body(name))
    reader = GoReader(plane.kubeconfig, directory / "reads", NAMESPACE, NAMES, situation.resource)
    try:
        yield reader.failures
    finally:
        print(f"{situation.title}: {reader.end()}", flush=True)


def _kill_worker(replica: Replica, number: int) -> None:
    """The newest, and wait until there are as many again, and ready."""
    kill_worker(replica.pid, number)
    until(lambda: len(processes_of(replica.pid)) == number, 60)
    until(replica.is_ready, 60)


def _cause(failure: dict[str, Any]) -> str:
    """What was said, without addresses."""
    said = str(failure["why"] or failure["message"])
    return f"{failure['status']} " + " ".join(word for word in said.split() if "." not in word)


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(prog="python -m tests.kubernetes.killedreplica", description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="how often a process is killed in each situation")
    chosen = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="extapi-killed-"))
    with running(directory / "plane", "kube", flags=["--enable-aggregator-routing=true"]) as plane:
        rows = [
            watched(plane, directory / str(number), situation, chosen.times)
            for number, situation in enumerate(SITUATIONS)
        ]
    print("| what | times | reads that failed, each time | what client-go was told |\n|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
