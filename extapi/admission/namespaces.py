"""NamespaceLifecycle: nothing is created in a namespace that does not exist or is being deleted (spec I6 to I8).

Source: ``k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle``. Knows namespaces only as it is handed them: a cache
that follows them, and a read that does not go through it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.admission.base import Operation, Review
from extapi.api.types import Obj
from extapi.client.clock import Clock, sleep
from extapi.errors import Forbidden, InternalError, NotFound, StatusCause

_CACHE_GRACE = 0.05
"""Seconds in which the cache may still hear of a namespace that was made a moment ago."""
_SYNC_TIMEOUT = 10.0
"""Seconds that a request waits for a cache that has not been filled yet."""
_IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


class NamespaceCache(Protocol):
    """What is asked of the cache of namespaces; an informer is one."""

    @property
    def synced(self) -> bool:
        """Whether it has been filled once."""
        ...

    async def wait_synced(self) -> None:
        """Until it has been filled once; may be cancelled."""
        ...

    def get(self, namespace: str, name: str) -> Obj | None:
        """The namespace called ``name``; ``namespace`` is ``""``."""
        ...


class NamespaceLifecycle:
    """A mutator, so that it is asked before others act on the object; it changes nothing.

    ``live`` reads one namespace from where it is stored, None if it is not there; it may raise.
    """

    _log = Logger()

    def __init__(self, *, cache: NamespaceCache, live: Callable[[str], Awaitable[Obj | None]], clock: Clock) -> None:
        self._cache = cache
        self._live = live
        self._clock = clock

    async def mutate(self, review: Review) -> None:
        """Refuse with 403 or 404 what may not be; deleting is always allowed, so that a namespace can be emptied."""
        if (review.group, review.resource) == ("", "namespaces"):
            if review.operation == Operation.DELETE and review.name in _IMMORTAL:
                review.refuse("this namespace may not be deleted")
            return
        if not review.namespace or review.operation not in {Operation.CREATE, Operation.UPDATE}:
            return
        if (review.group, review.resource) == ("authorization.k8s.io", "localsubjectaccessreviews"):
            return  # its answer would tell which namespaces exist
        if not self._cache.synced and not await self._synced_in_time():
            review.refuse("not yet ready to handle request")
        creating = review.operation == Operation.CREATE
        namespace = await self._namespace(review.namespace, patient=creating)
        if creating and (namespace.get("status") or {}).get("phase") == "Terminating":
            raise Forbidden.on(
                review.resource,
                review.group,
                review.called(),
                f"unable to create new content in namespace {review.namespace} because it is being terminated",
                causes=[
                    StatusCause(
                        "NamespaceTerminating",
                        f"namespace {review.namespace} is being terminated",
                        "metadata.namespace",
                    )
                ],
            )

    async def _namespace(self, name: str, *, patient: bool) -> Obj:
        """The namespace from the cache, a moment later from the cache, or live. Raises NotFound, InternalError."""
        found = self._cache.get("", name)
        if found is None and patient:
            await sleep(self._clock, _CACHE_GRACE)
            found = self._cache.get("", name)
        if found is not None:
            return found
        try:
            found = await self._live(name)
        except CancelledError:
            raise
        except NotFound:
            found = None
        except Exception as error:
            # Why is for the log: the error may name the address that was asked, and the account that asks.
            self._log.error("the namespace {name} could not be read: {error}", name=name, error=error)
            raise InternalError.because(f"the namespace {name} could not be read") from error
        if found is None:
            raise NotFound.named("namespaces", "", name)
        return found

    async def _synced_in_time(self) -> bool:
        waiting = Deferred.fromCoroutine(_drive(self._cache.wait_synced()))
        timer = self._clock.callLater(_SYNC_TIMEOUT, waiting.cancel)
        try:
            await waiting
        except CancelledError:
            if timer.active():
                raise  # the request was cancelled, not the wait
            return False
        finally:
            if timer.active():
                timer.cancel()
        return True


async def _drive(waiting: Awaitable[None]) -> None:
    """Only coroutines become Deferreds; a protocol's awaitable may be another thing."""
    await waiting
