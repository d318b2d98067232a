"""``extapi webhooks`` as a process without a control plane, and certificates of all sorts."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from extapi.dev import ports
from tests.certificates import SERVER, Issued, authority
from tests.waiting import until

TARGET = "tests.kubernetes.hooked:api"


class RunningWebhooks:
    """A process, and certificates of all sorts."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ca, self.clients = authority("serving-ca"), authority("clients-ca")
        self.serving = self.ca.leaf("localhost", san=["localhost", "127.0.0.1"], eku=SERVER).save(directory, "serving")
        (directory / "clients.pem").write_bytes(self.clients.pem)
        (directory / "serving-ca.pem").write_bytes(self.ca.pem)
        self.log = directory / "log"
        self.port = ports.choose(0, "--secure-port")
        self.process: subprocess.Popen[bytes] | None = None

    def spawn(
        self, *flags: str, target: str = TARGET, environment: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        command = [
            sys.executable, "-m", "extapi", "webhooks", target, "--bind-address=127.0.0.1", f"--secure-port={self.port}",
            f"--tls-cert-file={self.serving.certificate}", f"--tls-private-key-file={self.serving.key}", *flags,
        ]  # fmt: skip
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=output, env={**os.environ, **(environment or {})}
            )
        return self.process

    def start(self, *flags: str, target: str = TARGET) -> None:
        process = self.spawn(*flags, target=target)

        def ready() -> bool:
            assert process.poll() is None, self.log.read_text()
            try:
                return self.request("GET", "/readyz")[0] == 200
            except OSError:
                return False

        until(ready, 60)

    def request(self, method: str, path: str, body: Any = None, certificate: Issued | None = None) -> tuple[int, bytes]:
        context = ssl.create_default_context(cafile=str(self.directory / "serving-ca.pem"))
        if certificate is not None:
            paths = certificate.save(self.directory, "client")
            context.load_cert_chain(paths.certificate, paths.key)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=30)
        try:
            connection.request(
                method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"}
            )
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def lines(self) -> Sequence[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
