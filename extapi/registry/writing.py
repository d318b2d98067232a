"""What create, update and delete share: the retry on conflict, admission, validation and the commit of one object.

The order is that of ``registry.Store`` in k8s.io/apiserver (spec K1, K2): mutating admission, defaults again, the
author's ``prepare``, validation by schema and by the author, warnings, validating admission, storage version, commit.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from extapi.admission.base import Operation, Review
from extapi.api.definition import Strategy
from extapi.api.metadata import finalizer_errors, finalizer_warnings, validate_object_meta
from extapi.api.metadata_rules import NameRule
from extapi.api.names import name_rule, object_name
from extapi.api.timestamp import format_timestamp
from extapi.api.types import Obj
from extapi.client.clock import Clock
from extapi.errors import (
    ApiError,
    Conflict,
    FieldError,
    FieldErrorType,
    InternalError,
    Invalid,
    NotFound,
    RequestTooLarge,
    ServerTimeout,
)
from extapi.registry.base import Admission, Place
from extapi.registry.rendering import FreshRendering
from extapi.registry.served import ServedKind
from extapi.storage.base import Backend, Entry, RevisionConflict, Unavailable
from extapi.watch.cache import ResourceCache

Outcome = TypeVar("Outcome")

MAX_OBJECT = 6 * 1024 * 1024
"""Bytes that an object takes in the store: twice what a body may have, as escapes and defaults need some.

Bodies are bounded, but patches and conversions make objects larger, each time by as much. etcd's bound is 1.5 MiB.
"""

_UNTYPED = frozenset({FieldErrorType.TYPE_INVALID, FieldErrorType.REQUIRED})


@dataclass(frozen=True, slots=True)
class Store:
    """One stored kind with all that writing it takes."""

    kind: ServedKind
    cache: ResourceCache
    backend: Backend
    clock: Clock
    random: Random
    """Where generated names come from."""

    def timestamp(self) -> str:
        """Now, as ``metav1.Time`` writes it: UTC, whole seconds, ``Z``."""
        return format_timestamp(self.clock.seconds())

    def new_uid(self) -> str:
        """A UUID version 4."""
        return str(uuid.uuid4())

    def conflict(self, name: str, why: str = Conflict.MODIFIED) -> Conflict:
        """The 409 of a lost race, or of a precondition that does not hold."""
        return Conflict.on(self.kind.kind.plural, self.kind.group, name, why)

    async def live(self, operation: str, key: bytes) -> Entry | None:
        """What is in the store now; what the store cannot do now becomes a ServerTimeout (spec K18)."""
        try:
            return await self.backend.get(key)
        except Unavailable as error:
            raise ServerTimeout.on(self.kind.kind.plural, self.kind.group, operation) from error

    async def retried(
        self, operation: str, at: Place, name: str, attempt: Callable[[Entry], Awaitable[Outcome]]
    ) -> Outcome:
        """What ``attempt`` makes of the live object, tried again until nobody came in between (spec K3).

        The first attempt starts from the cache. If it fails there, and the store has something newer, it is repeated
        with that. Raises :class:`NotFound`, and what the last attempt raised. Source: ``GuaranteedUpdate``.
        """
        key = self.kind.key(at.namespace, name)
        cached = self.cache.peek(at.namespace, name)
        fresh = cached is None
        live = await self.live(operation, key) if cached is None else Entry(key, cached.value, cached.revision)
        while live is not None:
            try:
                return await attempt(live)
            except RevisionConflict as conflict:
                live, fresh = conflict.live, True
            except ApiError:
                newest = None if fresh else await self.live(operation, key)
                if fresh or (newest is not None and newest.revision == live.revision):
                    raise
                live, fresh = newest, True
        raise NotFound.named(self.kind.kind.plural, self.kind.group, name)

    def check_size(self, value: bytes, before: bytes = b"") -> None:
        """Raises :class:`RequestTooLarge` for an object that has grown beyond :data:`MAX_OBJECT`; ``before``: as it is stored now."""
        if len(value) > max(MAX_OBJECT, len(before)):
            raise RequestTooLarge(f"the object would take {len(value)} bytes, the limit is {MAX_OBJECT}")

    async def commit(self, operation: str, key: bytes, value: bytes | None, *, expected: int) -> int:
        """Write to the store; what the store cannot do now becomes a ServerTimeout (spec K18).

        Raises :class:`RevisionConflict` as the backend does.
        """
        try:
            return await self.backend.commit(key, value, expected=expected)
        except Unavailable as error:
            raise ServerTimeout.on(self.kind.kind.plural, self.kind.group, operation) from error


class Write:
    """One attempt to write one object, in the request's version."""

    def __init__(self, kind: ServedKind, at: Place, admit: Admission) -> None:
        self._kind = kind
        self._name_rule = _name_rule(kind)
        self._at = at
        self._admit = admit

    def _name(self, obj: Obj) -> str:
        name: str = obj["metadata"].get("name", "")
        return name

    def _review(self, operation: Operation, name: str, obj: Obj | None, old: Obj | None) -> Review:
        return Review(
            operation=operation,
            kind=self._kind.kind,
            converter=self._kind.converter,
            group=self._kind.group,
            version=self._at.version,
            namespace=self._at.namespace,
            name=name,
            subresource=self._admit.subresource,
            user=self._admit.user,
            obj=obj,
            old=old,
            dry_run=self._admit.dry_run,
            options=self._admit.options,
            warned=self._admit.warn,
        )

    async def mutated(self, operation: Operation, obj: Obj, old: Obj | None, keep: Callable[[Obj], None]) -> Obj:
        """The object after mutating admission and the author's ``prepare``; what they changed is brought into shape again.

        ``keep`` puts back in place what is not for plugins to change. It comes before ``prepare`` (spec K1, K2), which
        may begin a status. Raises :class:`Invalid` for an object that they could not be shown, since its fields are not
        of the right types.
        """
        name = self._name(obj)
        review = self._review(operation, name, obj, old)
        try:
            await self._admit.chain.mutate(review)
            changed = self._changed(review, obj, "an admission plugin")
            if changed is not None:
                keep(changed)
                obj, review = changed, self._review(operation, name, changed, old)
            if self._kind.prepares and not self._admit.subresource:  # what writes a part does not touch the rest
                self._kind.kind.strategy.prepare(review.object, review.old_object)
                obj = self._changed(review, obj, "prepare") or obj
        except InternalError:
            self._blame(obj, old, name)
            raise
        return obj

    def _changed(self, review: Review, before: Obj, whose: str) -> Obj | None:
        """The object of the review in shape; None: nobody changed it. One without a type may have changed in place.

        ``whose``: the code that may have changed it.
        """
        result = review.result()
        if result is None or (result is before and self._kind.converter.hub is not None):
            return None
        self._kind.check(result, whose)
        self._kind.accept(result, self._at.version)
        return result

    async def checked(self, operation: Operation, obj: Obj, old: Obj | None) -> None:
        """Validate by schema, metadata rules and strategy, warn, then ask validating admission.

        Raises :class:`Invalid` with all errors at once, or what a plugin refuses with.
        """
        kind = self._kind
        name = self._name(obj)
        review = self._review(operation, name, obj, old)
        errors = self._broken_rules(obj, old)
        # What is not of the right type cannot become a hub object; everything else is reported together.
        if kind.validates and not any(error.type in _UNTYPED and error.path != "metadata.name" for error in errors):
            try:
                shown = review.object, review.old_object
            except InternalError:
                self._blame(obj, old, name)
                raise
            errors += kind.kind.strategy.validate(*shown)
        if errors:
            raise Invalid.of(obj["kind"], kind.group, name, errors)  # the kind that the client wrote
        for text in finalizer_warnings(obj, old):
            self._admit.warn(text)
        if kind.warns:
            for text in kind.kind.strategy.warn(review.object, review.old_object):
                self._admit.warn(text)
        await self._admit.chain.validate(review)

    def _blame(self, obj: Obj, old: Obj | None, name: str) -> None:
        """Raises :class:`Invalid` if an object that could not be shown to an author's code breaks rules of the schema.

        No hub object can be made of wrong types, nor of a value that is none of an enumeration. That is the client's mistake
        and not ours, and the schema says it best.
        """
        errors = self._broken_rules(obj, old)
        if errors:
            raise Invalid.of(obj["kind"], self._kind.group, name, errors) from None

    def _broken_rules(self, obj: Obj, old: Obj | None) -> list[FieldError]:
        """What metadata rules and the schema say against the object."""
        kind = self._kind
        native = kind.kind.native
        return [
            *validate_object_meta(obj, namespaced=kind.namespaced, old=old, name_rule=self._name_rule),
            *(finalizer_errors(obj) if native is not None and native.finalizers else ()),
            *kind.rules(obj, old, self._at.version),
        ]

    async def deletable(self, name: str, old: Obj) -> None:
        """Ask admission whether the object may go (spec I2: there is an old object and no new one)."""
        review = self._review(Operation.DELETE, name, None, old)
        await self._admit.chain.mutate(review)
        await self._admit.chain.validate(review)

    def begun(self, name: str, marked: Obj) -> Obj:
        """The object that is marked for deletion, after the author's ``begin_deletion``."""
        strategy = self._kind.kind.strategy
        if type(strategy).begin_deletion is Strategy.begin_deletion:
            return marked
        review = self._review(Operation.DELETE, name, marked, None)
        strategy.begin_deletion(review.object)
        return self._changed(review, marked, "begin_deletion") or marked

    def stays(self, obj: Obj) -> bool:
        """Whether a deleted object stays: for its finalizers, or since it is held."""
        return bool(obj["metadata"].get("finalizers")) or self.held(obj)

    def held(self, obj: Obj) -> bool:
        """Whether the author's strategy holds a deleted object, whatever finalizers it has."""
        strategy = self._kind.kind.strategy
        if type(strategy).holds is Strategy.holds:
            return False
        return strategy.holds(self._kind.converter.to_hub(obj, self._at.version))

    def answer(self, obj: Obj, value: bytes, revision: int) -> FreshRendering:
        """What was written, as a read in this version will show it."""
        version = self._at.version
        shown = obj if version == self._kind.kind.storage else self._kind.from_stored(value, version)
        return FreshRendering(self._kind, version, with_revision(shown, revision), revision)


def _name_rule(kind: ServedKind) -> NameRule:
    native = kind.kind.native
    return object_name if native is None or native.names is None else name_rule(native.names)


def with_revision(obj: Obj, revision: int) -> Obj:
    """The object with its resourceVersion; 0 takes it away (a dry run of a create has none)."""
    metadata: dict[str, Any] = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    if revision:
        metadata["resourceVersion"] = str(revision)
    return {**obj, "metadata": metadata}
