"""``extapi serve`` as a process that a test may kill, with as little of a cluster beside it as it needs.

Its clients come as the front proxy, for a user who may everything, so that nothing but the server and its store is asked.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.certificates import CLIENT, SERVER, Paths, authority
from tests.etcds import Etcd
from tests.lastingport import lasting_port
from tests.waiting import until

TOPPINGS = "/apis/restaurant.programming-kubernetes.info/v1alpha1/toppings"
EXTAPI = ("-m", "extapi")
HEADERS = {"X-Remote-User": "tester", "X-Remote-Group": "system:masters"}


def serve(
    *arguments: str, log: Path, command: Sequence[str] = EXTAPI, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start ``extapi serve`` with these arguments; what it prints goes to ``log``.

    ``command``: what Python runs in place of extapi; ``environment``: variables beside those that are there.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, *command, "serve", *arguments],
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
        )


def etcd_flags(directory: Path, member: Etcd, prefix: str) -> tuple[str, ...]:
    """A server on ``member``, over TLS, that asks no cluster and trusts the front proxy of ``directory``."""
    return (
        "--authentication-skip-lookup",
        f"--requestheader-client-ca-file={directory / 'proxy-ca.pem'}",
        "--leader-elect=false",  # there is no cluster with a Lease
        "--storage=etcd:",
        f"--etcd-servers={member.url}",
        f"--etcd-prefix={prefix}",
        f"--etcd-cafile={member.directory / 'ca.crt'}",
        f"--etcd-certfile={member.directory / 'client.crt'}",
        f"--etcd-keyfile={member.directory / 'client.key'}",
    )


class Serving:
    """One server after another on one store, with one set of certificates.

    ``flags``: more of them, or in place of those about trust and the store.
    """

    def __init__(
        self,
        directory: Path,
        kubeconfig: Path,
        *,
        target: str = "extapi.pizza:api",
        flags: Sequence[str] | None = None,
        command: Sequence[str] = EXTAPI,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._directory = directory
        self._kubeconfig = kubeconfig
        self._target = target
        self._flags = flags
        self.command = command
        self._environment = environment
        self.store = directory / "store.db"
        self.serving_ca, self.proxy_ca = authority("serving-ca"), authority("front-proxy-ca")
        proxy = self.proxy_ca.leaf("front-proxy-client", eku=CLIENT).save(directory, "proxy")
        (directory / "serving-ca.pem").write_bytes(self.serving_ca.pem)
        (directory / "proxy-ca.pem").write_bytes(self.proxy_ca.pem)
        self.renew()
        self.context = ssl.create_default_context(cafile=str(directory / "serving-ca.pem"))
        self.context.load_cert_chain(proxy.certificate, proxy.key)
        self.log = directory / "server.log"
        self.store = directory / "store.db"
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    def renew(self) -> tuple[Paths, int]:
        """Write another serving certificate in place of the present one; its files and serial number."""
        made = self.serving_ca.leaf("localhost", san=["localhost", "127.0.0.1"], eku=SERVER)
        return made.save(self._directory, "serving"), made.certificate.serial_number

    def start(self, target: str = "") -> None:
        """Start a server, of another API from now on if one is named; returns when it is ready."""
        self._target = target or self._target
        self.spawn()
        try:
            self.wait()
        except BaseException:
            self.close()
            raise

    def spawn(self) -> None:
        """Start a server; returns at once. The port stays the same from one to the next."""
        self.port = self.port or lasting_port()
        flags = (
            "--authentication-skip-lookup",
            f"--requestheader-client-ca-file={self._directory / 'proxy-ca.pem'}",
        )
        self.process = serve(
            self._target,
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._directory / 'serving.crt'}",
            f"--tls-private-key-file={self._directory / 'serving.key'}",
            f"--kubeconfig={self._kubeconfig}",
            f"--storage=sqlite:///{self.store}",
            *(flags if self._flags is None else self._flags),
            log=self.log,
            command=self.command,
            environment=self._environment,
        )

    def wait(self) -> None:
        """Until it is ready."""
        until(self.ready, 60)

    def ready(self) -> bool:
        """Whether it says so. Raises RuntimeError where it has ended."""
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(f"the server ended:\n{self.log.read_text()}")
        try:
            return self.request("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def end(self, number: signal.Signals) -> int:
        """Send a signal and wait for the end; the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(10)

    def close(self) -> None:
        """End whatever still runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def connect(self) -> http.client.HTTPSConnection:
        """A connection as the front proxy."""
        return http.client.HTTPSConnection("localhost", self.port, timeout=20, context=self.context)

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        """One request on a connection of its own: status, and the body as JSON (as text if it is none)."""
        connection = self.connect()
        try:
            return exchange(connection, method, path, body, content_type)
        finally:
            connection.close()


def exchange(
    connection: http.client.HTTPSConnection,
    method: str,
    path: str,
    body: Any = None,
    content_type: str = "application/json",
) -> tuple[int, Any]:
    """One request on an open connection."""
    content = None if body is None else json.dumps(body).encode()
    connection.request(method, path, content, {**HEADERS, "Content-Type": content_type})
    answer = connection.getresponse()
    data = answer.read()
    if answer.headers.get_content_type() == "application/json":
        return answer.status, json.loads(data)
    return answer.status, data.decode()
