"""A small API that most tests here are about: widgets in two versions with a hub between them, and shelves without."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Annotated, Any, Literal

import pytest

from extapi import (
    CLUSTER,
    Api,
    Column,
    FieldError,
    Group,
    Kind,
    ListMap,
    Maximum,
    Minimum,
    Object,
    Operation,
    Review,
    Strategy,
    Struct,
    Version,
)
from extapi.testing import InMemoryServer, ServerResponse, serve
from tests.laggingserver import LaggingServer

GROUP = "shop.example.com"
V1 = f"/apis/{GROUP}/v1"
WIDGETS = f"{V1}/namespaces/default/widgets"
ALPHAS = f"/apis/{GROUP}/v1alpha1/namespaces/default/widgets"
SHELVES = f"{V1}/shelves"

AGE = Column("Age", ".metadata.creationTimestamp", "date")
CURSED = 66
"""A widget of this size cannot be converted to v1alpha1."""


class Part(Struct):
    name: str
    count: int = 1


class WidgetSpec(Struct):
    size: Annotated[int, Minimum(0), Maximum(100)] = 1
    color: Literal["red", "green", "pink", "boom"] = "red"
    parts: Annotated[list[Part], ListMap("name")] = []  # noqa: RUF012 -- a field: msgspec copies the default


class WidgetStatus(Struct):
    ready: bool = False


class Widget(Object):
    spec: WidgetSpec = WidgetSpec()
    status: WidgetStatus = WidgetStatus()


class AlphaSpec(Struct):
    inches: str = "1in"


class AlphaWidget(Object):
    spec: AlphaSpec = AlphaSpec()
    status: WidgetStatus = WidgetStatus()


def to_alpha(widget: Widget) -> AlphaWidget:
    if widget.spec.size == CURSED:
        raise RuntimeError("the author's mistake")
    return AlphaWidget(spec=AlphaSpec(inches=f"{widget.spec.size}in"), status=widget.status)


def from_alpha(alpha: AlphaWidget) -> Widget:
    return Widget(spec=WidgetSpec(size=int(alpha.spec.inches.removesuffix("in"))), status=alpha.status)


class WidgetStrategy(Strategy):
    def prepare(self, obj: Widget, old: Widget | None) -> None:
        if obj.spec.color == "green" and old is None:
            obj.metadata.labels = {**(obj.metadata.labels or {}), "prepared": "yes"}

    def validate(self, obj: Widget, old: Widget | None) -> Iterable[FieldError]:
        if obj.spec.color == "boom":
            raise RuntimeError("the author's mistake")
        if old is not None and obj.spec.size < old.spec.size:
            yield FieldError.forbidden("spec.size", "widgets do not shrink")

    def warn(self, obj: Widget, old: Widget | None) -> Iterable[str]:
        if obj.spec.color == "pink":
            yield "pink is out of fashion"


class ShelfSpec(Struct):
    depth: int


class Shelf(Object):
    spec: ShelfSpec


Hook = Callable[[Review], Awaitable[None]]


class Plugin:
    """An admission plugin that does what a test tells it to, and remembers what it was shown."""

    def __init__(self) -> None:
        self.on_mutate: Hook | None = None
        self.on_validate: Hook | None = None
        self.seen: list[tuple[str, Operation]] = []
        self.reviews: list[Review] = []

    async def mutate(self, review: Review) -> None:
        self.seen.append(("mutate", review.operation))
        self.reviews.append(review)
        if self.on_mutate is not None:
            await self.on_mutate(review)

    async def validate(self, review: Review) -> None:
        self.seen.append(("validate", review.operation))
        if self.on_validate is not None:
            await self.on_validate(review)


def shop(*plugins: Any, controllers: Iterable[Any] = ()) -> Api:
    """The whole API."""
    return Api(
        Group(
            GROUP,
            Kind(
                "Widget",
                storage="v1",
                hub=Widget,
                short_names=["wg"],
                categories=["all"],
                versions={
                    "v1": Version(Widget),
                    "v1alpha1": Version(
                        AlphaWidget, to_hub=from_alpha, from_hub=to_alpha, columns=[Column("Size", ".spec.inches"), AGE]
                    ),
                },
                columns=[Column("Size", ".spec.size", "integer"), AGE],
                strategy=WidgetStrategy(),
            ),
            Kind(
                "Shelf",
                plural="shelves",
                scope=CLUSTER,
                storage="v1",
                status=False,
                versions={"v1": Version(Shelf), "v1beta1": Version(Shelf, deprecated=True)},
            ),
        ),
        admission=plugins,
        controllers=list(controllers),
    )


def widget(name: str = "w", *, version: str = "v1", spec: Any = None, **metadata: Any) -> dict[str, Any]:
    """A widget as a client sends it."""
    obj: dict[str, Any] = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Widget",
        "metadata": {**({"name": name} if name else {}), **metadata},
    }
    if spec is not None:
        obj["spec"] = spec
    return obj


def shelf(name: str = "s", *, version: str = "v1", **metadata: Any) -> dict[str, Any]:
    """A shelf as a client sends it."""
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Shelf",
        "metadata": {"name": name, **metadata},
        "spec": {"depth": 1},
    }


class Shop:
    """The API served, with short ways to do what most tests do first."""

    def __init__(self, server: InMemoryServer, plugin: Plugin) -> None:
        self.server = server
        self.plugin = plugin
        self.request = server.request
        self.watch = server.watch
        self.advance = server.advance

    def create(self, name: str = "w", *, spec: Any = None, **metadata: Any) -> dict[str, Any]:
        """A new widget, as the answer shows it."""
        answer = self.request("POST", WIDGETS, body=widget(name, spec=spec, **metadata))
        assert answer.status == 201, answer
        created: dict[str, Any] = answer.json()
        return created

    def get(self, name: str = "w") -> dict[str, Any]:
        """The widget, read live."""
        answer = self.request("GET", f"{WIDGETS}/{name}")
        assert answer.status == 200, answer
        found: dict[str, Any] = answer.json()
        return found

    def put(self, obj: dict[str, Any], **query: str) -> ServerResponse:
        """An update by PUT."""
        return self.request("PUT", f"{WIDGETS}/{obj['metadata']['name']}", query, body=obj)

    def merge(self, patch: Any, name: str = "w", *, subresource: str = "", **query: str) -> ServerResponse:
        """A merge patch; bytes are sent as they are."""
        path = f"{WIDGETS}/{name}{subresource}"
        return self.request("PATCH", path, query, {"Content-Type": "application/merge-patch+json"}, patch)

    def json_patch(self, patch: Any, name: str = "w", **query: str) -> ServerResponse:
        """A JSON patch."""
        return self.request("PATCH", f"{WIDGETS}/{name}", query, {"Content-Type": "application/json-patch+json"}, patch)


def failure(answer: ServerResponse) -> dict[str, Any]:
    """The Status of a refusal, whose form is the same for all (behaviour E): the varying members only."""
    status: dict[str, Any] = answer.json()
    assert status.pop("kind") == "Status"
    assert status.pop("apiVersion") == "v1"
    assert status.pop("status") == "Failure"
    assert status.pop("code") == answer.status
    assert status.pop("metadata") == {}
    return status


@pytest.fixture
def shop_served() -> Iterator[Shop]:
    plugin = Plugin()
    with serve(shop(plugin)) as server:
        yield Shop(server, plugin)


@pytest.fixture(params=["memory", "lagging"])
def shop_anywhere(request: pytest.FixtureRequest) -> Iterator[Shop]:
    """As ``shop_served``; and once more on a server that sees late what another one writes, which answers all writes."""
    plugin = Plugin()
    api = shop(plugin)
    server = InMemoryServer(api) if request.param == "memory" else LaggingServer(api)
    server.start()
    yield Shop(server, plugin)
    server.stop()
