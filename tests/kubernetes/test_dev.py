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
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from tests.kubernetes.control_plane import Kubectl
from tests.kubernetes.fixtures import planes

GROUP = "restaurant.programming-kubernetes.info"
TOPPING = f"""
apiVersion: {GROUP}/v1alpha1
kind: Topping
metadata:
  name: mozzarella
spec:
  cost: "1.50"
"""
PROGRAMS = {
    "builtin": {"control-plane", "extension-server"},
    "kube": {"etcd", "kube-apiserver", "kube-controller-manager", "extension-server"},
}
NAMES = {"extapi": "extension-server", "extapi.controlplane": "control-plane"}
"""Programs in Python go by their module, if they are no forks; those have the name that they were given."""


class Dev:
    """A running ``extapi dev`` and what it has printed. ``within``: a command that runs it elsewhere, as the same process."""

    def __init__(self, directory: Path, plane: str, *arguments: str, within: Sequence[str] = ()) -> None:
        # The built-in one is what a newcomer gets, who names none.
        chosen = [] if plane == "builtin" else [f"--control-plane={plane}"]
        command = [
            *within,
            sys.executable,
            "-m",
            "extapi",
            "dev",
            "extapi.pizza:api",
            "--dir",
            str(directory),
            *chosen,
            *arguments,
        ]
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
                found[_program(pid)] = int(pid)
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


def _program(pid: str) -> str:
    every = {name for names in PROGRAMS.values() for name in names}
    forked = Path(f"/proc/{pid}/comm").read_text().strip()
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[1:]
    # Linux keeps 15 bytes of the name of a process.
    names = [name for name in every if name[:15] == forked] + [NAMES.get(word, word) for word in words]
    return next(name for name in names if name in every)


@contextlib.contextmanager
def dev(directory: Path, plane: str, *arguments: str, within: Sequence[str] = ()) -> Iterator[Dev]:
    started = Dev(directory, plane, *arguments, within=within)
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


def listening(pid: int) -> list[str]:
    """The addresses on which a process listens, as Linux writes them: 127.0.0.1 is 0100007F."""
    links = {str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()}
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == "0A" and f"socket:[{columns[9]}]" in links:
                found.append(columns[1].split(":")[0])
    return found


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


each = pytest.mark.parametrize("plane", planes())


@each
def test_objects_survive_a_restart_and_nothing_stays_behind(state: Path, kubectl_of_dev: Kubectl, plane: str) -> None:
    kubectl = kubectl_of_dev
    with dev(state, plane) as first:
        assert f"    export KUBECONFIG={state / 'kubeconfig'}" in first.lines
        assert sum(bool(re.match(r"    \S*kubectl ", line)) for line in first.lines) == 3
        groups = [line.split()[0] for line in kubectl("get", "apiservices").splitlines() if f".{GROUP}" in line]
        assert sorted(groups) == [f"v1alpha1.{GROUP}", f"v1beta1.{GROUP}"]
        kubectl("wait", "--for=condition=Available", f"apiservice/v1beta1.{GROUP}", "--timeout=10s")
        kubectl("create", "-f", "-", stdin=TOPPING)
        kubectl("create", "namespace", "kept")
        kubectl("create", "clusterrole", "cook", "--verb=list", "--resource=toppings")
        kubectl("create", "clusterrolebinding", "cooks", "--clusterrole=cook", "--serviceaccount=kept:robot")
        kubectl("-n", "kept", "create", "serviceaccount", "robot")
        token = kubectl("-n", "kept", "create", "token", "robot").strip()
        before = kubectl("get", *KEPT, "-o", NUMBERS)
        children = first.children()
        assert set(children) == PROGRAMS[plane]
        assert first.stop(signal.SIGINT) < 5
        assert first.process.returncode == 0
        assert not any(lives(pid) for pid in children.values())
    with dev(state, plane) as second:
        assert kubectl("get", "toppings", "mozzarella", "-o", "jsonpath={.spec.cost}") == "1.50"
        assert kubectl("get", "namespace", "kept", "-o", "name").strip() == "namespace/kept"
        assert kubectl("get", *KEPT, "-o", NUMBERS) == before
        # A token that was issued before is good, and may what its account may.
        settings = yaml.safe_load((state / "kubeconfig").read_text())
        settings["users"][0]["user"] = {"token": token}
        robot = kubectl.home / "robot.kubeconfig"
        robot.touch(0o600)
        robot.write_text(yaml.safe_dump(settings))
        assert Kubectl(robot, kubectl.home)("get", "toppings", "-o", "name").endswith("/mozzarella\n")
        assert second.stop(signal.SIGTERM) < 5
        assert second.process.returncode == 0


KEPT = ("namespaces/kept", "clusterroles/cook", "clusterrolebindings/cooks", "toppings/mozzarella", "clusterroles/view")
NUMBERS = "jsonpath={range .items[*]}{.metadata.uid} {.metadata.resourceVersion},{end}"


def test_the_built_in_one_says_what_it_is_not_and_is_there_in_seconds(state: Path) -> None:
    with dev(state, "builtin") as running:
        said = " ".join(running.lines)
        assert "127.0.0.1" in said
        assert "It is not a cluster" in said
        assert "--control-plane kube" in said
        ready = re.match(r"ready after ([\d.]+) s", running.lines[-1])
        assert ready is not None
        assert float(ready[1]) < 10  # 3 on a machine that does nothing else
        # What ps shows: the name, and the command line of each.
        assert Path(f"/proc/{running.process.pid}/comm").read_text() == "extapi dev\n"
        shown = {name: Path(f"/proc/{pid}/cmdline").read_bytes() for name, pid in running.children().items()}
        assert {name: line.split(b"\0")[0].decode() for name, line in shown.items()} == {
            name: f"extapi dev: {name}" for name in PROGRAMS["builtin"]
        }
        addresses = [address for pid in running.children().values() for address in listening(pid)]
        assert len(addresses) == 2
        assert set(addresses) == {"0100007F"}


@each
def test_keys_are_secret_and_the_extension_server_gets_only_its_own(state: Path, plane: str) -> None:
    with dev(state, plane) as running:
        command = Path(f"/proc/{running.children()['extension-server']}/cmdline").read_bytes().decode()
        if "serve\0" in command:  # a fork has the command line of the command it comes from
            assert set(re.findall(r"[\w-]+\.key", command)) == {"extension-server.key"}
            assert set(re.findall(r"[\w-]+\.kubeconfig", command)) == {"extension-client.kubeconfig"}
        secret = [*state.glob("**/*.key"), *state.glob("**/*kubeconfig"), *state.glob("*.sqlite")]
        assert len(secret) >= 12
        assert {stat.S_IMODE(path.stat().st_mode) for path in state.glob("**/*.key")} == {0o600}
        assert {stat.S_IMODE(path.stat().st_mode) for path in state.glob("**/*kubeconfig")} == {0o600}
        assert stat.S_IMODE(state.stat().st_mode) == 0o700


CHILDREN = [
    pytest.param("builtin", "extension-server", id="builtin-extension-server"),
    pytest.param("builtin", "control-plane", id="builtin-control-plane"),
    pytest.param("kube", "extension-server", id="kube-extension-server", marks=pytest.mark.kubernetes),
    pytest.param("kube", "kube-apiserver", id="kube-kube-apiserver", marks=pytest.mark.kubernetes),
]


@pytest.mark.parametrize(("plane", "program"), CHILDREN)
def test_a_child_that_dies_ends_all_with_one_clear_line(state: Path, plane: str, program: str) -> None:
    with dev(state, plane) as running:
        children = running.children()
        os.kill(children[program], signal.SIGKILL)
        running.wait_for("Error: ", seconds=20)
        assert running.process.wait(20) == 1
        assert running.lines[-1].startswith(f"Error: {program} ended by SIGKILL; its log is {state}/log/{program}.log")
        assert not any(lives(pid) for pid in children.values())


@each
def test_nothing_outlives_a_supervisor_that_is_killed_and_the_next_start_works(state: Path, plane: str) -> None:
    with dev(state, plane) as killed:
        children = killed.children()
        killed.process.kill()
        wait_until_gone(list(children.values()))
    with dev(state, plane):
        pass
