"""Asking the cluster whether a user may: SubjectAccessReview, its answers kept for some seconds (spec B10-B13).

Must not know what happens to a request that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import msgspec
from twisted.internet.defer import TimeoutError as LookupTimeout

from extapi.api.selectors import parse_field_selector, parse_label_selector
from extapi.api.user import User
from extapi.authorization.base import Attributes, AuthorizationError, Decision, Verdict
from extapi.client.base import TransportError
from extapi.client.clock import Clock
from extapi.client.flight import AnswerCache, Flights
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.review import Reviewer
from extapi.errors import ApiError, BadRequest

AUTHORIZED_TTL = UNAUTHORIZED_TTL = 10.0
"""Seconds an answer counts (``--authorization-webhook-cache-authorized-ttl`` and ``-unauthorized-ttl``)."""

CACHED = 8192
"""Answers that are kept."""

CACHED_LENGTH = 10_000
"""Bytes of what the caller chose, from which on an answer is not kept."""

LOOKUP_LIMIT = 60.0
"""Seconds for one look-up with all its tries."""

_REVIEWS = ResourceName("authorization.k8s.io", "v1", "subjectaccessreviews")


class SubjectAccessReviewer:
    """Asks for reviews. ``jitter``: random numbers in [0, 1); the times to live are in seconds, 0 for no cache."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        jitter: Callable[[], float],
        authorized_ttl: float = AUTHORIZED_TTL,
        unauthorized_ttl: float = UNAUTHORIZED_TTL,
    ) -> None:
        self._reviewer = Reviewer(client, _REVIEWS, clock=clock, jitter=jitter)
        self._authorized_ttl = authorized_ttl
        self._unauthorized_ttl = unauthorized_ttl
        self._cache: AnswerCache[Decision] = AnswerCache(clock, CACHED)
        self._flights: Flights[Decision] = Flights(clock, LOOKUP_LIMIT)

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """The cluster's decision. Raises :class:`AuthorizationError`."""
        key = (*_identity(user), attributes)
        decision = self._cache.get(key)
        if decision is None:
            try:
                decision = await self._flights.join(key, lambda: self._looked_up(key, user, attributes))
            except LookupTimeout as error:
                raise AuthorizationError(f"subject access review: no answer within {LOOKUP_LIMIT:g} seconds") from error
        return decision

    async def _looked_up(self, key: Hashable, user: User, attributes: Attributes) -> Decision:
        try:
            status = await self._reviewer.review(review_of(user, attributes))
        except (ApiError, TransportError) as error:
            raise AuthorizationError(str(error)) from error
        decision = _decision(status)
        if _size(attributes) < CACHED_LENGTH:
            allowed = decision.verdict is Verdict.ALLOW
            self._cache.put(key, decision, self._authorized_ttl if allowed else self._unauthorized_ttl)
        return decision


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
                "fieldSelector": _field_requirements(attributes.field_selector),
                "labelSelector": _label_requirements(attributes.label_selector),
            }
        )
    else:
        spec["nonResourceAttributes"] = _filled({"path": attributes.path, "verb": attributes.verb})
    extra = {key: list(values) for key, values in user.extra.items()}
    spec |= _filled({"user": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra})
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": spec}


def _label_requirements(text: str) -> Obj | None:
    """What cannot be expressed or parsed is left out: the question is then a broader one, never an error (B11)."""
    if not text:
        return None
    try:
        selector = parse_label_selector(text)
    except BadRequest:
        return None
    return _requirements(
        [
            _filled({"key": each.key, "operator": each.operator, "values": list(each.values)})
            for each in selector.requirements
            if each.operator not in {"Gt", "Lt"}
        ]
    )


def _field_requirements(text: str) -> Obj | None:
    if not text:
        return None
    try:
        selector = parse_field_selector(text)
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


def _size(attributes: Attributes) -> int:
    """Bytes that the caller controls (``shouldCache``)."""
    texts = (
        attributes.namespace,
        attributes.verb,
        attributes.group,
        attributes.version,
        attributes.resource,
        attributes.subresource,
        attributes.name,
        attributes.path,
        attributes.field_selector,
        attributes.label_selector,
    )
    return sum(len(text.encode("utf-8", "surrogateescape")) for text in texts)
