"""One attempt to write one object: admission, the author's strategy and validation, for create, update and delete.

The order is that of ``registry.Store`` in k8s.io/apiserver (behaviour K1, K2): mutating admission, defaults again, the
author's ``prepare``, validation by schema and by the author, warnings, validating admission, storage version, commit. One
thing differs: the schema validates an object before an author's code sees it, since Python's types are stricter than Go's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from twisted.internet.defer import CancelledError

from extapi.admission.base import Operation, Review
from extapi.api.metadata import dedupe_owner_references, finalizer_warnings
from extapi.api.metadata_rules import validate_object_meta
from extapi.api.strategy import Strategy
from extapi.api.types import Obj
from extapi.conversion.hub import Unfit
from extapi.errors import (
    ApiError,
    FieldError,
    FieldErrorType,
    InternalError,
    Invalid,
)
from extapi.registry.base import Admission, RequestScope
from extapi.registry.encoded import EncodedObject
from extapi.registry.reviewed import ReviewedVersions, WeakConvert
from extapi.registry.served import ServedKind
from extapi.registry.store import Store
from extapi.registry.target import check_name, check_namespace

BLOCKING: Final = frozenset(
    {
        FieldErrorType.NOT_SUPPORTED,
        FieldErrorType.REQUIRED,
        FieldErrorType.TOO_LONG,
        FieldErrorType.TOO_MANY,
        FieldErrorType.TYPE_INVALID,
    }
)
"""The types of errors with which rules are not run (behaviour J36)."""
UNCHECKED: Final = FieldError.invalid(
    "",
    None,
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
)


class Write:
    """One attempt to write one object, in the request's version; the :class:`~extapi.admission.base.CheckedConverter` of its reviews.

    An object that breaks its schema is never shown to an author's code: the answer is the schema's errors. An object that no
    code asks for is validated once, after admission.
    """

    def __init__(
        self, kind: ServedKind, scope: RequestScope, admit: Admission, convert: WeakConvert | None = None
    ) -> None:
        self._kind = kind
        self._scope = scope
        self._admit = admit
        self._convert = convert
        self._validated: Obj | None = None
        self._schema_errors: list[FieldError] = []
        """The schema's errors of the object that was validated last."""
        self._refusal: Invalid | None = None
        """What was raised when code asked for an object that breaks its schema."""
        self._old: tuple[Obj, Obj] | None = None
        """The new object, and the stored object as it is shown beside it."""
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
            checked_converter=self,
            group=self._kind.group,
            version=self._scope.version,
            namespace=self._scope.namespace,
            name=name,
            subresource=self._admit.subresource,
            user=self._admit.user,
            obj=obj,
            old=old,
            dry_run=self._admit.dry_run,
            options=self._admit.options,
            warned=self._admit.warn,
            annotated=self._admit.annotate,
            versions=self._versions,
            name_is_generated=self._admit.name_is_generated,
            of_collection=self._admit.of_collection,
            deadline=self._admit.deadline,
        )

    def _versions(self) -> ReviewedVersions:
        """The resource in all its versions, for plugins that want another one."""
        convert = None if self._convert is None else self._convert()
        return ReviewedVersions(self._kind, self._kind, self._admit.subresource, convert)

    async def mutated(
        self, operation: Operation, obj: Obj, old: Obj | None, keep: Callable[[Obj], None], *, named: str = ""
    ) -> Obj:
        """The object after mutating admission and the author's ``prepare``, pruned and defaulted after each.

        Owner references that plugins have doubled are dropped in between, with a warning (behaviour E17).

        Args:
            operation: CREATE or UPDATE.
            obj: The new object.
            old: The stored object.
            keep: Restores, in place, what plugins cannot change. It runs before ``prepare``, which may set a first status
                (behaviour K1, K2).
            named: The name in the path, of a write that nothing else keeps from storing the object under another one.

        Raises:
            Invalid: The object breaks its schema, and code asks for it.
            BadRequest: A plugin or the strategy has given it another namespace, or another name than ``named``.
            ApiError: A plugin or the strategy refuses it.
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
            if made is not obj:
                check_namespace(made, self._scope.namespace, namespaced=self._kind.namespaced)
            warning = dedupe_owner_references(made, after_admission=True)
            if warning:  # a plugin has just made this object, so nobody was shown it
                self._admit.warn(warning)
            if self._kind.prepares and not self._admit.subresource:  # a write of a part leaves the rest alone
                self._kind.kind.strategy.prepare(review.object, review.old_object)
                made = self._changed(review, "prepare") or made
                check_namespace(made, self._scope.namespace, namespaced=self._kind.namespaced)
            if named:
                check_name(made, named)
        except Exception as error:
            await self._raise_schema_errors(error, obj, old)
            raise
        self._kind.kind.behaviour.storing.canonicalize(made)
        return made

    def _changed(self, review: Review, whose: str) -> Obj | None:
        """The changed object of the review, pruned and defaulted; None: it is unchanged. ``whose``: the code that ran."""
        result = review.result()
        if result is None or result is review.obj:
            return None
        self._kind.check(result, whose)
        self._kind.complete(result, self._scope.version)
        self._kind.coerce_and_default(result, self._scope.version)
        return result

    async def checked(self, operation: Operation, obj: Obj, old: Obj | None, *, elsewhere: bool = False) -> None:
        """Validate by metadata rules, schema and rules, then by the strategy, warn, then ask validating admission.

        Args:
            operation: CREATE or UPDATE.
            obj: The new object.
            old: The stored object.
            elsewhere: Another server writes, and checks metadata and rules, as a CustomResourceDefinition says. The schema
                is checked here too: it stands between an object and an author's code.

        Raises:
            Invalid: With all errors of metadata, schema and rules; if there are none of the last two, of metadata and
                strategy.
            ApiError: A plugin refuses the object.
        """
        if not elsewhere:
            await self._check_rules(obj, old)
        elif broken := self._errors_of(obj, old):
            raise self._invalid(obj, broken)
        review, name = self._reviewed, self._name(obj)
        if review is None or review.obj is not obj or review.name != name:
            review = self._reviewed = self._review(operation, name, obj, old)
        try:
            review.refresh()
            await self._validate_by_strategy(review, obj, old, elsewhere=elsewhere)
            await self._admit.chain.validate(review)
        except Exception as error:
            await self._raise_schema_errors(error, obj, old)
            raise

    async def _validate_by_strategy(self, review: Review, obj: Obj, old: Obj | None, *, elsewhere: bool) -> None:
        kind = self._kind
        errors = [] if elsewhere else self._metadata_errors(obj, old)
        strategy = kind.kind.strategy
        warnings: Sequence[str] | None = None
        if kind.kind.behaviour.storing.is_slow(obj):
            new, before = review.object, review.old_object
            found, warnings = await self._admit.rules.apart(
                lambda: (list(strategy.validate(new, before)), list(strategy.warn(new, before)))
            )
            errors += found
        elif kind.validates:
            errors += strategy.validate(review.object, review.old_object)
        if errors:
            raise self._invalid(obj, errors)
        for text in () if elsewhere else finalizer_warnings(obj, old):
            self._admit.warn(text)
        if kind.warns:
            for text in strategy.warn(review.object, review.old_object) if warnings is None else warnings:
                self._admit.warn(text)

    def check_schema(self, obj: Obj, old: Obj | None) -> None:
        """See :class:`extapi.admission.base.CheckedConverter`. Metadata's errors are reported too; values of ``old`` pass (behaviour J26)."""
        errors = self._errors_of(obj, old)
        if errors:
            self._refusal = self._invalid(obj, self._metadata_errors(obj, old) + errors)
            raise self._refusal

    def _errors_of(self, obj: Obj, old: Obj | None) -> list[FieldError]:
        """The schema's errors of an object, found once."""
        if self._validated is not obj:
            self._schema_errors = self._kind.schema_errors(obj, old, self._scope.version, self._admit.subresource)
            self._validated = obj
        return self._schema_errors

    async def _check_rules(self, obj: Obj, old: Obj | None) -> None:
        """Check an object by its schema and its rules, which see no object of the wrong form (behaviour J36).

        Source: ``apiextensions-apiserver/pkg/registry/customresource`` Validate and hasBlockingErr.

        Raises:
            Invalid: It breaks the schema or a rule. Metadata's errors are reported too.
        """
        rules = self._kind.versions[self._scope.version].schema.rules
        if rules is None:
            self.check_schema(obj, old)
            return
        errors = self._errors_of(obj, old)
        of_metadata = self._metadata_errors(obj, old)
        if any(error.type in BLOCKING for error in (*of_metadata, *errors)):
            errors = [*errors, UNCHECKED]
        else:
            found = await self._admit.rules.validate(rules, obj, old, self._admit.expired)
            for text in found.warnings:
                self._admit.warn(text)
            errors = [*errors, *found.errors]
        if errors:
            raise self._invalid(obj, of_metadata + errors)

    def to_hub(self, obj: Obj, old: Obj | None) -> Any:
        """See :class:`extapi.admission.base.CheckedConverter`."""
        self.check_schema(obj, old)
        try:
            return self._kind.to_hub(obj, self._scope.version)
        except Unfit as unfit:
            raise self._invalid(obj, unfit.errors) from None

    def old_to_hub(self, old: Obj, obj: Obj | None) -> Any:
        """See :class:`extapi.admission.base.CheckedConverter`.

        Parts that break today's schema are shown as the write has them. So a write that repairs them passes, and to a rule
        that compares the two objects they have not changed.
        """
        to_hub, version = self._kind.to_hub, self._scope.version
        if obj is None:
            return to_hub(old, version)
        if self._old is None or self._old[0] is not obj:
            # Parts that are equal in both are shown as they are.
            sound = _without_metadata(old) == _without_metadata(obj) or not self._kind.schema_errors(old, None, version)
            self._old = obj, old if sound else self._repaired(old, obj)
        try:
            return to_hub(self._old[1], version)
        except Unfit:
            self._old = obj, self._repaired(old, obj)
            return to_hub(self._old[1], version)

    def _repaired(self, old: Obj, obj: Obj) -> Obj:
        """The stored object, with parts from ``obj`` in place of its invalid ones."""
        self.to_hub(obj, old)  # raises if that cannot be shown either
        converter, version = self._kind.converter, self._scope.version
        repaired = dict(old)
        for part in {**old, **obj}.keys() - {"apiVersion", "kind", "metadata"}:
            tried = _with_part(obj, part, old)
            if not converter.fits(tried, version) or self._kind.schema_errors(tried, None, version):
                repaired = _with_part(repaired, part, obj)
        return repaired

    async def encoded(self, store: Store, obj: Obj) -> EncodedObject:
        """The object's bytes, for ``store`` and for the answer.

        Raises:
            Invalid: The object does not fit its type, so that it cannot be converted.
            InternalError: An author's code failed, or made what is no JSON.
        """
        kind, version, review = self._kind, self._scope.version, self._reviewed
        if kind.waits:
            return EncodedObject(kind, await store.converted(obj, kind.kind.storage), version, store.read)
        # What was reviewed is converted on, unless a validator has changed it.
        hub = review.hub_object() if review is not None and review.obj is obj and version != kind.kind.storage else None
        try:
            stored = kind.to_storage(obj, version, hub)
        except Unfit as unfit:
            raise self._invalid(obj, unfit.errors) from None
        return EncodedObject(kind, stored, version)

    async def _raise_schema_errors(self, error: Exception, obj: Obj, old: Obj | None) -> None:
        """Replace a failure of an author's code by the schema's errors, if the object has any; add to these what rules say.

        An update may leave values that break rules newer than they are (behaviour J26), on which an author's code may rely.

        Raises:
            Invalid: The object breaks its schema, or does not fit its type.
        """
        if error is self._refusal and self._validated is not None:
            await self._check_rules(self._validated, old)
        refused = isinstance(error, ApiError) and not isinstance(error, InternalError)
        if refused or isinstance(error, CancelledError):
            return
        late = self._kind.schema_errors(obj, None, self._scope.version) if old is not None else ()
        errors = late or (error.errors if isinstance(error, Unfit) else ())
        if errors:
            raise self._invalid(obj, errors) from error

    def _invalid(self, obj: Obj, errors: Sequence[FieldError]) -> Invalid:
        kind: str = obj["kind"]  # that the client wrote
        return Invalid.of(kind, self._kind.error_group, self._name(obj), errors)

    def _metadata_errors(self, obj: Obj, old: Obj | None) -> list[FieldError]:
        storing = self._kind.kind.behaviour.storing
        return [
            *validate_object_meta(obj, namespaced=self._kind.namespaced, old=old, name_rule=storing.names),
            *storing.finalizer_errors(obj),
        ]

    async def deletable(self, name: str, old: Obj) -> None:
        """Ask admission about a delete, which has an old object and no new one (behaviour I2)."""
        review = self.deletion(name, old)
        await self._admit.chain.mutate(review)
        await self._admit.chain.validate(review)

    def deletion(self, name: str, old: Obj) -> Review:
        """What plugins are asked about a delete."""
        return self._review(Operation.DELETE, name, None, old)

    def prepared_for_deletion(self, name: str, marked: Obj) -> Obj:
        """An object that is marked for deletion, after the author's ``prepare_for_deletion`` if it can be shown."""
        strategy = self._kind.kind.strategy
        if type(strategy).prepare_for_deletion is Strategy.prepare_for_deletion:
            return marked
        self._validated, self._schema_errors = marked, []  # stored objects can be deleted whatever rules came later
        review = self._review(Operation.DELETE, name, marked, None)
        try:
            shown = review.object
        except Invalid:
            return marked
        strategy.prepare_for_deletion(shown)
        return self._changed(review, "prepare_for_deletion") or marked

    def must_stay(self, obj: Obj) -> bool:
        """Whether a deleted object stays, because of its finalizers or the author's strategy."""
        return bool(obj["metadata"].get("finalizers")) or self.is_blocked(obj)

    def is_blocked(self, obj: Obj) -> bool:
        """Whether the author's strategy blocks the deletion.

        It cannot be asked about an object that no longer fits its type: that one can be deleted.
        """
        strategy = self._kind.kind.strategy
        if type(strategy).blocks_deletion is Strategy.blocks_deletion:
            return False
        try:
            shown = self._kind.to_hub(obj, self._scope.version)
        except Unfit:
            return False
        return strategy.blocks_deletion(shown)


def _without_metadata(obj: Obj) -> Obj:
    return {name: value for name, value in obj.items() if name != "metadata"}


def _with_part(obj: Obj, part: str, other: Obj) -> Obj:
    """``obj`` with one member as in ``other``, or without it."""
    rest = {name: value for name, value in obj.items() if name != part}
    return {**rest, part: other[part]} if part in other else rest
