"""A table of orders that others write, and the kind that it feeds: what the tests of feeds start from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.logger import ILogObserver, formatEvent, globalLogPublisher

from extapi import (
    RELIST,
    Api,
    Column,
    Conflict,
    Context,
    Deleted,
    Group,
    Kind,
    Object,
    ObjectMeta,
    RESTRequest,
    Struct,
    Version,
)
from extapi.testing import InMemoryServer, serve

GROUP = "shop.example.com"
ALL = f"/apis/{GROUP}/v1/orders"
ORDERS = f"/apis/{GROUP}/v1/namespaces/default/orders"
MERGE = {"Content-Type": "application/merge-patch+json"}


class OrderSpec(Struct):
    size: int = 1
    note: str = ""


class Order(Object):
    spec: OrderSpec = OrderSpec()


class SmallOrder(Object):
    size: int = 1


def order(name: str, size: int = 1, namespace: str = "default", **metadata: Any) -> Order:
    return Order(metadata=ObjectMeta(name=name, namespace=namespace, **metadata), spec=OrderSpec(size=size))


class Orders:
    """REST storage with a feed. ``rows`` are the table; :meth:`push` yields something from ``changes``."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Order] = {}
        self.lists = 0
        self.hangs = False
        """Whether ``list`` never returns."""
        self.broken: BaseException | None = None
        """What ``list`` raises."""
        self.gives: Any = None
        """What ``list`` returns instead of the rows."""
        self.generators = 0
        self.closed = 0
        self._queue: list[Any] = []
        self._waiting: Deferred[None] | None = None

    def add(self, *orders: Order) -> None:
        """Write into the table, as another process would."""
        for each in orders:
            self.rows[each.metadata.namespace or "", each.metadata.name or ""] = each

    def remove(self, name: str, namespace: str = "default") -> None:
        del self.rows[namespace, name]

    def push(self, *changes: Any) -> None:
        """Have ``changes`` yield these, or raise those that are exceptions."""
        self._queue += changes
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    async def list(self, request: RESTRequest) -> Any:
        self.lists += 1
        if self.hangs:
            await Deferred[None]()
        if self.broken is not None:
            raise self.broken
        return list(self.rows.values()) if self.gives is None else self.gives

    async def changes(self, context: Context) -> AsyncIterator[Any]:
        self.generators += 1
        try:
            while True:
                while self._queue:
                    change = self._queue.pop(0)
                    if isinstance(change, BaseException):
                        raise change
                    if change == "end":
                        return
                    yield change
                self._waiting = Deferred()
                await self._waiting
        finally:
            self.closed += 1


class WritableOrders(Orders):
    """With the methods that write."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, RESTRequest]] = []
        self.answers: Any = None
        self.slow: Deferred[None] | None = None

    async def get(self, request: RESTRequest) -> Order | None:
        self.asked.append(("get", request))
        return self.rows.get((request.namespace, request.name))

    async def create(self, request: RESTRequest, obj: Order) -> Any:
        self.asked.append(("create", request))
        if not request.dry_run:
            self.add(obj)
        return self.answers or obj

    async def update(self, request: RESTRequest, obj: Order) -> Order:
        self.asked.append(("update", request))
        if self.slow is not None:
            await self.slow
        if obj.spec.size > 99:
            raise Conflict.on("orders", GROUP, request.name, "somebody else has it")
        if not request.dry_run:
            self.add(obj)
        return obj

    async def delete(self, request: RESTRequest) -> Order | None:
        self.asked.append(("delete", request))
        if not request.dry_run:
            self.rows.pop((request.namespace, request.name), None)
        return None


def to_order(small: SmallOrder) -> Order:
    return Order(spec=OrderSpec(size=small.size))


def from_order(whole: Order) -> SmallOrder:
    return SmallOrder(size=whole.spec.size)


def shop(orders: Orders, **more: Any) -> Api:
    return Api(
        Group(
            GROUP,
            Kind(
                "Order",
                storage="v1",
                hub=Order,
                status=False,
                versions={
                    "v1": Version(Order, selectable=[".spec.note"]),
                    "v1alpha1": Version(SmallOrder, to_hub=to_order, from_hub=from_order),
                },
                columns=[Column("Size", cell=lambda each: each.get("spec", each).get("size"), type="integer")],
                rest=orders,
                **more,
            ),
        )
    )


@contextmanager
def served(orders: Orders) -> Iterator[InMemoryServer]:
    with serve(shop(orders)) as server:
        yield server


@contextmanager
def logged() -> Iterator[list[str]]:
    """The lines that are logged meanwhile."""
    lines: list[str] = []

    observer = cast("ILogObserver", lambda event: lines.append(formatEvent(event)))
    globalLogPublisher.addObserver(observer)
    try:
        yield lines
    finally:
        globalLogPublisher.removeObserver(observer)


def body(name: str, size: int = 1, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Order",
        "metadata": {"name": name, **metadata},
        "spec": {"size": size},
    }


__all__ = ["ALL", "GROUP", "MERGE", "ORDERS", "RELIST", "Deleted", "Order", "Orders", "WritableOrders"]
