"""Replicas of ``extapi serve`` behind one Service of a real control plane, which chooses one for each request.

Each has an address of its own on loopback, from a network for tests (RFC 2544): EndpointSlices refuse 127.0.0.1. What a kubelet and
the controller of EndpointSlices do is played: one that is ready becomes an endpoint, one that is to end or has died is none any
more. Needs root and iproute2, and a control plane that was started with ``--enable-aggregator-routing``.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import ipaddress
import os
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from extapi.dev import extension, registration
from extapi.dev.processes import Child, Processes
from extapi.dev.registration import NAMESPACE, SERVICE, GroupVersions
from extapi.loading.module import load_api
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.second import APISERVICES
from tests.lastingport import lasting_port
from tests.waiting import until

_NETWORK = ipaddress.ip_network("198.18.0.0/16")
"""The other half is podnetwork's; each process takes addresses by its number."""
_RBAC = "rbac.authorization.k8s.io/v1"
_READY = 180.0
_ENDS = 40.0


@contextlib.contextmanager
def addresses(number: int) -> Iterator[list[str]]:
    """So many addresses that only this process has."""
    first = int(_NETWORK.network_address) + 1 + 4 * (os.getpid() % (_NETWORK.num_addresses // 4 - 1))
    made = [str(ipaddress.ip_address(first + offset)) for offset in range(number)]
    with contextlib.ExitStack() as stack:
        for each in made:
            subprocess.run(["ip", "address", "add", f"{each}/32", "dev", "lo"], check=True)
            stack.callback(subprocess.run, ["ip", "address", "del", f"{each}/32", "dev", "lo"], check=True)
        yield made


@dataclass
class Replica:
    """One process. ``name``: for logs."""

    name: str
    address: str
    port: int
    child: Child
    is_endpoint: bool = False

    @property
    def pid(self) -> int:
        """Of its process."""
        return self.child.process.pid

    def is_ready(self) -> bool:
        """What the kubelet's probe says, which looks at no certificate."""
        assert self.child.process.poll() is None, self.child.log.read_text(errors="replace")
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(self.address, self.port, timeout=5, context=tls)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


@dataclass
class Replicas:
    """The replicas of one API on one etcd. ``note``: is told what happens, for a log."""

    control_plane: ControlPlane
    target: str
    flags: Sequence[str]
    free: list[str]
    """Addresses that nobody listens on."""
    note: Callable[[str], None] = lambda _: None
    running: list[Replica] = field(default_factory=list)
    port: int = field(default_factory=lasting_port)
    _started: int = 0

    def __post_init__(self) -> None:
        self._processes = Processes(self.control_plane.state.logs)
        self.groups = self._groups()

    def _groups(self) -> list[GroupVersions]:
        return [GroupVersions(each.name, each.versions_by_priority()) for each in load_api(self.target).groups]

    def start(self) -> Replica:
        """Start one more, which gets requests once it is ready; returns then."""
        replica = self.launch()
        self.wait_ready(replica)
        return replica

    def launch(self) -> Replica:
        """Start one more."""
        self._started += 1
        name, address = f"replica-{self._started}", self.free.pop(0)
        replica = Replica(name, address, self.port, self._serve(name, address))
        self.running.append(replica)
        self.note(f"{name} is started")
        return replica

    def _serve(self, name: str, address: str) -> Child:
        command = ["serve", self.target, *self._serving(address, "extension-client"), *self.flags]
        return self._processes.start_python(name, "extapi", command)

    def _serving(self, address: str, user: str) -> list[str]:
        keys = self.control_plane.certificates
        return [
            f"--bind-address={address}",
            f"--secure-port={self.port}",
            f"--tls-cert-file={keys.certificate('extension-server')}",
            f"--tls-private-key-file={keys.key('extension-server')}",
            f"--kubeconfig={self.control_plane.cluster.write_kubeconfig(user)}",
        ]

    def wait_ready(self, replica: Replica) -> None:
        """It is an endpoint from now on."""
        until(replica.is_ready, _READY)
        replica.is_endpoint = True
        self.publish()
        self.note(f"{replica.name} is ready: the Service has {self._ready()}")

    def terminate(self, replica: Replica) -> None:
        """Delete its pod: it is no endpoint any more, and gets SIGTERM at the same moment. Returns when it has ended."""
        os.kill(replica.pid, signal.SIGTERM)
        self.note(f"{replica.name} gets SIGTERM")
        replica.is_endpoint = False
        self.publish()
        self.note(f"{replica.name} is no endpoint any more: the Service has {self._ready()}")
        status = replica.child.process.wait(_ENDS)
        self.note(f"{replica.name} has ended with status {status}")
        assert status == 0, replica.child.log.read_text(errors="replace")
        self._gone(replica)

    def kill(self, replica: Replica, unseen: float = 0) -> None:
        """End it at once; the kubelet sees that its process has ended, ``unseen`` seconds later."""
        os.kill(replica.pid, signal.SIGKILL)
        self.note(f"{replica.name} gets SIGKILL")
        replica.child.process.wait()
        time.sleep(unseen)
        replica.is_endpoint = False
        self.publish()
        self.note(f"{replica.name} is no endpoint any more: the Service has {self._ready()}")
        self._gone(replica)

    def _gone(self, replica: Replica) -> None:
        self.running.remove(replica)
        self.free.append(replica.address)

    def _ready(self) -> str:
        return ", ".join(each.name for each in self.running if each.is_endpoint) or "none"

    def publish(self) -> None:
        """Tell the control plane which are endpoints."""
        made = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": SERVICE, "labels": {"kubernetes.io/service-name": SERVICE}},
            "addressType": "IPv4",
            "ports": [{"port": self.port, "protocol": "TCP"}],
            "endpoints": [
                {"addresses": [each.address], "conditions": {"ready": True}}
                for each in self.running
                if each.is_endpoint
            ],
        }
        self.control_plane.client.apply(
            f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/{SERVICE}", made
        )

    def register(self) -> None:
        """The Service and the APIServices; returns when kube-apiserver serves all of them."""
        client = self.control_plane.client
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": SERVICE},
            "spec": {"ports": [{"port": 443, "targetPort": self.port}]},
        }
        client.apply(f"/api/v1/namespaces/{NAMESPACE}/services/{SERVICE}", service)
        ca = base64.b64encode(self.control_plane.certificates.certificate("serving-ca").read_bytes()).decode()
        for group in self.groups:
            for version in group.versions:
                name = f"{version}.{group.group}"
                spec = {
                    "group": group.group,
                    "version": version,
                    "service": {"namespace": NAMESPACE, "name": SERVICE, "port": 443},
                    "caBundle": ca,
                    "groupPriorityMinimum": 500,
                    "versionPriority": 10,
                }
                made = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name}}
                client.apply(f"{APISERVICES}/{name}", {**made, "spec": spec})
        extension.wait_available(client, self.groups, self._processes)

    def stop(self) -> None:
        """End all."""
        self._processes.stop(seconds=_ENDS)


def authorize(control_plane: ControlPlane) -> None:
    """The rights of the servers, with that to the Lease, in the namespace that is theirs."""
    registration.authorize(control_plane.client)
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]}
    role: Mapping[str, Any] = {"apiVersion": _RBAC, "kind": "Role", "metadata": {"name": "leader"}, "rules": [rule]}
    binding = {
        "apiVersion": _RBAC,
        "kind": "RoleBinding",
        "metadata": {"name": "leader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "leader"},
        "subjects": [{"kind": "ServiceAccount", "name": SERVICE, "namespace": NAMESPACE}],
    }
    for plural, obj in (("roles", dict(role)), ("rolebindings", binding)):
        control_plane.client.apply(f"/apis/{_RBAC}/namespaces/{NAMESPACE}/{plural}/leader", obj)


@contextlib.contextmanager
def replicas(
    control_plane: ControlPlane,
    target: str,
    number: int,
    flags: Sequence[str],
    note: Callable[[str], None] = lambda _: None,
    kind: type[Replicas] = Replicas,
) -> Iterator[Replicas]:
    """So many, registered and available; there are addresses for one more."""
    authorize(control_plane)
    with addresses(number + 1) as free:
        made = kind(control_plane, target, flags, free, note)
        try:
            for each in [made.launch() for _ in range(number)]:
                made.wait_ready(each)
            made.register()
            yield made
        finally:
            made.stop()


def log_of(path: Path) -> Callable[[str], None]:
    """What notes are written to: a file and what pytest shows, each line with the seconds since now."""
    begin = time.monotonic()

    def note(text: str) -> None:
        line = f"{time.monotonic() - begin:6.1f} s  {text}"
        print(line)  # noqa: T201 - for who runs the test
        with path.open("a") as file:
            file.write(line + "\n")

    return note
