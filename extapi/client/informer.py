"""A copy of a collection, kept up to date by a list and then watches from its resourceVersion.

Follows client-go's Reflector: bookmarks advance the resourceVersion, a watch that has lived is followed by the next one at once,
one that fails by a new list after a pause. Works over any transport. Knows nothing of what the objects mean.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.client.backoff import LAST, Backoff
from extapi.client.hearing import Hearing
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.paging import Pages
from extapi.client.transport import ConnectionLost, TransportError, Unreachable
from extapi.client.watching import one_watch
from extapi.clock import Clock, sleep
from extapi.errors import ApiError, NotFound, TooManyRequests

OnChange = Callable[[str, Obj], None]
"""Called with ADDED, MODIFIED or DELETED, and the object; for DELETED in its last known state."""

Transform = Callable[[Obj], Obj]
"""Reduces an object to what is kept of it and reported: at least its name, namespace, uid and resourceVersion."""


class Informer:
    """Keeps the objects of a resource, by namespace and name, and reports their changes.

    Args:
        client: The client.
        resource: What to keep.
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1), which spread the delays and watches of many processes.
        namespace: The namespace; empty for all.
        field_selector: Which objects to keep.
        label_selector: Which objects to keep.
        on_change: Called for each change. It must not raise; if it does, the error is logged and the informer continues.
        transform: Applied to each object that arrives, to save memory (client-go's ``SetTransform``).
        optional: Whether the server may not have the resource: then there are no objects, and it is asked again now and
            then. A resource that was there once does not count as missing: what is known of it is kept.
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
        transform: Transform | None = None,
        optional: bool = False,
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
        self._transform = transform
        self._optional = optional
        """Whether it may be missing still."""
        self._objects: dict[tuple[str, str], Obj] = {}
        self._version = ""
        self._pages = Pages(client, resource, namespace, self._query)
        self._backoff = Backoff(clock, jitter)
        self._hearing = Hearing(resource.resource, clock)
        self._synced = False
        self._stopped = False
        self._waiters: list[Deferred[None]] = []
        self._running: Deferred[None] | None = None

    @property
    def synced(self) -> bool:
        """Whether the first list is complete."""
        return self._synced

    def problem(self) -> str | None:
        """None, or that the objects may have changed: the server has not been heard for too long."""
        return self._hearing.problem() if self._running is not None else None

    def get(self, namespace: str, name: str) -> Obj | None:
        """The object, or None; ``namespace`` is empty for cluster-scoped kinds. Do not modify the object."""
        return self._objects.get((namespace, name))

    def items(self) -> Iterator[Obj]:
        """All objects, in no particular order. Do not modify them."""
        return iter(list(self._objects.values()))

    def start(self) -> None:
        """Start; failures are retried until :meth:`stop`."""
        if self._running is None and not self._stopped:
            self._hearing.heard()  # silence begins now
            self._running = Deferred.fromCoroutine(self._run())

    async def wait_synced(self) -> None:
        """Wait until the first list is complete.

        Raises:
            twisted.internet.defer.CancelledError: The informer was stopped.
        """
        if self._stopped:
            raise CancelledError
        if not self._synced:
            waiter: Deferred[None] = Deferred()
            self._waiters.append(waiter)
            await waiter

    def stop(self) -> None:
        """Stop for good; the objects stay as they are."""
        self._stopped = True
        if self._running is not None:
            self._running.cancel()
        self._release(CancelledError())

    async def _run(self) -> None:
        while not self._is_stopped():
            began = self._clock.seconds()
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except Exception as error:  # noqa: BLE001 - a defect must not stop what the server's security relies on
                if self._is_stopped():
                    return
                wait = self._wait(error, self._clock.seconds() - began)
                with contextlib.suppress(CancelledError):
                    await sleep(self._clock, wait)

    def _is_stopped(self) -> bool:
        return self._stopped

    def _wait(self, error: BaseException, took: float) -> float:
        """What follows from a failure: seconds until the next attempt, and whether that is a list.

        Source: ``k8s.io/client-go/tools/cache`` reflector.go isWatchErrorRetriable; ``k8s.io/client-go/rest`` with_retry.go and
            request.go Watch.
        """
        asked = 0
        if isinstance(error, NotFound) and self._optional:
            self._missing()
            return LAST * (1 + self._jitter())
        if isinstance(error, ApiError | TransportError):
            asked = error.retry_after if isinstance(error, ApiError) else 0
            self._hearing.failed(str(error) or type(error).__name__)
        else:
            self._log.failure("informer of {resource} failed", resource=self._resource.resource)
        if isinstance(error, ConnectionLost) and (soon := self._backoff.retry(watch=bool(self._version))) is not None:
            return soon
        if not isinstance(error, TooManyRequests | Unreachable):
            self._version = ""  # what the watch did not tell, a list does
        return self._backoff.wait(took=took, asked=asked)

    def _missing(self) -> None:
        """The server does not have the resource: there are no objects."""
        self._hearing.heard()
        if not self._synced:
            self._log.info("the server has no {resource}", resource=self._resource.resource)
            self._synced = True
            self._release(None)

    async def _list(self) -> None:
        """Read the whole collection, page by page; then report the differences."""
        objects, version = await self._pages.read(arrived=self._hearing.heard)
        found = {_key(obj): obj for obj in map(self._kept, objects)}
        gone = [key for key in self._objects if key not in found]
        for key in gone:
            self._report("DELETED", self._objects.pop(key))
        for obj in found.values():
            self._put(obj)
        self._version = version
        self._optional = False
        self._synced = True
        self._release(None)

    async def _watch(self) -> None:
        """One watch, until it ends."""
        watch = one_watch(
            self._client,
            self._resource,
            namespace=self._namespace,
            query=self._query,
            resource_version=self._version,
            clock=self._clock,
            jitter=self._jitter,
            accepted=self._hearing.heard,
        )
        async for event in watch:
            self._hearing.heard()
            self._apply(event.type, event.object)

    def _apply(self, kind: str, received: Obj) -> None:
        version = (received.get("metadata") or {}).get("resourceVersion", "")
        if kind != "BOOKMARK":
            obj = self._kept(received)
            if kind == "DELETED":
                if self._objects.pop(_key(obj), None) is not None:
                    self._report("DELETED", obj)
            elif kind in {"ADDED", "MODIFIED"}:
                self._put(obj)
        self._version = version or self._version

    def _kept(self, obj: Obj) -> Obj:
        """What is kept of an object: all of it, if the transform fails for it, since the other objects have to arrive, too."""
        if self._transform is None:
            return obj
        try:
            return self._transform(obj)
        except BaseException:  # noqa: BLE001 - an author's code
            self._log.failure(
                "the transform of the informer of {resource} failed; {key} is kept as a whole",
                resource=self._resource.resource,
                key="/".join(filter(None, _key(obj))),
            )
            return obj

    def _put(self, obj: Obj) -> None:
        key = _key(obj)
        old = self._objects.get(key)
        if old is not None and _uid(old) != _uid(obj):
            # It was deleted and made again between two lists: another object, of the same name.
            self._report("DELETED", self._objects.pop(key))
            old = None
        self._objects[key] = obj
        if old is None:
            self._report("ADDED", obj)
        elif _version(old) != _version(obj):
            self._report("MODIFIED", obj)

    def _report(self, kind: str, obj: Obj) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(kind, obj)
        except BaseException:  # noqa: BLE001 - a foreign callback
            self._log.failure(
                "the on_change callback of the informer of {resource} failed", resource=self._resource.resource
            )

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


def _uid(obj: Obj) -> str:
    return str((obj.get("metadata") or {}).get("uid", ""))


def _version(obj: Obj) -> str:
    return str((obj.get("metadata") or {}).get("resourceVersion", ""))
