"""Declarations as authors write them, right and wrong, for type checkers: ``scripts/check`` runs mypy over this file.

Each wrong one has the error that mypy must find; where it finds none, the comment is unused, and that is an error.
pyright knows the same comments (``--level error``, ``reportUnnecessaryTypeIgnoreComment``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from extapi import (
    Api,
    Condition,
    Conditions,
    Context,
    Controller,
    Creater,
    Deleted,
    Deleter,
    Feed,
    Getter,
    Group,
    IntOrPercent,
    Kind,
    Lister,
    Mutator,
    Object,
    ObjectEvent,
    PolicyRule,
    QuantityStr,
    RESTRequest,
    Review,
    Startable,
    Struct,
    Subresource,
    Updater,
    Validator,
    Version,
    Watcher,
    set_condition,
)
from extapi.testing import serve


class QuoteSpec(Struct):
    size: QuantityStr = "1"
    surge: IntOrPercent | None = None


class QuoteStatus(Struct):
    conditions: Conditions = []  # noqa: RUF012 -- a field: msgspec copies the default


class Quote(Object):
    spec: QuoteSpec = QuoteSpec()
    status: QuoteStatus = QuoteStatus()


class Quotes:
    async def get(self, asked: RESTRequest) -> Quote | None:
        return None

    async def list(self, asked: RESTRequest) -> list[Quote]:
        return []

    async def create(self, asked: RESTRequest, quote: Quote) -> Quote:
        return quote

    async def update(self, asked: RESTRequest, quote: Quote) -> Quote:
        return quote

    async def delete(self, asked: RESTRequest) -> None:
        return None


class Misspelt:
    async def craete(self, asked: RESTRequest, quote: Quote) -> Quote:
        return quote


class NotAsync:
    def create(self, asked: RESTRequest, quote: Quote) -> Quote:
        return quote


class WithoutAsked:
    async def create(self, quote: Quote) -> Quote:
        return quote


class Checks:
    async def validate(self, review: Review) -> None:
        review.refuse("no")


class Changes:
    async def mutate(self, review: Review) -> None:
        review.warn("changed")


class Starts:
    async def start(self, context: Context) -> None:
        await context.list("", "v1", "pods")


class ChecksAtOnce:
    def validate(self, review: Review) -> None:
        review.refuse("no")


class Works:
    async def run(self, context: Context) -> None:
        async for event, obj in context.cluster.watch("", "v1", "pods"):
            print(event, obj["metadata"])  # noqa: T201 - it never runs


class WorksOnNothing:
    async def run(self) -> None:
        return None


class Followed(Quotes):
    async def changes(self, context: Context) -> AsyncIterator[Quote | Deleted]:
        yield Deleted("gone")


class Watched(Quotes):
    async def watch(self, request: RESTRequest) -> AsyncIterator[ObjectEvent]:
        yield ObjectEvent("ADDED", Quote())


class WorksAtOnce:
    def run(self, context: Context) -> None:
        return None


def kind(**members: Any) -> Kind:
    return Kind("Quote", storage="v1", versions={"v1": Version(Quote)}, **members)


GROUP = Group("a.example.com", kind())


def right() -> list[Any]:
    """Nothing to complain about."""
    getter: Getter = Quotes()
    lister: Lister = Quotes()
    feed: Feed = Followed()
    watcher: Watcher = Watched()
    creater: Creater = Quotes()
    updater: Updater = Quotes()
    deleter: Deleter = Quotes()
    validator: Validator = Checks()
    mutator: Mutator = Changes()
    startable: Startable = Starts()
    controller: Controller = Works()
    versions = {"v1": Version(Quote)}
    return [
        Kind("Quote", storage="v1", versions=versions, rest=Quotes()),
        Kind("Quote", storage="v1", versions=versions, rest=creater),
        Kind("Quote", storage="v1", versions=versions, rest=feed),
        Kind("Quote", storage="v1", versions=versions, rest=watcher),
        Kind("Quote", storage="v1", versions=versions, subresources={"a": Subresource(rest=getter)}),
        Api(GROUP, admission=[Checks(), Changes(), Starts()], controllers=[Works()]),
        Api(GROUP, admission=[validator, mutator, startable], controllers=[controller]),
        [lister, updater, deleter],
    ]


def wrong() -> None:
    """Each line is a mistake that a type checker finds. Never called."""
    versions = {"v1": Version(Quote)}
    Kind("Quote", storage="v1", versions=versions, rest=Misspelt())  # type: ignore[arg-type]
    Kind("Quote", storage="v1", versions=versions, rest=NotAsync())  # type: ignore[arg-type]
    Kind("Quote", storage="v1", versions=versions, rest=WithoutAsked())  # type: ignore[arg-type]
    Kind("Quote", storage="v1", versions=versions, rest=Quotes)  # type: ignore[arg-type]
    Subresource(rest=Misspelt())  # type: ignore[arg-type]
    Api(GROUP, admission=[ChecksAtOnce()])  # type: ignore[list-item]
    Api(GROUP, admission=[Works()])  # type: ignore[list-item]
    Api(GROUP, admission=[Checks])  # type: ignore[list-item]
    Api(GROUP, controllers=[WorksAtOnce()])  # type: ignore[list-item]
    Api(GROUP, controllers=[WorksOnNothing()])  # type: ignore[list-item]
    Api(GROUP, controllers=[Checks()])  # type: ignore[list-item]
    Api(GROUP, needs=[{"verbs": ["get"]}])  # type: ignore[list-item]
    PolicyRule(api_groups=[""], resources=["pods"])  # type: ignore[call-arg]
    Condition(type="A", status="true", last_transition_time="", reason="A", message="")  # type: ignore[arg-type]
    set_condition([], "A", True, reason="A", now=0)  # type: ignore[arg-type]


async def wrong_calls(context: Context) -> None:
    """The same. Never called."""
    await context.get("", "v1", "pods")  # type: ignore[call-arg]
    await context.delete("", "v1", "pods", "a", propagation="Later")  # type: ignore[arg-type]
    await context.patch("", "v1", "pods", "a", {}, patch_type="whole")  # type: ignore[arg-type]
    await context.cluster.create("", "v1", "pods")  # type: ignore[call-arg]
    context.recorder("a").normal({}, "Reason", "Action")  # type: ignore[call-arg]
    await context.queue().each(Works().run, workers="2")  # type: ignore[arg-type]


def test_the_right_ones_are_served() -> None:
    assert right()
    with serve(Api(GROUP)) as server:
        answer = server.request("GET", "/apis/a.example.com/v1/quotes")
        assert answer.json()["items"] == []


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: serve(Api(Group("a.example.com", kind(rest=Misspelt())))).__enter__(),
        lambda: serve(Api(GROUP, admission=[Works()])).__enter__(),  # type: ignore[list-item]
    ],
)
def test_what_no_type_checker_has_seen_is_refused_at_start(mistake: Callable[[], object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        mistake()
