"""Calls of the supervisor, and what a fork would find of them."""

from __future__ import annotations

import base64
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from extapi.dev.kube import KubeClient, KubeError, kubeconfig
from extapi.dev.ports import choose
from tests.unit.dev.servers import Recorder, recorder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Recorder]:
    with recorder(tmp_path) as running:
        yield running


def test_an_object_is_applied_and_read_again(server: Recorder) -> None:
    client = server.client()
    obj = {"kind": "Namespace", "metadata": {"name": "a"}}
    client.apply("/api/v1/namespaces/a", obj)
    assert client.get("/api/v1/namespaces/a") == obj
    assert server.requests[0] == ("POST", "/api/v1/namespaces?fieldManager=extapi-dev")


def test_an_object_that_is_there_gets_what_is_applied_and_keeps_the_rest(server: Recorder) -> None:
    server.objects["/api/v1/namespaces/a"] = {"kind": "Namespace", "spec": {"finalizers": ["kubernetes"]}}
    obj = {"kind": "Namespace", "metadata": {"name": "a"}}
    server.client().apply("/api/v1/namespaces/a", obj)
    assert server.objects["/api/v1/namespaces/a"] == {**obj, "spec": {"finalizers": ["kubernetes"]}}
    assert server.requests[-1] == ("PATCH", "/api/v1/namespaces/a?fieldManager=extapi-dev")
    assert "application/merge-patch+json" in server.types


def test_a_call_is_alone_even_while_another_thread_has_one(server: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    client, answer = server.client(), server.answer
    server.objects |= {"/outer": {"a": 1}, "/inner": {"b": 2}}
    inner = []

    def meanwhile(method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if path == "/outer":
            inner.append(client.get("/inner"))  # in the thread of the server, before it answers
        return answer(method, path, body)

    monkeypatch.setattr(server, "answer", meanwhile)
    assert client.get("/outer") == {"a": 1}
    with client.kept() as kept:
        assert kept.get("/outer") == {"a": 1}
    assert inner == [{"b": 2}] * 2


def test_an_error_has_the_code_and_the_message_of_its_status(server: Recorder) -> None:
    with pytest.raises(KubeError, match=r"^404: /api/v1/nothing not found$") as refused:
        server.client().get("/api/v1/nothing")
    assert refused.value.code == 404


def test_an_error_that_is_no_status_is_shown_as_it_came(server: Recorder) -> None:
    server.objects["/healthz"] = (500, b"not now\n" + b"x" * 1000)
    with pytest.raises(KubeError, match=r"^500: not now\nx{1,200}$"):
        server.client().get("/healthz")


def test_what_is_not_there_is_deleted_already_and_other_refusals_are_errors(server: Recorder) -> None:
    server.objects["/a"] = {}
    server.objects["/b"] = (403, b'{"message": "no"}')
    client = server.client()
    client.delete("/a")
    client.delete("/a")
    with pytest.raises(KubeError, match=r"^403: no$"):
        client.delete("/b")


def test_a_problem_is_a_text_and_its_absence_none(server: Recorder) -> None:
    server.objects["/readyz"] = (200, b"ok")
    client = server.client()
    assert client.problem("/readyz") is None
    assert client.problem("/livez") == "404: /livez not found"


def test_a_server_that_does_not_listen_is_a_problem(server: Recorder) -> None:
    keys = server.certificates
    nowhere = KubeClient(choose(0, "--port"), ca=keys.certificate("cluster-ca"))
    assert "Connection refused" in str(nowhere.problem("/readyz"))


def test_an_answer_that_is_no_http_is_a_problem(server: Recorder) -> None:
    server.objects["/readyz"] = (0, b"\x00\x01 garbage\r\n")
    assert "garbage" in str(server.client().problem("/readyz"))


def test_a_server_of_another_authority_is_not_believed(server: Recorder) -> None:
    other = KubeClient(server.port, ca=server.certificates.certificate("serving-ca"))
    assert "TLS: certificate verify failed" in str(other.problem("/readyz"))


def test_a_query_arrives_as_it_was_given(server: Recorder) -> None:
    server.client().get("/api/v1/namespaces?labelSelector=app%3Da&watch=")
    assert server.requests == [("GET", "/api/v1/namespaces?labelSelector=app%3Da&watch=")]


_CALLS = """
import os, pathlib, sys
from extapi.client import agent
from extapi.dev import forking
from extapi.dev.kube import KubeClient

port, ca, certificate, key = int(sys.argv[1]), *map(pathlib.Path, sys.argv[2:])
client = KubeClient(port, ca=ca, certificate=certificate, key=key)
descriptors = os.listdir("/proc/self/fd")
print(client.get("/a"), client.problem("/nothing"), flush=True)
assert os.listdir("/proc/self/fd") == descriptors, os.listdir("/proc/self/fd")
print(forking.prepare([]))
"""


def test_a_fork_is_as_safe_after_a_call_as_before(server: Recorder) -> None:
    """No thread, no reactor of the process, no descriptor, and nothing that Twisted would have liked to log."""
    server.objects["/a"] = {"kind": "A"}
    done = called(server, _CALLS).communicate(timeout=60)
    assert done == ("{'kind': 'A'} 404: /nothing not found\nTrue\n", "")


_HANGING = """
import pathlib, sys
from extapi.dev import signals
from extapi.dev.kube import KubeClient

try:
    with signals.as_exception():
        KubeClient(int(sys.argv[1]), ca=pathlib.Path(sys.argv[2])).get("/a")
except signals.StopRequested:
    print("stopped")
"""


def test_a_call_that_gets_no_answer_ends_with_ctrl_c(server: Recorder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = called(server, _HANGING, port=silent.getsockname()[1])
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1) == b"\x16"  # a ClientHello: it waits for the answer now
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60) == ("stopped\n", "")


def called(server: Recorder, script: str, port: int = 0) -> subprocess.Popen[str]:
    """A script that is handed how to reach the server."""
    keys = server.certificates
    paths = [str(keys.certificate("cluster-ca")), str(keys.certificate("admin")), str(keys.key("admin"))]
    return subprocess.Popen(
        [sys.executable, "-c", script, str(port or server.port), *paths],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_kubeconfig_holds_everything_that_a_client_needs(server: Recorder) -> None:
    keys = server.certificates
    text = kubeconfig(
        6443,
        user="admin",
        ca=keys.certificate("cluster-ca").read_bytes(),
        certificate=keys.certificate("admin").read_bytes(),
        key=keys.key("admin").read_bytes(),
    )
    config = yaml.safe_load(text)
    context = {item["name"]: item["context"] for item in config["contexts"]}[config["current-context"]]
    cluster = {item["name"]: item["cluster"] for item in config["clusters"]}[context["cluster"]]
    user = {item["name"]: item["user"] for item in config["users"]}[context["user"]]
    assert cluster["server"] == "https://127.0.0.1:6443"
    ca = base64.b64decode(cluster["certificate-authority-data"])
    assert ca == keys.certificate("cluster-ca").read_bytes()
    assert base64.b64decode(user["client-certificate-data"]) == keys.certificate("admin").read_bytes()
    assert base64.b64decode(user["client-key-data"]) == keys.key("admin").read_bytes()
