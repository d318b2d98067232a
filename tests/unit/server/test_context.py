"""What authors' code gets: a client for what is served, the cluster if there is one, and other users' rights."""

from __future__ import annotations

from random import Random

import pytest

from extapi import Context, Forbidden, NotFound, Review
from extapi.api.user import User
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from extapi.testing import InMemoryServer, serve
from tests.unit.verbs.sample import GROUP, WIDGETS, shop, widget

WIDGET = (GROUP, "v1", "widgets")


class Asking:
    """An admission plugin that asks the API itself, and as somebody else."""

    def __init__(self) -> None:
        self.context: Context | None = None
        self.seen: list[str] = []

    async def start(self, context: Context) -> None:
        self.context = context

    async def mutate(self, review: Review) -> None:
        self.seen.append(review.user.name)
        if review.object.metadata.name == "first":
            assert self.context is not None
            bob = self.context.acting_as(User("bob"))
            await bob.create(*WIDGET, widget("second"), namespace="default")
            try:
                await self.context.get(*WIDGET, "missing", namespace="default")
            except NotFound:
                self.seen.append("not found")


def test_a_plugin_is_started_with_the_same_context() -> None:
    asking = Asking()
    with serve(shop(asking)) as server:
        assert server.request("POST", WIDGETS, body=widget("first"), user=User("alice")).status == 201
        assert server.request("GET", f"{WIDGETS}/second").status == 200
    assert asking.seen == ["alice", "bob", "not found"]


def alone(server: InMemoryServer) -> Context:
    """The context of a server that has no cluster."""
    return Context(server.server.transport(), server.clock, Random(0))  # noqa: S311 - for delays


def test_without_a_cluster_that_is_said() -> None:
    with serve(shop()) as server:
        with pytest.raises(RuntimeError, match="this server has no cluster"):
            alone(server).cluster  # noqa: B018 - asking is enough
        with pytest.raises(RuntimeError, match="this server has no cluster"):
            alone(server).recorder("example.com/a")


def test_who_is_acted_as_has_just_their_rights() -> None:
    class Nobody:
        async def authorize(self, user: User, attributes: Attributes) -> Decision:
            return Decision(Verdict.ALLOW if user.name != "bob" else Verdict.DENY)

    with serve(shop(), authorizer=Nobody()) as server:
        with pytest.raises(Forbidden):
            server.run(server.server.context.acting_as(User("bob")).list(*WIDGET))
        assert server.run(server.server.context.list(*WIDGET)) == []
