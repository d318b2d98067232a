"""Keeps what is registered at the control plane as the extension server says, which may come to serve something else.

Reads the file that the server writes (``--served-file``). Knows no processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from extapi.api.policyrule import PolicyRule
from extapi.client.transport import TransportError
from extapi.dev import registration
from extapi.dev.availability import shortened
from extapi.dev.kube import KubeClient, KubeError
from extapi.dev.registration import GroupVersions
from extapi.server.servedfile import ServedGroups


class Following:
    """Registers groups and versions that come, and takes away those that go.

    Args:
        client: The administrator.
        path: The file that the server writes.
        port: The server's.
        ca: The certificate of the authority that signed the server's.
        groups: What is registered already.
        needs: The rights of the author's code that are given already.
        tell: Shows a line to the user.
    """

    def __init__(
        self,
        client: KubeClient,
        path: Path,
        *,
        port: int,
        ca: Path,
        groups: Sequence[GroupVersions],
        needs: Sequence[PolicyRule],
        tell: Callable[[str], None],
    ) -> None:
        self._client = client
        self._path = path
        self._port = port
        self._ca = ca
        self._registered = _names(groups)
        self._needs = tuple(needs)
        self._tell = tell
        self._seen: tuple[int, int] | None = None
        self._failure = ""

    def check(self) -> None:
        """Look at the file, and do what is to be done. If the control plane refuses, that is told once and tried again."""
        try:
            found = self._path.stat()
            if (found.st_mtime_ns, found.st_ino) == self._seen:
                return
            served = ServedGroups.read(self._path)
        except (OSError, ValueError):
            return  # the server has not written it yet
        try:
            self._follow(served, str(found.st_mtime_ns))
        except (KubeError, TransportError) as error:
            if str(error) != self._failure:
                self._tell(f"the control plane refused a request: {error}")
            self._failure = str(error)
        else:
            self._seen, self._failure = (found.st_mtime_ns, found.st_ino), ""

    def _follow(self, served: ServedGroups, stamp: str) -> None:
        if tuple(served.needs) != self._needs:
            registration.authorize(self._client, served.needs)
            self._needs = tuple(served.needs)
        groups = [GroupVersions(name, versions) for name, versions in served.groups]
        names = _names(groups)
        if names == self._registered and self._seen is None:
            return  # the server has written it for the first time
        if new := [name for name in names if name not in self._registered]:
            self._tell("registering " + shortened(new))
        if gone := [name for name in self._registered if name not in names]:
            self._tell("removing " + shortened(gone))
        registration.register(self._client, groups, port=self._port, ca=self._ca, stamp=stamp)
        self._registered = names


def _names(groups: Sequence[GroupVersions]) -> list[str]:
    """The names of the APIServices; their order is that of their priorities."""
    return [f"{version}.{group.group}" for group in groups for version in group.versions]
