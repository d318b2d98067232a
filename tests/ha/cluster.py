"""The members of etcd and the replicas of one API, each on a host of its own: started, killed, paused, restarted."""

from __future__ import annotations

import contextlib
import itertools
import signal
import ssl
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from extapi.dev.build import programs
from tests.bench.cluster import Cluster as Kubernetes
from tests.certificates import CLIENT, SERVER, authority
from tests.conformance.users import signed_tokens
from tests.ha.etcdlog import EtcdLog
from tests.ha.gateway import PORT, REPLICA, ROOT, change_users, leader, make_users
from tests.ha.hosts import Network, network
from tests.ha.live import PLANTS
from tests.ha.log import Log
from tests.ha.program import Program
from tests.ha.sqlitelog import SqliteLog
from tests.ha.stores import Store
from tests.waiting import until

SECURE_PORT = 6443
PREFIX = "/extapi/checker"
COMPACTION = 20
"""Seconds between the compactions of the replicas."""
GROUP = "restaurant.programming-kubernetes.info"
STORED = f"/registry/{GROUP}/toppings/"
"""The prefix of the keys of the objects under test."""
_TOKENS = "3s"
"""How long a token of etcd's users is good."""
_PATIENCE = 60.0


@dataclass
class Installation:
    """All of it. ``tls``: how a client reaches the replicas, as the front proxy."""

    directory: Path
    store: Store
    network: Network
    members: dict[str, Program]
    replicas: dict[str, Program]
    tls: ssl.SSLContext
    log: Log

    def address(self, name: str) -> str:
        """That of a host."""
        return self.network.hosts[name].address

    def clock(self, name: str) -> Path:
        """The file that says how far a replica's clock is moved."""
        return self.directory / f"{name}.clock"

    def leader(self) -> str | None:
        """The member that leads; None if none says so."""
        return leader({name: self.address(name) for name in self.members}, ROOT if self.store.users else None)

    def change_users(self, name: str) -> None:
        """Add one to etcd, if it answers."""
        with contextlib.suppress(OSError):
            change_users(self.address(self.store.members[0]), name)

    def heal(self) -> None:
        """End every fault that is going on: whoever is away comes back."""
        self.network.heal()
        for program in itertools.chain(self.members.values(), self.replicas.values()):
            program.send_all(signal.SIGCONT)
            if not program.running:
                program.start()


@contextlib.contextmanager
def installation(directory: Path, store: Store, plant: str = "") -> Iterator[Installation]:
    """Made and started; ended and removed in the end. ``plant``: a fault of one replica (:mod:`tests.ha.live`)."""
    with network([*store.members, *store.replicas]) as net, _kubernetes(net.address, directory) as kubeconfig:
        tokens = [signed_tokens(directory, _TOKENS), "--bcrypt-cost=4"] if store.users else []
        members = {name: _member(net, name, store, directory, tokens) for name in store.members}
        tls, replicas = _replicas(net, store, directory, kubeconfig, plant)
        made = Installation(directory, store, net, members, replicas, tls, _log(net, store, directory))
        programs_ = [*members.values(), *replicas.values()]
        try:
            for program in members.values():
                program.start()
            if store.users:
                assert until(lambda: leader({name: made.address(name) for name in members}), _PATIENCE)
                make_users(made.address(store.members[0]), PREFIX)
            for program in replicas.values():
                program.start()
            yield made
        finally:
            made.log.stop()
            for program in reversed(programs_):
                with contextlib.suppress(AssertionError):
                    program.end(signal.SIGKILL)


def _file(directory: Path) -> Path:
    return directory / "objects.db"


def _log(net: Network, store: Store, directory: Path) -> Log:
    if not store.members:
        return SqliteLog(_file(directory), STORED)
    addresses = [net.hosts[name].address for name in store.members]
    return EtcdLog(addresses, f"{PREFIX}/data{STORED}", ROOT if store.users else None)


@contextlib.contextmanager
def _kubernetes(address: str, directory: Path) -> Iterator[Path]:
    stub = Kubernetes(address)
    try:
        yield stub.kubeconfig(directory / "kubeconfig")
    finally:
        stub.stop()


def _member(net: Network, name: str, store: Store, directory: Path, tokens: Sequence[str]) -> Program:
    address = net.hosts[name].address
    peers = ",".join(f"{each}=http://{net.hosts[each].address}:2380" for each in store.members)
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
            *tokens,
        ],
        directory / f"{name}.log",
    )


def _storage(net: Network, store: Store, directory: Path) -> Sequence[str]:
    """The flags of a server that say what it stores in."""
    if not store.members:
        return [f"--storage=sqlite:///{_file(directory)}", f"--workers={store.workers}"]
    password = directory / "password"
    password.write_text(REPLICA.password)
    return [
        "--storage=etcd:",
        "--etcd-servers=" + ",".join(f"http://{net.hosts[name].address}:{PORT}" for name in store.members),
        f"--etcd-prefix={PREFIX}",
        f"--etcd-compaction-interval={COMPACTION}s",
        *([f"--etcd-username={REPLICA.name}", f"--etcd-password-file={password}"] if store.users else []),
    ]


def _replicas(
    net: Network, store: Store, directory: Path, kubeconfig: Path, plant: str
) -> tuple[ssl.SSLContext, dict[str, Program]]:
    serving, proxy = authority("serving-ca"), authority("front-proxy-ca")
    (directory / "serving-ca.pem").write_bytes(serving.pem)
    (directory / "proxy-ca.pem").write_bytes(proxy.pem)
    pair = proxy.leaf("front-proxy-client", eku=CLIENT).save(directory, "proxy")
    context = ssl.create_default_context(cafile=str(directory / "serving-ca.pem"))
    context.load_cert_chain(pair.certificate, pair.key)
    storage = _storage(net, store, directory)
    made = {}
    for number, name in enumerate(store.replicas):
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
                *storage,
            ],
            directory / f"{name}.log",
            {
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "CHECKER_CLOCK": str(clock),
                "CHECKER_PLANT": plant if plant and (number == 0 or PLANTS[plant].everywhere) else "",
            },
        )
    return context, made
