"""The measured process: ``extapi serve``, of tests.bench.api:api by default, on SQLite, and what /proc says about it."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.cluster import Cluster
from tests.bench.peer.generator import Address
from tests.certificates import CLIENT, SERVER, authority

TICK = 1_000_000 / os.sysconf("SC_CLK_TCK")
"""Microseconds of one tick of /proc/<pid>/stat."""


class Server:
    """A running server of ``kinds``, under the interpreter ``python``. ``context`` makes the front proxy's connections.

    ``flags``: further ones, which come after those that are set here.
    """

    def __init__(
        self,
        directory: Path,
        cluster: Cluster | None = None,
        *,
        python: Path | str = sys.executable,
        kinds: str = "tests.bench.api:api",
        flags: Sequence[str] = (),
    ) -> None:
        serving, proxies = authority("serving-ca"), authority("front-proxy-ca")
        certificate = serving.leaf("localhost", san=["localhost", "127.0.0.1"], eku=SERVER).save(directory, "serving")
        proxy = proxies.leaf("front-proxy-client", eku=CLIENT).save(directory, "proxy")
        (directory / "serving-ca.pem").write_bytes(serving.pem)
        (directory / "proxy-ca.pem").write_bytes(proxies.pem)
        self._cluster = cluster or Cluster()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._log = (directory / "server.log").open("wb")
        begin = time.monotonic()
        self._process = subprocess.Popen(
            [
                str(python), "-m", "extapi", "serve", kinds,
                "--bind-address=127.0.0.1", f"--secure-port={self.port}",
                f"--tls-cert-file={certificate.certificate}", f"--tls-private-key-file={certificate.key}",
                f"--kubeconfig={self._cluster.kubeconfig(directory / 'kubeconfig')}",
                "--authentication-skip-lookup", f"--requestheader-client-ca-file={directory / 'proxy-ca.pem'}",
                f"--storage=sqlite:///{directory / 'bench.db'}", *flags,
            ],
            stdout=self._log,
            stderr=self._log,
        )  # fmt: skip
        self.address = Address(
            self.port,
            directory / "serving-ca.pem",
            proxy.certificate,
            proxy.key,
            ("X-Remote-User: bench", "X-Remote-Group: system:masters"),
        )
        """Where requests of the front proxy go, for the load generator in Go."""
        self.context = ssl.create_default_context(cafile=str(directory / "serving-ca.pem"))
        self.context.load_cert_chain(proxy.certificate, proxy.key)
        self._wait(directory)
        self.started = time.monotonic() - begin

    def _wait(self, directory: Path) -> None:
        """Until /readyz says so; a server that dies before ends the benchmark with its log."""
        limit = time.monotonic() + 120
        while time.monotonic() < limit:
            if self._process.poll() is not None:
                break
            try:
                with self.connect() as connection:
                    connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    if connection.recv(65536).startswith(b"HTTP/1.1 200"):
                        return
            except OSError:
                pass
            time.sleep(0.02)
        raise RuntimeError(f"the server is not ready:\n{(directory / 'server.log').read_text()}")

    def connect(self) -> ssl.SSLSocket:
        """A new connection as the front proxy."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.context.wrap_socket(plain, server_hostname="localhost")

    def cpu(self) -> float:
        """Microseconds of CPU that the process and its workers have used, all threads together."""
        return sum(map(cpu, self._family()))

    def rss(self) -> float:
        """Resident memory in MB (10^6 bytes)."""
        return resident(self._process.pid) / 1e6

    def _family(self) -> list[int]:
        pid = self._process.pid
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def stop(self) -> None:
        """End it as an operator would."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._cluster.stop()
        self._log.close()


def cpu(pid: int) -> float:
    """Microseconds of CPU that a process has used, all threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def resident(pid: int) -> int:
    """Bytes of resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
