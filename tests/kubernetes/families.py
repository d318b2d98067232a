"""Machines with IPv6 alone, with IPv4 alone and with both: network namespaces, in which nothing but loopback is.

``python -m tests.kubernetes.families`` tries all of them with both control planes, and prints the seconds. Needs root and
iproute2.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import yaml

from tests.kubernetes.control_plane import Kubectl
from tests.kubernetes.pizzas import pizza, topping
from tests.kubernetes.podnetwork import ip
from tests.kubernetes.test_dev import dev
from tests.waiting import until

FOUR, SIX = "127.0.0.1", "::1"
LOCALHOST = f"{FOUR} localhost\n"
"""What a machine may have in ``/etc/hosts`` although it has no IPv4."""
BOTH_LOCALHOST = f"{LOCALHOST}{SIX} localhost\n"
PORT = 8443
MACHINES = {"::1 alone": (SIX,), "IPv4 alone": (FOUR,), "both": (FOUR, SIX)}


@dataclass(frozen=True)
class Machine:
    """``namespace``: the name of its network namespace; ``addresses``: those of its loopback."""

    namespace: str
    addresses: tuple[str, ...]

    @property
    def within(self) -> list[str]:
        """What runs a command there, as the same process, which is killed when ours ends."""
        entered = [str(shutil.which("ip")), "netns", "exec", self.namespace]
        return [str(shutil.which("setpriv")), "--pdeathsig=KILL", *entered]


class KubectlThere(Kubectl):
    """kubectl on a machine."""

    machine: Machine

    def command(self, *arguments: str) -> list[str]:
        """Its command line."""
        return [*self.machine.within, *super().command(*arguments)]


@contextlib.contextmanager
def machine(*addresses: str, hosts: str = LOCALHOST) -> Iterator[Machine]:
    """One with these loopback addresses and this ``/etc/hosts``, which ``ip netns exec`` puts there."""
    there = Machine(f"extapi-families-{os.getpid()}", addresses)
    own = Path("/etc/netns") / there.namespace
    ip("netns", "add", there.namespace)
    try:
        own.mkdir(parents=True)
        (own / "hosts").write_text(hosts)
        ip("-n", there.namespace, "link", "set", "lo", "up")
        for address, length in ((FOUR, 8), (SIX, 128)):
            if address not in addresses:
                ip("-n", there.namespace, "address", "del", f"{address}/{length}", "dev", "lo")
        yield there
    finally:
        ip("netns", "delete", there.namespace)
        shutil.rmtree(own)
        with contextlib.suppress(OSError):
            own.parent.rmdir()  # unless others use it


@contextlib.contextmanager
def watching(kubectl: Kubectl) -> Iterator[subprocess.Popen[str]]:
    """``kubectl get pizzas --watch``."""
    command = kubectl.command("get", "pizzas", "-o", "name", "--watch")
    with subprocess.Popen(command, env=kubectl.environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def use(there: Machine, plane: str, directory: Path, *, serving: bool = True) -> None:
    """Start everything there, and create, get and watch a pizza with kubectl.

    Args:
        there: The machine.
        plane: The control plane.
        directory: For files.
        serving: Whether another server is started, with the defaults of ``extapi serve``.
    """
    url = f"https://[{SIX}]" if there.addresses == (SIX,) else f"https://{FOUR}"
    state = directory / "dev"
    with dev(state, plane, within=there.within) as running:
        assert yaml.safe_load((state / "kubeconfig").read_text())["clusters"][0]["cluster"]["server"].startswith(url)
        kubectl = KubectlThere(state / "kubeconfig", directory / "kubectl")
        kubectl.machine = there
        with watching(kubectl) as seen:
            kubectl("create", "-f", "-", stdin=json.dumps(topping("basil", "0.50")))
            kubectl("create", "-f", "-", stdin=json.dumps(pizza("verde", basil=2)))
            assert seen.stdout is not None
            assert seen.stdout.readline().endswith("/verde\n")
        assert kubectl("get", "pizzas", "-o", "jsonpath={.items[*].spec.toppings[*].name}") == "basil"
        if serving:
            serve(there, kubectl, directory)
        assert running.stop(signal.SIGINT) < 10
        assert running.process.returncode == 0


def serve(there: Machine, kubectl: Kubectl, directory: Path) -> None:
    """``extapi serve`` with the default of ``--bind-address`` is reached at each address, and its own certificate is for it."""
    certificates, log = directory / "certificates", directory / "serve.log"
    command = [*there.within, sys.executable, "-m", "extapi", "serve", "extapi.pizza:api", "--storage=memory:"]
    command += [f"--secure-port={PORT}", f"--cert-dir={certificates}", "--leader-elect=false"]
    command += [f"--kubeconfig={directory / 'dev' / 'extension-client.kubeconfig'}"]
    with log.open("wb") as output, subprocess.Popen(command, stderr=output) as process:
        try:
            for address in there.addresses:
                host = f"[{address}]" if ":" in address else address
                flags = (f"--server=https://{host}:{PORT}", f"--certificate-authority={certificates / 'apiserver.crt'}")

                def ready(flags: tuple[str, ...] = flags) -> bool:
                    assert process.poll() is None, log.read_text()
                    answer = kubectl.run("get", "--raw=/readyz", *flags)
                    assert answer.returncode == 0, answer.stderr
                    return answer.stdout == "ok"

                until(ready, 30)
        finally:
            process.kill()


def try_all() -> None:
    """Each machine with each control plane."""
    for name, addresses in MACHINES.items():
        for plane in ("builtin", "kube"):
            begun = time.monotonic()
            with tempfile.TemporaryDirectory() as directory, machine(*addresses, hosts=BOTH_LOCALHOST) as there:
                use(there, plane, Path(directory))
            click.echo(f"{name}, {plane}: {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    try_all()
