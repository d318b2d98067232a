"""The three that are measured: wardle on extapi with SQLite, sample-apiserver with etcd, and a custom resource.

All are behind one real kube-apiserver. The first two serve the same group, so that only one of them is registered at a
time; each is also reached directly, with the front proxy's certificate.
"""

from __future__ import annotations

import base64
import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from extapi.dev import ports, registration
from extapi.dev.build import programs
from extapi.dev.processes import Processes
from tests.bench.peer.generator import Address
from tests.certificates import CLIENT, SERVER, authority
from tests.kubernetes.control_plane import ControlPlane

NAMESPACE = "bench"
GROUP, VERSION = "wardle.example.com", "v1beta1"
CUSTOM_GROUP = "custom.example.com"
EXAMPLES = Path(__file__).parents[3] / "examples"
_ADMIN = ("X-Remote-User: bench", "X-Remote-Group: system:masters")
_TICK = 1_000_000 / os.sysconf("SC_CLK_TCK")
_REFERENCES = {name: {"type": "string"} for name in ("flunderReference", "fischerReference", "referenceType")}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"flunders.{CUSTOM_GROUP}"},
    "spec": {
        "group": CUSTOM_GROUP,
        "scope": "Namespaced",
        "names": {"plural": "flunders", "singular": "flunder", "kind": "Flunder"},
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": _REFERENCES},
                            "status": {"type": "object"},
                        },
                    }
                },
            }
        ],
    },
}


@dataclass
class Side:
    """One of them: where its flunders are, and which processes work for it."""

    name: str
    group: str
    processes: dict[str, int]
    """Process ids by name; the CPU of all of them together is what a request costs."""
    direct: Address
    idle: dict[str, float] = field(default_factory=dict)
    """Resident memory in MB by process, before any load."""

    @property
    def flunders(self) -> str:
        """The path of its collection."""
        return f"/apis/{self.group}/{VERSION}/namespaces/{NAMESPACE}/flunders"

    def cpu(self) -> dict[str, float]:
        """Microseconds of CPU that each process has used."""
        return {name: cpu_of(pid) for name, pid in self.processes.items()}

    def remember_idle(self) -> None:
        """Read the memory now."""
        self.idle = {name: resident(pid) for name, pid in self.processes.items()}


class Sides:
    """Starts them beside ``plane``; they end with it."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self._plane = plane
        self._directory = directory
        keys = plane.certificates
        self._proxy = (keys.certificate("front-proxy-client"), keys.key("front-proxy-client"))
        self.kube = Address(
            plane.cluster.port, keys.certificate("cluster-ca"), keys.certificate("admin"), keys.key("admin")
        )
        registration.authorize(plane.client)
        plane.client.apply(
            f"/api/v1/namespaces/{registration.NAMESPACE}/services/{registration.SERVICE}",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": registration.SERVICE, "namespace": registration.NAMESPACE},
                "spec": {"type": "ExternalName", "externalName": "localhost"},
            },
        )
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        plane.client.apply(f"/api/v1/namespaces/{NAMESPACE}", namespace)

    def ours(self) -> Side:
        """The example in ``examples/wardle``, on SQLite."""
        port = ports.choose(0, "--serve-port")
        command = [
            *(sys.executable, "-m", "extapi", "serve", "wardle:api"),
            *self._flags(port, "extension-client"),
            f"--storage=sqlite:///{self._directory / 'wardle.sqlite'}",
        ]
        processes = self._start("wardle", command, EXAMPLES)
        return Side("extapi", GROUP, processes, self._at(port))

    def sample(self, program: Path) -> Side:
        """sample-apiserver, with an etcd of its own."""
        home = self._directory / "sample"
        home.mkdir()
        nowhere = "http://127.0.0.1:2379"  # has to be a host and a port; nobody looks it up
        etcd = [
            *programs(print).etcd,
            *("--name=default", "--data-dir=data"),
            *("--listen-client-urls=unix://client.sock", "--listen-peer-urls=unix://peer.sock"),
            *(f"--advertise-client-urls={nowhere}", f"--initial-advertise-peer-urls={nowhere}"),
            f"--initial-cluster=default={nowhere}",
        ]
        processes = self._start("sample-etcd", etcd, home)
        path = home / "client.sock"
        self._plane.processes.wait_until(lambda: None if path.exists() else "no socket", "etcd", seconds=30)
        port = ports.choose(0, "--serve-port")
        command = [str(program), *self._flags(port, "admin"), "--etcd-servers=unix://client.sock"]
        processes |= self._start("sample-apiserver", command, home)
        return Side("sample-apiserver", GROUP, processes, self._at(port))

    def on_etcd(
        self, name: str, *, program: Path | None = None, tls: bool = False, arguments: Sequence[str] = ()
    ) -> Side:
        """One of both servers with an etcd of its own, which it reaches over TCP on loopback.

        Args:
            name: The side's; unique.
            program: sample-apiserver; without it, ``examples/wardle``.
            tls: Whether etcd wants TLS with client certificates.
            arguments: Others of etcd.
        """
        home = self._directory / name.replace(" ", "-")
        home.mkdir()
        port, files = ports.choose(0, "--serve-port"), _etcd_files(home) if tls else {}
        url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        trust = ("--client-cert-auth", *(f"--{flag}={files[flag]}" for flag in _OF_ETCD)) if tls else ()
        nowhere = "http://127.0.0.1:2379"  # has to be a host and a port; nobody looks it up
        etcd = [
            *programs(print).etcd,
            *("--name=default", "--data-dir=data", "--listen-peer-urls=unix://peer.sock", *trust),
            *(f"--listen-client-urls={url}", f"--advertise-client-urls={url}"),
            *(f"--initial-advertise-peer-urls={nowhere}", f"--initial-cluster=default={nowhere}"),
            *arguments,
        ]
        processes = self._start(f"{name} etcd", etcd, home)
        self._plane.processes.wait_until(lambda: _no_listener(port), "etcd", seconds=30)
        at = ports.choose(0, "--serve-port")
        user, command, directory = (
            ("admin", [str(program)], home)
            if program
            else (
                "extension-client",
                # The load keeps its connections.
                [
                    *(sys.executable, "-m", "extapi", "serve", "wardle:api"),
                    *("--storage=etcd:", "--connection-requests=0"),
                ],
                EXAMPLES,
            )
        )
        to_etcd = [f"--etcd-servers={url}", *(f"--{flag}={files[flag]}" for flag in _OF_CLIENT if tls)]
        processes |= self._start(name, [*command, *self._flags(at, user), *to_etcd], directory)
        side = Side(name, GROUP, processes, self._at(at))
        self._plane.processes.wait_until(lambda: _no_listener(at), f"{name} to be ready", seconds=60)
        return side

    def custom(self) -> Side:
        """The same kind as a custom resource of kube-apiserver itself."""
        name = DEFINITION["metadata"]["name"]
        self._plane.client.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", DEFINITION)
        side = Side("custom resource", CUSTOM_GROUP, self.kube_processes(), self.kube)
        self._plane.processes.wait_until(
            lambda: self._plane.client.problem(side.flunders), "the custom resource to be served", seconds=60
        )
        return side

    def kube_processes(self) -> dict[str, int]:
        """kube-apiserver and its etcd."""
        return {name: self._plane.processes.pid(name) for name in ("kube-apiserver", "etcd")}

    def register(self, side: Side) -> None:
        """Let the group's requests go to ``side``; returns when they do."""
        client, name = self._plane.client, f"{VERSION}.{GROUP}"
        bundle = base64.b64encode(self._plane.certificates.certificate("serving-ca").read_bytes()).decode()
        path = f"/apis/apiregistration.k8s.io/v1/apiservices/{name}"
        client.delete(path)
        client.apply(
            path,
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": name},
                "spec": {
                    "group": GROUP,
                    "version": VERSION,
                    "service": {
                        "namespace": registration.NAMESPACE,
                        "name": registration.SERVICE,
                        "port": side.direct.port,
                    },
                    "caBundle": bundle,
                    "groupPriorityMinimum": 500,
                    "versionPriority": 10,
                },
            },
        )
        self._plane.processes.wait_until(
            lambda: client.problem(f"/apis/{GROUP}/{VERSION}"), f"{side.name} to be available", seconds=60
        )

    def _at(self, port: int) -> Address:
        return Address(port, self._plane.certificates.certificate("serving-ca"), *self._proxy, _ADMIN)

    def _flags(self, port: int, user: str) -> list[str]:
        keys = self._plane.certificates
        config = self._plane.cluster.write_kubeconfig(user)
        return [
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={keys.certificate('extension-server')}",
            f"--tls-private-key-file={keys.key('extension-server')}",
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
        ]

    def _start(self, name: str, command: list[str], directory: Path) -> dict[str, int]:
        processes: Processes = self._plane.processes
        return {name: processes.start(name, command, directory=directory).process.pid}


_OF_ETCD = ("cert-file", "key-file", "trusted-ca-file")
_OF_CLIENT = ("etcd-cafile", "etcd-certfile", "etcd-keyfile")


def _etcd_files(home: Path) -> dict[str, Path]:
    """Certificates for etcd and its client, in the files that the flags of both name."""
    ca = authority("etcd-ca")
    (home / "ca.crt").write_bytes(ca.pem)
    ca.leaf("etcd", san=["127.0.0.1"], eku=(*SERVER, *CLIENT)).save(home, "server")
    ca.leaf("client", eku=CLIENT).save(home, "client")
    names = ("server.crt", "server.key", "ca.crt", "ca.crt", "client.crt", "client.key")
    return {flag: home / name for flag, name in zip((*_OF_ETCD, *_OF_CLIENT), names, strict=True)}


def _no_listener(port: int) -> str | None:
    """None once somebody listens."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError as error:
        return str(error)
    return None


def cpu_of(pid: int) -> float:
    """Microseconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK


def resident(pid: int) -> float:
    """Megabytes of a process in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
