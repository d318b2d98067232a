"""The extension server as the local control plane runs it: its command line, and when it is there for clients.

It is handed its own identity and serving key, and neither the keys of any authority nor those of the front proxy. (Where it
is a fork, its memory begins with what ``extapi dev`` has read, as ``forking`` says.)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from extapi.dev.certificates import Certificates
from extapi.dev.kube import KubeClient
from extapi.dev.ports import LOOPBACK
from extapi.dev.processes import Processes
from extapi.dev.registration import GroupVersions, unavailable

_DAY = 24 * 60 * 60


def start(
    target: str,
    *,
    port: int,
    storage: str,
    kubeconfig: Path,
    certificates: Certificates,
    processes: Processes,
    flags: Sequence[str] = (),
    foreground: bool = False,
) -> None:
    """Start ``extapi serve`` and wait until it says that it is ready.

    :param target: ``MODULE:NAME`` of the API.
    :param storage: the URL of its store.
    :param kubeconfig: its identity towards kube-apiserver.
    :param flags: further ones of ``extapi serve``; one that is given twice counts as the last.
    :param foreground: it has our terminal, and somebody may hold it up with a debugger.
    :raises DevFailure: it cannot be started, ended, or is not ready in time.
    """
    command = [
        "serve",
        target,
        f"--bind-address={LOOPBACK}",
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
    client = KubeClient(port, ca=certificates.certificate("serving-ca"))
    processes.wait_until(
        lambda: client.problem("/readyz"),
        "the extension server to be ready",
        seconds=_DAY if foreground else 60,
        interval=0.03,
    )


def wait_available(
    client: KubeClient, groups: Sequence[GroupVersions], processes: Processes, *, foreground: bool = False
) -> None:
    """Wait until kube-apiserver serves every version; :func:`start` says what ``foreground`` is.

    :raises DevFailure: a process ended, or a version is not available in time.
    """
    processes.wait_until(
        lambda: unavailable(client, groups),
        "the API to be available",
        seconds=_DAY if foreground else 60,
        interval=0.03,
    )
