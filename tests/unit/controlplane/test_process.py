"""The control plane as a process of its own: who gets in, what is there, and how it ends."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi import Group
from extapi.client.kube import Client
from extapi.controlplane.options import ControlPlaneOptions
from extapi.controlplane.process import ControlPlaneProcess
from extapi.dev import certificates, ports
from extapi.dev.certificates import Certificates, Identities
from extapi.privatereactor import drive, private_reactor
from tests.unit.server.generations import kind
from tests.waiting import until

IDENTITIES = Identities(extension_user="extension", extension_groups=(), extension_hosts=("localhost",))


class Running:
    """One that runs, and the way to it."""

    def __init__(self, keys: Certificates, process: subprocess.Popen[bytes], port: int) -> None:
        self.keys = keys
        self.process = process
        self.port = port

    def call(
        self, path: str, leaf: str = "", headers: dict[str, str] | None = None, method: str = "GET", body: Any = None
    ) -> tuple[int, Any]:
        """Code and body, as text or JSON, for whoever ``leaf`` is."""
        context = ssl.create_default_context(cafile=str(self.keys.certificate("cluster-ca")))
        if leaf:
            context.load_cert_chain(self.keys.certificate(leaf), self.keys.key(leaf))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(data) if is_json else data.decode()

    def who(self, leaf: str = "", **headers: str) -> Any:
        """Whom it takes the caller for."""
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        code, review = self.call(path, leaf, headers, "POST", {})
        return review["status"]["userInfo"] if code == 201 else code


def command(keys: Certificates, port: int, storage: str, changed: dict[str, object] | None = None) -> list[str]:
    values: dict[str, object] = {
        "secure-port": port,
        "storage": storage,
        "tls-cert-file": keys.certificate("kube-apiserver"),
        "tls-private-key-file": keys.key("kube-apiserver"),
        "client-ca-file": keys.certificate("cluster-ca"),
        "proxy-client-cert-file": keys.certificate("front-proxy-client"),
        "proxy-client-key-file": keys.key("front-proxy-client"),
        "requestheader-client-ca-file": keys.certificate("front-proxy-ca"),
        "requestheader-allowed-names": "other,front-proxy-client",
        "service-account-issuer": "https://issuer",
        "service-account-key-file": keys.key("service-account"),
    } | (changed or {})
    return [sys.executable, "-m", "extapi.controlplane", *(f"--{flag}={value}" for flag, value in values.items())]


@contextlib.contextmanager
def running(keys: Certificates, log: Path, storage: str = "memory:", **flags: object) -> Iterator[Running]:
    """One that is ready."""
    port = ports.choose(0, "--port")
    with log.open("wb") as output, subprocess.Popen(command(keys, port, storage, flags), stderr=output) as process:
        started = Running(keys, process, port)
        try:
            deadline = time.monotonic() + 30
            while True:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline
                with contextlib.suppress(ConnectionError):
                    if started.call("/readyz", "admin")[0] == 200:
                        break
                time.sleep(0.02)
            yield started
        finally:
            process.kill()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.ensure(tmp_path_factory.mktemp("keys") / "set", IDENTITIES, now=dt.datetime.now(dt.UTC))


@pytest.fixture(scope="module")
def server(keys: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(keys, tmp_path_factory.mktemp("server") / "log") as started:
        yield started


def test_its_version_is_that_of_the_minor_it_follows(server: Running) -> None:
    code, version = server.call("/version")
    assert code == 200
    assert (version["major"], version["minor"]) == ("1", "36")
    assert version["gitVersion"].startswith("v1.36.")


def test_everybody_may_ask_for_its_health_and_nobody_unknown_for_more(server: Running) -> None:
    assert [server.call(path) for path in ("/livez", "/readyz", "/healthz")] == [(200, "ok")] * 3
    code, status = server.call("/api/v1/namespaces")
    assert (code, status["reason"]) == (403, "Forbidden")
    assert 'User "system:anonymous" cannot list resource "namespaces"' in status["message"]


def test_readiness_waits_for_what_every_cluster_has(server: Running) -> None:
    code, text = server.call("/readyz?verbose", "admin")
    assert code == 200
    lines = text.splitlines()
    assert lines[:2] == ["[+]ping ok", "[+]etcd ok"]
    assert "[+]poststarthook/rbac/bootstrap-roles ok" in lines
    assert "[+]poststarthook/apiservice-registration-controller ok" in lines


def test_a_client_certificate_names_the_user(server: Running) -> None:
    user = server.who("admin")
    assert (user["username"], user["groups"]) == ("kubernetes-admin", ["system:masters", "system:authenticated"])
    assert server.call("/api/v1/namespaces", "admin")[0] == 200


def test_the_front_proxy_may_speak_for_others_and_nobody_else(server: Running) -> None:
    headers = {"X-Remote-User": "jane", "X-Remote-Group": "cooks"}
    user = server.who("front-proxy-client", **headers)
    assert (user["username"], user["groups"]) == ("jane", ["cooks", "system:authenticated"])
    assert server.who("admin", **headers)["username"] == "kubernetes-admin"
    assert server.who(**headers) in (403, 401)  # as anonymous


def test_a_token_it_has_made_names_a_service_account(server: Running) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts"
    server.call(path, "admin", method="POST", body={"metadata": {"name": "robot"}})
    code, request = server.call(f"{path}/robot/token", "admin", method="POST", body={"spec": {}})
    assert code == 201
    user = server.who(Authorization=f"Bearer {request['status']['token']}")
    assert user["username"] == "system:serviceaccount:default:robot"
    assert server.who(Authorization="Bearer x.y.z") == 401


def test_nothing_is_created_in_a_namespace_that_is_not_there(server: Running) -> None:
    body = {"metadata": {"name": "a"}}
    code, status = server.call("/api/v1/namespaces/nowhere/configmaps", "admin", method="POST", body=body)
    assert (code, status["message"]) == (404, 'namespaces "nowhere" not found')


def test_what_extension_servers_read_is_what_the_flags_say(server: Running, keys: Certificates) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    data = server.call(path, "admin")[1]["data"]
    assert data["client-ca-file"] == keys.certificate("cluster-ca").read_text()
    assert data["requestheader-client-ca-file"] == keys.certificate("front-proxy-ca").read_text()
    assert json.loads(data["requestheader-allowed-names"]) == ["other", "front-proxy-client"]


def test_it_listens_on_loopback_only(server: Running) -> None:
    # Another address of the same machine: all of 127.0.0.0/8 is, and 127.0.0.1 alone is served.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order_and_its_objects_stay(keys: Certificates, tmp_path: Path, number: int) -> None:
    storage = f"sqlite:///{tmp_path}/objects.sqlite"
    with running(keys, tmp_path / "log", storage) as first:
        first.call("/api/v1/namespaces", "admin", method="POST", body={"metadata": {"name": "kept"}})
        first.process.send_signal(number)
        assert first.process.wait(20) == 0
    assert '"event":"stopping"' in (tmp_path / "log").read_text()
    with running(keys, tmp_path / "log", storage) as second:
        assert second.call("/api/v1/namespaces/kept", "admin")[0] == 200


HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


def hanging(port: int) -> dict[str, Any]:
    """A configuration of a webhook that is about everything."""
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    webhook = {
        "name": "hangs.webhook.test",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    return {"metadata": {"name": "hangs"}, "webhooks": [webhook]}


def test_a_webhook_that_hangs_does_not_keep_it_from_starting(keys: Certificates, tmp_path: Path) -> None:
    """Else nobody could delete its configuration."""
    maps, storage = "/api/v1/namespaces/default/configmaps", f"sqlite:///{tmp_path}/objects.sqlite"

    def created(server: Running) -> tuple[int, str]:
        code, answer = server.call(f"{maps}?dryRun=All", "admin", method="POST", body={"metadata": {"name": "a"}})
        return code, answer.get("message", "")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        with running(keys, tmp_path / "log", storage) as first:
            assert first.call(HOOKS, "admin", method="POST", body=hanging(listener.getsockname()[1]))[0] == 201
            until(lambda: created(first)[0] == 500)
            assert "context deadline exceeded" in created(first)[1]
            first.process.send_signal(signal.SIGTERM)
            assert first.process.wait(20) == 0
        with running(keys, tmp_path / "log", storage) as second:
            assert created(second)[0] == 500
            assert second.call(f"{HOOKS}/hangs", "admin", method="DELETE")[0] == 200
            until(lambda: created(second)[0] == 201)


def test_plugins_that_are_disabled_are_not_asked(keys: Certificates, tmp_path: Path) -> None:
    flags = {"disable-admission-plugins": "NamespaceLifecycle,MutatingAdmissionWebhook"}
    with running(keys, tmp_path / "log", **flags) as server:
        assert server.call(HOOKS, "admin", method="POST", body=hanging(1))[0] == 201
        for space in ("default", "nowhere"):
            path = f"/api/v1/namespaces/{space}/configmaps"
            assert server.call(path, "admin", method="POST", body={"metadata": {"name": "a"}})[0] == 201


def test_a_signal_while_it_starts_ends_it_as_well(keys: Certificates, tmp_path: Path) -> None:
    port = ports.choose(0, "--port")
    line = command(keys, port, f"sqlite:///{tmp_path}/objects.sqlite")
    with subprocess.Popen(line, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                break  # it listens, and makes what every cluster has
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("flag", "problem"),
    [
        ("client-ca-file", "a CA bundle holds no usable certificates"),
        ("requestheader-client-ca-file", "a CA bundle holds no usable certificates"),
        ("tls-cert-file", "wrong.pem"),
        ("service-account-key-file", "--service-account-key-file: "),
        ("storage", "wrong.pem"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_one_line(
    keys: Certificates, tmp_path: Path, flag: str, problem: str
) -> None:
    (tmp_path / "wrong.pem").write_text("no PEM\n" * 200)
    value = tmp_path / "wrong.pem"
    changed: dict[str, object] = {flag: f"sqlite:///{value}" if flag == "storage" else value}
    line = command(keys, 0, "memory:", changed)
    result = subprocess.run(line, capture_output=True, text=True, check=False, timeout=30)
    assert result.returncode == 1
    errors = [line for line in result.stderr.splitlines() if not line.startswith("{")]
    assert len(errors) == 1
    assert errors[0].startswith("Error: ")
    assert problem in errors[0]


def test_one_authority_for_users_and_front_proxies_needs_names(keys: Certificates) -> None:
    changed: dict[str, object] = {
        "requestheader-client-ca-file": keys.certificate("cluster-ca"),
        "requestheader-allowed-names": "",
    }
    line = command(keys, 0, "memory:", changed)
    result = subprocess.run(line, capture_output=True, text=True, check=False, timeout=30)
    assert result.returncode == 1
    (error,) = [line for line in result.stderr.splitlines() if not line.startswith("{")]
    assert error.startswith(f"Error: {keys.certificate('cluster-ca')}: an authority of client-ca-file also vouches for")


def test_groups_that_it_serves_later_are_in_the_merged_documents(keys: Certificates) -> None:
    """And are gone from them when it serves them no longer. What it serves is replaced by nobody yet but tests."""
    options = ControlPlaneOptions(
        bind_address="127.0.0.1",
        secure_port=0,
        storage="memory:",
        tls_cert_file=keys.certificate("kube-apiserver"),
        tls_private_key_file=keys.key("kube-apiserver"),
        client_ca_file=keys.certificate("cluster-ca"),
        proxy_client_cert_file=keys.certificate("front-proxy-client"),
        proxy_client_key_file=keys.key("front-proxy-client"),
        requestheader_client_ca_file=keys.certificate("front-proxy-ca"),
        requestheader_allowed_names=("front-proxy-client",),
        service_account_key_file=keys.key("service-account"),
        service_account_issuer="https://issuer",
        request_timeout=60.0,
    )
    group = Group("later.example.com", kind("Alpha"))
    with private_reactor() as reactor:
        process = ControlPlaneProcess(options, reactor, lambda *_: None)
        server: Any = process._serving._server
        client = Client(server.transport())
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

        async def told() -> list[bool]:
            return [
                group.name in str(await client.call("GET", "/apis")),
                group.name in str(await client.call("GET", "/apis", accept=accept)),
                f"/apis/{group.name}/v1" in (await client.call("GET", "/"))["paths"],
                f"apis/{group.name}/v1" in (await client.call("GET", "/openapi/v3"))["paths"],
                f"/apis/{group.name}/v1/alphas" in (await client.call("GET", "/openapi/v2"))["paths"],
            ]

        async def story() -> None:
            await server.start()
            groups = server._served.catalogue.groups
            assert await told() == [False] * 5
            await server.replace([*groups, group])
            assert await told() == [True] * 5
            assert (await client.call("GET", f"/openapi/v3/apis/{group.name}/v1"))["openapi"] == "3.0.0"
            await server.replace(groups)
            assert await told() == [False] * 5
            process._aggregator.stop()
            await server.stop()

        drive(reactor, story(), timeout=30)
