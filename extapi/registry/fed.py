"""A virtual kind with a feed: read and watched from the cache that is kept of it, written by its author's methods.

Reads behave as those of a stored kind. Writes pass the same checks of metadata, schema, rules and admission. What the author's
method returns enters the cache at once, so that the answer has a resourceVersion and watchers see the write.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self

import msgspec

from extapi.admission.base import Operation
from extapi.api.jsonvalue import json_copy
from extapi.api.names import generate_name
from extapi.api.types import Obj
from extapi.api.user import User
from extapi.codec.strictjson import decode_stored
from extapi.errors import AlreadyExists, BadRequest, Conflict, FieldError, InternalError, Invalid, StorageError
from extapi.http.response import Streaming
from extapi.registry.base import (
    Admission,
    Creation,
    DeleteRules,
    ListResult,
    ObjectResult,
    Query,
    RequestScope,
    UpdateFunction,
    WatchEncoding,
    WatchQuery,
)
from extapi.registry.create import ATTEMPTS, read_revision
from extapi.registry.delete import check_preconditions
from extapi.registry.feed import KindFeed
from extapi.registry.feedobject import FeedError
from extapi.registry.fieldmanagers import keep_managed_fields, without_new_times
from extapi.registry.results import DecodedResult
from extapi.registry.served import ServedKind
from extapi.registry.store import with_revision
from extapi.registry.stored import StoredResource
from extapi.registry.update import KEPT
from extapi.registry.virtual import Virtual, able
from extapi.registry.writing import Write
from extapi.storage.base import KeyValue

_OF_THE_SERVER = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "resourceVersion",
)
"""Metadata that a client cannot set on a new object; the author's code may."""


UPDATES = 5
"""Attempts to update an object that others write, too. Source: ``k8s.io/apiserver/pkg/endpoints/handlers/patch.go`` maxRetryWhenPatchConflicts."""


class _Outrun(Exception):
    """Others were faster; ``error``: what the client gets if they always are."""

    def __init__(self, error: Conflict | AlreadyExists) -> None:
        super().__init__(error.message)
        self.error = error


class _Fed(Virtual):
    """Reading: GET, LIST and WATCH."""

    def __init__(self, kind: ServedKind, feed: KindFeed) -> None:
        super().__init__(kind, kind)
        self._rest = kind.kind.rest
        self._feed = feed
        self._reader = StoredResource(feed.store)

    async def get(self, scope: RequestScope, name: str, resource_version: str = "") -> ObjectResult:
        """See :class:`extapi.registry.base.ResourceGetter`."""
        if not resource_version:
            await self._refresh(scope, name, scope.user)
            resource_version = "0"
        return await self._reader.get(scope, name, resource_version)

    async def list(self, scope: RequestScope, query: Query) -> ListResult:
        """See :class:`extapi.registry.base.ResourceLister`."""
        await self._check_ready()
        return await self._reader.list(scope, query)

    async def watch(self, scope: RequestScope, query: WatchQuery, encoding: WatchEncoding) -> Streaming:
        """See :class:`extapi.registry.base.ResourceWatcher`."""
        await self._check_ready()
        return await self._reader.watch(scope, query, encoding)

    async def _check_ready(self) -> None:
        """Ask the author's code nothing while its feed is in trouble: the cacher does, with pauses.

        Raises:
            TooManyRequests: The cache is being filled.
        """
        await self._feed.cache.at_least(0)

    async def _refresh(self, scope: RequestScope, name: str, user: User | None) -> None:
        """Bring the cached object up to date with what the author's code has.

        Raises:
            ApiError: The author's code refuses, or the cache is being filled.
        """
        await self._check_ready()
        cache, log = self._feed.cache, self._feed.log
        if not hasattr(self._rest, "get"):
            await cache.fresh()
            return
        with log.asking() as asked:
            found = await self._rest.get(self._request(scope, name, user))
            try:
                revision = await log.take(self._key(scope, name), found, asked, scope.namespace)
            except FeedError as error:
                raise self._nonsense(error) from None
        await cache.at_least(revision)

    def _key(self, scope: RequestScope, name: str) -> bytes:
        return self._kind.layout.key(scope.namespace, name)

    async def _opened(self, scope: RequestScope, name: str) -> Obj:
        """The cached object in the request's version, with its resourceVersion.

        Raises:
            NotFound: There is none.
        """
        obj: Obj = decode_stored((await self._reader.get(scope, name, "0")).encoded())
        return obj

    def _nonsense(self, error: FeedError) -> InternalError:
        self._feed.log.failed(str(error))
        return InternalError.because(f"what serves {self.plural} gave no {self.kind}")

    async def _answered(self, scope: RequestScope, made: Any, *, dry_run: bool) -> DecodedResult:
        """The answer to a write: what the author's method returned, which enters the cache.

        Raises:
            InternalError: It is no object of the kind.
        """
        log = self._feed.log
        try:
            if dry_run:
                key, value = log.encode(made, scope.namespace)
                kept = KeyValue(key, value, 0)
            else:
                kept = await log.put(made, scope.namespace)
        except FeedError as error:
            raise self._nonsense(error) from None
        obj = with_revision(await self._kind.read(kept.value, scope.version), kept.revision)
        return DecodedResult(self._kind, scope.version, obj, kept.revision)

    async def _admitted(self, scope: RequestScope, obj: Obj, admit: Admission, *, named: str = "") -> tuple[Write, Obj]:
        """A new object, checked; it has a name, and no resourceVersion.

        Args:
            scope: Where the object is.
            obj: The object; it changes.
            admit: The request's admission.
            named: The name in the path, of an apply that creates: no plugin may choose another one.

        Raises:
            ApiError: It is refused.
        """
        self._kind.check_type(obj, scope.version, obj["metadata"].get("name", ""))
        managed = obj["metadata"].get("managedFields")
        given_revision = ""

        def keep(new: Obj) -> None:
            nonlocal given_revision
            given_revision = new["metadata"].get("resourceVersion", "") or given_revision
            keep_managed_fields(new, managed, admit.warn)
            for name in _OF_THE_SERVER:
                new["metadata"].pop(name, None)

        keep(obj)
        write = Write(self._kind, scope, admit)
        obj = await write.mutated(Operation.CREATE, obj, None, keep, named=named)
        if named:
            read_revision(given_revision)
        elif given_revision not in {"", "0"}:
            raise StorageError("resourceVersion should not be set on objects to be created")
        await write.checked(Operation.CREATE, obj, None)
        return write, obj

    async def _insert(self, scope: RequestScope, obj: Obj, write: Write, admit: Admission) -> ObjectResult:
        """Have the author's code create the object. Its key is locked.

        Raises:
            AlreadyExists: There is one of that name.
        """
        name: str = obj["metadata"]["name"]
        await self._refresh(scope, name, admit.user)
        if self._feed.cache.get(scope.namespace, name) is not None:
            raise AlreadyExists.named(self.plural, self.group, name)
        request = self._request(scope, "", admit.user, dry_run=admit.dry_run)
        made = await self._rest.create(request, write.to_hub(obj, None))
        return await self._answered(scope, made, dry_run=admit.dry_run)


class _Creates(_Fed):
    async def create(self, scope: RequestScope, obj: Obj, *, admit: Admission) -> ObjectResult:
        """See :class:`extapi.registry.base.ResourceCreater`. Without a name it gets a generated one (behaviour E14)."""
        prefix = obj["metadata"].get("generateName")
        generates = bool(prefix) and not obj["metadata"].get("name")
        if generates:
            admit = msgspec.structs.replace(admit, name_is_generated=True)
        for _ in range(ATTEMPTS if generates else 1):
            attempt = json_copy(obj)
            if generates:
                attempt["metadata"]["name"] = generate_name(prefix, self._feed.store.random)
            try:
                return await self._create_once(scope, attempt, admit)
            except AlreadyExists as error:
                last = error
        if prefix:
            last.message += ", the server was not able to generate a unique name for the object"
            last.retry_after = 1
        raise last

    async def _create_once(self, scope: RequestScope, obj: Obj, admit: Admission) -> ObjectResult:
        write, obj = await self._admitted(scope, obj, admit)
        async with self._feed.lock(self._key(scope, obj["metadata"]["name"])):
            return await self._insert(scope, obj, write, admit)


class _Updates(_Fed):
    async def update(self, scope: RequestScope, name: str, change: UpdateFunction, *, admit: Admission) -> ObjectResult:
        """See :class:`extapi.registry.base.ResourceUpdater`. Of updates through this server, each sees the one before.

        After a conflict with others, of which the author's code tells, the change is made again of the newest state.
        """

        async def attempt() -> ObjectResult:
            await self._refresh(scope, name, admit.user)
            return await self._update(scope, name, change, admit)

        return await self._retried(scope, name, attempt)

    def complete_applied(self, scope: RequestScope, obj: Obj) -> None:
        """See :class:`extapi.registry.base.Applied`."""
        self._kind.complete_applied(obj, scope.version)

    async def apply(
        self, scope: RequestScope, name: str, change: UpdateFunction, *, admit: Admission, creation: Creation
    ) -> ObjectResult:
        """See :class:`extapi.registry.base.Applied`. What is missing is created if the author's object can."""

        async def attempt() -> ObjectResult:
            await self._refresh(scope, name, admit.user)
            if self._feed.cache.get(scope.namespace, name) is not None or not hasattr(self._rest, "create"):
                return await self._update(scope, name, change, admit)
            write, obj = await self._admitted(scope, await creation.make(), creation.admit, named=name)
            try:
                return await self._insert(scope, obj, write, creation.admit)
            except AlreadyExists as error:
                raise _Outrun(error) from error

        return await self._retried(scope, name, attempt)

    async def _retried(
        self, scope: RequestScope, name: str, attempt: Callable[[], Awaitable[ObjectResult]]
    ) -> ObjectResult:
        """The first attempt in which nobody else was faster.

        Raises:
            ApiError: The write is refused, or others always were.
        """
        async with self._feed.lock(self._key(scope, name)):
            for _ in range(UPDATES - 1):
                try:
                    return await attempt()
                except _Outrun:
                    continue
            try:
                return await attempt()
            except _Outrun as outrun:
                raise outrun.error from None

    async def _update(self, scope: RequestScope, name: str, change: UpdateFunction, admit: Admission) -> ObjectResult:
        """Update the object as it is in the cache.

        Raises:
            _Outrun: The author's code found a conflict.
            ApiError: The update is refused.
        """
        old = await self._opened(scope, name)
        obj = await change(old)
        self._kind.check_type(obj, scope.version, name)

        managed = obj["metadata"].get("managedFields")

        def keep(new: Obj) -> None:
            keep_managed_fields(new, managed, admit.warn)
            _carry_metadata(new["metadata"], old["metadata"])

        keep(obj)
        write = Write(self._kind, scope, admit)
        obj = without_new_times(await write.mutated(Operation.UPDATE, obj, old, keep), old)
        self._check_revision(name, obj, old)
        await write.checked(Operation.UPDATE, obj, old)
        try:
            made = await self._updated(scope, name, write, obj, old, admit)
        except Conflict as conflict:
            raise _Outrun(conflict) from conflict
        return await self._answered(scope, made, dry_run=admit.dry_run)

    def _check_revision(self, name: str, obj: Obj, old: Obj) -> None:
        """The resourceVersion must be the live one (behaviour E40).

        Raises:
            Invalid: There is none.
            Conflict: It is another one.
        """
        given, live = (one["metadata"].get("resourceVersion", "") for one in (obj, old))
        if given in {"", "0"}:
            error = FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise Invalid.of(self.plural, self.group, name, [error])
        if given != live:
            raise Conflict.on(self.plural, self.group, name, Conflict.MODIFIED)


class _Deletes(_Fed):
    async def delete(
        self, scope: RequestScope, name: str, rules: DeleteRules, *, admit: Admission
    ) -> tuple[ObjectResult, bool]:
        """See :class:`extapi.registry.base.ResourceDeleter`. If the author returns the object, it still exists."""
        if rules.propagation == "Orphan":
            raise BadRequest(
                f"{self.plural} cannot be deleted with propagationPolicy Orphan: finalizers are left to their storage"
            )
        key = self._key(scope, name)
        async with self._feed.lock(key):
            old = await self._deletable(scope, name, rules, admit.user)
            await Write(self._kind, scope, admit).deletable(name, old)
            left = await self._rest.delete(self._request(scope, name, admit.user, dry_run=admit.dry_run))
            if left is not None:
                return await self._answered(scope, left, dry_run=admit.dry_run), False
            if admit.dry_run:
                return DecodedResult(self._kind, scope.version, old, 0), True
            revision = await self._feed.log.remove(key)
            return DecodedResult(self._kind, scope.version, with_revision(old, revision), revision), True

    async def _deletable(self, scope: RequestScope, name: str, rules: DeleteRules, user: User | None) -> Obj:
        """The object, as it is in the cache if that suffices: a collection is deleted one by one.

        Raises:
            NotFound: It does not exist.
            Conflict: A precondition does not hold.
        """
        if self._feed.cache.peek(scope.namespace, name) is not None:
            old = await self._opened(scope, name)
            try:
                check_preconditions(self._kind, name, old, rules.preconditions)
            except Conflict:
                pass  # it may hold for the newest state
            else:
                return old
        await self._refresh(scope, name, user)
        old = await self._opened(scope, name)
        check_preconditions(self._kind, name, old, rules.preconditions)
        return old


_VERBS: Mapping[str, type[_Fed]] = {"create": _Creates, "update": _Updates, "delete": _Deletes}


class FedResource(_Fed):
    """The main resource of a virtual kind with a feed: watched, and written as far as its author's object has methods."""

    def __new__(cls, kind: ServedKind, feed: KindFeed) -> Self:
        """An instance with these verbs only."""
        del feed
        return super().__new__(able(cls, kind.kind.rest, _VERBS))


def _carry_metadata(after: Obj, before: Obj) -> None:
    """Take from the metadata, in place, what no client can change (behaviour E41)."""
    for name in (*KEPT, "deletionTimestamp", "deletionGracePeriodSeconds"):
        after.pop(name, None)
        if name in before:
            after[name] = before[name]
    if not after.get("uid"):
        after["uid"] = before["uid"]
    after.pop("selfLink", None)
