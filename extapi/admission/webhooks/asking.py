"""What both plugins do with one webhook: whether it is asked, how it is called, and what its answer means.

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go`` ShouldCallHook, ``.../validating/dispatcher.go``
callHook.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import uuid4

from extapi.admission.base import Review
from extapi.admission.expressions.conditions import MatchError
from extapi.admission.expressions.environment import Input
from extapi.admission.expressions.evaluating import Evaluator
from extapi.admission.matching.index import Match
from extapi.admission.matching.rules import is_exempt
from extapi.admission.namespaces import NamespaceLabels, synced_in_time
from extapi.admission.rulesources import key_of, matches_of
from extapi.admission.shown import ShownObjects, kind_name, request_members
from extapi.admission.webhooks.configuration import Webhook
from extapi.admission.webhooks.counting import CALLING_ERROR, INTERNAL_ERROR, NO_ERROR, WebhookCalls
from extapi.admission.webhooks.denial import Rejection, denied
from extapi.admission.webhooks.reviews import Answer, answer, request, review_version
from extapi.admission.webhooks.source import WebhookSource
from extapi.api.types import Obj
from extapi.client.webhookreply import WebhookError, body_of
from extapi.clock import Clock
from extapi.conversion.hub import Unfit
from extapi.errors import ApiError, BadRequest, Forbidden, InternalError, Timeout, go_quote

T = TypeVar("T")

_LEAST = 0.001
"""Seconds that a call has at least, so that it fails as one that was made."""


class VersionedObjects(Protocol):
    """Both objects of a write in each version that is asked for."""

    @property
    def latest(self) -> ShownObjects:
        """They, in whatever version they are at hand."""
        ...

    async def at(self, version: str) -> ShownObjects:
        """They, in the version of the resource."""
        ...


class Invocation(NamedTuple):
    """A webhook that is to be called, and about what."""

    webhook: Webhook
    place: int
    """Its place among all webhooks."""
    objects: ShownObjects
    members: Obj
    """The members of the request but for its uid and the objects."""


class Asking:
    """Asks the webhooks of one source.

    Args:
        source: The webhooks.
        namespaces: Knows the labels of namespaces.
        evaluator: Runs match conditions.
        clock: The reactor's clock.
        calls: Counts calls.
    """

    def __init__(
        self,
        source: WebhookSource,
        namespaces: NamespaceLabels,
        evaluator: Evaluator,
        clock: Clock,
        calls: WebhookCalls | None = None,
    ) -> None:
        self._calls = calls or WebhookCalls()
        self._step = "admit" if source.kind.startswith("Mutating") else "validating"
        self._source = source
        self._namespaces = namespaces
        self._evaluator = evaluator
        self._clock = clock

    def may_match(self, review: Review) -> bool:
        """Whether there may be a webhook for the write. Cheap: most writes have none."""
        return not self._source.idle and matches_of(self._source, review, key_of(review)) != ()

    async def matches(self, review: Review) -> tuple[Match[Webhook], ...]:
        """The webhooks whose rules match the write, once all is known that is needed to tell.

        Raises:
            Forbidden: It is not known in time.
        """
        if is_exempt(review.group, review.kind.name):
            return ()
        if not await self._is_ready():
            raise Forbidden.on(review.resource, review.group, review.display_name(), "not yet ready to handle request")
        return matches_of(self._source, review, key_of(review)) or ()

    async def invocation(
        self, match: Match[Webhook], review: Review, objects: VersionedObjects, name: str
    ) -> Invocation | None:
        """What to ask a webhook whose rules match; None: it is not to be asked.

        Args:
            match: The webhook.
            review: The write.
            objects: The objects.
            name: The name of the object; empty if it has none yet.

        Raises:
            NotFound: The namespace does not exist.
            Forbidden: A match condition fails, and the webhook does not ignore failures.
            ApiError: An object cannot be converted, or a selector not be evaluated.
        """
        webhook = match.found
        try:
            selected, wrong = await self._namespaces.selects(webhook.namespace_selector, review), None
        except ApiError as error:
            selected, wrong = True, error
        if not selected or not webhook.object_selector.matches_either(*objects.latest):
            return None
        if wrong is not None:
            raise wrong
        shown = await _converted(objects, match.version, review)
        members = request_members(
            review, kind_name(review, match.version), kind_name(review, review.path_version), match.version, name
        )
        if webhook.conditions and not await self._fulfilled(webhook, review, shown, members, name):
            return None
        return Invocation(webhook, match.place, shown, members)

    async def call(self, invocation: Invocation, review: Review, *, mutating: bool) -> Answer:
        """What a webhook says that has not refused the write. Its warnings and audit annotations are kept.

        Raises:
            WebhookError: It could not be called, or has not answered as it should.
            BadRequest: It has side effects, and this is a dry run.
            Rejection: It refuses the write.
        """
        webhook = invocation.webhook
        if review.dry_run and webhook.side_effects not in {"None", "NoneOnDryRun"}:
            if not webhook.side_effects:
                raise WebhookError("Webhook SideEffects is nil", 400)
            raise BadRequest(f"admission webhook {go_quote(webhook.name)} does not support dry run")
        version, uid = review_version(webhook.review_versions), str(uuid4())
        caller = self._source.callers.of(webhook)
        body = request(version, uid, invocation.members, *invocation.objects)
        seconds = max(min(webhook.seconds, review.deadline - self._clock.seconds()), _LEAST)
        try:
            content = body_of(await caller.call(body, seconds, announced=math.ceil(seconds)))
        except WebhookError as error:
            raise WebhookError(f"failed to call webhook: {error}", error.code) from None
        said = answer(content, version, uid, mutating=mutating)
        for key, value in said.audit_annotations.items():
            review.annotate(f"{webhook.name}/{key}", value)
        for text in said.warnings:
            review.warn(text)
        self._source.log(webhook).succeeded()
        if not said.allowed:
            raise Rejection(denied(webhook.name, said.result))
        return said

    async def counted(self, invocation: Invocation, review: Review, work: Awaitable[T]) -> T:
        """The result of a call, and of what follows of its answer.

        Raises:
            WebhookError: The webhook could not be called, or has not answered as it should.
            ApiError: It refuses the write, or what follows of its answer fails.
        """
        webhook, began = invocation.webhook, self._clock.seconds()
        key = webhook.name, self._step, str(review.operation)

        def seconds() -> float:
            return self._clock.seconds() - began

        try:
            made = await work
        except WebhookError as error:
            if webhook.ignores_failures:
                self._calls.called(key, seconds(), error.code, rejected=False)
            else:
                self._calls.rejected(key, seconds(), error.code, CALLING_ERROR)
            raise
        except Rejection as rejection:
            self._calls.rejected(key, seconds(), rejection.error.code, NO_ERROR)
            raise rejection.error from None
        except ApiError:
            self._calls.rejected(key, seconds(), 0, INTERNAL_ERROR)
            raise
        self._calls.called(key, seconds(), 200, rejected=False)
        return made

    def failed(self, webhook: Webhook, error: WebhookError, review: Review, annotation: str) -> None:
        """Go on after a webhook that could not be called, if it is one that may be left out.

        Args:
            webhook: The webhook.
            error: Why.
            review: The write.
            annotation: The key of the audit annotation that says so.

        Raises:
            InternalError: It may not.
            Timeout: The request's time is up.
        """
        text = f"failed calling webhook {go_quote(webhook.name)}: {error}"
        self._source.log(webhook).failed(text)
        if not webhook.ignores_failures:
            raise InternalError.because(text)
        self._calls.open(webhook.name, self._step)
        review.annotate(annotation, webhook.name)
        self.check_time(review)

    def check_time(self, review: Review) -> None:
        """Check that the request still has time.

        Raises:
            Timeout: It has none.
        """
        if self._clock.seconds() >= review.deadline:
            raise Timeout("Timeout: request did not complete within requested timeout", with_details=True)

    async def _is_ready(self) -> bool:
        both = (self._source, self._namespaces.cache)
        return all([each.synced or await synced_in_time(each, self._clock) for each in both])

    async def _fulfilled(self, webhook: Webhook, review: Review, shown: ShownObjects, members: Obj, name: str) -> bool:
        """Whether the webhook's match conditions are true.

        Raises:
            Forbidden: They cannot be evaluated.
        """
        resource = (review.group, review.resource, review.subresource, review.namespace, name)
        given = Input(shown.obj, shown.old, members, review.user, resource)
        try:
            return await webhook.conditions.match(given, self._evaluator, review.deadline)
        except MatchError as error:
            found = Forbidden.on(review.resource, review.group, name, str(error))
            if not name:  # apierrors.NewForbidden shows no empty name
                found.message = found.message.replace(' "" is forbidden', " is forbidden", 1)
            raise found from None


async def _converted(objects: VersionedObjects, version: str, review: Review) -> ShownObjects:
    try:
        return await objects.at(version)
    except Unfit as unfit:
        if review.operation != "DELETE":
            raise
        # A chain takes Unfit for an author's plugin that may be left out of a deletion; a cluster's webhook may not.
        error: Any = InternalError(unfit.message, causes=unfit.causes)
        raise error from unfit
