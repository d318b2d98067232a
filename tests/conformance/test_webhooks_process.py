"""``extapi webhooks`` as a process: TLS, callers' certificates, its log, its end."""

from __future__ import annotations

import json
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates import CLIENT, SERVER
from tests.conformance.webhooking import TARGET, RunningWebhooks
from tests.unit.webhooks.asking import recorded
from tests.waiting import until

CASE = recorded()["lamp-create/validate"]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningWebhooks]:
    made = RunningWebhooks(tmp_path)
    yield made
    made.close()


def test_only_certificates_of_the_authority_may_ask_for_admission(running: RunningWebhooks) -> None:
    running.start(f"--client-ca-file={running.directory / 'clients.pem'}", "--client-allowed-names=kube-apiserver")
    good = running.clients.leaf("kube-apiserver", eku=CLIENT)
    status, body = running.request("POST", CASE.path, CASE.review, good)
    assert (status, json.loads(body)["response"]["allowed"]) == (200, True)
    for bad in (None, running.clients.leaf("alice", eku=CLIENT), running.ca.leaf("kube-apiserver", eku=CLIENT)):
        assert running.request("POST", CASE.path, CASE.review, bad)[0] == 401
    assert not any("--client-ca-file is not given" in line["event"] for line in running.lines())
    (request,) = (line for line in running.lines() if line.get("user") == "kube-apiserver")
    assert (request["uri"], request["status"]) == (CASE.path, 200)


def test_what_is_not_supported_is_said_at_start_and_sigterm_ends_it(running: RunningWebhooks) -> None:
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


def test_another_serving_certificate_is_used_without_a_restart(running: RunningWebhooks) -> None:
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
        ("extapi.pizza:api", [], "give --kubeconfig, or run in a pod; plugins and controllers need the cluster"),
        ("extapi.pizza:api", ["--kubeconfig=/nowhere/config"], "Error: failed to get kubeconfig"),
    ],
)
def test_what_cannot_be_used_ends_it(running: RunningWebhooks, target: str, flags: list[str], text: str) -> None:
    process = running.spawn(*flags, target=target)
    assert process.wait(60) == 1
    assert text in running.log.read_text()
    assert "Traceback" not in running.log.read_text()
