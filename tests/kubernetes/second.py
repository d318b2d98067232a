"""A second extension server with groups of its own, which a test may stop and start without disturbing the others."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from extapi.dev import extension, ports, registration
from extapi.dev.processes import Processes
from extapi.dev.registration import GroupVersions
from extapi.loading.module import load_api
from tests.kubernetes.control_plane import ControlPlane

APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


class SecondServer:
    """``extapi serve TARGET`` with the identity and the certificates of the first one, at a port of its own.

    Without a target, ``flags`` say what is served, and ``groups`` what is registered.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        target: str,
        directory: Path,
        storage: str,
        flags: Sequence[str] = (),
        groups: Sequence[GroupVersions] = (),
    ) -> None:
        self._control_plane = control_plane
        self._target = target
        self._directory = directory
        self._storage = storage or f"sqlite:///{directory / 'storage.sqlite'}"
        self.port = ports.choose(0, "--serve-port")
        self.groups = list(groups) or [
            GroupVersions(group.name, group.versions_by_priority()) for group in load_api(target).groups
        ]
        self.log = directory / "extension-server.log"
        self._flags = flags
        self._processes = Processes(directory)
        self._registered: list[str] = []

    def start(self) -> None:
        """Start it; returns when it is ready."""
        self._processes = Processes(self._directory)
        extension.start(
            self._target,
            port=self.port,
            storage=self._storage,
            kubeconfig=self._control_plane.cluster.write_kubeconfig("extension-client"),
            certificates=self._control_plane.certificates,
            processes=self._processes,
            flags=self._flags,
        )

    @property
    def pid(self) -> int:
        """Of its process, or of the first one of ``--workers``."""
        return self._processes.pid("extension-server")

    def stop(self) -> None:
        """End it, and wait until it has ended."""
        self._processes.stop(seconds=40)

    def register(self) -> None:
        """One APIService per version, without the label of ``extapi dev``, whose registration would remove them.

        Raises:
            AssertionError: one is registered already; this server would take over a group that another test uses.
        """
        bundle = base64.b64encode(self._control_plane.certificates.certificate("serving-ca").read_bytes()).decode()
        for group in self.groups:
            for version in group.versions:
                name = f"{version}.{group.group}"
                problem = self._control_plane.client.problem(f"{APISERVICES}/{name}")
                assert problem is not None, f"{name} is registered already"
                self._registered.append(name)
                self._control_plane.client.apply(f"{APISERVICES}/{name}", self._api_service(name, bundle))

    def _api_service(self, name: str, bundle: str) -> dict[str, Any]:
        version, _, group = name.partition(".")
        return {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": name},
            "spec": {
                "group": group,
                "version": version,
                "service": {"namespace": registration.NAMESPACE, "name": registration.SERVICE, "port": self.port},
                "caBundle": bundle,
                "groupPriorityMinimum": 500,
                "versionPriority": 10,
            },
        }

    def wait_available(self) -> None:
        """Until kube-apiserver serves every version."""
        extension.wait_available(self._control_plane.client, self.groups, self._processes)

    def unregister(self) -> None:
        """Take the APIServices away: while one is not available, no namespace can be deleted."""
        while self._registered:
            self._control_plane.client.delete(f"{APISERVICES}/{self._registered.pop()}")


@contextlib.contextmanager
def running(
    control_plane: ControlPlane,
    target: str,
    directory: Path,
    storage: str = "",
    flags: Sequence[str] = (),
    groups: Sequence[GroupVersions] = (),
) -> Iterator[SecondServer]:
    """A second server, available through kube-apiserver. The first one has to be there: it shares its Service and rights.

    ``storage``: instead of a file in ``directory``; ``flags``: further ones of ``extapi serve``; ``groups``: what is
    registered if there is no ``target``.
    """
    server = SecondServer(control_plane, target, directory, storage, flags, groups)
    try:
        server.start()
        server.register()
        server.wait_available()
        yield server
    finally:
        server.unregister()
        server.stop()
