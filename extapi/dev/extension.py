"""The extension server as the local control plane runs it: its command line, and when clients can reach it.

It gets its own identity and serving key, but no key of an authority or of the front proxy. (A fork starts with everything in
memory that ``extapi dev`` has read; see ``forking``.)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from extapi.dev.availability import Availability
from extapi.dev.certificates import Certificates
from extapi.dev.kube import KubeClient
from extapi.dev.ports import LOOPBACK
from extapi.dev.processes import Processes
from extapi.dev.registration import GroupVersions
from extapi.server.servedfile import ServedGroups

_DAY = 24 * 60 * 60
_WORK, _MOST_WORK = 10, 30
"""Seconds of CPU time by which a server that starts shows that it does something, and how often that counts."""


def start(
    target: str,
    *,
    port: int,
    storage: str,
    kubeconfig: Path,
    certificates: Certificates,
    processes: Processes,
    host: str = LOOPBACK,
    crds: Sequence[Path] = (),
    flags: Sequence[str] = (),
    foreground: bool = False,
) -> None:
    """Start ``extapi serve``, and wait until it reports that it is ready.

    Args:
        target: ``MODULE:NAME`` of the API; empty if only definitions are served.
        storage: The URL of its store.
        kubeconfig: Its identity at kube-apiserver.
        host: The loopback address to listen on.
        crds: Files and folders of definitions.
        flags: Additional flags of ``extapi serve``; of a flag that is given twice, the last one counts.
        foreground: It has our terminal, and a debugger may stop it.

    Raises:
        DevFailure: It cannot be started, it ended, or it is neither ready in time nor busy.
    """
    command = [
        "serve",
        *([target] if target else []),
        *(f"--crd={path.absolute()}" for path in crds),
        f"--bind-address={host}",
        f"--secure-port={port}",
        f"--tls-cert-file={certificates.certificate('extension-server')}",
        f"--tls-private-key-file={certificates.key('extension-server')}",
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--storage={storage}",
        *flags,
    ]
    processes.start_python("extension-server", "extapi", command, foreground=foreground)
    client = KubeClient(port, ca=certificates.certificate("serving-ca"), host=host)
    processes.wait_until(
        lambda: client.problem("/readyz"),
        "the extension server to be ready",
        seconds=_DAY if foreground else 60,
        interval=0.03,
        # Hundreds of definitions are that much work, and a busy machine gives it little time.
        found=lambda: min(int(processes.cpu_seconds("extension-server") / _WORK), _MOST_WORK),
    )


def served(path: Path, processes: Processes) -> list[GroupVersions]:
    """The groups and versions that the server says it serves, in the file of ``--served-file``.

    Raises:
        DevFailure: It ended, or does not say so in time.
    """
    processes.wait_until(
        lambda: None if path.exists() else "the extension server has not said yet what it serves",
        "the extension server to say what it serves",
        seconds=60,
        interval=0.01,
    )
    return [GroupVersions(group, versions) for group, versions in ServedGroups.read(path).groups]


def wait_available(
    client: KubeClient, groups: Sequence[GroupVersions], processes: Processes, *, foreground: bool = False
) -> None:
    """Wait until kube-apiserver serves every version; :func:`start` says what ``foreground`` is.

    Raises:
        DevFailure: A process ended, or for a minute no further version became available.
    """
    availability = Availability(client, groups)
    processes.wait_until(
        availability.missing,
        "the API to be available",
        seconds=_DAY if foreground else 60,
        # A question about hundreds of versions is work for the control plane, which is busy with them.
        interval=max(0.03, availability.all / 1000),
        found=lambda: availability.found,
    )
