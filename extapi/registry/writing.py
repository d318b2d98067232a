"""What create, update and delete share: the retry on conflict, admission, validation and the commit of one object.

The order is that of ``registry.Store`` in k8s.io/apiserver (spec K1, K2): mutating admission, defaults again, the
author's ``prepare``, validation by schema and by the author, warnings, validating admission, storage version, commit.
But the schema judges an object before an author's code sees it, where Go's code has types that hold whatever was sent.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError

from extapi.admission.base import Operation, Review
from extapi.api.metadata import finalizer_errors, finalizer_warnings, validate_object_meta
from extapi.api.metadata_rules import NameRule
from extapi.api.names import name_rule, object_name
from extapi.api.strategy import Strategy
from extapi.api.timestamp import format_timestamp
from extapi.api.types import Obj
from extapi.client.clock import Clock
from extapi.conversion.hub import Unfit
from extapi.errors import (
    ApiError,
    Conflict,
    FieldError,
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
    """One attempt to write one object, in the request's version; the :class:`~extapi.admission.base.Viewer` of its reviews.

    The schema comes first: an object that breaks it is shown to no author's code, and is answered with all that is wrong
    with it, whatever that code would have said. An object that nobody asks for is judged once, after admission.
    """

    def __init__(self, kind: ServedKind, at: Place, admit: Admission) -> None:
        self._kind = kind
        self._name_rule = _name_rule(kind)
        self._at = at
        self._admit = admit
        self._judged: Obj | None = None
        self._broken: list[FieldError] = []
        """What the schema says against the object that was judged last."""
        self._old: tuple[Obj, Obj] | None = None
        """The stored object as it is shown, after the object beside which it is shown so."""
        self._reviewed: Review | None = None
        """The last review of mutating admission."""

    def _name(self, obj: Obj) -> str:
        name: str = obj["metadata"].get("name", "")
        return name

    def _review(self, operation: Operation, name: str, obj: Obj | None, old: Obj | None) -> Review:
        return Review(
            operation=operation,
            kind=self._kind.kind,
            converter=self._kind.converter,
            viewer=self,
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
        """The object after mutating admission and the author's ``prepare``; what each of them changed is brought into shape.

        ``keep`` puts back in place what is not for plugins to change. It comes before ``prepare`` (spec K1, K2), which
        may begin a status. Raises :class:`Invalid` for an object that would have to be shown and breaks its schema.
        """
        name = self._name(obj)

        def renewed(review: Review, whose: str) -> Review:
            changed = self._changed(review, whose)
            if changed is None:
                return review
            keep(changed)
            return self._review(operation, name, changed, old)

        try:
            review = await self._admit.chain.mutate(self._review(operation, name, obj, old), renewed)
            self._reviewed = review
            made = review.obj or obj
            if self._kind.prepares and not self._admit.subresource:  # what writes a part does not touch the rest
                self._kind.kind.strategy.prepare(review.object, review.old_object)
                made = self._changed(review, "prepare") or made
        except Exception as error:
            self._excuse(error, obj, old)
            raise
        native = self._kind.kind.native
        if native is not None and native.canonical is not None:
            native.canonical(made)
        return made

    def _changed(self, review: Review, whose: str) -> Obj | None:
        """The object of the review in shape; None: nobody changed it. ``whose``: the code that may have changed it."""
        result = review.result()
        if result is None or result is review.obj:
            return None
        self._kind.check(result, whose)
        self._kind.complete(result, self._at.version)
        self._kind.accept(result, self._at.version)
        return result

    async def checked(self, operation: Operation, obj: Obj, old: Obj | None) -> None:
        """Validate by metadata rules and schema, then by the strategy, warn, then ask validating admission.

        Raises :class:`Invalid` with all errors of the former two, or of metadata and the strategy; or what a plugin
        refuses with.
        """
        self.judge(obj, old)
        review, name = self._reviewed, self._name(obj)
        if review is None or review.obj is not obj or review.looked or review.name != name:
            review = self._review(operation, name, obj, old)  # metadata has changed since somebody looked
        try:
            self._ask_strategy(review, obj, old)
            await self._admit.chain.validate(review)
        except Exception as error:
            self._excuse(error, obj, old)
            raise

    def _ask_strategy(self, review: Review, obj: Obj, old: Obj | None) -> None:
        kind = self._kind
        errors = self._metadata_errors(obj, old)
        if kind.validates:
            errors += kind.kind.strategy.validate(review.object, review.old_object)
        if errors:
            raise self._invalid(obj, errors)
        for text in finalizer_warnings(obj, old):
            self._admit.warn(text)
        if kind.warns:
            for text in kind.kind.strategy.warn(review.object, review.old_object):
                self._admit.warn(text)

    def judge(self, obj: Obj, old: Obj | None) -> None:
        """See :class:`extapi.admission.base.Viewer`; errors of metadata are told along. Values of ``old`` are let pass (J26)."""
        if self._judged is not obj:
            self._broken = self._kind.rules(obj, old, self._at.version)
            self._judged = obj
        if self._broken:
            raise self._invalid(obj, self._metadata_errors(obj, old) + self._broken)

    def shown(self, obj: Obj, old: Obj | None) -> Any:
        """See :class:`extapi.admission.base.Viewer`."""
        self.judge(obj, old)
        try:
            return self._kind.to_hub(obj, self._at.version)
        except Unfit as unfit:
            raise self._invalid(obj, unfit.errors) from None

    def shown_old(self, old: Obj, obj: Obj | None) -> Any:
        """See :class:`extapi.admission.base.Viewer`.

        What breaks the schema of today is shown as the write has it: so a write that puts it right is let pass, and to a
        rule that compares the two nothing has changed there.
        """
        to_hub, version = self._kind.to_hub, self._at.version
        if obj is None:
            return to_hub(old, version)
        if self._old is None or self._old[0] is not obj:
            # A part that is the same in both is shown as it is in any case.
            sound = _without_metadata(old) == _without_metadata(obj) or not self._kind.rules(old, None, version)
            self._old = obj, old if sound else self._mended(old, obj)
        try:
            return to_hub(self._old[1], version)
        except Unfit:
            self._old = obj, self._mended(old, obj)
            return to_hub(self._old[1], version)

    def _mended(self, old: Obj, obj: Obj) -> Obj:
        """The stored object with those of its parts from ``obj`` that are not sound in itself."""
        self.shown(obj, old)  # raises for one that must not be shown either
        converter, version = self._kind.converter, self._at.version
        mended = dict(old)
        for part in {**old, **obj}.keys() - {"apiVersion", "kind", "metadata"}:
            tried = _with_part(obj, part, old)
            if not converter.fits(tried, version) or self._kind.rules(tried, None, version):
                mended = _with_part(mended, part, obj)
        return mended

    def stored(self, obj: Obj) -> bytes:
        """The bytes for the store. Raises :class:`Invalid` for an object that cannot be converted as it does not fit its type."""
        try:
            return self._kind.to_stored(obj, self._at.version)
        except Unfit as unfit:
            raise self._invalid(obj, unfit.errors) from None

    def _excuse(self, error: Exception, obj: Obj, old: Obj | None) -> None:
        """Raises :class:`Invalid` in place of an author's failure on an object that breaks rules which came after it was stored.

        The schema lets such values pass as long as they stay (spec J26), but an author's code may rely on its rules.
        """
        refused = isinstance(error, ApiError) and not isinstance(error, InternalError)
        if refused or isinstance(error, CancelledError):
            return
        late = self._kind.rules(obj, None, self._at.version) if old is not None else ()
        errors = late or (error.errors if isinstance(error, Unfit) else ())
        if errors:
            raise self._invalid(obj, errors) from error

    def _invalid(self, obj: Obj, errors: Sequence[FieldError]) -> Invalid:
        return Invalid.of(
            obj["kind"], self._kind.error_group, self._name(obj), errors
        )  # the kind that the client wrote

    def _metadata_errors(self, obj: Obj, old: Obj | None) -> list[FieldError]:
        kind = self._kind
        native = kind.kind.native
        return [
            *validate_object_meta(obj, namespaced=kind.namespaced, old=old, name_rule=self._name_rule),
            *(finalizer_errors(obj) if native is not None and native.finalizers else ()),
        ]

    async def deletable(self, name: str, old: Obj) -> None:
        """Ask admission whether the object may go (spec I2: there is an old object and no new one)."""
        review = self._review(Operation.DELETE, name, None, old)
        await self._admit.chain.mutate(review)
        await self._admit.chain.validate(review)

    def begun(self, name: str, marked: Obj) -> Obj:
        """The object that is marked for deletion, after the author's ``begin_deletion``, if it can be shown."""
        strategy = self._kind.kind.strategy
        if type(strategy).begin_deletion is Strategy.begin_deletion:
            return marked
        self._judged, self._broken = marked, []  # it is stored already, and has to go whatever rules came since
        review = self._review(Operation.DELETE, name, marked, None)
        try:
            shown = review.object
        except Invalid:
            return marked
        strategy.begin_deletion(shown)
        return self._changed(review, "begin_deletion") or marked

    def stays(self, obj: Obj) -> bool:
        """Whether a deleted object stays: for its finalizers, or since it is held."""
        return bool(obj["metadata"].get("finalizers")) or self.held(obj)

    def held(self, obj: Obj) -> bool:
        """Whether the author's strategy holds a deleted object, whatever finalizers it has.

        What does not fit its type any more cannot be shown, and is not held: nobody could ever delete it otherwise.
        """
        strategy = self._kind.kind.strategy
        if type(strategy).holds is Strategy.holds:
            return False
        try:
            shown = self._kind.to_hub(obj, self._at.version)
        except Unfit:
            return False
        return strategy.holds(shown)

    def answer(self, obj: Obj, value: bytes, revision: int) -> FreshRendering:
        """What was written, as a read in this version will show it."""
        version = self._at.version
        shown = obj if self._kind.is_stored_as(version) else self._kind.from_stored(value, version)
        return FreshRendering(self._kind, version, with_revision(shown, revision), revision)


def _name_rule(kind: ServedKind) -> NameRule:
    native = kind.kind.native
    return object_name if native is None or native.names is None else name_rule(native.names)


def _without_metadata(obj: Obj) -> Obj:
    return {name: value for name, value in obj.items() if name != "metadata"}


def _with_part(obj: Obj, part: str, other: Obj) -> Obj:
    """``obj`` with one of its members as ``other`` has it, or without it."""
    rest = {name: value for name, value in obj.items() if name != part}
    return {**rest, part: other[part]} if part in other else rest


def with_revision(obj: Obj, revision: int) -> Obj:
    """The object with its resourceVersion; 0 takes it away (a dry run of a create has none)."""
    metadata: dict[str, Any] = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    if revision:
        metadata["resourceVersion"] = str(revision)
    return {**obj, "metadata": metadata}
