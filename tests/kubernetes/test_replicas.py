"""Two replicas on one etcd behind the real aggregator: rolled, then one of them killed, while everybody works.

client-go's and kubectl's reads, a writer and those who follow what it writes go on all the time. ``-s`` shows the log.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.etcds import etcd
from tests.kubernetes import golang, tallied
from tests.kubernetes.calling import Answer, Caller
from tests.kubernetes.control_plane import ControlPlane, Kubectl, running
from tests.kubernetes.following import GoInformer
from tests.kubernetes.ledger import GROUP, KIND, PLURAL, VERSION, lines_path
from tests.kubernetes.plane import Plane
from tests.kubernetes.reading import GoReader
from tests.kubernetes.replicas import Replicas, log_of, replicas
from tests.kubernetes.writing import NAMES, Change, Writer
from tests.waiting import until

pytestmark = pytest.mark.kubernetes

NAMESPACE = "default"
FLAGS = (
    "--storage=etcd:",
    "--shutdown-delay-duration=1s",
    "--leader-elect-resource-namespace=extapi-dev",
    # Shorter than in a cluster, so that nobody has to wait for it here.
    "--leader-elect-lease-duration=5s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
)


class CountingWriter(Writer):
    """Remembers the answers that were no success."""

    def __init__(self, caller: Caller, namespace: str) -> None:
        super().__init__(caller, namespace)
        self.refused: list[tuple[str, int]] = []
        """What was tried, and the status."""

    def _attempt(self, change: Change) -> Answer:
        answer = super()._attempt(change)
        if answer.status >= 400:
            self.refused.append((change.event, answer.status))
        return answer


class KubectlUser(threading.Thread):
    """Applies a line and gets it, one kubectl after the other."""

    def __init__(self, kubectl: Kubectl) -> None:
        super().__init__(daemon=True)
        self._kubectl = kubectl
        self._ended = threading.Event()
        self.applied = self.got = 0
        self.failures: list[tuple[str, str]] = []
        """With which command, and what it said."""

    def run(self) -> None:
        """Work until the end."""
        # In a namespace of its own, so that it is no business of those who follow the writer.
        where = ("-n", "kube-public")
        while not self._ended.is_set():
            step = self.applied + 1
            obj = {
                "apiVersion": f"{GROUP}/{VERSION}",
                "kind": KIND,
                "metadata": {"name": "typed"},
                "spec": {"step": step},
            }
            if self._try("apply", *where, "apply", "-f", "-", stdin=json.dumps(obj)) is None:
                continue
            self.applied = step
            read = self._try("get", *where, "get", PLURAL, "typed", "-o", "jsonpath={.spec.step}")
            if read is not None:
                self.got += 1
                assert read == str(step), f"{read} after {step} was applied"

    def end(self) -> None:
        """End it, and wait until it has."""
        self._ended.set()
        self.join(60)
        assert not self.is_alive()

    def _try(self, what: str, *arguments: str, stdin: str = "") -> str | None:
        done = self._kubectl.run(*arguments, stdin=stdin)
        if done.returncode == 0:
            return done.stdout
        self.failures.append((what, done.stderr.strip()))
        return None


@dataclass
class Scene:
    """All that is at work."""

    replicas: Replicas
    admin: Caller
    writer: CountingWriter
    reader: GoReader
    typist: KubectlUser
    informer: GoInformer
    log: Path
    terms: list[int] = field(default_factory=list)
    """The processes that have led, in order."""

    def more(self, number: int = 10) -> None:
        """Until so many writes more have been acknowledged, and kubectl has worked meanwhile."""
        writes, typed = len(self.writer.changes) + number, self.typist.got + 2
        until(lambda: self.writer.failure or len(self.writer.changes) >= writes, 90)
        assert not self.writer.failure
        until(lambda: self.typist.got >= typed, 60)

    def leader(self) -> int:
        """The process that keeps the tally, once it is right for what is there now."""

        def counted() -> int:
            found = self.admin("GET", tallied.PATH)
            assert found.status == 200, found
            spec = found.json["spec"]
            return int(spec["writer"]) if spec["writer"] in {each.pid for each in self.replicas.running} else 0

        found = until(counted, 60)
        if self.terms[-1:] != [found]:
            self.terms.append(found)
            name = next(each.name for each in self.replicas.running if each.pid == found)
            self.replicas.note(f"{name} keeps the tally")
        return found

    def tell(self, title: str) -> None:
        """Note what has become of reads and writes so far."""
        self.replicas.note(
            f"{title}: {len(self.writer.changes)} writes, refused {[status for _, status in self.writer.refused]}; reads failed "
            f"{[(each['verb'], each['status']) for each in self.reader.failures()]}; kubectl applied {self.typist.applied}, got "
            f"{self.typist.got}, failed {[what for what, _ in self.typist.failures]}"
        )

    def caught_up(self) -> None:
        """client-go's informer knows what is there, and was never told anything older than it knew, or that nobody wrote.

        Where no answer came to a watch it lists again, so that it may be told again what it knows, or only the last of several.
        """
        until(lambda: self.informer.view() == self.writer.there, 30)
        for name in NAMES:
            told = [each.step for each in self.informer.told() if each.name == name and each.event != "DELETED"]
            assert told == sorted(told)
            assert set(told) <= {each.step for each in self.writer.changes if each.name == name}

    def followed(self) -> None:
        """client-go's informer has been told each change once and in order."""
        changes = list(self.writer.changes)
        until(lambda: len(self.informer.told()) >= len(changes), 30)
        assert self.informer.told()[: len(changes)] == changes


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One that chooses an endpoint for each request itself."""
    with running(tmp_path_factory.mktemp("plane"), "kube", flags=["--enable-aggregator-routing=true"]) as started:
        yield started


@pytest.fixture
def scene(plane: ControlPlane, tmp_path: Path) -> Iterator[Scene]:
    """Two replicas and everybody at work."""
    log = tmp_path / "rolling.log"
    admin = Plane(plane, 0, tmp_path).admin
    (tmp_path / "etcd").mkdir()
    with ExitStack() as stack:
        member = stack.enter_context(etcd(tmp_path / "etcd"))
        flags = (*FLAGS, f"--etcd-servers={member.url}")
        made = stack.enter_context(replicas(plane, "tests.kubernetes.tallied:api", 2, flags, log_of(log)))
        until(lambda: plane.client.problem(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default") is None, 30)
        informer = GoInformer(golang.informer(), plane.kubeconfig, NAMESPACE, tmp_path / "informer")
        stack.callback(informer.end)
        informer.wait_synced()
        writer = CountingWriter(admin, NAMESPACE)
        writer.start()
        stack.callback(writer.end)
        reader = GoReader(plane.kubeconfig, tmp_path / "reader", NAMESPACE, NAMES, (GROUP, VERSION, PLURAL))
        stack.callback(reader.end)
        typist = KubectlUser(Kubectl(plane.kubeconfig, tmp_path / "home"))
        typist.start()
        stack.callback(typist.end)
        yield Scene(made, admin, writer, reader, typist, informer, log)


def test_nobody_misses_anything_while_replicas_are_rolled_and_one_is_killed(scene: Scene) -> None:
    first, second = scene.replicas.running
    scene.more()
    assert scene.leader() in {first.pid, second.pid}
    for each in (first, second):
        scene.replicas.terminate(each)
        scene.more()
        scene.leader()
        scene.replicas.start()
        scene.more()
    scene.tell("rolled")
    # A rolling restart is nothing that anybody has to notice.
    assert scene.reader.failures() == []
    assert scene.typist.failures == []
    assert scene.writer.refused == []
    scene.followed()
    led = scene.leader()
    assert led in {each.pid for each in scene.replicas.running}
    scene.replicas.kill(next(each for each in scene.replicas.running if each.pid == led))
    scene.more()
    assert scene.leader() != led
    failed = scene.reader.failures()
    scene.tell("killed")
    scene.more()
    scene.typist.end()
    scene.writer.end()
    scene.tell(f"ended after {scene.reader.end()}")
    # kube-apiserver goes on to choose the dead one until it has read that it is no endpoint, and says so with 503. That has no
    # Retry-After, so that client-go does not try again. Later on nobody notices anything.
    assert {each["status"] for each in failed} <= {503}, failed
    assert scene.reader.failures() == failed
    # Whether a write was done before the dead one's connections broke is uncertain (503). Tried again, a delete that was done is 404
    # and a create 409, which the writer takes only for its own earlier attempt.
    allowed = {("DELETED", 404), ("ADDED", 409)}
    assert {status for event, status in scene.writer.refused if (event, status) not in allowed} <= {503, 504}
    assert all("ServiceUnavailable" in said or "unable to handle" in said for _, said in scene.typist.failures)
    scene.caught_up()
    items = scene.admin("GET", lines_path(NAMESPACE)).json["items"]
    assert {item["metadata"]["name"]: item["spec"]["step"] for item in items} == scene.writer.there

    def counted() -> bool:
        spec = scene.admin("GET", tallied.PATH).json["spec"]
        every = scene.admin("GET", f"/apis/{GROUP}/{VERSION}/{PLURAL}").json["items"]
        return (spec["lines"], spec["steps"]) == (len(every), sum(item["spec"]["step"] for item in every))

    until(counted, 30)
