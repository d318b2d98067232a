"""``extapi dev`` as its users meet it: started, used with kubectl, ended and started again."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes.control_plane import Kubectl

pytestmark = pytest.mark.kubernetes

GROUP = "restaurant.programming-kubernetes.info"
TOPPING = f"""
apiVersion: {GROUP}/v1alpha1
kind: Topping
metadata:
  name: mozzarella
spec:
  cost: "1.50"
"""
PROGRAMS = {"etcd", "kube-apiserver", "kube-controller-manager", "extapi"}


class Dev:
    """A running ``extapi dev`` and what it has printed."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "extapi", "dev", "extapi.pizza:api", "--dir", str(directory), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines: list[str] = []
        self._arrived: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._arrived.put(line.rstrip("\n"))
        self._arrived.put(None)

    def wait_for(self, start: str, *, seconds: float) -> None:
        """Read until a line begins with ``start``."""
        deadline = time.monotonic() + seconds
        while not (self.lines and self.lines[-1].startswith(start)):
            line = self._arrived.get(timeout=max(deadline - time.monotonic(), 0.001))
            assert line is not None, "it ended early:\n" + "\n".join(self.lines)
            self.lines.append(line)

    def children(self) -> dict[str, int]:
        """Process ids by program."""
        found = {}
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            for pid in (task / "children").read_text().split():
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                found[next(word for word in words[1:] if word in PROGRAMS)] = int(pid)
        return found

    def stop(self, number: signal.Signals) -> float:
        """Send a signal and wait; how many seconds that took."""
        begun = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(30)
        return time.monotonic() - begun

    def close(self) -> None:
        """End it in any case."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextlib.contextmanager
def dev(directory: Path, *arguments: str) -> Iterator[Dev]:
    started = Dev(directory, *arguments)
    try:
        started.wait_for("ready", seconds=120)
        yield started
    finally:
        started.close()


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(lives(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "dev"


@pytest.fixture
def kubectl_of_dev(state: Path, tmp_path: Path) -> Kubectl:
    return Kubectl(state / "kubeconfig", tmp_path / "kubectl")


def test_objects_survive_a_restart_and_nothing_stays_behind(state: Path, kubectl_of_dev: Kubectl) -> None:
    kubectl = kubectl_of_dev
    with dev(state) as first:
        assert f"    export KUBECONFIG={state / 'kubeconfig'}" in first.lines
        assert sum(bool(re.match(r"    \S*kubectl ", line)) for line in first.lines) == 3
        groups = [line.split()[0] for line in kubectl("get", "apiservices").splitlines() if f".{GROUP}" in line]
        assert sorted(groups) == [f"v1alpha1.{GROUP}", f"v1beta1.{GROUP}"]
        kubectl("wait", "--for=condition=Available", f"apiservice/v1beta1.{GROUP}", "--timeout=10s")
        kubectl("create", "-f", "-", stdin=TOPPING)
        kubectl("create", "namespace", "kept")
        children = first.children()
        assert set(children) == PROGRAMS
        assert first.stop(signal.SIGINT) < 5
        assert first.process.returncode == 0
        assert not any(lives(pid) for pid in children.values())
    with dev(state) as second:
        assert kubectl("get", "toppings", "mozzarella", "-o", "jsonpath={.spec.cost}") == "1.50"
        assert kubectl("get", "namespace", "kept", "-o", "name").strip() == "namespace/kept"
        assert second.stop(signal.SIGTERM) < 5
        assert second.process.returncode == 0


def test_keys_are_secret_and_the_extension_server_gets_only_its_own(state: Path) -> None:
    with dev(state) as running:
        extension = running.children()["extapi"]
        command = Path(f"/proc/{extension}/cmdline").read_bytes().decode()
        assert set(re.findall(r"[\w-]+\.key", command)) == {"extension-server.key"}
        assert set(re.findall(r"[\w-]+\.kubeconfig", command)) == {"extension-client.kubeconfig"}
        secret = [*state.glob("**/*.key"), *state.glob("**/*kubeconfig")]
        assert len(secret) >= 13
        assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}
        assert stat.S_IMODE(state.stat().st_mode) == 0o700


@pytest.mark.parametrize("program", ["extapi", "kube-apiserver"])
def test_a_child_that_dies_ends_all_with_one_clear_line(state: Path, program: str) -> None:
    with dev(state) as running:
        children = running.children()
        os.kill(children[program], signal.SIGKILL)
        running.wait_for("Error: ", seconds=20)
        assert running.process.wait(20) == 1
        name = "extension-server" if program == "extapi" else program
        assert running.lines[-1].startswith(f"Error: {name} ended by SIGKILL; its log is {state}/log/{name}.log")
        assert not any(lives(pid) for pid in children.values())


def test_nothing_outlives_a_supervisor_that_is_killed_and_the_next_start_works(state: Path) -> None:
    with dev(state) as killed:
        children = killed.children()
        killed.process.kill()
        wait_until_gone(list(children.values()))
    with dev(state):
        pass
