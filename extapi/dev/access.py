"""How to reach a local control plane of either kind: its port, its administrator, the kubeconfigs for its clients.

Knows certificates and files; knows nothing of the programs behind the port.
"""

from __future__ import annotations

from pathlib import Path

from extapi.dev.certificates import Certificates
from extapi.dev.directory import StateDirectory, write_secret
from extapi.dev.kube import KubeClient, kubeconfig
from extapi.dev.ports import LOOPBACK

FRONT_PROXY_USER = "front-proxy-client"
"""The common name of the certificate with which the control plane proxies to extension servers."""
ISSUER = "https://kubernetes.default.svc.cluster.local"
"""The issuer of service account tokens; the default name in clusters."""


class Access:
    """The way to one control plane on loopback. ``host`` and ``port`` are those of its API, ``client`` its administrator."""

    def __init__(self, *, state: StateDirectory, port: int, certificates: Certificates, host: str = LOOPBACK) -> None:
        self.host = host
        self.port = port
        self.client = KubeClient(
            port,
            ca=certificates.certificate("cluster-ca"),
            certificate=certificates.certificate("admin"),
            key=certificates.key("admin"),
            host=host,
        )
        self._state = state
        self._certificates = certificates

    def write_kubeconfig(self, leaf: str, path: Path | None = None) -> Path:
        """The kubeconfig of the client whose certificate is ``leaf``, written to ``path`` or beside the others."""
        path = path or self._state.credentials(leaf)
        text = kubeconfig(
            self.port,
            user=leaf,
            ca=self._certificates.certificate("cluster-ca").read_bytes(),
            certificate=self._certificates.certificate(leaf).read_bytes(),
            key=self._certificates.key(leaf).read_bytes(),
            host=self.host,
        )
        write_secret(path, text)
        return path
