"""A cache of pizzas whose conversion waits, until the test answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred

from extapi.codec.strictjson import decode
from extapi.errors import ApiError
from extapi.watch.cache import CacheSettings
from extapi.watch.cachedobject import CachedObject
from extapi.watch.conversioncalls import ConversionLimits
from tests.unit.watch.store import Kitchen, Pizzas, now


class Conversion:
    """A call of a converter, which the test answers."""

    def __init__(self, values: Sequence[bytes], version: str, project: Callable[[bytes], Any]) -> None:
        self.names = [decode(value).value["metadata"]["name"] for value in values]
        self.version = version
        self.cancelled = False
        self._values = values
        self._project = project
        self.answer: Deferred[Sequence[Any]] = Deferred(self._cancel)

    def _cancel(self, _: Deferred[Sequence[Any]]) -> None:
        self.cancelled = True

    def finish(self) -> None:
        """Answer with what became of each object."""
        made: list[Any] = []
        for value in self._values:
            try:
                made.append(self._project(value))
            except ApiError as error:
                made.append(error)
        self.answer.callback(made)

    def fail(self, error: BaseException) -> None:
        """Convert none of them."""
        self.answer.errback(error)


class WaitingPizzas(Pizzas):
    """The same, by a converter that waits: for each version but the one that is stored."""

    waits = True

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Conversion] = []

    def needs_conversion(self, value: bytes, version: str) -> bool:
        return version != "v1"

    async def project_many(self, values: Sequence[bytes], version: str) -> Sequence[Any]:
        call = Conversion(values, version, partial(self._converted, version))
        self.calls.append(call)
        return await call.answer

    def project(self, value: bytes, version: str) -> tuple[bytes, bytes]:
        assert version == "v1", "what needs a conversion does not come here"
        return super().project(value, version)

    def _converted(self, version: str, value: bytes) -> tuple[bytes, bytes]:
        return super().project(value, version)

    @property
    def open(self) -> list[Conversion]:
        """The calls that have no answer yet."""
        return [call for call in self.calls if not call.answer.called]


class Bakery(Kitchen):
    """Pizzas whose conversion waits."""

    projector: WaitingPizzas

    def __init__(self, **limits: Any) -> None:
        super().__init__(
            projector=WaitingPizzas(), settings=CacheSettings(conversion=ConversionLimits(**limits)) if limits else None
        )

    def cached(self, *names: str) -> list[CachedObject]:
        return [cached for name in names if (cached := self.cache.get("a", name)) is not None]

    def ask(self, *names: str, version: str = "v2") -> Deferred[None]:
        return Deferred.fromCoroutine(self.cache.prepare(self.cached(*names), version))

    def shown(self, name: str, version: str = "v2") -> Any:
        (cached,) = self.cached(name)
        return json.loads(cached.serialized(version).with_revision(cached.revision))["spec"]["size"]

    def answer(self) -> None:
        """Finish all calls, and those that they lead to."""
        while self.projector.open:
            self.projector.open[0].finish()

    def close(self) -> None:
        """Check that nothing is left behind."""
        assert len(self.cache._preparation) == 0, "a conversion that nobody waits for goes on"
        assert self.cache._preparation._open == {}
        assert self.cache.calls._queues == {}
        now(self.cacher.stop())
        assert self.clock.getDelayedCalls() == []
