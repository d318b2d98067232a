"""Subresources that take the connection over, in memory: who is asked, with what, and in which order (ConnectResource)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi import (
    Api,
    ConnectRequest,
    Group,
    Kind,
    Object,
    Operation,
    RESTRequest,
    Review,
    ServiceUnavailable,
    StreamingResponse,
    Struct,
    Subresource,
    UpgradedConnection,
    UpgradeResponse,
    User,
    Version,
    WebSocket,
    WebSocketResponse,
)
from extapi.client.transport import ClientRequest
from extapi.http.request import Peer, Request, RequestInfo
from extapi.http.response import Response
from extapi.http.websocket import HandshakeRefused, check_origin, handshake, is_upgrade, is_websocket
from extapi.listener.requestinfo import request_info
from extapi.testing import InMemoryServer, serve
from extapi.verbs.connect import subpath
from tests.unit.client.building import call

GROUP = "machines.example.com"
MACHINES = f"/apis/{GROUP}/v1/namespaces/default/machines"
JANE = User("jane")
KEY = {"sec-websocket-key": ["dGhlIHNhbXBsZSBub25jZQ=="], "sec-websocket-version": ["13"]}
ASKS = {"connection": ["Upgrade"], "upgrade": ["websocket"], **KEY}


class Spec(Struct):
    say: str = "hello"


class Machine(Object):
    """Something to connect to."""

    spec: Spec = Spec()


class Connected:
    """A connecter, and a plugin, that remember what they were asked."""

    def __init__(self) -> None:
        self.requests: list[ConnectRequest] = []
        self.mutated: list[Review] = []
        self.validated: list[Review] = []
        self.refusing = ""
        self.answer: Callable[[ConnectRequest], Awaitable[Any]] = self.shown

    async def __call__(self, request: ConnectRequest, /) -> Any:
        self.requests.append(request)
        return await self.answer(request)

    async def shown(self, request: ConnectRequest) -> StreamingResponse:
        return StreamingResponse(f"{request.method} {request.name}{request.path}")

    async def mutate(self, review: Review) -> None:
        if review.operation == Operation.CONNECT:
            self.mutated.append(review)

    async def validate(self, review: Review) -> None:
        if review.operation == Operation.CONNECT:
            self.validated.append(review)
            if self.refusing:
                review.refuse(self.refusing)


def machines(connected: Connected, *, kind: Kind | None = None) -> Api:
    own = kind or Kind(
        "Machine",
        storage="v1",
        versions={"v1": Version(Machine)},
        subresources={
            "exec": Subresource(connects=connected),
            "proxy": Subresource(connects=connected, methods=["GET", "HEAD", "OPTIONS"]),
        },
    )
    return Api(Group(GROUP, own), admission=[connected])


@pytest.fixture
def connected() -> Connected:
    return Connected()


@pytest.fixture
def server(connected: Connected) -> Any:
    with serve(machines(connected)) as running:
        made = {"apiVersion": f"{GROUP}/v1", "kind": "Machine", "metadata": {"name": "one"}, "spec": {"say": "hi"}}
        assert running.request("POST", MACHINES, body=made).status == 201
        yield running


def test_a_connecter_gets_all_there_is_to_know(server: InMemoryServer, connected: Connected) -> None:
    query = [("tail", "3"), ("tail", "4")]
    headers = {"X-Custom": "kept"}
    answer = server.request("POST", f"{MACHINES}/one/exec/a/b", query, headers, b"the body", user=JANE)
    assert (answer.status, answer.body) == (200, b"POST one/a/b")
    (asked,) = connected.requests
    assert (asked.user.name, asked.version, asked.namespace, asked.name) == ("jane", "v1", "default", "one")
    assert (asked.method, asked.path, asked.first("tail"), asked.first("none", "x")) == ("POST", "/a/b", "3", "x")
    assert asked.query == {"tail": ["3", "4"]}
    assert asked.headers["x-custom"] == ["kept"]
    assert isinstance(asked.object, Machine)
    assert asked.object.spec.say == "hi"


def test_the_object_is_a_copy(server: InMemoryServer, connected: Connected) -> None:
    server.request("GET", f"{MACHINES}/one/exec")
    connected.requests[0].object.spec.say = "changed"
    assert server.request("GET", f"{MACHINES}/one").json()["spec"] == {"say": "hi"}


def test_the_body_is_read_whole_or_in_pieces(server: InMemoryServer, connected: Connected) -> None:
    async def whole(request: ConnectRequest) -> StreamingResponse:
        return StreamingResponse(await request.body.read(limit=4))

    async def pieces(request: ConnectRequest) -> StreamingResponse:
        return StreamingResponse(b"".join([piece async for piece in request.body]))

    connected.answer = whole
    assert server.request("POST", f"{MACHINES}/one/exec", body=b"four").body == b"four"
    assert server.request("POST", f"{MACHINES}/one/exec", body=b"fives").status == 413
    connected.answer = pieces
    assert server.request("POST", f"{MACHINES}/one/exec", body=b"fives").body == b"fives"


def test_a_streaming_response_has_status_headers_and_pieces(server: InMemoryServer, connected: Connected) -> None:
    async def pieces() -> AsyncIterator[str | bytes]:
        yield "grüß "
        yield b"gott"

    async def answer(request: ConnectRequest) -> StreamingResponse:
        del request
        headers = {"X-Own": "1", "Connection": "close", "Content-Length": "3"}
        return StreamingResponse(pieces(), "text/x-own", status=202, headers=headers)

    connected.answer = answer
    found = server.request("GET", f"{MACHINES}/one/exec")
    assert (found.status, found.body) == (202, "grüß gott".encode())
    names = {name.lower(): value for name, value in found.headers.items()}
    assert (names["content-type"], names["x-own"]) == ("text/x-own", "1")
    assert "connection" not in names


def test_admission_is_asked_before_the_object_is_looked_up(server: InMemoryServer, connected: Connected) -> None:
    connected.refusing = "not today"
    refused = server.request("GET", f"{MACHINES}/nobody/exec", [("command", "ls")], user=JANE)
    assert (refused.status, refused.json()["message"]) == (403, f'machines.{GROUP} "nobody" is forbidden: not today')
    (mutated,), (validated,) = connected.mutated, connected.validated
    for review in (mutated, validated):
        assert (review.operation, review.resource, review.subresource) == ("CONNECT", "machines", "exec")
        assert (review.group, review.version, review.namespace, review.name) == (GROUP, "v1", "default", "nobody")
        assert (review.object, review.old_object, review.dry_run) == (None, None, False)
        assert review.options == {"command": ["ls"]}
        assert review.user.name == "jane"
    connected.refusing = ""
    missing = server.request("GET", f"{MACHINES}/nobody/exec")
    assert (missing.status, missing.json()["message"]) == (404, f'machines.{GROUP} "nobody" not found')
    assert connected.requests == []


def test_a_dry_run_is_refused_before_anything_is_asked(server: InMemoryServer, connected: Connected) -> None:
    for value in ("All", ""):
        refused = server.request("POST", f"{MACHINES}/one/exec", {"dryRun": value})
        assert (refused.status, refused.json()["message"]) == (400, "dryRun is not supported")
    assert connected.mutated == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "exec", 405),
        ("DELETE", "exec", 405),
        ("HEAD", "exec", 405),
        ("POST", "proxy", 405),
        ("HEAD", "proxy/a", 200),
        ("OPTIONS", "proxy", 200),
        ("GET", "other", 404),
    ],
)
def test_only_the_declared_methods_are_answered(
    server: InMemoryServer, connected: Connected, method: str, path: str, status: int
) -> None:
    assert server.request(method, f"{MACHINES}/one/{path}").status == status
    assert bool(connected.requests) is (status == 200)


async def shell(socket: WebSocket) -> None:
    async for message in socket:
        await socket.send(message)


async def raw(stream: UpgradedConnection) -> None:
    await stream.write(await stream.read())


@pytest.mark.parametrize("answer", [WebSocketResponse(shell), UpgradeResponse("SPDY/3.1", raw)])
def test_who_did_not_ask_for_an_upgrade_gets_none(
    server: InMemoryServer, connected: Connected, answer: WebSocketResponse | UpgradeResponse
) -> None:
    async def upgrading(request: ConnectRequest) -> WebSocketResponse | UpgradeResponse:
        del request
        return answer

    connected.answer = upgrading
    refused = server.request("GET", f"{MACHINES}/one/exec")
    assert (refused.status, refused.json()["message"]) == (400, "Upgrade request required")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("text", "Internal error occurred: what serves machines/exec returned str and no ConnectResponse"),
        (None, "Internal error occurred: what serves machines/exec returned NoneType and no ConnectResponse"),
        (StreamingResponse(status=101), "Internal error occurred: what serves machines returned the status 101"),
    ],
)
def test_what_is_no_answer_is_an_internal_error(
    server: InMemoryServer, connected: Connected, given: Any, message: str
) -> None:
    async def answer(request: ConnectRequest) -> Any:
        del request
        return given

    connected.answer = answer
    failed = server.request("GET", f"{MACHINES}/one/exec")
    assert (failed.status, failed.json()["message"]) == (500, message)


def test_an_error_of_the_connecter_is_the_answer(server: InMemoryServer, connected: Connected) -> None:
    async def refusing(request: ConnectRequest) -> StreamingResponse:
        del request
        raise ServiceUnavailable("the machine is cold", retry_after=7)

    connected.answer = refusing
    assert server.request("GET", f"{MACHINES}/one/exec").status == 503


class Shown:
    """REST storage of a virtual kind."""

    async def get(self, request: RESTRequest) -> Machine | None:
        return Machine(spec=Spec(say="virtual")) if request.name == "one" else None


class Hidden:
    """REST storage that shows nothing."""

    async def create(self, request: RESTRequest, obj: Machine) -> Machine:
        del request
        return obj


@pytest.mark.parametrize(("rest", "found", "missing"), [(Shown(), "virtual", 404), (Hidden(), None, 200)])
def test_a_virtual_kind_shows_its_object_if_it_can(
    connected: Connected, rest: Any, found: str | None, missing: int
) -> None:
    sub = {"exec": Subresource(connects=connected)}
    kind = Kind("Machine", storage="v1", status=False, versions={"v1": Version(Machine)}, rest=rest, subresources=sub)
    with serve(machines(connected, kind=kind)) as server:
        assert server.request("GET", f"{MACHINES}/one/exec").status == 200
        shown = connected.requests[0].object
        assert (shown.spec.say if shown is not None else None) == found
        assert server.request("GET", f"{MACHINES}/two/exec").status == missing


def test_discovery_has_the_verbs_and_openapi_the_methods(server: InMemoryServer) -> None:
    resources = {each["name"]: each for each in server.request("GET", f"/apis/{GROUP}/v1").json()["resources"]}
    assert resources["machines/exec"]["kind"] == "Machine"
    assert sorted(resources["machines/exec"]["verbs"]) == ["create", "get"]
    assert sorted(resources["machines/proxy"]["verbs"]) == ["get"]
    path = f"/apis/{GROUP}/v1/namespaces/{{namespace}}/machines/{{name}}/exec"
    documented = server.request("GET", f"/openapi/v3/apis/{GROUP}/v1").json()["paths"]
    below = documented[f"{path}/{{path}}"]
    # As api/openapi-spec/v3/api__v1_openapi.json of Kubernetes has it for pods/proxy.
    assert {name for name in below if name != "parameters"} == {"get", "post"}
    assert below["get"] == {
        "description": "connect GET requests to exec of Machine",
        "operationId": "connectMachinesExampleComV1GetNamespacedMachineExecWithPath",
        "responses": {
            "200": {"content": {"*/*": {"schema": {"type": "string"}}}, "description": "OK"},
            "401": {"description": "Unauthorized"},
        },
        "tags": ["machinesExampleCom_v1"],
        "x-kubernetes-action": "connect",
        "x-kubernetes-group-version-kind": {"group": GROUP, "kind": "Machine", "version": "v1"},
    }
    assert [(each["name"], each["in"]) for each in below["parameters"]] == [
        ("name", "path"),
        ("namespace", "path"),
        ("path", "path"),
    ]
    swagger = server.request("GET", "/openapi/v2").json()["paths"][path]["post"]
    assert (swagger["consumes"], swagger["produces"]) == (["*/*"], ["*/*"])
    assert swagger["responses"]["200"]["schema"] == {"type": "string"}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        # getRequestOptions in k8s.io/apiserver/pkg/endpoints/handlers/rest.go
        ("/exec", ""),
        ("/exec/", "/"),
        ("/exec/a", "/a"),
        ("/exec/a/", "/a/"),
        ("/exec/a/b/c", "/a/b/c"),
        ("/exec//a", "/a"),
    ],
)
def test_the_path_below_is_that_of_kube_apiserver(path: str, found: str) -> None:
    whole = f"{MACHINES}/one{path}"
    assert subpath(request_info("GET", whole, {})) == found


def asking(**headers: list[str]) -> Request:
    return call(headers={**ASKS, **{name.replace("_", "-"): values for name, values in headers.items()}})


def test_what_asks_for_an_upgrade() -> None:
    """IsUpgradeRequest and IsWebSocketRequest."""
    assert is_websocket(asking())
    assert is_websocket(asking(connection=["keep-alive, Upgrade"], upgrade=["WebSocket"]))
    assert not is_upgrade(asking(connection=["keep-alive"]))
    other = asking(upgrade=["SPDY/3.1"])
    assert (is_upgrade(other), is_websocket(other)) == (True, False)
    inside = Request(**{name: getattr(asking(), name) for name in ("method", "target", "info", "query", "headers", "body", "audit_id", "received", "deadline")}, peer=Peer(loopback="x"))  # fmt: skip
    assert not is_upgrade(inside)


def refused(request: Request, choose: Callable[[list[str]], str | None] = lambda _: "") -> Response:
    with pytest.raises(HandshakeRefused) as caught:
        handshake(request, choose)
    return caught.value.response


def test_a_handshake_says_why_it_is_refused() -> None:
    assert refused(asking(sec_websocket_key=[])).status == 400
    old = refused(asking(sec_websocket_version=["8"]))
    assert old.status == 400
    assert ("Sec-WebSocket-Version", "13") in old.headers
    assert refused(asking(), lambda _: None).status == 403
    assert all(each.close for each in (old, refused(asking(), lambda _: None)))


def test_the_subprotocols_of_all_headers_are_offered() -> None:
    offered: list[list[str]] = []

    def choose(names: list[str]) -> str:
        offered.append(names)
        return "b"

    headers = handshake(asking(sec_websocket_protocol=["a, b", "c,,"]), choose)
    assert offered == [["a", "b", "c"]]
    assert headers[-1] == ("Sec-WebSocket-Protocol", "b")


@pytest.mark.parametrize("origin", ["https://a.example", "http://localhost:1", "x-y.z+1:opaque", "/relative"])
def test_origins_are_uris(origin: str) -> None:
    check_origin(asking(origin=[origin]))


@pytest.mark.parametrize("origin", ["", "null", "a.example", ":no-scheme", "1http://x", "http://a\x7f", "ht_tp://x"])
def test_what_is_no_uri_is_no_origin(origin: str) -> None:
    with pytest.raises(HandshakeRefused) as caught:
        check_origin(asking(origin=[origin]))
    assert caught.value.response.status == 403


def test_requests_to_connecters_are_long_running(server: InMemoryServer) -> None:
    catalogue = server.server._served.catalogue
    for path, lasting in (
        ("one/exec", True),
        ("one/exec/a", True),
        ("one/proxy", True),
        ("one", False),
        ("one/status", False),
    ):
        info: RequestInfo = request_info("POST", f"{MACHINES}/{path}", {})
        assert catalogue.connects(info) is lasting, path


def test_a_review_of_a_connection_can_be_written_down(server: InMemoryServer, connected: Connected) -> None:
    """Its options are JSON, as those of other reviews are."""
    server.request("GET", f"{MACHINES}/one/exec", [("a", "1")])
    assert json.dumps(connected.validated[0].options) == '{"a": ["1"]}'


def test_connections_are_not_counted_among_the_requests_in_flight(connected: Connected) -> None:
    gate: Deferred[None] = Deferred()

    async def waiting(request: ConnectRequest) -> StreamingResponse:
        await gate
        return StreamingResponse(request.name)

    connected.answer = waiting
    with serve(machines(connected), reads=1, writes=1) as server:
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Machine", "metadata": {"name": "one"}}
        assert server.request("POST", MACHINES, body=body).status == 201

        async def send(method: str) -> int:
            reply = await server.server.transport(JANE).send(ClientRequest(method, f"{MACHINES}/one/exec"))
            return reply.status

        open_ones = [Deferred.fromCoroutine(send(method)) for method in ("GET", "GET", "POST", "POST")]
        assert len(connected.requests) == 4
        assert server.request("GET", f"{MACHINES}/one", user=JANE).status == 200
        assert server.request("DELETE", f"{MACHINES}/one", user=JANE).status == 200
        gate.callback(None)
        assert [server.run(_awaited(each)) for each in open_ones] == [200] * 4


async def _awaited(reply: Deferred[int]) -> int:
    return await reply
