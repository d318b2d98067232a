"""ValidatingAdmissionWebhook: webhooks that may refuse a write, all at a time (behaviour I9 to I13).

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/validating``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twisted.internet.defer import Deferred, DeferredList

from extapi.admission.base import Review
from extapi.admission.rulesources import RuleSources
from extapi.admission.shown import ConvertedObjects
from extapi.admission.webhooks.asking import Asking, Invocation
from extapi.client.webhookreply import WebhookError
from extapi.errors import ApiError

NAME: Final = "ValidatingAdmissionWebhook"
_FAILED_OPEN: Final = "failed-open.validating.webhook.admission.k8s.io/"


class ValidatingWebhooks:
    """The plugin. It is a validator (:class:`extapi.admission.base.Validator`)."""

    plugin_name = NAME
    rules: RuleSources | None = None
    """All configurations of the cluster; the chain asks them before it asks the plugin."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def handles(self, review: Review) -> bool:
        """Whether a webhook may have to be asked."""
        return self._asking.may_match(review)

    async def validate(self, review: Review) -> None:
        """Ask all webhooks about a write, at the same time.

        Raises:
            ApiError: A webhook refuses the write, or cannot be asked: what was the first to be known.
        """
        matches = await self._asking.matches(review)
        if not matches:
            return
        objects = ConvertedObjects(review)
        name = review.requested_name()
        found = [await self._asking.invocation(match, review, objects, name) for match in matches]
        invocations = [each for each in found if each is not None]
        if not invocations:
            return
        self._asking.check_time(review)
        errors: list[ApiError] = []
        if len(invocations) == 1:  # most have one: no need to gather
            await self._call(invocations[0], 0, review, errors)
        else:
            await self._call_all(invocations, review, errors)
        if errors:
            raise errors[0]

    async def _call_all(self, invocations: Sequence[Invocation], review: Review, errors: list[ApiError]) -> None:
        """Call several at the same time; ``errors`` gets the refusals as they come."""
        calls = [
            Deferred.fromCoroutine(self._call(each, place, review, errors)) for place, each in enumerate(invocations)
        ]
        results = await DeferredList(calls, consumeErrors=True)
        if errors:
            return
        for succeeded, failure in results:
            if not succeeded:
                raise failure.value  # type: ignore[attr-defined]  # a Failure, where the call has not succeeded

    async def _call(self, invocation: Invocation, place: int, review: Review, errors: list[ApiError]) -> None:
        """Call one webhook; ``place``: among those that are called."""
        try:
            await self._asking.counted(invocation, review, self._asking.call(invocation, review, mutating=False))
        except WebhookError as error:
            try:
                key = f"{_FAILED_OPEN}round_0_index_{place}"
                self._asking.failed(invocation.webhook, error, review, key)
            except ApiError as refused:
                errors.append(refused)
        except ApiError as error:
            errors.append(error)
