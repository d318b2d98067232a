"""Watches over WebSockets: of built-in kinds, of ours through the aggregator, and of custom resources."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import websocket
from websocket import ABNF

from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.second import SecondServer
from tests.kubernetes.twin_schema import KIND, OURS, PLURAL, THEIRS, VERSION
from tests.kubernetes.websockets import opened, refusal

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@dataclass
class Watched:
    """A collection to watch."""

    admin: Caller
    path: str
    api_version: str
    kind: str

    def make(self, name: str) -> dict[str, Any]:
        spec = {} if self.kind == "Secret" else {"spec": {"size": 1}}
        obj = {"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": name}, **spec}
        made = self.admin("POST", self.path, obj)
        assert made.status == 201, made.body
        found: dict[str, Any] = made.json
        return found

    def version(self) -> str:
        found: str = self.admin("GET", self.path).json["metadata"]["resourceVersion"]
        return found


@pytest.fixture(params=["secrets", "ours", "custom"])
def watched(request: pytest.FixtureRequest, control_plane: ControlPlane, admin: Caller, namespace: str) -> Watched:
    if request.param == "secrets":  # not ConfigMaps: a controller puts one into every new namespace, a moment later
        return Watched(admin, f"/api/v1/namespaces/{namespace}/secrets", "v1", "Secret")
    gadgets: SecondServer = request.getfixturevalue("gadgets")
    del gadgets
    if request.param == "custom" and not control_plane.has("crd"):
        pytest.skip("there are no custom resources")
    group = OURS if request.param == "ours" else THEIRS
    return Watched(admin, f"/apis/{group}/{VERSION}/namespaces/{namespace}/{PLURAL}", f"{group}/{VERSION}", KIND)


def frames(socket: websocket.WebSocket) -> Iterator[tuple[int, bytes]]:
    """What comes, with the codes of the frames."""
    while True:
        frame = socket.recv_frame()  # type: ignore[no-untyped-call]  # recv_data answers a Close, and fails if the server has gone by then
        code, data = frame.opcode, frame.data
        yield code, data
        if code == ABNF.OPCODE_CLOSE:
            return


def test_events_are_text_messages_with_one_object_each(watched: Watched) -> None:
    version = watched.version()
    with opened(watched.admin, f"{watched.path}?watch=1&resourceVersion={version}") as socket:
        made = [watched.make("one"), watched.make("two")]
        assert watched.admin("DELETE", f"{watched.path}/one").status == 200
        found = frames(socket)
        for event, name in (("ADDED", "one"), ("ADDED", "two"), ("DELETED", "one")):
            code, data = next(found)
            assert code == ABNF.OPCODE_TEXT
            assert data.endswith(b"}\n")
            said = json.loads(data)
            assert (said["type"], said["object"]["metadata"]["name"]) == (event, name)
            if event == "ADDED":
                assert said["object"] == next(each for each in made if each["metadata"]["name"] == name)


def test_it_begins_with_what_is_there_and_closes_when_its_time_is_over(watched: Watched) -> None:
    watched.make("one")
    path = f"{watched.path}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with opened(watched.admin, f"{path}&timeoutSeconds=2") as socket:
        found = list(frames(socket))
    texts = [json.loads(data) for code, data in found if code == ABNF.OPCODE_TEXT]
    assert {"ADDED", "BOOKMARK"} <= {each["type"] for each in texts}
    code, data = found[-1]
    assert (code, data) == (ABNF.OPCODE_CLOSE, (1000).to_bytes(2, "big"))


def test_pings_are_answered_and_messages_ignored(watched: Watched) -> None:
    with opened(watched.admin, f"{watched.path}?watch=1&resourceVersion={watched.version()}") as socket:
        socket.send("what is this?")
        socket.send_binary(b"\0\1\2")
        socket.ping("hello")
        found = frames(socket)
        assert next(found) == (ABNF.OPCODE_PONG, b"hello")
        watched.make("one")
        assert json.loads(next(found)[1])["object"]["metadata"]["name"] == "one"


def test_a_close_is_answered(watched: Watched) -> None:
    with opened(watched.admin, f"{watched.path}?watch=1&resourceVersion={watched.version()}") as socket:
        socket.send_close(1000, b"enough")
        assert list(frames(socket)) == [(ABNF.OPCODE_CLOSE, (1000).to_bytes(2, "big"))]


def test_an_unmasked_frame_is_a_protocol_error(watched: Watched) -> None:
    with opened(watched.admin, f"{watched.path}?watch=1&resourceVersion={watched.version()}") as socket:
        assert socket.sock is not None
        socket.sock.sendall(b"\x81\x02hi")
        code, data = next(frames(socket))
        assert (code, data[:2]) == (ABNF.OPCODE_CLOSE, (1002).to_bytes(2, "big"))


def test_metadata_and_tables_come_as_messages_too(watched: Watched) -> None:
    version = watched.version()
    watched.make("one")
    path = f"{watched.path}?watch=1&resourceVersion={version}"
    for accept, kind in (
        (METADATA, "PartialObjectMetadata"),
        (METADATA.replace("PartialObjectMetadata", "Table"), "Table"),
    ):
        with opened(watched.admin, path, headers={"Accept": accept}) as socket:
            code, data = next(frames(socket))
            assert (code, json.loads(data)["object"]["kind"]) == (ABNF.OPCODE_TEXT, kind)


def test_protobuf_comes_in_binary_messages_without_a_length(watched: Watched) -> None:
    version = watched.version()
    watched.make("one")
    accept = METADATA.replace("json", "vnd.kubernetes.protobuf")
    with opened(
        watched.admin, f"{watched.path}?watch=1&resourceVersion={version}", headers={"Accept": accept}
    ) as socket:
        code, data = next(frames(socket))
        assert code == ABNF.OPCODE_BINARY
        assert data.startswith(b"\x0a\x05ADDED\x12")
        assert b"k8s\0" in data


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        ((), None),
        (("base64.binary.k8s.io",), "base64.binary.k8s.io"),
        (("binary.k8s.io",), "binary.k8s.io"),
        (("anything",), "anything"),
    ],
)
def test_any_one_subprotocol_is_spoken_and_changes_nothing(
    watched: Watched, offered: tuple[str, ...], chosen: str | None
) -> None:
    version = watched.version()
    watched.make("one")
    with opened(watched.admin, f"{watched.path}?watch=1&resourceVersion={version}", subprotocols=offered) as socket:
        assert socket.getsubprotocol() == (chosen or None)
        code, data = next(frames(socket))
        assert (code, json.loads(data)["type"]) == (ABNF.OPCODE_TEXT, "ADDED")


def test_handshakes_are_refused(watched: Watched) -> None:
    path = f"{watched.path}?watch=1"
    assert refusal(watched.admin, path, subprotocols=("one", "two"))[0] == 400
    assert refusal(watched.admin, path, origin=False)[0] == 403
    assert refusal(watched.admin, path, headers={"Sec-WebSocket-Version": "8"})[0] == 400


def test_errors_before_the_handshake_are_statuses(watched: Watched) -> None:
    status, body = refusal(watched.admin, f"{watched.path}?watch=1&labelSelector=!!")
    assert (status, json.loads(body)["reason"]) == (400, "BadRequest")
    status, body = refusal(watched.admin, f"{watched.path}?watch=1", headers={"Accept": "application/yaml"})
    assert (status, b"reason: NotAcceptable" in body) == (406, True)


def test_a_token_may_come_as_a_subprotocol(watched: Watched, control_plane: ControlPlane, call_as: Any) -> None:
    namespace = watched.path.rpartition("/namespaces/")[2].partition("/")[0]
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    name = f"system:serviceaccount:{namespace}:looker"
    watched.admin("POST", account, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "looker"}})
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = watched.admin("POST", f"{account}/looker/token", asked).json["status"]["token"]
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"looker-{namespace}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}],
    }
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    assert watched.admin("POST", bindings, binding).status == 201
    try:
        version = watched.version()
        watched.make("one")
        carried = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(token.encode()).decode().rstrip(
            "="
        )
        path = f"{watched.path}?watch=1&resourceVersion={version}"
        with opened(call_as(), path, subprotocols=(carried, "base64.binary.k8s.io")) as socket:
            assert socket.getsubprotocol() == "base64.binary.k8s.io"
            assert json.loads(next(frames(socket))[1])["type"] == "ADDED"
    finally:
        watched.admin("DELETE", f"{bindings}/looker-{namespace}")
