"""What is put around an API: what answers in front of it, and what it is started with."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from extapi import Api, Group, Kind, Object, Version
from extapi.api.user import User
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from extapi.client.transport import ClientRequest
from extapi.http.request import Request
from extapi.http.response import Chunk, Handler, Response, Sink
from extapi.server.context import Context
from extapi.testing import serve
from tests.unit.server.cluster import REVIEWS, cluster
from tests.unit.verbs.sample import WIDGETS, Plugin, failure, shop, widget

BOB = User("bob")
ELSEWHERE = "/apis/elsewhere.example.com/v1/things"


class Elsewhere:
    """Answers for a group that the API does not have, as an aggregator does; the rest goes on."""

    def __init__(self) -> None:
        self.users: list[str] = []
        self.going: Deferred[None] = Deferred()

    def front(self, successor: Handler) -> Handler:
        """A stage before ``successor``."""

        async def answer(call: Request) -> Response:
            if call.info.group != "elsewhere.example.com":
                return await successor(call)
            self.users.append(call.user.name if call.user else "")
            return Response(200, [("Content-Type", "application/json")], self.stream)

        return answer

    async def stream(self, sink: Sink) -> None:
        """A first piece, and no end until it is let go."""
        sink.write(Chunk(b'{"type":"BOOKMARK","object":{}}\n'))
        await self.going


class OnlyReads:
    """Everybody may read, nobody may write."""

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        del user
        return Decision(Verdict.ALLOW if attributes.verb in {"get", "list", "watch"} else Verdict.DENY, "read only")


def test_what_is_in_front_answers_what_was_authorized() -> None:
    elsewhere = Elsewhere()
    with serve(shop(), front=elsewhere.front, authorizer=OnlyReads()) as server:
        assert server.request("POST", ELSEWHERE, body={}, user=BOB).status == 403
        assert elsewhere.users == []
        stream = server.watch(ELSEWHERE, user=BOB)
        assert stream.events == [("BOOKMARK", {})]
        assert elsewhere.users == ["bob"]
        assert server.request("GET", WIDGETS, user=BOB).status == 200
        assert server.request("GET", "/apis/other.example.com/v1/things", user=BOB).status == 404
        elsewhere.going.callback(None)
        server.advance()
        assert (stream.ended, stream.error) == (True, None)


@pytest.mark.parametrize(("method", "query"), [("GET", {"watch": "1"}), ("GET", {}), ("POST", {})])
def test_a_stream_from_elsewhere_takes_no_room(method: str, query: dict[str, str]) -> None:
    """Behaviour H7: watches never do; of the others nothing is in work any more once the answer has begun."""
    elsewhere = Elsewhere()
    with serve(shop(), front=elsewhere.front, reads=1, writes=1) as server:
        transport = server.server.transport(BOB)
        reply = server.run(transport.send(ClientRequest(method, ELSEWHERE, tuple(query.items()))))
        assert reply.status == 200
        assert server.request("GET", WIDGETS, user=BOB).status == 200
        assert server.request("POST", WIDGETS, body=widget(), user=BOB).status == 201


class Following:
    """Wants to be started, and nothing else."""

    def __init__(self) -> None:
        self.context: Context | None = None

    async def start(self, context: Context) -> None:
        """Remember what it is given."""
        self.context = context


def test_what_only_wants_to_be_started_is() -> None:
    following, own = Following(), Following()
    with serve(shop(own), builtin=[following]) as server:
        assert following.context is own.context is not None
        found = server.run(own.context.client.call("GET", WIDGETS))
        assert found["items"] == []


def test_what_is_built_in_comes_before_the_plugins_of_the_author() -> None:
    order: list[str] = []

    class First(Plugin):
        pass

    builtin, own = First(), Plugin()

    async def note(name: str) -> None:
        order.append(name)

    builtin.on_mutate = lambda _: note("builtin")
    own.on_mutate = lambda _: note("own")
    with serve(shop(own), builtin=[builtin]) as server:
        assert server.request("POST", WIDGETS, body=widget()).status == 201
    assert order == ["builtin", "own"]


def test_nothing_is_stored_of_what_answers_itself() -> None:
    with serve(cluster(), lifecycle=False) as server:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x"}}
        assert server.request("POST", REVIEWS, body=body).status == 201
        page = server.run(server.backend.page(b"/", at=None, after=b"", limit=10))
        keys = [entry.key for entry in page.entries]
    assert keys == [b"/extapi/storedversions/core/namespaces", b"/extapi/storedversions/core/serviceaccounts"]


class Echo:
    """Gives back what it is sent."""

    async def create(self, asked: object, obj: object) -> object:
        """The very object."""
        del asked
        return obj


class Order(Object):
    """Something to order."""


def test_a_kind_of_an_author_may_answer_itself_too() -> None:
    """It is refused as custom resources are, and its discovery entry has no storage version."""
    kind = Kind("Order", versions={"v1": Version(Order)}, storage="v1", rest=Echo())
    with serve(Api(Group("g.example.com", kind))) as server:
        path = "/apis/g.example.com/v1/namespaces/default/orders"
        body = {"apiVersion": "g.example.com/v1", "kind": "Order", "metadata": {"name": "a"}}
        assert server.request("POST", path, body=body).json()["metadata"]["name"] == "a"
        refused = server.request("GET", path)
        assert refused.status == 405
        assert failure(refused)["message"] == 'list is not supported on resources of kind "orders.g.example.com"'
        (entry,) = server.request("GET", "/apis/g.example.com/v1").json()["resources"]
        assert (entry["namespaced"], entry["verbs"]) == (True, ["create"])
        assert "storageVersionHash" not in entry
