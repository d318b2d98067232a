"""Mistakes in what an author hands over, which only a user's surprise would find otherwise."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from unittest.mock import AsyncMock

import pytest
from twisted.internet.defer import Deferred, inlineCallbacks, succeed

from extapi import CLUSTER, Api, Column, Group, Kind, Object, Strategy, Subresource, Version
from extapi.api.declaration import DeclarationError

V1 = {"v1": Version(Object)}


def problems(make: Callable[[], Any]) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        make()
    assert str(caught.value) == "\n".join(caught.value.problems)
    return list(caught.value.problems)


def kind(**given: Any) -> Kind:
    return Kind("Probe", **{"versions": V1, "storage": "v1", **given})


class Rules(Strategy):
    """An author's rules."""


class NoStrategy:
    def validate(self, obj: Any, old: Any) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"strategy": Rules}, "strategy is the class Rules; write Rules(...)"),
        ({"strategy": NoStrategy}, "strategy must be an extapi.Strategy, not the class NoStrategy"),
        ({"strategy": None}, "strategy must be an extapi.Strategy, not None"),
        ({"hub": Object()}, "hub must be a subclass of extapi.Object, not an instance of Object"),
        ({"hub": Rules}, "hub must be a subclass of extapi.Object, not the class Rules"),
        ({"scope": "Namespaced"}, "scope must be NAMESPACED or CLUSTER, not 'Namespaced'"),
        ({"short_names": "pz"}, "short_names must be a list, not 'pz'"),
        ({"categories": "all"}, "categories must be a list, not 'all'"),
        ({"selectable": ".spec.color"}, "selectable must be a list, not '.spec.color'"),
        ({"columns": ["Age"]}, "columns[0] must be an extapi.Column, not 'Age'"),
        ({"columns": Column("A", ".a")}, "columns must be a list, not an instance of Column"),
        ({"versions": {"v1": Object}}, "versions['v1'] must be an extapi.Version, not the class Object"),
        ({"versions": [Version(Object)]}, "versions must be a mapping of names to Version, not an instance of list"),
        ({"versions": {1: Version(Object)}}, "versions: the name 1 must be a string, not 1"),
        ({"versions": {"v1": Version(Rules)}}, "version v1: the type must be a subclass of extapi.Object, not the class Rules"),  # type: ignore[arg-type]  # the mistake
        ({"versions": {"v1": Version(Object, columns=["A"])}}, "version v1: columns[0] must be an extapi.Column, not 'A'"),  # type: ignore[list-item]  # the mistake
        (
            {"hub": Object, "versions": {"v1": Version(Object, to_hub=1, from_hub=len)}},  # type: ignore[arg-type]  # the mistake
            "version v1: to_hub must be a function, not 1",
        ),
        ({"subresources": {"seal": "seal"}}, "subresources['seal'] must be an extapi.Subresource, not 'seal'"),
        (
            {"subresources": {"seal": Subresource(field="seal", type=Rules)}},  # type: ignore[arg-type]  # the mistake
            "subresource seal: the type must be a subclass of extapi.Object, not the class Rules",
        ),
        ({"versions": {"v1": Version(Object, selectable=".spec.a")}}, "version v1: selectable must be a list, not '.spec.a'"),
        ({"storage": None}, "storage must be a string, not None"),
    ],
)  # fmt: skip
def test_what_is_of_another_type_is_refused_by_its_name(given: dict[str, Any], problem: str) -> None:
    assert problems(lambda: kind(**given)) == [f"kind Probe: {problem}"]


def test_all_mistakes_of_a_kind_are_told_at_once() -> None:
    assert problems(lambda: kind(strategy=Rules, hub=1, short_names="x")) == [
        "kind Probe: short_names must be a list, not 'x'",
        "kind Probe: strategy is the class Rules; write Rules(...)",
        "kind Probe: hub must be a subclass of extapi.Object, not 1",
    ]


def test_a_group_takes_kinds_and_an_api_groups() -> None:
    assert problems(lambda: Group("example.com", Object)) == [  # type: ignore[arg-type]  # the mistake
        "group example.com: kinds[0] must be an extapi.Kind, not the class Object"
    ]
    assert problems(lambda: Group(kind())) == [  # type: ignore[arg-type]  # the mistake
        "the name of a group must be a string, not an instance of Kind"
    ]
    group = Group("example.com", kind())
    assert problems(lambda: Api([group])) == [  # type: ignore[arg-type]  # the mistake
        "groups[0] must be an extapi.Group, not an instance of list"
    ]
    assert problems(lambda: Api(group, admission=Validates(), controllers=None)) == [  # type: ignore[arg-type]  # the mistake
        "admission must be a list, not an instance of Validates",
        "controllers must be a list, not None",
    ]


# -- plugins and controllers


class Validates:
    async def validate(self, review: Any) -> None:
        """No opinion."""


class Plain:
    def validate(self, review: Any) -> None:
        """Nobody could await this."""

    async def start(self) -> None:
        """It is given a context."""


class Misspelt:
    async def mutates(self, review: Any) -> None:
        """Never called."""


class HalfMisspelt(Validates):
    async def mutates(self, review: Any) -> None:
        """Never called."""


class Runs:
    async def run(self, context: Any) -> None:
        """At once."""


class Yields:
    async def run(self, context: Any) -> Any:
        yield 1


def declared(**given: Any) -> Api:
    return Api(Group("example.com", kind()), **given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"admission": [Validates]}, ["admission[0] (Validates) is the class Validates; write Validates(...)"]),
        ({"controllers": [Runs]}, ["controllers[0] (Runs) is the class Runs; write Runs(...)"]),
        ({"admission": [Validates(), Runs()]}, ["admission[1] (Runs) has none of the methods mutate, validate, start"]),
        ({"controllers": [Validates()]}, ["controllers[0] (Validates) has none of the methods run"]),
        (
            {"admission": [Plain()]},
            [
                "admission[0] (Plain): validate is not a coroutine; write async def validate(self, review)",
                "admission[0] (Plain): start takes the wrong arguments; write async def start(self, context)",
            ],
        ),
        (
            {"admission": [Misspelt()]},
            ["admission[0] (Misspelt) has none of the methods mutate, validate, start (mutates looks like mutate)"],
        ),
        (
            {"admission": [HalfMisspelt()]},
            ["admission[0] (HalfMisspelt): mutates is never called; write mutate, or begin its name with an underscore"],
        ),
        (
            {"controllers": [Yields()]},
            ["controllers[0] (Yields): run contains yield and cannot be awaited; write async def run(self, context) with return"],
        ),
    ],
)  # fmt: skip
def test_mistakes_in_plugins_and_controllers_are_named(given: dict[str, Any], expected: list[str]) -> None:
    assert problems(lambda: declared(**given)) == expected


# -- REST storage


class Answers:
    async def create(self, request: Any, obj: Any) -> Any:
        return obj


class Lst:
    async def lst(self, request: Any) -> Any:
        return []


class CreatesAndDelets(Answers):
    async def delet(self, request: Any) -> None:
        """Never called."""

    async def creates(self, request: Any) -> None:
        """Something of the author's own: create is there."""

    def deleted(self) -> bool:
        """No verb either: it is not asynchronous."""
        return False


class Half:
    async def update(self, request: Any, obj: Any) -> Any:
        return obj


class Data:
    get = {"a": 1}  # noqa: RUF012 - the mistake


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        (object(), " has none of the methods create, get, list, update, delete"),
        (Lst(), " has none of the methods create, get, list, update, delete (lst looks like list)"),
        (Answers, " is the class Answers; write Answers(...)"),
        (CreatesAndDelets(), ": delet is never called; write delete, or begin its name with an underscore"),
        (Half(), " has a method update but no method get; update needs it to read the object"),
        (Data(), ": get is {'a': 1} and not a method; write async def get(self, request)"),
    ],
)
def test_mistakes_in_rest_storage_are_named(rest: Any, problem: str) -> None:
    assert problems(lambda: kind(rest=rest)) == [f"kind Probe: rest{problem}"]
    assert problems(lambda: kind(subresources={"ask": Subresource(rest=rest)})) == [
        f"kind Probe: subresource ask: rest{problem}"
    ]


class Connects:
    async def __call__(self, request: Any) -> None: ...


class ConnectsPlainly:
    def __call__(self, request: Any) -> None: ...


async def connects(request: Any) -> None: ...


def plain(request: Any) -> None: ...


async def many(request: Any, more: Any) -> None: ...


async def generator(request: Any) -> AsyncIterator[str]:
    yield "no"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (Connects, " is the class Connects; write Connects(...)"),
        ("log", " must be a function, not 'log'"),
        (plain, " is not a coroutine; write async def plain(request)"),
        (ConnectsPlainly(), " is not a coroutine; write async def __call__(request)"),
        (many, " takes the wrong arguments; write async def many(request)"),
        (generator, " contains yield and cannot be awaited; write async def generator(request) with return"),
    ],
)
def test_mistakes_in_a_connecter_are_named(given: Any, problem: str) -> None:
    assert problems(lambda: kind(subresources={"log": Subresource(connects=given)})) == [
        f"kind Probe: subresource log: connects{problem}"
    ]


@pytest.mark.parametrize("given", [connects, Connects(), Connects().__call__, functools.partial(many, more=1)])
def test_a_connecter_is_any_coroutine_function_of_one_argument(given: Any) -> None:
    kind(subresources={"log": Subresource(connects=given)})


def test_a_part_needs_a_stored_object() -> None:
    assert problems(lambda: kind(rest=Answers(), subresources={"half": Subresource(field="spec")})) == [
        "kind Probe: subresource half is a part of a stored object, and a kind with rest has none; write rest="
    ]


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*args)

    return call


def undeclared(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return function(*args)

    return call


class Caller:
    async def __call__(self, request: Any) -> Any:
        return None


class Decorated:
    @wrapped
    async def create(self, request: Any, obj: Any) -> Any:
        return obj

    @undeclared
    async def update(self, request: Any, obj: Any) -> Any:
        return obj

    @inlineCallbacks
    def get(self, request: Any) -> Any:
        return (yield succeed(None))

    def list(self, request: Any) -> Awaitable[Any]:
        return self._all()

    async def _all(self) -> Any:
        return []

    def delete(self, request: Any) -> Deferred[None]:
        return succeed(None)


class Handed:
    def __init__(self) -> None:
        async def create(prefix: str, request: Any, obj: Any) -> Any:
            return obj

        self.create = functools.partial(create, "x")
        self.get = Caller()
        self.list = AsyncMock()


@pytest.mark.parametrize("rest", [Decorated(), Handed()])
def test_what_returns_an_awaitable_may_be_made_in_any_way(rest: Any) -> None:
    assert kind(rest=rest, scope=CLUSTER).rest is rest
