"""What a bearer token is worth, as the cluster says: TokenReview (spec A23-A25, A28).

Answers are kept for some seconds under a keyed hash: tokens are not kept. Must not know where a token was found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from twisted.internet.defer import TimeoutError as LookupTimeout

from extapi.api.user import User
from extapi.authentication.base import AuthenticationError, Undecided
from extapi.authentication.groups import authenticated
from extapi.client.base import TransportError
from extapi.client.clock import Clock
from extapi.client.flight import AnswerCache, Flights
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.review import Reviewer
from extapi.errors import ApiError

TTL = 10.0
"""Seconds an answer counts (``--authentication-token-webhook-cache-ttl``)."""

CACHED = 4096
"""Answers that are kept."""

LOOKUP_LIMIT = 30.0
"""Seconds for one look-up with all its tries."""

_TOKEN_REVIEWS = ResourceName("authentication.k8s.io", "v1", "tokenreviews")


@dataclass(frozen=True, slots=True)
class _Answer:
    """``user``: ``None`` for a token that is nobody's."""

    user: User | None


class _ReviewedUser(msgspec.Struct):
    """``UserInfo`` of authentication.k8s.io/v1; ``null`` is as good as nothing, as for Go's decoder."""

    username: str | None = None
    uid: str | None = None
    groups: list[str] | None = None
    extra: dict[str, list[str] | None] | None = None


class _Status(msgspec.Struct):
    """``TokenReviewStatus``."""

    authenticated: bool | None = None
    user: _ReviewedUser | None = None
    audiences: list[str] | None = None
    error: str | None = None


class TokenReviewer:
    """Asks for reviews. ``secret``: random bytes of this process, at least 16; ``jitter``: random numbers in [0, 1).

    ``audiences``: whom a token has to be meant for, if that matters; ``ttl``: seconds, 0 for no cache.
    """

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        secret: bytes,
        jitter: Callable[[], float],
        audiences: Sequence[str] = (),
        ttl: float = TTL,
    ) -> None:
        self._reviewer = Reviewer(client, _TOKEN_REVIEWS, clock=clock, jitter=jitter)
        self._secret = secret
        self._audiences = tuple(audiences)
        self._ttl = ttl
        self._cache: AnswerCache[_Answer] = AnswerCache(clock, CACHED)
        self._flights: Flights[_Answer] = Flights(clock, LOOKUP_LIMIT)

    async def authenticate_token(self, token: str) -> User | None:
        """Whose it is; ``None``: nobody's. Raises :class:`AuthenticationError` if that cannot be told."""
        key = hashlib.blake2b(token.encode("utf-8", "surrogateescape"), key=self._secret[:64], digest_size=32).digest()
        answer = self._cache.get(key)
        if answer is None:
            try:
                answer = await self._flights.join(key, lambda: self._looked_up(key, token))
            except LookupTimeout as error:
                raise Undecided(f"token review: no answer within {LOOKUP_LIMIT:g} seconds") from error
        return answer.user

    async def _looked_up(self, key: bytes, token: str) -> _Answer:
        spec: Obj = {"token": token}
        if self._audiences:
            spec["audiences"] = list(self._audiences)
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}, "spec": spec}
        try:
            status = await self._reviewer.review(review)
        except (ApiError, TransportError) as error:
            raise Undecided(f"token review: {error}") from error
        answer = _Answer(self._user(status))
        self._cache.put(key, answer, self._ttl)
        return answer

    def _user(self, status: Obj) -> User | None:
        try:
            found = msgspec.convert(status, _Status)
        except msgspec.ValidationError as error:
            raise AuthenticationError(f"token review: the answer has another shape: {error}") from error
        if not found.authenticated:
            if found.error:
                raise AuthenticationError(f"token review: {found.error}")
            return None
        audiences = found.audiences or []
        if self._audiences and not set(self._audiences).intersection(audiences):
            raise AuthenticationError(f"token review: the token is for the audiences {audiences}")
        user = found.user or _ReviewedUser()
        if not user.username:
            raise AuthenticationError("token review: the token is good, but the answer names no user")
        return authenticated(
            User(
                user.username,
                uid=user.uid or "",
                groups=tuple(user.groups or ()),
                extra={key: tuple(values or ()) for key, values in (user.extra or {}).items()},
            )
        )
