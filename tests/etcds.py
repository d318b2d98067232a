"""Real etcds for tests: members on loopback, with TLS or without, alone or three together, and kine, which speaks as they do.

etcd 3.6 is in the program of the real control plane; 3.5, 3.7 and kine are compiled from modules of their own.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from extapi.dev.build import programs
from extapi.storage.etcd.endpoints import EtcdOptions
from tests.certificates import CLIENT, SERVER, authority
from tests.kubernetes import golang
from tests.lastingport import lasting_port
from tests.stopping import stop

_SECONDS = 30.0
NEWEST_IN_ALL_RUNS = "3.6"


@functools.cache
def etcd_program(version: str) -> tuple[str, ...]:
    """The first words of the command line of that etcd."""
    return programs(print).etcd if version == NEWEST_IN_ALL_RUNS else (str(golang.etcd(version)),)


@dataclass
class Running:
    """A server of etcd's protocol in a process of its own."""

    directory: Path
    port: int
    tls: bool
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False, kw_only=True)

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

    def command(self) -> Sequence[str]:
        """Its command line."""
        raise NotImplementedError

    def start(self) -> None:
        """Start it, and return when it takes connections."""
        self.spawn()
        self.wait()

    def spawn(self) -> None:
        """Start it; returns at once."""
        with (self.directory / "etcd.log").open("ab") as log:
            self.process = subprocess.Popen(self.command(), cwd=self.directory, stdout=log, stderr=subprocess.STDOUT)

    def wait(self) -> None:
        """Return when it takes connections."""
        assert self.process is not None
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

    def pause(self) -> None:
        """It falls silent, and its connections stay."""
        assert self.process is not None
        stop(self.process.pid)

    def resume(self) -> None:
        """It goes on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


@dataclass
class Etcd(Running):
    """A running member."""

    arguments: Sequence[str] = ()
    version: str = NEWEST_IN_ALL_RUNS
    name: str = "default"
    peers: Sequence[tuple[str, str]] = ()
    """Name and peer URL of each member of its cluster; none: it is alone."""
    peer: str = ""
    """Where it listens for its peers."""

    def command(self) -> Sequence[str]:
        nowhere = "http://localhost:0"
        peers = dict(self.peers or [(self.name, nowhere)])
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
        return [
            *etcd_program(self.version),
            f"--name={self.name}",
            f"--data-dir={self.directory}/data",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={self.peer or f'unix://{self.directory.name}.peer'}",
            f"--initial-advertise-peer-urls={peers[self.name]}",
            f"--initial-cluster={','.join(f'{name}={url}' for name, url in peers.items())}",
            "--log-level=warn",
            "--unsafe-no-fsync",
            *tls,
            *self.arguments,
        ]


@dataclass
class Kine(Running):
    """kine on an SQLite file."""

    arguments: Sequence[str] = ()

    def command(self) -> Sequence[str]:
        return [
            str(golang.kine()),
            f"--listen-address={self.url}",
            f"--endpoint=sqlite://{self.directory}/kine.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)",
            "--metrics-bind-address=0",
            *self.arguments,
        ]


def http_apart() -> str:
    """The argument that gives HTTP a port of its own, as etcd recommends: then gRPC is served without an HTTP server before it."""
    return f"--listen-client-http-urls=http://127.0.0.1:{lasting_port()}"


@contextlib.contextmanager
def etcd(
    directory: Path,
    *,
    tls: bool = False,
    names: Sequence[str] = ("localhost", "127.0.0.1"),
    arguments: Sequence[str] = (),
    version: str = NEWEST_IN_ALL_RUNS,
) -> Iterator[Etcd]:
    """One member, until the end of the block; ``names``: those in its certificate."""
    if tls:
        ca = authority("etcd-ca")
        (directory / "ca.crt").write_bytes(ca.pem)
        ca.leaf("etcd", san=names, eku=(*SERVER, *CLIENT)).save(directory, "server")
        ca.leaf("extapi", eku=CLIENT).save(directory, "client")
    with running(Etcd(directory, lasting_port(), tls, arguments, version)) as member:
        yield member


@contextlib.contextmanager
def kine(directory: Path, *, arguments: Sequence[str] = ()) -> Iterator[Kine]:
    """kine, until the end of the block."""
    with running(Kine(directory, lasting_port(), False, arguments)) as server:
        yield server


R = TypeVar("R", bound=Running)


@contextlib.contextmanager
def running(server: R) -> Iterator[R]:
    """Start it, and kill it at the end of the block."""
    server.start()
    try:
        yield server
    finally:
        server.kill()
