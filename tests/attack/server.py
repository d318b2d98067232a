"""``extapi serve`` as a process that is attacked over TLS, its peers' certificates, and what /proc and its log say of it."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

from tests.attack.cluster import Cluster
from tests.attack.process import cpu, resident
from tests.certificates import CLIENT, SERVER, authority
from tests.lastingport import lasting_port
from tests.waiting import until


def _end_with_parent() -> None:
    """A worker that is killed must not leave its server behind (prctl(2), PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class ServerProcess:
    """A running server of ``api``, a ``module:name``. ``contexts``: TLS settings of the front proxy, a client, and nobody."""

    def __init__(self, directory: Path, api: str, cluster: Cluster) -> None:
        serving, proxies, clients = authority("serving-ca"), authority("front-proxy-ca"), authority("client-ca")
        certificate = serving.leaf("localhost", san=["localhost", "127.0.0.1"], eku=SERVER).save(directory, "serving")
        (directory / "proxy-ca.pem").write_bytes(proxies.pem)
        (directory / "client-ca.pem").write_bytes(clients.pem)
        presented = {
            "proxy": proxies.leaf("front-proxy-client", eku=CLIENT),
            "stranger": proxies.leaf("stranger", eku=CLIENT),
            "client": clients.leaf("cert-user", orgs=["cert-group"], eku=CLIENT),
            "nobody": None,
        }
        self.contexts = {}
        for name, issued in presented.items():
            self.contexts[name] = context = ssl.create_default_context(cadata=serving.pem.decode())
            if issued is not None:
                context.load_cert_chain(*issued.save(directory, name))
        self.port = lasting_port()
        self.log = directory / "server.log"
        self._seen = 0
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable, "-m", "extapi", "serve", api, "--bind-address=127.0.0.1", f"--secure-port={self.port}",
                    f"--tls-cert-file={certificate.certificate}", f"--tls-private-key-file={certificate.key}",
                    f"--kubeconfig={cluster.kubeconfig(directory / 'kubeconfig')}", "--authentication-skip-lookup",
                    f"--requestheader-client-ca-file={directory / 'proxy-ca.pem'}", "--requestheader-allowed-names=front-proxy-client",
                    "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
                    "--requestheader-extra-headers-prefix=X-Remote-Extra-", f"--client-ca-file={directory / 'client-ca.pem'}",
                    "--storage=memory:",
                ],
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - one call into libc, before exec
            )  # fmt: skip
        try:
            until(self._ready, 60)
        except BaseException:
            self.stop()
            raise

    def _ready(self) -> bool:
        if not self.alive:
            raise RuntimeError(f"the server ended:\n{self.log.read_text()}")
        try:
            with self.connect("proxy") as sock:
                sock.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-Remote-User: x\r\n\r\n")
                return sock.recv(65536).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def connect(self, peer: str) -> ssl.SSLSocket:
        """A new connection of a peer."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.contexts[peer].wrap_socket(plain, server_hostname="localhost")

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        return cpu(self._process.pid)

    def rss(self) -> int:
        """Resident memory in MB."""
        return resident(self._process.pid) // 1_000_000

    def failures(self) -> list[str]:
        """Lines of the log that tell of an error, since the last time."""
        with self.log.open("rb") as file:
            file.seek(self._seen)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._seen += len(whole)
        lines = whole.decode("utf-8", "replace").splitlines()
        signs = ('"traceback":', '"level":"error"', '"level":"critical"', "Traceback")
        return [
            line for line in lines if not line.startswith('{"event":"request"') and any(sign in line for sign in signs)
        ]

    def stop(self) -> None:
        """End it."""
        if self.alive:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(15)
        if self.alive:
            self._process.kill()
        self._process.wait()
