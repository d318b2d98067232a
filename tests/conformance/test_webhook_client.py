"""``extapi serve --crd`` with a conversion webhook that asks for a client certificate."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates import CLIENT, Issued, Paths, authority
from tests.conformance.serving import Serving
from tests.webhooks.answers import good
from tests.webhooks.definitions import GROUP, PLURAL, definition, hook
from tests.webhooks.server import Webhook, certified, serving as serving_webhook

CLIENTS = authority("webhook-clients")


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[Webhook]:
    certificates = certified()
    with serving_webhook({"good": good}, certificates.context(tmp_path, client_ca=CLIENTS)) as served:
        (tmp_path / "hooks.json").write_text(json.dumps(definition(served.url("good"), certificates.ca.pem)))
        yield served


@pytest.fixture
def pair(tmp_path: Path) -> Paths:
    return client("first").save(tmp_path, "client")


def client(name: str) -> Issued:
    return CLIENTS.leaf(name, eku=CLIENT)


def flags(directory: Path) -> list[str]:
    return [
        "--authentication-skip-lookup",
        f"--requestheader-client-ca-file={directory / 'proxy-ca.pem'}",
        f"--webhook-client-cert-file={directory / 'client.crt'}",
        f"--webhook-client-key-file={directory / 'client.key'}",
    ]


@pytest.fixture
def hooks(webhook: Webhook, pair: Paths, cluster_kubeconfig: Path, tmp_path: Path) -> Iterator[Serving]:
    """A server of the definition."""
    made = Serving(tmp_path, cluster_kubeconfig, target=f"--crd={tmp_path / 'hooks.json'}", flags=flags(tmp_path))
    made.start()
    yield made
    made.close()


def test_a_webhook_is_shown_the_certificate_of_the_flags_and_a_new_one_once_it_is_there(
    hooks: Serving, webhook: Webhook, tmp_path: Path
) -> None:
    path = f"/apis/{GROUP}/{{}}/namespaces/default/{PLURAL}"

    def written(name: str) -> None:
        assert hooks.request("POST", path.format("v2"), hook(name, "v2", hostPort="h:1"))[0] == 201

    written("one")
    assert {call.client for call in webhook.calls} == {"first"}
    client("second").save(tmp_path, "client")
    webhook.calls.clear()
    written("two")
    assert {call.client for call in webhook.calls} == {"second"}
    assert "the webhook client's certificate was reloaded" in hooks.log.read_text()


@pytest.mark.parametrize(
    ("file", "why"), [("client.crt", "no PEM certificate in"), ("client.key", "no usable private")]
)
def test_files_without_a_pair_are_one_clear_line(
    file: str, why: str, pair: Paths, webhook: Webhook, cluster_kubeconfig: Path, tmp_path: Path
) -> None:
    (tmp_path / file).write_text("hello")
    command = [sys.executable, "-m", "extapi", "serve", f"--crd={tmp_path / 'hooks.json'}", "--secure-port=0",
               f"--kubeconfig={cluster_kubeconfig}", f"--cert-dir={tmp_path}", *flags(tmp_path)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert f"--webhook-client-key-file: {why}" in line
    assert str(tmp_path / file) in line


def test_a_configuration_of_admission_that_is_none_is_one_clear_line(cluster_kubeconfig: Path, tmp_path: Path) -> None:
    (tmp_path / "admission.yaml").write_text("kind: AdmissionConfiguration\n")
    command = [sys.executable, "-m", "extapi", "serve", "extapi.pizza:api", "--secure-port=0",
               f"--kubeconfig={cluster_kubeconfig}", f"--cert-dir={tmp_path}", "--authentication-skip-lookup",
               f"--admission-control-config-file={tmp_path / 'admission.yaml'}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    text = "--admission-control-config-file: failed to read plugin config: Object 'apiVersion' is missing in"
    assert f"Error: {text}" in done.stderr
    assert "Traceback" not in done.stderr
