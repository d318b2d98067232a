"""The authorizer that asks the cluster by SubjectAccessReview, and caches its decisions for seconds (behaviour B10-B13).

Must not know what happens to a request that is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import msgspec
from twisted.internet.defer import TimeoutError as LookupTimeout

from extapi.api.requestselectors import Selectors
from extapi.api.user import User
from extapi.authorization.authorizer import Attributes, AuthorizationError, Decision, Verdict
from extapi.client.fairqueue import REASON, FairQueue
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.ratelimit import TokenBuckets
from extapi.client.review import Reviewer
from extapi.client.singleflight import AnswerCache, SingleFlight
from extapi.client.transport import TransportError
from extapi.clock import Clock
from extapi.errors import ApiError, BadRequest, TooManyRequests

AUTHORIZED_TTL = UNAUTHORIZED_TTL = 10.0
"""Seconds for which a decision is cached (``--authorization-webhook-cache-authorized-ttl`` and ``-unauthorized-ttl``)."""

CACHED = 8192
"""Decisions in the cache."""

CACHED_LENGTH = 10_000
"""Decisions are not cached if the client chose this many bytes of their attributes, or more."""

CACHED_TOTAL = 32 * 1024 * 1024
"""Characters of all users and attributes in the cache: a user may have a megabyte of groups."""

LOOKUP_LIMIT = 60.0
"""Seconds for one look-up, retries included."""

REFUSALS = 100
REFUSALS_PER_SECOND = 10.0
"""Look-ups per user that may end in a refusal: a burst, and a rate. A user who causes more is probing."""

USERS = 4096
"""Users whose refusals are counted."""

FLOW_LENGTH = 256
"""Characters of a user's name that tell users apart in the queue and among those counted."""

_REVIEWS = ResourceName("authorization.k8s.io", "v1", "subjectaccessreviews")


class SubjectAccessReviewer:
    """Posts reviews, and caches their decisions.

    A look-up is charged to its user, and refunded if the decision is an allow. A user without credit gets 429, except for
    decisions that are cached.

    Args:
        client: Reaches the cluster.
        clock: The time.
        jitter: Random numbers in [0, 1).
        authorized_ttl: Seconds for which an allow is cached; 0 for no cache.
        unauthorized_ttl: The same for every other decision.
        queue: Bounds the reviews in flight; by default a queue of its own.
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
        self._flights: SingleFlight[Decision] = SingleFlight(clock, LOOKUP_LIMIT)

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """The cluster's decision.

        Raises:
            AuthorizationError: The review failed.
            TooManyRequests: The user has no credit, the queue is full, or kube-apiserver answered 429.
        """
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
            self._refusals.give_back(flow)  # it was not refused
            if isinstance(error, TooManyRequests):
                # From our queue, or from kube-apiserver after all retries.
                raise TooManyRequests(REASON, retry_after=error.retry_after or 1) from error
            if isinstance(error, ApiError | TransportError):
                raise AuthorizationError(str(error)) from error
            raise


def review_of(user: User, attributes: Attributes) -> Obj:
    """The review to post, without empty members, as Go writes it."""
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
    """The requirements of the label selector.

    What a review cannot express, or what does not parse, is left out: the review is then about more objects, and no error
    (behaviour B11).
    """
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
    """``SubjectAccessReviewStatus``; a ``null`` member counts as missing, as for Go's decoder."""

    allowed: bool | None = None
    denied: bool | None = None
    reason: str | None = None


def _decision(status: Obj) -> Decision:
    try:
        found = msgspec.convert(status, _Status)
    except msgspec.ValidationError as error:
        raise AuthorizationError(f"the subject access review has a malformed status: {error}") from error
    reason = found.reason or ""
    if found.allowed and found.denied:
        raise AuthorizationError("webhook subject access review returned both allow and deny response")
    if found.denied:
        return Decision(Verdict.DENY, reason)
    return Decision(Verdict.ALLOW if found.allowed else Verdict.NO_OPINION, reason)


def _identity(user: User) -> tuple[Hashable, ...]:
    """The user as part of a cache key; ``extra`` is sorted."""
    extra = tuple(sorted(user.extra.items())) if user.extra else ()
    return user.name, user.uid, user.groups, extra


def _length(user: User) -> int:
    """Characters of a user's name, uid, groups and extra."""
    length = len(user.name) + len(user.uid) + sum(map(len, user.groups))
    return length + sum(len(key) + sum(map(len, values)) for key, values in user.extra.items())


def _size(attributes: Attributes) -> int:
    """Bytes of the attributes that the client chose.

    Source: ``k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go`` shouldCache.
    """
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
