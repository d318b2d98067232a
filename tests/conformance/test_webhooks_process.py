"""``extapi webhooks`` as a process: TLS, callers' certificates, its log, its end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from extapi.dev import ports
from tests.certificates import CLIENT, SERVER, Issued, authority
from tests.unit.webhooks.asking import recorded
from tests.waiting import until

CASE = recorded()["lamp-create/validate"]
TARGET = "tests.kubernetes.hooked:api"


class Running:
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


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path)
    yield made
    made.close()


def test_only_certificates_of_the_authority_may_ask_for_admission(running: Running) -> None:
    running.start(f"--client-ca-file={running.directory / 'clients.pem'}", "--client-allowed-names=kube-apiserver")
    good = running.clients.leaf("kube-apiserver", eku=CLIENT)
    status, body = running.request("POST", CASE.path, CASE.review, good)
    assert (status, json.loads(body)["response"]["allowed"]) == (200, True)
    for bad in (None, running.clients.leaf("alice", eku=CLIENT), running.ca.leaf("kube-apiserver", eku=CLIENT)):
        assert running.request("POST", CASE.path, CASE.review, bad)[0] == 401
    assert not any("--client-ca-file is not given" in line["event"] for line in running.lines())
    (request,) = (line for line in running.lines() if line.get("user") == "kube-apiserver")
    assert (request["uri"], request["status"]) == (CASE.path, 200)


def test_what_is_not_supported_is_said_at_start_and_sigterm_ends_it(running: Running) -> None:
    running.start()
    events = [line["event"] for line in running.lines()]
    assert "--client-ca-file is not given: anybody who reaches the port may ask for admission" in events
    (what,) = (line["what"] for line in running.lines() if line["event"] == "not supported as a webhook")
    assert what.startswith("lamps.hooked.example.com: a status that Lamps.prepare sets is dropped")
    (paths,) = (line["paths"] for line in running.lines() if line["event"] == "webhooks")
    assert paths == [
        "/convert/v1/lamp",
        "/admit/v1/lamp",
        "/validate/v1/lamp",
        "/convert/v1beta1/lamp",
        "/admit/v1beta1/lamp",
        "/validate/v1beta1/lamp",
    ]
    assert running.process is not None
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(60) == 0


def test_another_serving_certificate_is_used_without_a_restart(running: Running) -> None:
    running.start()
    renewed = running.ca.leaf("localhost", san=["localhost", "127.0.0.1"], eku=SERVER)
    renewed.save(running.directory, "serving")
    wanted = renewed.pem.decode().strip()
    until(lambda: ssl.get_server_certificate(("127.0.0.1", running.port)).strip() == wanted, 30)


@pytest.mark.parametrize(
    ("target", "flags", "text"),
    [
        (TARGET, ["--client-ca-file=/nowhere/ca.crt"], "Error: "),
        (TARGET, ["--tls-cert-file=/nowhere/a.crt"], "Error: cannot read the certificate /nowhere/a.crt"),
        ("extapi.pizza:api", [], "give --kubeconfig, or run in a pod; plugins need the cluster"),
        ("extapi.pizza:api", ["--kubeconfig=/nowhere/config"], "Error: failed to get kubeconfig"),
    ],
)
def test_what_cannot_be_used_ends_it(running: Running, target: str, flags: list[str], text: str) -> None:
    process = running.spawn(*flags, target=target)
    assert process.wait(60) == 1
    assert text in running.log.read_text()
    assert "Traceback" not in running.log.read_text()
