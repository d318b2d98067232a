"""Nothing is proxied with an identity that was not authorised: refused upgrades (CVE-2018-1002105) and smuggled headers.

Raw bytes through both control planes, to a server that records what arrives, and to ours.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.dev.ports import LOOPBACK
from tests.certificates import SERVER, authority as foreign
from tests.kubernetes.backend import Backend, Received, answer, discovery
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.pizzas import GROUP
from tests.kubernetes.registration import HOST, registered
from tests.waiting import until

RECORDED = "recorded.example.com"
THINGS = f"/apis/{RECORDED}/v1/namespaces/default/things"
USER, CIRCLE = "mallory", "ordinary-people"
FORGED = "X-Remote-User: forged\r\nX-Remote-Group: system:masters\r\nX-Remote-Uid: 0\r\nX-Remote-Extra-Forged: yes\r\n"
UPGRADE = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"


def request(line: str, headers: str = "", body: str = "") -> str:
    """Bytes as they go out."""
    return f"{line} HTTP/1.1\r\nHost: front\r\n{headers}\r\n{body}"


LAST = request("GET /version", "Connection: close\r\n")
"""After which the server hangs up, if it has not before."""


def converse(caller: Caller, *pieces: str) -> bytes:
    """Send pieces on one connection, the later ones after the first byte of an answer; all that comes until the end."""
    got = b""
    with socket.create_connection((LOOPBACK, caller.port), 30) as sock:
        stream = caller.tls.wrap_socket(sock, server_hostname="localhost")
        try:
            for piece in pieces:
                stream.sendall(piece.encode())
                got += stream.recv(65536)
            while more := stream.recv(65536):
                got += more
        except TimeoutError:
            raise AssertionError(f"the connection was left open, after {got!r}") from None
        except OSError:
            pass  # it hung up while we still had something to say
        stream.close()
    return got


@pytest.fixture(scope="module")
def mallory(
    control_plane: ControlPlane, extension_server: ExtensionServer, call_as: Callable[..., Caller]
) -> Iterator[Caller]:
    """Somebody who may do everything with recorded things and pizzas, and nothing else."""
    metadata = {"name": USER}
    rules = [{"apiGroups": [RECORDED, GROUP], "resources": ["*"], "verbs": ["*"]}]
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": USER},
        "subjects": [{"kind": "User", "name": USER, "apiGroup": RBAC}],
    }
    objects = {
        f"/apis/{RBAC}/v1/clusterroles/{USER}": role,
        f"/apis/{RBAC}/v1/clusterrolebindings/{USER}": binding,
    }
    for path, obj in objects.items():
        control_plane.client.apply(path, obj)
    caller = call_as(USER, CIRCLE)
    # Refusals are remembered for some seconds.
    until(lambda: caller("GET", f"/apis/{GROUP}/v1beta1/pizzas").status == 200, 30)
    yield caller
    for path in objects:
        control_plane.client.delete(path)


@pytest.fixture(scope="module")
def recorder(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Backend]:
    """A server that records all that arrives, and answers as a test says."""
    ca = foreign("recorder-ca")
    directory = tmp_path_factory.mktemp("recorder")
    backend = Backend(ca.leaf("recorder", san=[HOST], eku=SERVER).save(directory, "recorder"))
    with registered(control_plane.client, f"v1.{RECORDED}", backend.port, ca.pem) as service:
        until(lambda: service.condition().get("status") == "True", 60)
        yield backend
    backend.close()


def arrived(recorder: Backend) -> list[Received]:
    """What arrived besides the control plane's own probes; all of it has to be Mallory's own."""
    found = [each for each in list(recorder.requests) if each.path.startswith(THINGS)]
    for each in found:
        identity = [(name.lower(), value) for name, value in each.headers if name.lower().startswith("x-remote-")]
        keys = [name for name, _ in identity]
        assert each.values("x-remote-user") == [USER], each
        assert each.values("x-remote-group") == [CIRCLE, "system:authenticated"], each
        credential = "x-remote-extra-authentication.kubernetes.io%2fcredential-id"
        assert set(keys) <= {"x-remote-user", "x-remote-group", credential}, each
        assert not any(name.lower().startswith("x-remote-") for name, _ in each.trailers), each
        assert not each.values("authorization"), each
    return found


def saying(refusal: bytes | None) -> Callable[[Received], bytes | None]:
    """Refuse upgrades so; answer everything else."""

    def answering(received: Received) -> bytes | None:
        if received.values("upgrade"):
            return refusal
        return answer() if received.path.startswith(THINGS) else discovery(received)

    return answering


REFUSALS = {
    "forbidden": answer(b"", "403 Forbidden"),
    "bad request": answer(b"{}", "400 Bad Request"),
    "a success that is no upgrade": answer(),
    "a redirect": answer(b"", "302 Found", "Location: /elsewhere"),
    "an interim answer, then a refusal": b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"", "403 Forbidden"),
    "no answer": b"",
}


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("when", ["at once", "after the answer"])
def test_behind_a_refused_upgrade_nobody_else_gets_through(
    recorder: Backend, mallory: Caller, refusal: str, when: str
) -> None:
    """The server's connection stays open, as that of a kubelet did: what follows must not reach it as it was sent."""
    recorder.requests.clear()
    recorder.answering = saying(REFUSALS[refusal])
    first = request(f"GET {THINGS}/one/connect", UPGRADE + FORGED)
    then = request(f"GET {THINGS}?forged", FORGED) + LAST
    got = converse(mallory, first + then) if when == "at once" else converse(mallory, first, then)
    assert not got.startswith((b"HTTP/1.1 101", b"HTTP/1.1 2"))
    found = arrived(recorder)
    assert [each.path for each in found if each.values("upgrade")] == [f"{THINGS}/one/connect"]
    # What came behind it either was not read any more, or was Mallory's own request like any other, on its own connection.
    assert [each.path for each in found][1:] in ([], [THINGS])
    assert len({each.connection for each in found}) == len(found)


def test_an_upgrade_that_is_not_allowed_goes_nowhere(
    recorder: Backend, mallory: Caller, call_as: Callable[..., Caller]
) -> None:
    recorder.requests.clear()
    recorder.answering = saying(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
    for stranger in (call_as("stranger"), call_as()):
        got = converse(
            stranger,
            request(f"GET {THINGS}/one/connect", UPGRADE + FORGED) + request(f"GET {THINGS}", FORGED) + LAST,
        )
        assert got.startswith((b"HTTP/1.1 403", b"HTTP/1.1 401"))
        assert b"101 Switching" not in got
    # Who may not impersonate gets nowhere either.
    impersonating = UPGRADE + "Impersonate-User: forged\r\nImpersonate-Group: system:masters\r\n"
    assert converse(mallory, request(f"GET {THINGS}/one/connect", impersonating) + LAST).startswith(b"HTTP/1.1 403")
    assert arrived(recorder) == []


def test_what_we_refuse_to_upgrade_ends_the_connection(
    control_plane: ControlPlane, extension_server: ExtensionServer, mallory: Caller
) -> None:
    """Through the control plane to us, which upgrade nothing."""
    pizzas = f"/apis/{GROUP}/v1beta1/namespaces/default/pizzas"
    for path, status in ((f"{pizzas}/none/exec", 404), (f"{pizzas}/none", 404), (pizzas, 503)):
        marked = f"{pizzas}?labelSelector=forged%3D{status}"
        got = converse(mallory, request(f"GET {path}", UPGRADE + FORGED) + request(f"GET {marked}", FORGED) + LAST)
        assert got.startswith(f"HTTP/1.1 {status} ".encode()), got[:300]
        # Our 404 is passed on; a success is none to who wants to upgrade, and kube-apiserver says so (behaviour D10).
        if status == 503:
            assert b"invalid upgrade response: status code 200" in got
    lines = [json.loads(line) for line in extension_server.log.read_text().splitlines() if '"uri"' in line]
    assert {line["user"] for line in lines if "forged" in line["uri"]} <= {USER}
    assert not [line for line in lines if line["user"] == "forged"]


def test_behind_an_upgrade_we_take_nothing_even_from_the_front_proxy(
    control_plane: ControlPlane, extension_server: ExtensionServer, mallory: Caller, tmp_path: Path
) -> None:
    """If a control plane did pass on what a client says next, it would end here: that is how the CVE worked."""
    keys = control_plane.certificates
    proxy = user_certificate(authority(keys, "front-proxy-ca"), "front-proxy-client")
    directly = Caller(extension_server.port, tls_of(keys.certificate("serving-ca"), proxy, tmp_path))
    pizzas = f"/apis/{GROUP}/v1beta1/namespaces/default/pizzas"
    as_mallory = f"X-Remote-User: {USER}\r\n"
    for path, status in ((f"{pizzas}/none/exec", 404), (pizzas, 200)):
        second = request(f"GET {pizzas}?labelSelector=smuggled", FORGED) + LAST
        first = request(f"GET {path}", UPGRADE + as_mallory)
        for got in (converse(directly, first + second), converse(directly, first, second)):
            assert got.startswith(f"HTTP/1.1 {status} ".encode())
            assert b"\r\nConnection: close\r\n" in got
            assert got.count(b"HTTP/1.1 ") == 1
    assert "smuggled" not in extension_server.log.read_text()


CHUNKED = "Transfer-Encoding: chunked\r\n"
SMUGGLED = request(f"GET {THINGS}?smuggled", FORGED)
SHAPES: dict[str, tuple[str, list[int]]] = {
    "plainly": (request(f"GET {THINGS}", FORGED), [200]),
    "written twice, in other cases": (request(f"GET {THINGS}", FORGED + FORGED.lower() + FORGED.upper()), [200]),
    "taken away by Connection": (
        request(f"GET {THINGS}", "Connection: X-Remote-User, X-Remote-Group, X-Remote-Uid\r\n" + FORGED),
        [200],
    ),
    "taken away by Connection, upgrading": (
        request(f"GET {THINGS}", "Connection: Upgrade, X-Remote-User, X-Remote-Group\r\nUpgrade: x\r\n" + FORGED),
        [403],
    ),
    "a line that is folded": (request(f"GET {THINGS}", "X-Custom: a\r\n X-Remote-User: forged\r\n"), [200, 400]),
    "a first line that is folded": (request(f"GET {THINGS}", " X-Remote-User: forged\r\n"), [200, 400]),
    "a blank before the colon": (request(f"GET {THINGS}", "X-Remote-User : forged\r\n"), [400]),
    "a bare line feed": (request(f"GET {THINGS}", "X-Custom: a\nX-Remote-User: forged\r\n"), [200, 400]),
    "a bare carriage return": (request(f"GET {THINGS}", "X-Custom: a\rX-Remote-User: forged\r\n"), [200, 400]),
    "two lengths": (
        request(f"POST {THINGS}", f"Content-Length: 0\r\nContent-Length: {len(SMUGGLED)}\r\n", SMUGGLED),
        [400],
    ),
    "a length and chunks": (
        request(f"POST {THINGS}", f"Content-Length: {len(SMUGGLED) + 5}\r\n{CHUNKED}", f"0\r\n\r\n{SMUGGLED}"),
        [200, 400],
    ),
    "chunks that are none": (request(f"POST {THINGS}", "Transfer-Encoding: xchunked\r\n", SMUGGLED), [400, 501]),
    "chunks twice": (request(f"POST {THINGS}", "Transfer-Encoding: chunked, chunked\r\n", f"0\r\n\r\n{SMUGGLED}"), [400, 501]),
    "trailers": (request(f"POST {THINGS}", f"{CHUNKED}Trailer: X-Remote-User\r\n", f"2\r\n{{}}\r\n0\r\n{FORGED}\r\n"), [200]),
    "trailers that nobody announced": (request(f"POST {THINGS}", CHUNKED, f"2\r\n{{}}\r\n0\r\n{FORGED}\r\n"), [200]),
    "a body with GET": (
        request(f"GET {THINGS}", f"Content-Length: {len(SMUGGLED)}\r\n", SMUGGLED),
        [200],
    ),
    "the whole URL as target": (request(f"GET https://elsewhere.example.com{THINGS}", FORGED), [200]),
    "CONNECT of a host": (request("CONNECT localhost:443", FORGED), [400, 401, 403, 404, 405]),
    "CONNECT of a path": (request(f"CONNECT {THINGS}", FORGED), [200, 400, 403, 404, 405]),
}  # fmt: skip
"""Requests that try to be somebody else, and what may be answered to the first one."""


@pytest.mark.parametrize("shape", SHAPES)
def test_identity_cannot_be_smuggled(recorder: Backend, mallory: Caller, shape: str) -> None:
    data, statuses = SHAPES[shape]
    recorder.requests.clear()
    recorder.answering = saying(answer(b"", "403 Forbidden"))
    got = converse(mallory, data + LAST)
    status = int(got.split(b" ", 2)[1])
    assert status in statuses, got[:500]
    found = arrived(recorder)
    assert bool(found) == (status == 200 or "upgrading" in shape), found
    assert all(each.values("host") == [f"localhost:{recorder.port}"] for each in found)


def test_names_with_underscores_are_not_ours(mallory: Caller, extension_server: ExtensionServer) -> None:
    """Some gateways take X_Remote_User for X-Remote-User; kube-apiserver passes it on, and to us it is any header."""
    underscored = [(name.replace("-", "_"), value) for name, _, value in (
        line.partition(": ") for line in FORGED.split("\r\n") if line
    )]  # fmt: skip
    seen = mallory("GET", f"/apis/{GROUP}/v1beta1/pizzas?labelSelector=underscored", headers=underscored)
    assert seen.status == 200
    audit = seen.headers["Audit-Id"]
    line: dict[str, Any] = until(
        lambda: next((json.loads(each) for each in extension_server.log.read_text().splitlines() if audit in each), {})
    )
    assert line["user"] == USER
