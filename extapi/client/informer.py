"""A copy of a collection, kept up to date: one list, then a watch from its resourceVersion, again whenever it breaks.

Follows client-go's Reflector: bookmarks move the resourceVersion, 410 lists anew, failures back off. Works over any
transport. Must not know what its objects mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.client.base import TransportError
from extapi.client.clock import Clock, sleep
from extapi.client.kube import Client, Obj, ResourceName, items_of
from extapi.client.watching import one_watch
from extapi.errors import ApiError, Expired, Gone

PAGE = 500
"""Objects of one page of the list."""

FIRST_DELAY, LAST_DELAY = 0.8, 30.0
"""Seconds before the first and, doubled each time, before every later try (client-go's Reflector)."""

OnChange = Callable[[str, Obj], None]
"""Called with ADDED, MODIFIED or DELETED and the object; for DELETED the last state that is known."""


class Informer:
    """Holds the objects of ``resource``, by namespace and name, and tells ``on_change`` what happens to them.

    ``jitter``: random numbers in [0, 1), which spread delays and watches of many processes.
    ``on_change`` must not raise; if it does, that is logged and the informer goes on.
    """

    _log = Logger()

    def __init__(
        self,
        client: Client,
        resource: ResourceName,
        *,
        clock: Clock,
        jitter: Callable[[], float],
        namespace: str = "",
        field_selector: str = "",
        label_selector: str = "",
        on_change: OnChange | None = None,
    ) -> None:
        self._client = client
        self._resource = resource
        self._clock = clock
        self._jitter = jitter
        self._namespace = namespace
        self._query: dict[str, str] = {}
        if field_selector:
            self._query["fieldSelector"] = field_selector
        if label_selector:
            self._query["labelSelector"] = label_selector
        self._on_change = on_change
        self._objects: dict[tuple[str, str], Obj] = {}
        self._version = ""
        self._failures = 0
        self._synced = False
        self._stopped = False
        self._waiters: list[Deferred[None]] = []
        self._running: Deferred[None] | None = None

    @property
    def synced(self) -> bool:
        """The first list is complete."""
        return self._synced

    def get(self, namespace: str, name: str) -> Obj | None:
        """The object, or ``None``; ``namespace`` is empty for cluster-scoped ones. Not to be changed."""
        return self._objects.get((namespace, name))

    def items(self) -> Iterator[Obj]:
        """Every object, in no order. Not to be changed."""
        return iter(list(self._objects.values()))

    def start(self) -> None:
        """Begin; failures are tried again until :meth:`stop`."""
        if self._running is None and not self._stopped:
            self._running = Deferred.fromCoroutine(self._run())

    async def wait_synced(self) -> None:
        """Wait until the first list is complete. Raises CancelledError if the informer is stopped before."""
        if self._stopped:
            raise CancelledError
        if not self._synced:
            waiter: Deferred[None] = Deferred()
            self._waiters.append(waiter)
            await waiter

    def stop(self) -> None:
        """End for good; the objects stay as they are."""
        self._stopped = True
        if self._running is not None:
            self._running.cancel()
        self._release(CancelledError())

    async def _run(self) -> None:
        while not self._stopped:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except CancelledError:
                break
            except (Expired, Gone) as error:
                self._again(error)
                self._version = ""
            except (ApiError, TransportError) as error:
                self._again(error)
            except Exception:  # noqa: BLE001 - a defect must not end what the server's security follows
                self._log.failure("informer of {resource} failed", resource=self._resource.resource)
                self._version = ""
                self._failures += 1
            if self._failures:
                try:
                    await self._pause()
                except CancelledError:
                    break

    def _again(self, error: Exception) -> None:
        self._failures += 1
        self._log.info(
            "informer of {resource} goes on after: {error}", resource=self._resource.resource, error=str(error)
        )

    async def _pause(self) -> None:
        delay = min(FIRST_DELAY * 2 ** min(self._failures - 1, 10), LAST_DELAY)
        await sleep(self._clock, delay * (1 + self._jitter()))

    async def _list(self) -> None:
        """The whole collection, page by page; then what differs from before is told."""
        found: dict[tuple[str, str], Obj] = {}
        token, version = "", ""
        while True:
            query = {**self._query, "limit": str(PAGE)}
            if token:
                query["continue"] = token
            page = await self._client.list(self._resource, namespace=self._namespace, query=query)
            for obj in items_of(page):
                found[_key(obj)] = obj
            metadata = page.get("metadata") or {}
            token, version = metadata.get("continue", ""), metadata.get("resourceVersion", "")
            if not token:
                break
        gone = [key for key in self._objects if key not in found]
        for key in gone:
            self._tell("DELETED", self._objects.pop(key))
        for obj in found.values():
            self._put(obj)
        self._version = version
        self._failures = 0
        self._synced = True
        self._release(None)

    async def _watch(self) -> None:
        """One watch, until it ends."""
        began, events = self._clock.seconds(), 0
        watch = one_watch(
            self._client,
            self._resource,
            namespace=self._namespace,
            query=self._query,
            resource_version=self._version,
            clock=self._clock,
            jitter=self._jitter,
        )
        async for event in watch:
            events += 1
            self._failures = 0
            self._apply(event.type, event.object)
        # A server that ends every watch at once must not be asked in a tight loop.
        self._failures = 0 if events or self._clock.seconds() - began >= 1 else self._failures + 1

    def _apply(self, kind: str, obj: Obj) -> None:
        if kind == "DELETED":
            if self._objects.pop(_key(obj), None) is not None:
                self._tell("DELETED", obj)
        elif kind in {"ADDED", "MODIFIED"}:
            self._put(obj)
        version = (obj.get("metadata") or {}).get("resourceVersion", "")
        self._version = version or self._version

    def _put(self, obj: Obj) -> None:
        key = _key(obj)
        old = self._objects.get(key)
        self._objects[key] = obj
        if old is None:
            self._tell("ADDED", obj)
        elif _version(old) != _version(obj):
            self._tell("MODIFIED", obj)

    def _tell(self, kind: str, obj: Obj) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(kind, obj)
        except Exception:  # noqa: BLE001 - somebody else's callback
            self._log.failure("a listener to {resource} failed", resource=self._resource.resource)

    def _release(self, error: Exception | None) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if waiter.called:
                continue
            if error is None:
                waiter.callback(None)
            else:
                waiter.errback(error)


def _key(obj: Obj) -> tuple[str, str]:
    metadata: Any = obj.get("metadata") or {}
    return metadata.get("namespace", ""), metadata.get("name", "")


def _version(obj: Obj) -> str:
    return str((obj.get("metadata") or {}).get("resourceVersion", ""))
