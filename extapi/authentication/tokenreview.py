"""The authenticator that asks the cluster about tokens by TokenReview (behaviour A23-A25, A28).

Results are cached for seconds under a keyed hash of the token; tokens are not stored. Must not know where a token was
found.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from twisted.internet.defer import TimeoutError as LookupTimeout

from extapi.api.user import User
from extapi.authentication.authenticator import AuthenticationError, Undecided, authenticated
from extapi.client.fairqueue import REASON, FairQueue
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.ratelimit import TokenBuckets
from extapi.client.review import Reviewer
from extapi.client.singleflight import AnswerCache, SingleFlight
from extapi.client.transport import TransportError
from extapi.clock import Clock
from extapi.errors import ApiError, TooManyRequests
from extapi.http.request import client_network

TTL = 10.0
"""Seconds for which a result is cached (``--authentication-token-webhook-cache-ttl``)."""

CACHED = 4096
"""Results in the cache."""

LOOKUP_LIMIT = 30.0
"""Seconds for one look-up, retries included."""

TOKEN_LIMIT = 64 * 1024
"""Characters of a token. Most are JWTs of 1 to 2 KiB; one with thousands of groups has some 50 KiB. A header may have 1 MiB."""

FAILURES = 100
FAILURES_PER_SECOND = 1.0
"""Invalid tokens per address that are reviewed: a burst, and a rate."""

ADDRESSES = 4096
"""Addresses whose failures are counted."""

_TOKEN_REVIEWS = ResourceName("authentication.k8s.io", "v1", "tokenreviews")


@dataclass(frozen=True, slots=True)
class _Result:
    """What a review found."""

    user: User | None
    """None for an invalid token."""


class _ReviewedUser(msgspec.Struct):
    """``UserInfo`` of authentication.k8s.io/v1; a ``null`` member counts as missing, as for Go's decoder."""

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
    """Posts reviews, and caches their results.

    A look-up is charged to the address that the token came from, and refunded if the token is valid. An address without
    credit gets 429, except for tokens in the cache. So a valid token in use is not affected by others at its address.
    Nor is kube-apiserver as a front proxy: it authenticates by its certificate, and forwards no tokens.

    Args:
        client: Reaches the cluster.
        clock: The time.
        secret: Random bytes of this process, at least 16: the key of the cache's hashes.
        jitter: Random numbers in [0, 1).
        audiences: A token has to be for one of these; empty for any.
        ttl: Seconds for which a result is cached; 0 for no cache.
        queue: Bounds the reviews in flight; by default a queue of its own.
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
        queue: FairQueue | None = None,
    ) -> None:
        self._reviewer = Reviewer(client, _TOKEN_REVIEWS, clock=clock, jitter=jitter, queue=queue)
        self._failures = TokenBuckets(clock, rate=FAILURES_PER_SECOND, burst=FAILURES, size=ADDRESSES)
        self._secret = secret
        self._audiences = tuple(audiences)
        self._ttl = ttl
        self._cache: AnswerCache[_Result] = AnswerCache(clock, CACHED)
        self._flights: SingleFlight[_Result] = SingleFlight(clock, LOOKUP_LIMIT)

    async def authenticate_token(self, token: str, address: str = "") -> User | None:
        """The token's user, or None if the token is not valid.

        Args:
            token: The token.
            address: The peer that presented it.

        Raises:
            AuthenticationError: The token is too long or for other audiences, or the review failed (:class:`Undecided`).
            TooManyRequests: It cannot be reviewed now. After a 401 a client would discard valid credentials.
        """
        if len(token) > TOKEN_LIMIT:
            raise AuthenticationError(f"a token of more than {TOKEN_LIMIT} characters is not reviewed")
        key = hashlib.blake2b(token.encode("utf-8", "surrogateescape"), key=self._secret[:64], digest_size=32).digest()
        result = self._cache.get(key)
        if result is None:
            flow = client_network(address)
            try:
                result = await self._flights.join(key, lambda: self._looked_up(key, token, flow))
            except LookupTimeout as error:
                raise Undecided(f"token review: no answer within {LOOKUP_LIMIT:g} seconds") from error
        return result.user

    async def _looked_up(self, key: bytes, token: str, flow: str) -> _Result:
        if not self._failures.take(flow):
            raise TooManyRequests(REASON, retry_after=max(1, math.ceil(self._failures.wait(flow))))
        status = await self._reviewed(token, flow)
        result = _Result(self._user(status))
        if result.user is not None:
            self._failures.give_back(flow)
        self._cache.put(key, result, self._ttl)
        return result

    async def _reviewed(self, token: str, flow: str) -> Obj:
        spec: Obj = {"token": token}
        if self._audiences:
            spec["audiences"] = list(self._audiences)
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}, "spec": spec}
        try:
            return await self._reviewer.review(lambda: review, flow)
        except BaseException as error:
            self._failures.give_back(flow)  # it was not judged
            if isinstance(error, TooManyRequests):
                # From our queue, or from kube-apiserver after all retries.
                raise TooManyRequests(REASON, retry_after=error.retry_after or 1) from error
            if isinstance(error, ApiError | TransportError):
                raise Undecided(f"token review: {error}") from error
            raise

    def _user(self, status: Obj) -> User | None:
        try:
            found = msgspec.convert(status, _Status)
        except msgspec.ValidationError as error:
            raise AuthenticationError(f"token review: malformed status: {error}") from error
        if not found.authenticated:
            if found.error:
                raise AuthenticationError(f"token review: {found.error}")
            return None
        audiences = found.audiences or []
        if self._audiences and not set(self._audiences).intersection(audiences):
            raise AuthenticationError(f"token review: the token is for the audiences {audiences}")
        user = found.user or _ReviewedUser()
        if not user.username:
            raise AuthenticationError("token review: the token is valid, but the status names no user")
        return authenticated(
            User(
                user.username,
                uid=user.uid or "",
                groups=tuple(user.groups or ()),
                extra={key: tuple(values or ()) for key, values in (user.extra or {}).items()},
            )
        )
