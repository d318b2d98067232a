"""A store with pizzas, a cache of them, and a sink that remembers: what the tests of this folder start from."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from extapi.api.selectors import parse_field_selector, parse_label_selector
from extapi.codec.strictjson import decode, encode, encode_parts
from extapi.errors import ApiError, InternalError
from extapi.http.response import Chunk
from extapi.storage.keys import KeyLayout
from extapi.storage.memory import MemoryBackend
from extapi.watch.cache import CacheSettings, ResourceCache
from extapi.watch.cacher import Cacher
from extapi.watch.encoding import EventEncoder, ObjectEncoder
from extapi.watch.selection import Selection
from tests.lagging import LaggingBackend, VirtualTime

T = TypeVar("T")
PREFIX = b"/registry/food.example/pizzas/"
LAYOUT = KeyLayout("food.example", "pizzas", namespaced=True)
V1 = ObjectEncoder("v1", "food.example/v1", "Pizza")


def now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that must not wait for anything."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise AssertionError("it waits")


def pizza(name: str, namespace: str = "a", *, labels: dict[str, str] | None = None, size: int = 1) -> bytes:
    """A pizza as it is stored."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if labels is not None:
        metadata["labels"] = labels
    return encode({"apiVersion": "food.example/v1", "kind": "Pizza", "metadata": metadata, "spec": {"size": size}})


class AtOnce:
    """A projector whose conversion does not wait."""

    waits = False

    def needs_conversion(self, value: bytes, version: str) -> bool:
        return False

    async def project_many(self, values: Sequence[bytes], version: str) -> Sequence[tuple[bytes, bytes] | ApiError]:
        raise AssertionError("nothing waits")


class Pizzas(AtOnce):
    """The projector: v1 is what is stored, in v2 the size is a text. Pizzas of size 13 cannot be shown in v2."""

    def __init__(self) -> None:
        self.projected: list[str] = []
        self.read: list[str] = []

    def project(self, value: bytes, version: str) -> tuple[bytes, bytes]:
        self.projected.append(version)
        if version == "v1":
            return encode_parts(decode(value).value)
        obj = decode(value).value
        if obj["spec"]["size"] == 13:
            raise InternalError("no such size in v2")
        obj["apiVersion"] = f"food.example/{version}"
        obj["spec"]["size"] = str(obj["spec"]["size"])
        return encode_parts(obj)

    def cells(self, value: bytes, version: str) -> tuple[Any, ...]:
        obj = decode(value).value
        return (obj["metadata"]["name"], obj["spec"]["size"])

    def fields(self, value: bytes, version: str) -> dict[str, str]:
        self.read.append(version)
        return {"spec.size": str(decode(value).value["spec"]["size"])}


class RecordingSink:
    """A sink whose socket takes everything, or nothing while ``stuck``."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.stuck = False
        self.pending = 0
        self.closed = False
        self.aborted = False
        self._callbacks: list[Callable[[], None]] = []
        self._waiting: list[Deferred[None]] = []

    def write(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        if self.stuck:
            self.pending += len(chunk.data)

    def on_closed(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    async def drained(self) -> None:
        if self.pending and not self.closed:
            waiting: Deferred[None] = Deferred(self._waiting.remove)
            self._waiting.append(waiting)
            await waiting

    def abort(self) -> None:
        self.aborted = True
        self.close()

    def close(self) -> None:
        """The peer goes."""
        self.closed = True
        for callback in self._callbacks:
            callback()
        self._wake()

    def drain(self) -> None:
        """The socket takes all that is pending."""
        self.pending = 0
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            deferred.callback(None)

    @property
    def data(self) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks)

    def take(self) -> list[Any]:
        """The events since the last time."""
        events = [json.loads(line) for line in self.data.splitlines()]
        self.chunks.clear()
        return events

    def told(self) -> list[tuple[str, str, str]]:
        """Type, name and resourceVersion of the events since the last time."""
        return [
            (event["type"], event["object"]["metadata"].get("name", ""), event["object"]["metadata"]["resourceVersion"])
            for event in self.take()
        ]


def over(waiting: Deferred[Any]) -> bool:
    """Whether it has come to an end. As a call, since a type checker takes an attribute for unchanged."""
    return bool(waiting.called)


def caught(waiting: Deferred[Any]) -> list[BaseException]:
    """Where the error will be, once there is one."""
    errors: list[BaseException] = []

    def keep(failure: Failure) -> None:
        assert failure.value is not None
        errors.append(failure.value)

    waiting.addErrback(keep)
    return errors


class Kitchen:
    """Everything together."""

    def __init__(
        self, *, settings: CacheSettings | None = None, start: bool = True, projector: Pizzas | None = None
    ) -> None:
        self.clock = self.new_clock()
        self.clock.advance(1000)
        self.backend = MemoryBackend(self.clock)
        self.projector = projector or Pizzas()
        self.settings = settings
        self.first = now(self.backend.revision())
        self.open(start=start)

    def new_clock(self) -> Clock:
        """The clock, at 0."""
        return Clock()

    def open(self, *, start: bool = True) -> None:
        """A new cacher on the same store, as after a restart."""
        self.cacher = Cacher(self.backend, self.clock, settings=self.settings)
        self.cache: ResourceCache = self.cacher.add(LAYOUT, self.projector)
        if start:
            now(self.cacher.start())

    def put(self, name: str, namespace: str = "a", **spec: Any) -> int:
        """Create or change a pizza; the revision."""
        key = PREFIX + f"{namespace}/{name}".encode()
        live = now(self.backend.get(key))
        return now(self.backend.commit(key, pizza(name, namespace, **spec), expected=live.revision if live else 0))

    def remove(self, name: str, namespace: str = "a") -> int:
        """Delete a pizza; the revision."""
        key = PREFIX + f"{namespace}/{name}".encode()
        live = now(self.backend.get(key))
        assert live is not None
        return now(self.backend.commit(key, None, expected=live.revision))

    def watch(
        self,
        selection: Selection | None = None,
        *,
        sink: RecordingSink | None = None,
        key: object = "v1",
        encoder: EventEncoder = V1,
        **options: Any,
    ) -> tuple[RecordingSink, Deferred[None]]:
        """A running watch."""
        sink = sink or RecordingSink()
        stream = self.cache.watch(selection or Selection(), key, encoder, **options)

        async def run() -> None:
            await stream(sink)

        return sink, Deferred.fromCoroutine(run())

    def tick(self, seconds: float = 0) -> None:
        self.clock.advance(seconds)


class LaggingKitchen(Kitchen):
    """Pizzas that another process makes: the cache has each of them a little later."""

    clock: VirtualTime

    def new_clock(self) -> Clock:
        return VirtualTime()

    def open(self, *, start: bool = True) -> None:
        self.near = LaggingBackend(self.backend, self.clock, 5, longest=1e-5)
        self.cacher = Cacher(self.near, self.clock, settings=self.settings)
        self.cache = self.cacher.add(LAYOUT, self.projector)
        if start:
            self.clock.run(self.cacher.start())

    def put(self, name: str, namespace: str = "a", **spec: Any) -> int:
        """As always; what was put arrives alone, with others or in pieces, but before the test goes on."""
        return self.settled(super().put(name, namespace, **spec))

    def remove(self, name: str, namespace: str = "a") -> int:
        return self.settled(super().remove(name, namespace))

    def settled(self, revision: int) -> int:
        """Let all that was put arrive, which takes next to no time."""
        while not self.near.idle:
            self.clock.advance(1e-6)
        return revision


def select(namespace: str = "", labels: str = "", fields: str = "") -> Selection:
    """A selection, spelled as a request does."""
    return Selection(namespace, parse_label_selector(labels), parse_field_selector(fields))
