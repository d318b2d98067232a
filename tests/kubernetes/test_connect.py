"""Subresources that take the connection over, through both control planes, by clients that we did not write."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import socket as sockets
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client as kubernetes, config as kubeconfig
from kubernetes.stream.ws_client import ERROR_CHANNEL, WSClient
from websocket import ABNF, WebSocketConnectionClosedException

from tests.kubernetes import golang, second
from tests.kubernetes.calling import Caller
from tests.kubernetes.connecting import GROUP
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.test_upgrades_proxied import request
from tests.kubernetes.websockets import opened, refusal
from tests.waiting import until
from tests.webhooks.admission import denies
from tests.webhooks.server import certified, serving

MACHINES = f"/apis/{GROUP}/v1/namespaces/default/machines"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SPDY = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"


@pytest.fixture(scope="module")
def machines(
    control_plane: ControlPlane,
    extension_server: ExtensionServer,
    admin: Caller,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """The path of the machines that are there: one, and locked."""
    del extension_server
    target = "tests.kubernetes.connecting:api"
    with second.running(control_plane, target, tmp_path_factory.mktemp("machines"), "memory:"):
        until(lambda: admin("GET", MACHINES).status == 200, 30)
        for name in ("one", "locked"):
            made = {"apiVersion": f"{GROUP}/v1", "kind": "Machine", "metadata": {"name": name}, "spec": {"say": "hi"}}
            assert admin("POST", MACHINES, made).status == 201
        yield MACHINES


def ended(admin: Caller) -> list[str]:
    found: list[str] = admin("GET", f"{MACHINES}/one/log?ended=1").json
    return found


def test_kubectl_reads_a_log(machines: str, kubectl: Kubectl) -> None:
    assert kubectl("get", "--raw", f"{machines}/one/log?lines=3") == "hi 1\nhi 2\nhi 3\n"


def test_kubectl_follows_a_log_until_it_is_stopped(machines: str, kubectl: Kubectl, admin: Caller) -> None:
    """The lines come while they are written, and the author's iterator is closed when kubectl ends."""
    before = len(ended(admin))
    command = kubectl.command("get", "--raw", f"{machines}/one/log")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=kubectl.environment()) as following:
        assert following.stdout is not None
        assert [following.stdout.readline() for _ in range(5)] == [f"hi {number}\n" for number in range(1, 6)]
        assert len(ended(admin)) == before
        following.terminate()
    until(lambda: len(ended(admin)) > before, 30)


def test_every_method_reaches_the_connecter_with_its_path_query_and_body(machines: str, admin: Caller) -> None:
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        body = None if method == "GET" else f"by {method}".encode()
        answer = admin(method, f"{machines}/one/proxy/a/b%20c/?x=1&x=2&y=", body, content_type="text/plain")
        assert (answer.status, answer.headers["X-Machine"]) == (200, "one")
        said = {"method": method, "path": "/a/b c/", "query": {"x": ["1", "2"], "y": [""]}, "user": "e2e-admin"}
        assert answer.json == {**said, "body": "" if body is None else body.decode(), "say": "hi"}
    assert admin("GET", f"{machines}/one/proxy").json["path"] == ""
    assert admin("GET", f"{machines}/one/proxy/").json["path"] == "/"
    head = admin("HEAD", f"{machines}/one/proxy/a")
    assert (head.status, head.headers["X-Machine"], head.body) == (200, "one", b"")


def test_refusals_are_statuses(machines: str, admin: Caller) -> None:
    missing = admin("GET", f"{machines}/one/proxy/missing")
    assert (missing.status, missing.message) == (404, f'machines.{GROUP} "one" not found')
    assert admin("GET", f"{machines}/nobody/proxy").status == 404
    assert admin("POST", f"{machines}/one/log").status == 405
    for path in ("exec", "attach"):
        plain = admin("GET", f"{machines}/one/{path}")
        assert (plain.status, plain.message) == (400, "Upgrade request required")
    dry = admin("POST", f"{machines}/one/proxy?dryRun=All", b"{}")
    assert (dry.status, dry.message) == (400, "dryRun is not supported")


def test_admission_sees_connections(machines: str, admin: Caller) -> None:
    locked = admin("GET", f"{machines}/locked/proxy")
    assert locked.status == 403
    assert locked.message == f'machines.{GROUP} "locked" is forbidden: proxy is locked'
    assert refusal(admin, f"{machines}/locked/exec")[0] == 403
    assert admin("GET", f"{machines}/nobody/proxy?warn=twice").headers["Warning"] == '299 - "connected: twice"'


@pytest.mark.needs("crd")
def test_webhooks_are_asked_about_connections_as_by_kube_apiserver(
    machines: str, admin: Caller, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """As about a connecter that has no type for its options. ``pods/exec`` has one: that is the object, and its kind."""
    certificates = certified()
    path = f"{CONFIGURATIONS}/connections"
    with serving({"no": denies(message="not now", code=403)}, certificates.context(tmp_path)) as webhook:
        ca = base64.b64encode(certificates.ca.pem).decode()
        rules = [
            {"operations": ["CONNECT"], "apiGroups": [group], "apiVersions": ["v1"], "resources": [resource]}
            for group, resource in (("", "pods/exec"), (GROUP, "machines/exec"))
        ]
        hook = {
            "name": "connections.webhook.test",
            "clientConfig": {"url": webhook.url("no"), "caBundle": ca},
            "rules": rules,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        made = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
        control_plane.client.apply(path, {**made, "metadata": {"name": "connections"}, "webhooks": [hook]})
        try:
            asked = []
            for place in ("/api/v1/namespaces/default/pods/one/exec", f"{machines}/one/exec"):
                until(partial(_refused, admin, f"{place}?command=ls&stdin=true"), 30)
                asked.append(webhook.calls[-1].review["request"])
        finally:
            control_plane.client.request("DELETE", path)
    theirs, ours = asked
    for review in asked:
        del review["uid"]
        for member in ("kind", "requestKind", "resource", "requestResource"):
            assert review.pop(member)["version"] == "v1"
    assert theirs.pop("object") == {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["ls"], "stdin": True}
    assert ours.pop("object") is None
    assert ours == theirs
    assert (ours["options"], ours["operation"], ours["subResource"]) == (None, "CONNECT", "exec")


def _refused(admin: Caller, path: str) -> bool:
    message: str = admin("GET", path).message
    return message == 'admission webhook "connections.webhook.test" denied the request: not now'


def test_bodies_stream_both_ways_at_once(machines: str, admin: Caller, control_plane: ControlPlane) -> None:
    """Of a chunked request: each piece is answered before the next is sent.

    Not through kube-apiserver for this client: Go's HTTP/1.1 server discards a body once the response has begun.
    """
    if control_plane.has("crd"):
        pytest.skip("needs a client that speaks HTTP/2")
    head = request(f"POST {machines}/one/proxy/echo", "Transfer-Encoding: chunked\r\n")
    raw = sockets.create_connection(("localhost", admin.port), 30)
    with admin.tls.wrap_socket(raw, server_hostname="localhost") as stream:
        got = b""

        def until_there(part: bytes) -> None:
            nonlocal got
            while part not in got:
                more = stream.recv(65536)
                assert more, got
                got += more

        stream.sendall(head.encode() + b"3\r\none\r\n")
        until_there(b"3\r\none\r\n")
        stream.sendall(b"3\r\ntwo\r\n")
        until_there(b"3\r\ntwo\r\n")
        stream.sendall(b"0\r\n\r\n")
        until_there(b"\r\n0\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 202 Accepted\r\n")
        assert b"".join(got.partition(b"\r\n\r\n")[2].split(b"\r\n")).translate(None, b"0123456789") == b"onetwo"


def test_a_large_body_passes_through(machines: str, admin: Caller) -> None:
    body = bytes(range(256)) * (1 << 15)  # 8 MiB
    answer = admin("POST", f"{machines}/one/proxy/digest", body, content_type="application/octet-stream")
    assert (answer.status, answer.body.decode()) == (200, hashlib.sha256(body).hexdigest())


def test_kubectl_sends_a_body_and_gets_it_back(machines: str, kubectl: Kubectl) -> None:
    """It speaks HTTP/2 with kube-apiserver."""
    text = "".join(f"line {number}\n" for number in range(10_000))
    assert kubectl("create", "--raw", f"{machines}/one/proxy/echo", "-f", "-", stdin=text) == text


def test_a_shell_over_a_websocket(machines: str, admin: Caller) -> None:
    with opened(admin, f"{machines}/one/exec", subprotocols=("unknown", "v4.channel.k8s.io"), origin=False) as socket:
        assert socket.getsubprotocol() == "v4.channel.k8s.io"
        assert socket.recv_data() == (ABNF.OPCODE_BINARY, b"\1one$ ")
        socket.send_binary(b"\0hello\n")
        assert socket.recv() == b"\1HELLO\n"
        socket.ping("still there")
        assert socket.recv_data(control_frame=True) == (ABNF.OPCODE_PONG, b"still there")
        socket.send_binary(b"\0exit\n")
        assert socket.recv() == b'\3{"metadata":{},"status":"Success"}'
        assert socket.recv_data(control_frame=True) == (ABNF.OPCODE_CLOSE, (1000).to_bytes(2, "big"))
    assert refusal(admin, f"{machines}/one/exec", subprotocols=("unknown",))[0] == 403


def test_the_stream_client_of_the_kubernetes_package_runs_a_shell(machines: str, control_plane: ControlPlane) -> None:
    """It is what ``kubernetes.stream.stream`` uses for exec."""
    configuration = kubernetes.Configuration()
    untyped: Any = kubeconfig
    untyped.load_kube_config(str(control_plane.kubeconfig), client_configuration=configuration)
    port = control_plane.cluster.port
    untyped = WSClient
    shell = untyped(configuration, f"wss://localhost:{port}{machines}/one/exec", {}, True)
    try:
        shell.update(timeout=10)
        assert shell.read_stdout(timeout=10) == "one$ "
        shell.write_stdin("ls\n")
        assert shell.readline_stdout(timeout=10) == "LS"
        shell.write_stdin("exit\n")
        with contextlib.suppress(WebSocketConnectionClosedException):
            shell.run_forever(timeout=10)  # it answers the Close, and fails if the server has gone by then
        assert "Success" in shell._channels[ERROR_CHANNEL]
    finally:
        shell.close()
        if shell.sock.sock is not None:
            shell.sock.sock.close()


@pytest.mark.kubernetes
def test_client_go_runs_a_shell_as_kubectl_exec_does(
    machines: str, control_plane: ControlPlane, extension_server: ExtensionServer
) -> None:
    """Its WebSocket executor, with v5.channel.k8s.io: standard input is closed by a message of its own."""
    del extension_server
    command = [str(golang.remotecommand()), str(control_plane.kubeconfig), f"{machines}/one/exec"]
    ran = subprocess.run(command, input=b"exit\n", capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"one$ ", b"")
    refused = subprocess.run(
        [*command[:2], f"{machines}/locked/exec"], input=b"exit\n", capture_output=True, timeout=60, check=False
    )
    assert refused.returncode == 1
    assert b"exec is locked" in refused.stderr


def test_a_session_ends_with_its_client(machines: str, admin: Caller) -> None:
    before = len([each for each in ended(admin) if each == "one exec"])
    with opened(admin, f"{machines}/one/exec") as socket:
        socket.recv()
        untyped: Any = socket
        untyped.shutdown()
    until(lambda: len([each for each in ended(admin) if each == "one exec"]) > before, 30)


def test_other_protocols_pass_as_bytes(machines: str, admin: Caller) -> None:
    raw = sockets.create_connection(("localhost", admin.port), 30)
    with admin.tls.wrap_socket(raw, server_hostname="localhost") as stream:
        stream.sendall(request(f"POST {machines}/one/attach", SPDY).encode())
        got = b""
        while b"\r\n\r\n" not in got:
            got += stream.recv(65536)
        assert got.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
        assert b"upgrade: spdy/3.1\r\n" in got.lower()
        for sent in (b"\0\1\2\3", b"\xff" * 1000):
            stream.sendall(sent)
            back = b""
            while len(back) < len(sent):
                back += stream.recv(65536)
            assert back == sent[::-1]
    until(lambda: "one attach" in ended(admin), 30)


def test_the_verb_that_is_asked_for_is_that_of_the_method(
    machines: str, control_plane: ControlPlane, call_as: Callable[..., Caller]
) -> None:
    rules = [
        {"apiGroups": [GROUP], "resources": ["machines/proxy"], "verbs": ["get"]},
        {"apiGroups": [GROUP], "resources": ["machines/exec"], "verbs": ["create"]},
    ]
    metadata = {"name": "connects"}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "connects"},
        "subjects": [{"kind": "User", "name": "connie", "apiGroup": RBAC}],
    }
    control_plane.client.apply(f"/apis/{RBAC}/v1/clusterroles/connects", role)
    control_plane.client.apply(f"/apis/{RBAC}/v1/clusterrolebindings/connects", binding)
    connie = call_as("connie")
    until(lambda: connie("GET", f"{machines}/one/proxy").status == 200, 30)
    refused = connie("POST", f"{machines}/one/proxy")
    assert refused.status == 403
    assert 'cannot create resource "machines/proxy"' in refused.message
    assert refusal(connie, f"{machines}/one/exec")[0] == 403  # a WebSocket is a GET
    assert connie("POST", f"{machines}/one/exec").status == 400  # allowed, but no upgrade


@pytest.mark.parametrize("what", ["exec", "log"])
def test_a_connection_ends_when_the_right_to_it_is_gone(
    machines: str, control_plane: ControlPlane, call_as: Callable[..., Caller], what: str
) -> None:
    """It is judged again as a watch is; kube-apiserver itself does not judge connections again."""
    user = f"visitor-{what}"
    metadata = {"name": user}
    rules = [{"apiGroups": [GROUP], "resources": [f"machines/{what}"], "verbs": ["get"]}]
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": user},
        "subjects": [{"kind": "User", "name": user, "apiGroup": RBAC}],
    }
    path = f"/apis/{RBAC}/v1/clusterrolebindings/{user}"
    control_plane.client.apply(f"/apis/{RBAC}/v1/clusterroles/{user}", role)
    control_plane.client.apply(path, binding)
    visitor = call_as(user)
    until(lambda: visitor("GET", f"{machines}/one/{what}?lines=1").status in {200, 400}, 30)
    if what == "exec":
        with opened(visitor, f"{machines}/one/exec") as socket:
            socket.settimeout(60)
            assert socket.recv() == b"\1one$ "
            control_plane.client.delete(path)
            # Whoever judges first ends it: the built-in control plane knows no frames, and just closes.
            if control_plane.has("crd"):
                assert socket.recv_data(control_frame=True) == (ABNF.OPCODE_CLOSE, (1001).to_bytes(2, "big"))
            else:
                with contextlib.suppress(WebSocketConnectionClosedException):
                    assert socket.recv_data(control_frame=True)[0] == ABNF.OPCODE_CLOSE
        return
    connection = visitor.connect(60)
    try:
        connection.request("GET", f"{machines}/one/log")
        answer = connection.getresponse()
        assert answer.readline() == b"hi 1\n"
        control_plane.client.delete(path)
        while answer.readline():
            pass
        assert answer.isclosed()
    finally:
        connection.close()


def test_a_slow_reader_holds_the_author_up_and_nobody_else(machines: str, admin: Caller) -> None:
    before = len(ended(admin))
    connection = admin.connect()
    try:
        connection.request("GET", f"{machines}/one/log?size=1000000&lines=200")
        answer = connection.getresponse()
        assert answer.read(5) == b"hi 1\n"
        assert admin("GET", f"{machines}/one/proxy").status == 200
        assert len(ended(admin)) == before, "200 MB were taken, although nobody reads them"
        left = 200 * 1_000_000
        while more := answer.read(1 << 20):
            left -= len(more)
        assert left < 0
    finally:
        connection.close()
    until(lambda: ended(admin)[-1] == "one 200")


def test_discovery_and_openapi_name_them(machines: str, admin: Caller) -> None:
    del machines
    found = admin("GET", f"/apis/{GROUP}/v1").json["resources"]
    verbs = {each["name"]: set(each["verbs"]) for each in found}
    assert verbs["machines/log"] == {"get"}
    assert verbs["machines/exec"] == {"create", "get"}
    assert verbs["machines/proxy"] == {"create", "delete", "get", "patch", "update"}
    path = f"/apis/{GROUP}/v1/namespaces/{{namespace}}/machines/{{name}}/proxy"
    until(lambda: path in admin("GET", f"/openapi/v3/apis/{GROUP}/v1").json["paths"], 30)
    documented = admin("GET", f"/openapi/v3/apis/{GROUP}/v1").json["paths"]
    assert documented[path]["get"]["x-kubernetes-action"] == "connect"
    assert documented[f"{path}/{{path}}"]["post"]["operationId"] == (
        "connectMachinesExampleComV1PostNamespacedMachineProxyWithPath"
    )


def test_only_some_names_may_last(machines: str, admin: Caller) -> None:
    """Both control planes give ``log`` all the time that it takes, and cut the same stream off under another name."""
    started = time.monotonic()
    answer = admin("GET", f"{machines}/one/log?lines=100&timeout=1s")
    assert answer.status == 200
    assert answer.body.endswith(b"hi 100\n")
    assert time.monotonic() - started > 1
    connection = admin.connect()
    try:
        connection.request("GET", f"{machines}/one/tail?timeout=1s")
        cut = connection.getresponse()
        assert cut.status == 200
        with pytest.raises((IncompleteRead, OSError)):
            cut.read()
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["exec", "shell"])
def test_an_upgraded_connection_lasts_under_any_name(machines: str, admin: Caller, name: str) -> None:
    started = time.monotonic()
    with opened(admin, f"{machines}/one/{name}?timeout=1s") as socket:
        assert socket.recv() == b"\1one$ "
        while time.monotonic() < started + 3:
            socket.send_binary(b"\0still there\n")
            assert socket.recv() == b"\1STILL THERE\n"
