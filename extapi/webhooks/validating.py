"""Answers validating reviews: the verdict of the author's ``Strategy.validate``, ``warn`` and validating plugins.

Metadata and rules in CEL are left to kube-apiserver: the CustomResourceDefinition has them. The schema is checked again,
because an author's code must never see an object that breaks it, and a definition may be older than the types.
"""

from __future__ import annotations

from extapi.api.types import Obj
from extapi.errors import BadRequest
from extapi.webhooks.admitting import AdmittedKind, ReviewedWrite, verdict_on
from extapi.webhooks.reviews.admission import AdmissionRequest, AdmissionVerdict


class ValidatingWebhook:
    """What ``/validate/VERSION/SINGULAR`` does for one kind."""

    def __init__(self, kind: AdmittedKind) -> None:
        self._kind = kind

    async def verdict(self, request: AdmissionRequest) -> AdmissionVerdict:
        """The verdict on one write."""
        return await verdict_on(self._kind, request, _validated)


async def _validated(asked: ReviewedWrite) -> AdmissionVerdict:
    """The verdict on a write.

    Raises:
        ApiError: It is refused.
    """
    new, old = asked.objects
    if new is not None:
        before = None if old is None else asked.completed(old)
        await asked.write.checked(asked.operation, asked.completed(new), before, elsewhere=True)
    else:
        await _deletion(asked, old)
    return asked.verdict()


async def _deletion(asked: ReviewedWrite, old: Obj | None) -> None:
    """Ask about a delete.

    Raises:
        ApiError: A plugin refuses it, or it is unknown what is deleted.
    """
    if old is None:
        raise BadRequest("request.oldObject is missing in a review of DELETE")
    await asked.chain.validate(asked.write.deletion(asked.name_of(old), asked.completed(old)))
