"""Asking the cluster whether a user may: SubjectAccessReview, its answers kept for some seconds (spec B10-B13).

Must not know what happens to a request that is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import msgspec
from twisted.internet.defer import TimeoutError as LookupTimeout

from extapi.api.requestselectors import Selectors
from extapi.api.user import User
from extapi.authorization.base import Attributes, AuthorizationError, Decision, Verdict
from extapi.client.base import TransportError
from extapi.client.clock import Clock
from extapi.client.fairqueue import REASON, FairQueue
from extapi.client.flight import AnswerCache, Flights
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.ratelimit import TokenBuckets
from extapi.client.review import Reviewer
from extapi.errors import ApiError, BadRequest, TooManyRequests

AUTHORIZED_TTL = UNAUTHORIZED_TTL = 10.0
"""Seconds an answer counts (``--authorization-webhook-cache-authorized-ttl`` and ``-unauthorized-ttl``)."""

CACHED = 8192
"""Answers that are kept."""

CACHED_LENGTH = 10_000
"""Bytes of what the caller chose, from which on an answer is not kept."""

CACHED_TOTAL = 32 * 1024 * 1024
"""Characters of the questions whose answers are kept: a user may have a megabyte of groups."""

LOOKUP_LIMIT = 60.0
"""Seconds for one look-up with all its tries."""

REFUSALS = 100
REFUSALS_PER_SECOND = 10.0
"""Distinct questions that one user may ask in vain: at once, and from then on. Who asks more is trying doors."""

USERS = 4096
"""Users whose refusals are counted."""

FLOW_LENGTH = 256
"""Characters of a user's name by which users are told apart here."""

_REVIEWS = ResourceName("authorization.k8s.io", "v1", "subjectaccessreviews")


class SubjectAccessReviewer:
    """Asks for reviews. ``jitter``: random numbers in [0, 1); the times to live are in seconds, 0 for no cache.

    A look-up is charged to the user it is about, and refunded if the answer is an allow. A user without credit gets 429
    for questions whose answers are not known yet.
    """

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        jitter: Callable[[], float],
        authorized_ttl: float = AUTHORIZED_TTL,
        unauthorized_ttl: float = UNAUTHORIZED_TTL,
        queue: FairQueue | None = None,
    ) -> None:
        self._reviewer = Reviewer(client, _REVIEWS, clock=clock, jitter=jitter, queue=queue)
        self._refusals = TokenBuckets(clock, rate=REFUSALS_PER_SECOND, burst=REFUSALS, size=USERS)
        self._authorized_ttl = authorized_ttl
        self._unauthorized_ttl = unauthorized_ttl
        self._cache: AnswerCache[Decision] = AnswerCache(clock, CACHED, CACHED_TOTAL)
        self._flights: Flights[Decision] = Flights(clock, LOOKUP_LIMIT)

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """The cluster's decision. Raises :class:`AuthorizationError`; :class:`TooManyRequests` if it cannot be asked now."""
        key = (*_identity(user), attributes)
        decision = self._cache.get(key)
        if decision is None:
            try:
                decision = await self._flights.join(key, lambda: self._looked_up(key, user, attributes))
            except LookupTimeout as error:
                raise AuthorizationError(f"subject access review: no answer within {LOOKUP_LIMIT:g} seconds") from error
        return decision

    async def _looked_up(self, key: Hashable, user: User, attributes: Attributes) -> Decision:
        flow = user.name[:FLOW_LENGTH]
        if not self._refusals.take(flow):
            raise TooManyRequests(REASON, retry_after=max(1, math.ceil(self._refusals.wait(flow))))
        status = await self._reviewed(user, attributes, flow)
        decision = _decision(status)
        allowed = decision.verdict is Verdict.ALLOW
        if allowed:
            self._refusals.give_back(flow)
        size = _size(attributes)
        if size < CACHED_LENGTH:
            ttl = self._authorized_ttl if allowed else self._unauthorized_ttl
            self._cache.put(key, decision, ttl, weight=size + _length(user))
        return decision

    async def _reviewed(self, user: User, attributes: Attributes, flow: str) -> Obj:
        try:
            return await self._reviewer.review(lambda: review_of(user, attributes), flow)
        except BaseException as error:
            self._refusals.give_back(flow)  # nobody has said no
            if isinstance(error, TooManyRequests):
                # Ours, or kube-apiserver's to each try.
                raise TooManyRequests(REASON, retry_after=error.retry_after or 1) from error
            if isinstance(error, ApiError | TransportError):
                raise AuthorizationError(str(error)) from error
            raise


def review_of(user: User, attributes: Attributes) -> Obj:
    """The review to post; what is empty is left out, as Go does."""
    spec: Obj = {}
    if attributes.is_resource:
        spec["resourceAttributes"] = _filled(
            {
                "namespace": attributes.namespace,
                "verb": attributes.verb,
                "group": attributes.group,
                "version": attributes.version,
                "resource": attributes.resource,
                "subresource": attributes.subresource,
                "name": attributes.name,
                "fieldSelector": _field_requirements(attributes.selectors),
                "labelSelector": _label_requirements(attributes.selectors),
            }
        )
    else:
        spec["nonResourceAttributes"] = _filled({"path": attributes.path, "verb": attributes.verb})
    extra = {key: list(values) for key, values in user.extra.items()}
    spec |= _filled({"user": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra})
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": spec}


def _label_requirements(selectors: Selectors | None) -> Obj | None:
    """What cannot be expressed or parsed is left out: the question is then a broader one, never an error (B11)."""
    if selectors is None:
        return None
    try:
        selector = selectors.labels
    except BadRequest:
        return None
    return _requirements(
        [
            _filled({"key": each.key, "operator": each.operator, "values": list(each.values)})
            for each in selector.requirements
            if each.operator not in {"Gt", "Lt"}
        ]
    )


def _field_requirements(selectors: Selectors | None) -> Obj | None:
    if selectors is None:
        return None
    try:
        selector = selectors.fields
    except BadRequest:
        return None
    return _requirements(
        [
            {"key": each.key, "operator": "In" if each.operator == "=" else "NotIn", "values": [each.value]}
            for each in selector.requirements
        ]
    )


def _requirements(found: list[Obj]) -> Obj | None:
    return {"requirements": found} if found else None


def _filled(members: Obj) -> Obj:
    return {key: value for key, value in members.items() if value}


class _Status(msgspec.Struct):
    """``SubjectAccessReviewStatus``; ``null`` is as good as nothing, as for Go's decoder."""

    allowed: bool | None = None
    denied: bool | None = None
    reason: str | None = None


def _decision(status: Obj) -> Decision:
    try:
        found = msgspec.convert(status, _Status)
    except msgspec.ValidationError as error:
        raise AuthorizationError(f"the answer of the subject access review has another shape: {error}") from error
    reason = found.reason or ""
    if found.allowed and found.denied:
        raise AuthorizationError("webhook subject access review returned both allow and deny response")
    if found.denied:
        return Decision(Verdict.DENY, reason)
    return Decision(Verdict.ALLOW if found.allowed else Verdict.NO_OPINION, reason)


def _identity(user: User) -> tuple[Hashable, ...]:
    """The user as part of a key; extra in an order of its own."""
    extra = tuple(sorted(user.extra.items())) if user.extra else ()
    return user.name, user.uid, user.groups, extra


def _length(user: User) -> int:
    """Characters of an identity."""
    length = len(user.name) + len(user.uid) + sum(map(len, user.groups))
    return length + sum(len(key) + sum(map(len, values)) for key, values in user.extra.items())


def _size(attributes: Attributes) -> int:
    """Bytes that the caller controls (``shouldCache``)."""
    selectors = attributes.selectors
    texts = (
        attributes.namespace,
        attributes.verb,
        attributes.group,
        attributes.version,
        attributes.resource,
        attributes.subresource,
        attributes.name,
        attributes.path,
        "" if selectors is None else selectors.fields_text,
        "" if selectors is None else selectors.labels_text,
    )
    return sum(len(text.encode("utf-8", "surrogateescape")) for text in texts)
