"""Three members of etcd and three replicas of one API, each on a host of its own: started, killed, paused, restarted."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from extapi.dev.build import programs
from tests.bench.cluster import Cluster as Kubernetes
from tests.certificates import CLIENT, SERVER, authority
from tests.ha.etcdlog import PORT, EtcdLog
from tests.ha.hosts import Host, Network, network
from tests.ha.live import PLANTS

MEMBERS = ("m0", "m1", "m2")
REPLICAS = ("r0", "r1", "r2")
SECURE_PORT = 6443
PREFIX = "/extapi/checker"
COMPACTION = 20
"""Seconds between the compactions of the replicas."""
GROUP = "restaurant.programming-kubernetes.info"
STORED = f"{PREFIX}/data/registry/{GROUP}/toppings/"


@dataclass
class Program:
    """One process on one host. Its output goes to ``log``."""

    host: Host
    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    starts: int = 0

    @property
    def running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start it; returns at once."""
        self.starts += 1
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.host.command(*self.arguments),
                cwd=self.log.parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **self.environment},
            )

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.process is not None and self.running:
            self.process.send_signal(number)

    def end(self, number: signal.Signals, seconds: float = 20) -> int:
        """Send a signal and wait for the end; the exit status.

        Raises:
            subprocess.TimeoutExpired: It goes on.
        """
        assert self.process is not None
        self.send(number)
        return self.process.wait(seconds)


@dataclass
class Installation:
    """All of it. ``tls``: how a client reaches the replicas, as the front proxy."""

    directory: Path
    network: Network
    members: dict[str, Program]
    replicas: dict[str, Program]
    tls: ssl.SSLContext
    log: EtcdLog

    def address(self, name: str) -> str:
        """That of a host."""
        return self.network.hosts[name].address

    def clock(self, name: str) -> Path:
        """The file that says how far a replica's clock is moved."""
        return self.directory / f"{name}.clock"

    def heal(self) -> None:
        """End every fault that is going on: whoever is away comes back."""
        self.network.heal()
        for program in itertools.chain(self.members.values(), self.replicas.values()):
            program.send(signal.SIGCONT)
            if not program.running:
                program.start()


@contextlib.contextmanager
def installation(directory: Path, plant: str = "") -> Iterator[Installation]:
    """Made and started; ended and removed in the end. ``plant``: a fault of one replica (:mod:`tests.ha.live`)."""
    with network([*MEMBERS, *REPLICAS]) as net, _kubernetes(net.address, directory) as kubeconfig:
        log = EtcdLog([net.hosts[name].address for name in MEMBERS], STORED)
        members = {name: _member(net, name, directory) for name in MEMBERS}
        tls, replicas = _replicas(net, directory, kubeconfig, plant)
        made = Installation(directory, net, members, replicas, tls, log)
        programs_ = [*members.values(), *replicas.values()]
        try:
            for program in programs_:
                program.start()
            yield made
        finally:
            log.stop()
            for program in reversed(programs_):
                with contextlib.suppress(AssertionError):
                    program.end(signal.SIGKILL)


@contextlib.contextmanager
def _kubernetes(address: str, directory: Path) -> Iterator[Path]:
    stub = Kubernetes(address)
    try:
        yield stub.kubeconfig(directory / "kubeconfig")
    finally:
        stub.stop()


def _member(net: Network, name: str, directory: Path) -> Program:
    address = net.hosts[name].address
    peers = ",".join(f"{each}=http://{net.hosts[each].address}:2380" for each in MEMBERS)
    return Program(
        net.hosts[name],
        [
            *programs(print).etcd,
            f"--name={name}",
            f"--data-dir={directory / name}",
            f"--listen-client-urls=http://{address}:{PORT}",
            f"--advertise-client-urls=http://{address}:{PORT}",
            f"--listen-peer-urls=http://{address}:2380",
            f"--initial-advertise-peer-urls=http://{address}:2380",
            f"--initial-cluster={peers}",
            "--log-level=warn",
            "--unsafe-no-fsync",  # what a killed process has written stays: only the machine's own end would take it
        ],
        directory / f"{name}.log",
    )


def _replicas(net: Network, directory: Path, kubeconfig: Path, plant: str) -> tuple[ssl.SSLContext, dict[str, Program]]:
    serving, proxy = authority("serving-ca"), authority("front-proxy-ca")
    (directory / "serving-ca.pem").write_bytes(serving.pem)
    (directory / "proxy-ca.pem").write_bytes(proxy.pem)
    pair = proxy.leaf("front-proxy-client", eku=CLIENT).save(directory, "proxy")
    context = ssl.create_default_context(cafile=str(directory / "serving-ca.pem"))
    context.load_cert_chain(pair.certificate, pair.key)
    servers = ",".join(f"http://{net.hosts[name].address}:{PORT}" for name in MEMBERS)
    made = {}
    for number, name in enumerate(REPLICAS):
        address = net.hosts[name].address
        own = serving.leaf(name, san=[address], eku=SERVER).save(directory, name)
        clock = directory / f"{name}.clock"
        clock.write_text("0")
        made[name] = Program(
            net.hosts[name],
            [
                sys.executable,
                "-m",
                "tests.ha.replica",
                "serve",
                "extapi.pizza:api",
                f"--bind-address={address}",
                f"--secure-port={SECURE_PORT}",
                f"--tls-cert-file={own.certificate}",
                f"--tls-private-key-file={own.key}",
                f"--kubeconfig={kubeconfig}",
                "--authentication-skip-lookup",
                "--leader-elect=false",  # there is nothing that serves Leases
                f"--requestheader-client-ca-file={directory / 'proxy-ca.pem'}",
                "--storage=etcd:",
                f"--etcd-servers={servers}",
                f"--etcd-prefix={PREFIX}",
                f"--etcd-compaction-interval={COMPACTION}s",
            ],
            directory / f"{name}.log",
            {
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "CHECKER_CLOCK": str(clock),
                "CHECKER_PLANT": plant if plant and (number == 0 or PLANTS[plant].everywhere) else "",
            },
        )
    return context, made
