"""Clients that follow a kind lose nothing: through a restart of its server, a kill, and a store that has forgotten.

A writer goes on through all of it, and those who follow are held against what it was told is written.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from extapi.dev.kube import kubeconfig
from tests.kubernetes import golang, second
from tests.kubernetes.calling import MERGE, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.following import Crowd, GoInformer, PythonInformer
from tests.kubernetes.killing import kill
from tests.kubernetes.ledger import GROUP, VERSION, lines_path
from tests.kubernetes.second import APISERVICES, SecondServer
from tests.kubernetes.writing import Change, Writer
from tests.waiting import until

ROOT = Path(__file__).parents[2]
WATCHES = 500
TARGET = "tests.kubernetes.ledger:api"


class Direct:
    """The administrator past the control plane, at any server that has the certificates of the first one."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        self._ca = control_plane.certificates.certificate("serving-ca")
        self._signed = user_certificate(authority(control_plane.certificates, "cluster-ca"), "root", "system:masters")
        self._directory = directory

    def caller(self, port: int) -> Caller:
        """At that port."""
        return Caller(port, tls_of(self._ca, self._signed, self._directory))

    def kubeconfig(self, port: int) -> Path:
        """For clients that read one."""
        path = self._directory / f"{port}.kubeconfig"
        path.touch(0o600)
        certificate, key = self._signed.certificate_pem(), self._signed.key_pem()
        path.write_text(kubeconfig(port, user="root", ca=self._ca.read_bytes(), certificate=certificate, key=key))
        return path


@dataclass(frozen=True)
class Scene:
    """A server with a store in a file, and the writer at work on it through the control plane."""

    control_plane: ControlPlane
    admin: Caller
    direct: Direct
    server: SecondServer
    namespace: str
    directory: Path
    writer: Writer

    def start(self) -> None:
        """The server is back."""
        self.server.start()
        self.server.wait_available()

    def more(self, number: int) -> None:
        """Until so many writes more have been acknowledged."""
        wanted = len(self.writer.changes) + number
        until(lambda: self.writer.failure or len(self.writer.changes) >= wanted, 90)
        assert not self.writer.failure

    def forget(self) -> None:
        """Others write while nobody can follow; then the store forgets what has been, and the server is back."""
        self.server.stop()
        store = self.directory / "storage.sqlite"
        elsewhere = SecondServer(self.control_plane, TARGET, self.directory / "elsewhere", f"sqlite:///{store}")
        elsewhere.start()
        self.writer.caller = self.direct.caller(elsewhere.port)
        self.more(5)
        elsewhere.stop()
        subprocess.run([sys.executable, "-m", "tests.kubernetes.compacting", store], cwd=ROOT, check=True, timeout=60)
        self.writer.caller = self.admin
        self.start()
        self.more(5)

    def end(self) -> dict[str, int]:
        """The writer ends; names and steps of what is there then, which has to be what it was told it wrote."""
        self.writer.end()
        items = self.admin("GET", lines_path(self.namespace)).json["items"]
        listed = {item["metadata"]["name"]: item["spec"]["step"] for item in items}
        assert listed == self.writer.there
        return listed


@pytest.fixture
def scene(
    control_plane: ControlPlane, extension_server: ExtensionServer, admin: Caller, namespace: str, tmp_path: Path
) -> Iterator[Scene]:
    """Everything at work."""
    writer = Writer(admin, namespace)
    with second.running(control_plane, TARGET, tmp_path) as server, ExitStack() as ending:
        writer.start()
        ending.callback(writer.end)
        yield Scene(control_plane, admin, Direct(control_plane, tmp_path), server, namespace, tmp_path, writer)


@pytest.fixture
def crowd(scene: Scene) -> Iterator[Crowd]:
    """Watches through the control plane that begin before the first write."""
    made = Crowd(WATCHES, scene.control_plane.cluster.port, scene.admin.tls, scene.namespace, after=1)
    made.start()
    yield made
    made.end()


@pytest.fixture
def python(scene: Scene) -> Iterator[PythonInformer]:
    """The loop around the Python client's Watch, through the control plane."""
    made = PythonInformer(scene.control_plane.kubeconfig, scene.namespace)
    made.start()
    yield made
    made.end()


def all_at_work(crowd: Crowd, scene: Scene) -> None:
    """All watches are there at once, and each has seen every change up to now once, in order, and nothing else."""
    crowd.go_on()
    scene.more(10)
    until(lambda: not well(crowd) or crowd.open == WATCHES, 60)
    changes = list(scene.writer.changes)
    until(lambda: not well(crowd) or min(len(each.changes) for each in crowd.followers) >= len(changes), 60)
    assert well(crowd), crowd.failures
    for each in crowd.followers:
        assert each.changes[: len(changes)] == changes


def well(crowd: Crowd) -> bool:
    return crowd.is_alive() and not crowd.failures


def none_at_work(crowd: Crowd) -> None:
    until(lambda: crowd.open == 0, 60)


def unchanged(log: Path) -> set[str]:
    """The documents that the aggregator asked for and was answered 304."""
    return {
        path
        for path in ("/apis", "/openapi/v2")
        for line in log.read_text().splitlines()
        if f'"uri":"{path}"' in line and '"status":304' in line and "aggregator" in line
    }


def test_five_hundred_watches_lose_nothing(scene: Scene, crowd: Crowd) -> None:
    all_at_work(crowd, scene)

    # A restart: every watch is ended properly, and goes on where it was.
    crowd.hold()
    scene.server.stop()
    none_at_work(crowd)
    assert crowd.clean == WATCHES
    scene.start()
    all_at_work(crowd, scene)
    # Its documents are what they were: the aggregator is told so, and need not read them again.
    touched = {"metadata": {"annotations": {"asked": "again"}}}
    scene.admin("PATCH", f"{APISERVICES}/{VERSION}.{GROUP}", touched, content_type=MERGE)
    until(lambda: unchanged(scene.server.log) == {"/apis", "/openapi/v2"}, 30)

    # A kill: nobody is told, and all go on where they were.
    crowd.hold()
    kill(scene.server)
    none_at_work(crowd)
    scene.start()
    all_at_work(crowd, scene)
    crowd.end()
    scene.end()


@pytest.fixture(scope="session")
def informer() -> Path:
    """The program, compiled if it has not been."""
    return golang.informer()


@pytest.fixture
def follow(informer: Path, scene: Scene) -> Iterator[Callable[[str, Path], GoInformer]]:
    """Start client-go's informer under a name, with a kubeconfig."""
    with ExitStack() as ending:

        def start(name: str, kubeconfig: Path) -> GoInformer:
            started = GoInformer(informer, kubeconfig, scene.namespace, scene.directory / f"{name}.jsonl")
            ending.callback(started.end)
            started.wait_synced()
            return started

        yield start


@pytest.mark.kubernetes  # on both control planes it needs the compiler
def test_informers_lose_nothing(
    scene: Scene, follow: Callable[[str, Path], GoInformer], python: PythonInformer
) -> None:
    """Those of two languages. Past the aggregator client-go goes on by watching; through it, told 503, it lists again."""
    proxied = follow("proxied", scene.control_plane.kubeconfig)
    resumed = follow("resumed", scene.direct.kubeconfig(scene.server.port))
    scene.more(10)
    kill(scene.server)
    scene.start()
    scene.more(10)
    until(lambda: resumed.view() == scene.writer.there, 60)
    without_gap(resumed.told(), list(scene.writer.changes))
    assert listings(resumed) == 1
    until(lambda: proxied.view() == scene.writer.there, 60)
    never_back(proxied)
    assert (python.lists, python.expired) == (1, 0)
    for each in (resumed, proxied):
        each.end()

    # It is too late to go on: they are told so, and a list tells the rest. (Others than before, since client-go waits
    # longer with every outage.)
    late = follow("late", scene.control_plane.kubeconfig)
    expired = follow("expired", scene.direct.kubeconfig(scene.server.port))
    scene.forget()
    listed = scene.end()
    until(lambda: python.follower.view == listed, 60)
    assert (python.lists, python.expired) == (2, 1)
    until(lambda: late.view() == listed, 60)
    until(lambda: expired.view() == listed, 60)
    assert listings(expired) == 2
    never_back(late)
    never_back(expired)


def never_back(informer: GoInformer) -> None:
    """It was never told of an object as it had been before; of the same twice, perhaps, by a list after a watch."""
    for name, told in by_name(informer.told()).items():
        steps = [each.step for each in told]
        assert steps == sorted(steps), name


def without_gap(told: list[Change], written: list[Change]) -> None:
    """From the first change of an object on, all that was written was told, each once.

    The first is called an addition even where the object was there before.
    """
    for name, found in by_name(told).items():
        all_of_it = by_name(written)[name]
        start = next(at for at, each in enumerate(all_of_it) if each.step == found[0].step and each.event != "DELETED")
        assert found[1:] == all_of_it[start + 1 : start + len(found)], name


def by_name(changes: list[Change]) -> dict[str, list[Change]]:
    return {name: [each for each in changes if each.name == name] for name in {each.name for each in changes}}


def listings(informer: GoInformer) -> int:
    """How often it asked for all that is there, and was answered."""
    return sum(
        "watch=true" not in query or "sendInitialEvents" in query for query, code in informer.queries() if code == 200
    )
