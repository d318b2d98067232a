"""NamespaceLifecycle: nothing is created in a namespace that does not exist or is being deleted (behaviour I6 to I8).

Gets namespaces from a cache and a live read that it is given; must not know where they come from.

Source: ``k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.admission.base import Operation, Review
from extapi.admission.matching.selectors import Selector, labels_of
from extapi.api.types import Obj
from extapi.clock import Clock, Late, in_time, sleep
from extapi.errors import Forbidden, InternalError, NotFound, StatusCause

_CACHE_GRACE = 0.05
"""How long a create waits for the cache to learn of a namespace that was just created, in seconds."""
_SYNC_TIMEOUT = 10.0
"""How long a request waits for a cache that has not been filled yet, in seconds."""
_IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_log = Logger()


class NamespaceCache(Protocol):
    """A cache of namespaces, such as an informer."""

    @property
    def synced(self) -> bool:
        """Whether the cache has been filled."""
        ...

    async def wait_synced(self) -> None:
        """Wait until the cache has been filled; may be cancelled."""
        ...

    def get(self, namespace: str, name: str) -> Obj | None:
        """The namespace called ``name``, or None; ``namespace`` is the empty string."""
        ...


class NamespaceLifecycle:
    """A mutator that changes nothing; as a mutator it runs before plugins that act on the object."""

    def __init__(self, *, cache: NamespaceCache, live: Callable[[str], Awaitable[Obj | None]], clock: Clock) -> None:
        """Prepare the plugin.

        Args:
            cache: Follows the namespaces.
            live: Reads a namespace from its store; returns None or raises NotFound if it does not exist.
            clock: For timeouts.
        """
        self._cache = cache
        self._live = live
        self._clock = clock

    async def mutate(self, review: Review) -> None:
        """Refuse writes that the namespace does not permit. Deletes are always allowed, so that it can be emptied.

        Raises:
            Forbidden: The namespace is being deleted, must not be deleted, or namespaces are not known yet.
            NotFound: The namespace does not exist.
            InternalError: The namespace could not be read.
        """
        if (review.group, review.resource) == ("", "namespaces"):
            if review.operation == Operation.DELETE and review.name in _IMMORTAL:
                review.refuse("this namespace may not be deleted")
            return
        if not review.namespace or review.operation not in {Operation.CREATE, Operation.UPDATE}:
            return
        if (review.group, review.resource) == ("authorization.k8s.io", "localsubjectaccessreviews"):
            return  # a refusal would reveal which namespaces exist
        if not self._cache.synced and not await synced_in_time(self._cache, self._clock):
            review.refuse("not yet ready to handle request")
        creating = review.operation == Operation.CREATE
        namespace = await self._namespace(review.namespace, patient=creating)
        if creating and (namespace.get("status") or {}).get("phase") == "Terminating":
            raise Forbidden.on(
                review.resource,
                review.group,
                review.display_name(),
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
        """The namespace from the cache, or else from its store; ``patient``: give the cache a moment first.

        Raises:
            NotFound: The namespace does not exist.
            InternalError: The namespace could not be read.
        """
        found = self._cache.get("", name)
        if found is None and patient:
            await sleep(self._clock, _CACHE_GRACE)
            found = self._cache.get("", name)
        if found is not None:
            return found
        return await read_namespace(name, self._live)


class NamespaceLabels:
    """The namespace of a request, and its labels, for selectors on them.

    Args:
        cache: Follows the namespaces.
        live: Reads a namespace that the cache does not have; returns None or raises NotFound if it does not exist.

    Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace`` GetNamespaceLabels.
    """

    def __init__(self, cache: NamespaceCache, live: Callable[[str], Awaitable[Obj | None]]) -> None:
        self.cache = cache
        self._live = live

    async def selects(self, selector: Selector, review: Review) -> bool:
        """Whether a selector selects the namespace of a request. What is in no namespace is always selected.

        Raises:
            NotFound: The namespace does not exist.
            InternalError: It could not be read, or the selector is not valid.
        """
        if (not review.namespace and review.resource != "namespaces") or selector.empty:
            return True
        return selector.matches(await self._labels(review))

    async def _labels(self, review: Review) -> Mapping[str, str]:
        if review.resource == "namespaces":
            # The cache does not know a namespace that is only being created.
            if review.operation in {Operation.CREATE, Operation.UPDATE} and not review.subresource and review.obj:
                return labels_of(review.obj)
            name = review.namespace or review.name
        else:
            name = review.namespace
        return labels_of(await self.namespace(name))

    async def namespace(self, name: str) -> Obj:
        """A namespace, from the cache or its store.

        Raises:
            NotFound: It does not exist.
            InternalError: It could not be read.
        """
        found = self.cache.get("", name)
        if found is None:
            found = await read_namespace(name, self._live)
        return found


async def read_namespace(name: str, live: Callable[[str], Awaitable[Obj | None]]) -> Obj:
    """A namespace from its store.

    Raises:
        NotFound: It does not exist.
        InternalError: It could not be read.
    """
    try:
        found = await live(name)
    except CancelledError:
        raise
    except NotFound:
        found = None
    except Exception as error:
        # The reason is only logged: it may name the address of the server, and our account.
        _log.error("the namespace {name} could not be read: {error}", name=name, error=error)
        raise InternalError.because(f"the namespace {name} could not be read") from error
    if found is None:
        raise NotFound.named("namespaces", "", name)
    return found


class Syncing(Protocol):
    """Something that has to be filled before it can be asked."""

    async def wait_synced(self) -> None:
        """Wait until it has been filled; may be cancelled."""
        ...


async def synced_in_time(cache: Syncing, clock: Clock) -> bool:
    """Whether a cache is filled within the time that a request waits for it."""
    try:
        await in_time(clock, _SYNC_TIMEOUT, Deferred.fromCoroutine(_drive(cache.wait_synced())))
    except Late:
        return False
    return True


async def _drive(waiting: Awaitable[None]) -> None:
    """Make a coroutine, as only coroutines become Deferreds, of the awaitable that the protocol permits."""
    await waiting
