"""One stored kind with all that reading and writing it takes, and the retry on conflict that updates and deletes share.

Responsible for: what the backend says as API errors, and which object an attempt starts from. Must not know admission or
validation. Source: ``k8s.io/apiserver/pkg/storage/etcd3/store.go`` GuaranteedUpdate.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, TypeVar
from weakref import WeakMethod

from extapi.api.timestamp import format_timestamp
from extapi.api.types import Obj
from extapi.clock import Clock, wall_time
from extapi.codec.strictjson import decode_stored
from extapi.errors import ApiError, Conflict, NotFound, RequestTooLarge
from extapi.registry.base import RequestScope
from extapi.registry.encoded import EncodedObject
from extapi.registry.results import EncodedResult
from extapi.registry.reviewed import Convert
from extapi.registry.served import ServedKind
from extapi.storage.base import KeyValue, RevisionConflict, TooLarge, Unavailable
from extapi.watch.cache import ResourceCache
from extapi.watch.cachedobject import CachedObject

Outcome = TypeVar("Outcome")

Live = CachedObject | KeyValue
"""The live object, from which an attempt starts: as it is in the cache, or as the store has it."""

MAX_OBJECT = 6 * 1024 * 1024
"""Bytes of an object in the store: twice those of a body, since escapes and defaults take some.

The bound on bodies is not enough: each patch and conversion can make an object larger. etcd's bound is 1.5 MiB.
"""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Store:
    """The storage of one kind: its cache, and what objects get from the server."""

    kind: ServedKind
    cache: ResourceCache
    clock: Clock
    random: Random
    """For generated names and the durations of watches."""

    def timestamp(self) -> str:
        """Now, as ``metav1.Time`` writes it: UTC, whole seconds, ``Z``."""
        return format_timestamp(wall_time(self.clock))

    def new_uid(self) -> str:
        """A UUID version 4 (RFC 9562, section 5.4); the class of the standard library takes three times as long."""
        digits = os.urandom(16).hex()
        variant = "89ab"[int(digits[16], 16) & 3]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"

    def conflict(self, name: str, why: str = Conflict.MODIFIED) -> Conflict:
        """The 409 of a lost race, or of a precondition that does not hold."""
        return Conflict.on(self.kind.kind.plural, self.kind.group, name, why)

    async def retried(
        self,
        operation: str,
        scope: RequestScope,
        name: str,
        attempt: Callable[[Live], Awaitable[Outcome]],
        create: Callable[[], Awaitable[Outcome]] | None = None,
    ) -> Outcome:
        """The result of ``attempt`` on the live object, which is called again after each conflict (behaviour K3).

        The first attempt is made on the cached object. If it fails, and the store has a newer one, it is repeated on that;
        not if the store itself refused it.

        Args:
            operation: For errors of the store.
            scope: Where the object is.
            name: Its name.
            attempt: Raises RevisionConflict if the object is no longer the live one.
            create: Called if there is no object; raises RevisionConflict if there is one by now.

        Raises:
            NotFound: The object does not exist, and ``create`` is not given.
            ApiError: The last attempt failed.
        """
        live: Live | None = self.cache.peek(scope.namespace, name)
        fresh = live is None
        if live is None:
            live = await self.cache.live(operation, self.kind.layout.key(scope.namespace, name))
        while live is not None or create is not None:
            try:
                if live is not None:
                    return await attempt(live)
                if create is not None:
                    return await create()
            except RevisionConflict as conflict:
                live, fresh = conflict.live, True
            except ApiError as error:
                # What the store has refused is final: a write that it may have done all the same would be done twice.
                if fresh or live is None or isinstance(error.__cause__, Unavailable | TooLarge):
                    raise
                newest = await self.cache.live(operation, live.key)
                if newest is not None and newest.revision == live.revision:
                    raise
                live, fresh = newest, True
        raise NotFound.named(self.kind.kind.plural, self.kind.group, name)

    async def check_live(self, operation: str, live: Live) -> None:
        """Check that an attempt that writes nothing was not made on an outdated object from the cache (behaviour K3).

        Raises:
            RevisionConflict: It was; the attempt is to be repeated.
            ServerTimeout: The store cannot be read now.
        """
        if isinstance(live, CachedObject):
            newest = await self.cache.live(operation, live.key)
            if newest is None or newest.revision != live.revision:
                raise RevisionConflict(newest)

    async def read(self, value: bytes, version: str) -> Obj:
        """As :meth:`ServedKind.from_stored`; waits if the kind's conversion does, within the bounds of all conversions.

        Raises:
            Unfit: Its fields do not fit their types.
            ApiError: The conversion failed, or takes too long.
        """
        kind = self.kind
        if not kind.needs_conversion(value, version):
            return kind.from_stored(value, version)
        return await self.cache.calls.call(version, partial(kind.read, value, version))

    async def converted(self, obj: Obj, version: str, *, raw: bool = False) -> Obj:
        """As :meth:`ServedKind.convert`; if the kind's conversion waits, within the bounds of all conversions.

        Raises:
            Unfit: Its fields do not fit their types.
            ApiError: The conversion failed, or takes too long.
        """
        kind = self.kind
        if not kind.waits or obj["apiVersion"] == kind.versions[version].api_version:
            return await kind.convert(obj, version)
        return await self.cache.calls.call(version, partial(kind.convert, obj, version, raw=raw))

    @property
    def converter(self) -> Callable[[], Convert | None] | None:
        """:meth:`converted`, as long as the store is used, if the kind's conversion waits.

        The reviews of a write refer to each other: what they hold is not let go at once, and nobody waits for old stores.
        """
        return WeakMethod(self.converted) if self.kind.waits else None

    async def opened(self, live: Live, version: str) -> Obj:
        """The live object in ``version`` with its resourceVersion, as a reader sees it.

        Raises:
            Unfit: It no longer fits the type of its own version.
            InternalError: The author's conversion failed.
        """
        kind, representation = self.kind, self.kind.versions[version].representation
        if isinstance(live, CachedObject):
            if kind.waits:
                await self.cache.prepare((live,), representation)
            serialized = live.serialized(representation)
            if serialized.error is None:  # else it is tried again: the author's code may have recovered
                obj: Obj = decode_stored(serialized.with_revision(live.revision))
                return obj
        shown = await self.read(live.value, version) if kind.waits else kind.from_stored(live.value, version)
        return with_revision(shown, live.revision)

    async def commit(self, operation: str, key: bytes, encoded: EncodedObject, *, expected: int) -> EncodedResult:
        """Store an object, and answer with what readers see; for the arguments, see :meth:`ResourceCache.commit`.

        Raises:
            RevisionConflict: The key has another revision.
            ApiError: The store takes no writes now; or the object is stored, but cannot be shown in the request's version.
        """
        self.cache.expect(encoded.value, await encoded.projections())
        return await encoded.answer(await self.cache.commit(operation, key, encoded.value, expected=expected))

    def check_size(self, value: bytes, before: bytes = b"") -> None:
        """Check the size of an object; ``before``: the bytes that are stored now.

        Raises:
            RequestTooLarge: It has grown beyond :data:`MAX_OBJECT`.
        """
        if len(value) > max(MAX_OBJECT, len(before)):
            raise RequestTooLarge(f"the object would take {len(value)} bytes, the limit is {MAX_OBJECT}")


def with_revision(obj: Obj, revision: int) -> Obj:
    """The object with its resourceVersion; 0: without, as in a dry run of a create."""
    metadata: dict[str, Any] = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    if revision:
        metadata["resourceVersion"] = str(revision)
    return {**obj, "metadata": metadata}
