"""What a bearer token is worth, as the cluster says: TokenReview (spec A23-A25, A28).

Answers are kept for some seconds under a keyed hash: tokens are not kept. Must not know where a token was found.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from twisted.internet.defer import TimeoutError as LookupTimeout

from extapi.api.user import User
from extapi.authentication.base import AuthenticationError, Undecided
from extapi.authentication.groups import authenticated
from extapi.client.base import TransportError
from extapi.client.clock import Clock
from extapi.client.fairqueue import REASON, FairQueue
from extapi.client.flight import AnswerCache, Flights
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.ratelimit import TokenBuckets
from extapi.client.review import Reviewer
from extapi.errors import ApiError, TooManyRequests
from extapi.listener.network import network

TTL = 10.0
"""Seconds an answer counts (``--authentication-token-webhook-cache-ttl``)."""

CACHED = 4096
"""Answers that are kept."""

LOOKUP_LIMIT = 30.0
"""Seconds for one look-up with all its tries."""

TOKEN_LIMIT = 64 * 1024
"""Characters of a token. Most are JWTs of 1 to 2 KiB, and one with thousands of groups has some 50; a header may have 1 MiB."""

FAILURES = 100
FAILURES_PER_SECOND = 1.0
"""Tokens that one address may present in vain: at once, and from then on."""

ADDRESSES = 4096
"""Addresses whose failures are counted."""

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

    A look-up is charged to the address that the token came from, and refunded if the token is good. An address without
    credit gets 429 for tokens that are not known yet. That never meets kube-apiserver as a front proxy: it presents a
    certificate, and passes no tokens on. Nor does it meet a token that is known to be good, whoever else shares the
    address.
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
        self._cache: AnswerCache[_Answer] = AnswerCache(clock, CACHED)
        self._flights: Flights[_Answer] = Flights(clock, LOOKUP_LIMIT)

    async def authenticate_token(self, token: str, address: str = "") -> User | None:
        """Whose it is; ``None``: nobody's. Raises :class:`AuthenticationError` if that cannot be told.

        ``address``: where it came from. Raises :class:`TooManyRequests` if it cannot even be asked now: with 401 a
        client would throw good credentials away.
        """
        if len(token) > TOKEN_LIMIT:
            raise AuthenticationError(f"a token of more than {TOKEN_LIMIT} characters is not reviewed")
        key = hashlib.blake2b(token.encode("utf-8", "surrogateescape"), key=self._secret[:64], digest_size=32).digest()
        answer = self._cache.get(key)
        if answer is None:
            flow = network(address)
            try:
                answer = await self._flights.join(key, lambda: self._looked_up(key, token, flow))
            except LookupTimeout as error:
                raise Undecided(f"token review: no answer within {LOOKUP_LIMIT:g} seconds") from error
        return answer.user

    async def _looked_up(self, key: bytes, token: str, flow: str) -> _Answer:
        if not self._failures.take(flow):
            raise TooManyRequests(REASON, retry_after=max(1, math.ceil(self._failures.wait(flow))))
        status = await self._reviewed(token, flow)
        answer = _Answer(self._user(status))
        if answer.user is not None:
            self._failures.give_back(flow)
        self._cache.put(key, answer, self._ttl)
        return answer

    async def _reviewed(self, token: str, flow: str) -> Obj:
        spec: Obj = {"token": token}
        if self._audiences:
            spec["audiences"] = list(self._audiences)
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}, "spec": spec}
        try:
            return await self._reviewer.review(lambda: review, flow)
        except BaseException as error:
            self._failures.give_back(flow)  # nothing is known about the token
            if isinstance(error, TooManyRequests):
                # Ours, or kube-apiserver's to each try.
                raise TooManyRequests(REASON, retry_after=error.retry_after or 1) from error
            if isinstance(error, ApiError | TransportError):
                raise Undecided(f"token review: {error}") from error
            raise

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
