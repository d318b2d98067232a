"""Real etcds for tests: one member on loopback each, with TLS or without. Their program is that of the real control plane."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from extapi.dev.build import programs
from extapi.storage.etcd.endpoints import EtcdOptions
from tests.certificates import CLIENT, SERVER, authority
from tests.lastingport import lasting_port

_SECONDS = 30.0


@dataclass
class Etcd:
    """A running member."""

    directory: Path
    port: int
    tls: bool
    arguments: Sequence[str] = ()
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def options(self, prefix: str, **rest: object) -> EtcdOptions:
        """How a store reaches it."""
        files = {}
        if self.tls:
            files = {
                "cafile": self.directory / "ca.crt",
                "certfile": self.directory / "client.crt",
                "keyfile": self.directory / "client.key",
            }
        return EtcdOptions(**{"servers": (self.url,), "prefix": prefix, **files, **rest})  # type: ignore[arg-type]  # a test's

    def start(self) -> None:
        """Start it, and return when it takes connections."""
        peer = f"unix://{self.directory.name}.peer"
        nowhere = "http://localhost:0"
        tls = (
            [
                f"--cert-file={self.directory}/server.crt",
                f"--key-file={self.directory}/server.key",
                f"--trusted-ca-file={self.directory}/ca.crt",
                "--client-cert-auth",
            ]
            if self.tls
            else []
        )
        with (self.directory / "etcd.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *programs(print).etcd,
                    "--name=default",
                    f"--data-dir={self.directory}/data",
                    f"--listen-client-urls={self.url}",
                    f"--advertise-client-urls={self.url}",
                    f"--listen-peer-urls={peer}",
                    f"--initial-advertise-peer-urls={nowhere}",
                    f"--initial-cluster=default={nowhere}",
                    "--log-level=warn",
                    "--unsafe-no-fsync",
                    *tls,
                    *self.arguments,
                ],
                cwd=self.directory,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        end = time.monotonic() + _SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            running = time.monotonic() < end and self.process.poll() is None
            assert running, (self.directory / "etcd.log").read_text()
            time.sleep(0.02)

    def kill(self) -> None:
        """End it at once."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def etcd(
    directory: Path,
    *,
    tls: bool = False,
    names: Sequence[str] = ("localhost", "127.0.0.1"),
    arguments: Sequence[str] = (),
) -> Iterator[Etcd]:
    """One member, until the end of the block; ``names``: those in its certificate."""
    if tls:
        ca = authority("etcd-ca")
        (directory / "ca.crt").write_bytes(ca.pem)
        ca.leaf("etcd", san=names, eku=(*SERVER, *CLIENT)).save(directory, "server")
        ca.leaf("extapi", eku=CLIENT).save(directory, "client")
    member = Etcd(directory, lasting_port(), tls, arguments)
    member.start()
    try:
        yield member
    finally:
        member.kill()
