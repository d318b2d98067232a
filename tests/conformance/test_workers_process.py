"""``extapi serve --workers 2`` on SQLite: as one server to its clients, whichever of its processes dies."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.serving import HEADERS, TOPPINGS, Serving, exchange
from tests.waiting import until

WRITERS = 4
POSTS = 'verb="POST",dry_run="",group="restaurant.programming-kubernetes.info",'
API_VERSION = "restaurant.programming-kubernetes.info/v1alpha1"


def topping(name: str) -> dict[str, object]:
    return {"apiVersion": API_VERSION, "kind": "Topping", "metadata": {"name": name}, "spec": {"cost": "1"}}


def flags(directory: Path, *more: str) -> tuple[str, ...]:
    return (
        "--authentication-skip-lookup",
        f"--requestheader-client-ca-file={directory / 'proxy-ca.pem'}",
        *more,
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, cluster_kubeconfig: Path) -> Iterator[Serving]:
    """Ends in order after the tests: the workers first, the hub last."""
    directory = tmp_path_factory.mktemp("workers")
    made = Serving(directory, cluster_kubeconfig, flags=flags(directory, "--workers=2"))
    made.start()
    try:
        until(lambda: len(started(made)) == 3, 60)
        yield made
        assert made.end(signal.SIGTERM) == 0
    finally:
        made.close()
    log = lines(made)
    stopping = [line["worker"] for line in log if line["event"] == "stopping"]
    assert stopping[0] == "supervisor"
    assert sorted(map(str, stopping[1:])) == ["0", "1"]
    assert log[-1]["worker"] == "hub"


def lines(server: Serving) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]


def started(server: Serving) -> list[tuple[str, int]]:
    """What the supervisor says of its processes: names and pids, in the order in which they became ready."""
    return [(str(line["process"]), int(str(line["pid"]))) for line in lines(server) if line["event"] == "started"]


def kill(server: Serving, name: str) -> None:
    """SIGKILL, and another process in its place."""
    before = len(started(server))
    os.kill(dict(started(server))[name], signal.SIGKILL)
    until(lambda: len(started(server)) > before, 120)


class Writer(threading.Thread):
    """Creates toppings, one after another, until it is told to end."""

    def __init__(self, server: Serving, number: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._number = number
        self.acknowledged: list[str] = []
        self.answers: Counter[int] = Counter()
        self.over = False

    def run(self) -> None:
        connection = self._server.connect()
        attempt = 0
        while not self.over:
            attempt += 1
            name = f"w{self._number}-{attempt}"
            try:
                status, _ = exchange(connection, "POST", TOPPINGS, topping(name))
            except (OSError, http.client.HTTPException):
                status = 0
                connection.close()  # the next request makes another
            self.answers[status] += 1
            if status == 201:
                self.acknowledged.append(name)
        connection.close()


class Watcher(threading.Thread):
    """Follows the toppings, and goes on from where it was when its connection ends."""

    def __init__(self, server: Serving, revision: str) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._revision = revision
        self.connections = 0
        self.seen: list[str] = []
        self.wrong: list[object] = []
        self.over = False

    def run(self) -> None:
        while not self.over:
            try:
                self._watch()
            except (OSError, http.client.HTTPException, ValueError):
                continue  # the process at the other end is gone

    def _watch(self) -> None:
        with contextlib.closing(self._server.connect()) as connection:
            connection.request("GET", f"{TOPPINGS}?watch=1&resourceVersion={self._revision}", headers=HEADERS)
            with connection.getresponse() as stream:
                self.connections += 1
                self._read(stream)

    def _read(self, stream: http.client.HTTPResponse) -> None:
        while line := stream.readline():
            event = json.loads(line)
            metadata = event["object"].get("metadata", {})
            if event["type"] != "ADDED" or int(metadata["resourceVersion"]) <= int(self._revision):
                self.wrong.append(event)
                return
            self._revision = metadata["resourceVersion"]
            self.seen.append(metadata["name"])


def test_no_write_is_lost_and_watches_go_on_whichever_process_dies(server: Serving) -> None:
    begin = server.request("GET", TOPPINGS)[1]
    revision, there = begin["metadata"]["resourceVersion"], {item["metadata"]["name"] for item in begin["items"]}
    watchers = [Watcher(server, revision) for _ in range(4)]
    writers = [Writer(server, number) for number in range(WRITERS)]
    for each in (*watchers, *writers):
        each.start()

    def acknowledged() -> int:
        return sum(len(writer.acknowledged) for writer in writers)

    def goes_on() -> None:
        wanted = acknowledged() + 40
        until(lambda: acknowledged() >= wanted, 120)

    goes_on()
    until(lambda: all(watcher.seen for watcher in watchers), 60)
    kill(server, "extapi hub")
    goes_on()
    assert [watcher.connections for watcher in watchers] == [1, 1, 1, 1]  # the hub's end does not end them
    for name in ("extapi worker 1", "extapi hub", "extapi worker 0"):
        kill(server, name)
        goes_on()
    for writer in writers:
        writer.over = True
    for writer in writers:
        writer.join(60)
    until(lambda: server.request("GET", "/readyz")[0] == 200, 60)
    listed = {item["metadata"]["name"] for item in server.request("GET", TOPPINGS)[1]["items"]}
    assert {name for writer in writers for name in writer.acknowledged} <= listed
    until(lambda: all(len(watcher.seen) >= len(listed) - len(there) for watcher in watchers), 60)
    for watcher in watchers:
        watcher.over = True
        assert watcher.wrong == []
        assert sorted({*watcher.seen, *there}) == sorted(listed)
        assert len(watcher.seen) == len(set(watcher.seen))
    answers = Counter[int]()
    for writer in writers:
        answers.update(writer.answers)
    # 0: the connection of a worker that died. Otherwise what any server says whose store is away (behaviour E6, K18).
    assert set(answers) <= {0, 201, 500, 504}, answers


def created(text: str) -> float:
    """How often something was created, as metrics say."""
    lines = [line for line in text.splitlines() if line.startswith("apiserver_request_total{") and POSTS in line]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def test_it_is_one_server(server: Serving) -> None:
    """Each process shows at once what was written through another; metrics are sums; logs say who."""
    connections = [server.connect() for _ in range(8)]
    before = len(server.request("GET", TOPPINGS)[1]["items"])
    counted_before = created(server.request("GET", "/metrics")[1])
    for number, connection in enumerate(connections, 1):
        assert exchange(connection, "POST", TOPPINGS, topping(f"t{number}"))[0] == 201
        for other in connections:
            assert len(exchange(other, "GET", TOPPINGS)[1]["items"]) == before + number
    for connection in connections:
        text = exchange(connection, "GET", "/metrics")[1]
        assert created(text) == counted_before + 8
        assert exchange(connection, "GET", "/metrics/slis")[0] == 200
    assert {0, 1} == {line["worker"] for line in lines(server) if line["event"] == "request"}
    for connection in connections:
        connection.close()


def test_mistakes_are_told_once(server: Serving, tmp_path: Path, cluster_kubeconfig: Path) -> None:
    """That of an author, and one port for two servers."""
    made = Serving(tmp_path, cluster_kubeconfig, target="no.such.module:api", flags=flags(tmp_path, "--workers=3"))
    assert _end(made) == [
        "Error: cannot import no.such.module: No module named 'no'",
    ]
    made.log.unlink()
    made.port = server.port
    assert _end(made) == [f"Error: cannot listen on 127.0.0.1:{server.port}: Address already in use"]


def _end(server: Serving) -> list[str]:
    """What a server says that cannot start."""
    server.spawn()
    assert server.process is not None
    assert server.process.wait(120) == 1
    return [line.partition(";")[0] for line in server.log.read_text().splitlines() if line.startswith("Error: ")]


_FIRST = """
import os, sys
words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-m", "extapi", *sys.argv[1:]]
os.execvp(words[0], words)
"""
"""Runs ``extapi`` as the first process of a PID namespace, as a container does; dies with the program that waits outside."""


def children(pid: int) -> dict[int, str]:
    """The children of a process, with the names that ``ps`` shows; those that have ended and are not reaped are among them."""
    found = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):
            found[int(child)] = Path(f"/proc/{child}/comm").read_text().strip()
    return found


IN_NAMESPACES = pytest.mark.skipif(
    subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False).returncode != 0,
    reason="no namespaces here; be root",
)


@pytest.mark.parametrize(("workers", "status"), [(1, 128 + signal.SIGTERM), (2, 0)])
@IN_NAMESPACES
def test_the_first_process_of_a_container_that_is_stopped_while_it_imports(
    tmp_path: Path, workers: int, status: int
) -> None:
    """A supervisor, which imports nothing of the author's, is there already, and ends in order."""
    os.mkfifo(tmp_path / "never")
    (tmp_path / "slow.py").write_text("open('reached', 'w')\nopen('never')\n")
    command = [
        sys.executable,
        "-c",
        _FIRST,
        "serve",
        "slow:api",
        f"--workers={workers}",
        f"--storage=sqlite:///{tmp_path}/x",
    ]
    with subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}) as outside:
        try:
            until((tmp_path / "reached").exists, 60)
            (first,) = children(outside.pid)
            os.kill(first, signal.SIGTERM)
            assert outside.wait(30) == status
        finally:
            outside.kill()  # and --kill-child what is inside


@IN_NAMESPACES
def test_as_the_first_process_of_a_container(tmp_path: Path, cluster_kubeconfig: Path) -> None:
    """It gets no signal that it does not handle, and the orphans of all others."""
    server = Serving(tmp_path, cluster_kubeconfig, flags=flags(tmp_path, "--workers=2"), command=("-c", _FIRST))
    try:
        server.spawn()
        until(lambda: len(started(server)) == 3, 60)
        assert server.process is not None
        (first,) = children(server.process.pid)
        # Whatever else runs in the container leaves it its orphans.
        os.mkfifo(tmp_path / "pipe")
        before = set(children(first))
        orphan = f"cat {tmp_path / 'pipe'} >/dev/null 2>&1 &"
        subprocess.run(["nsenter", f"--target={first}", "--pid", "sh", "-c", orphan], check=True)
        until(lambda: len(set(children(first)) - before) == 1)
        (tmp_path / "pipe").write_text("")
        until(lambda: set(children(first)) == before)
        # A worker that is killed comes back.
        worker = next(pid for pid, name in children(first).items() if name == "extapi worker 1")
        os.kill(worker, signal.SIGKILL)
        until(lambda: len(started(server)) == 4, 60)
        assert "extapi worker 1" in [name for pid, name in children(first).items() if pid != worker]
        os.kill(first, signal.SIGTERM)
        assert server.process.wait(60) == 0
    finally:
        server.close()
    assert next(line["worker"] for line in lines(server) if line["event"] == "stopping") == "supervisor"
    assert lines(server)[-1]["worker"] == "hub"
