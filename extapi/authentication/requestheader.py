"""The front proxy: kube-apiserver names the user in headers, and proves who it is by a client certificate (behaviour A15-A20).

The certificate is judged once per connection; users are cached by the values of their headers. The headers are deleted
later, by the stage. Must not know where the CA and the header names come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from extapi.api.percent import unescaped_leniently
from extapi.api.user import User
from extapi.authentication.authenticator import AuthenticationError, authenticated
from extapi.authentication.clientcertificate import PeerVerdicts, common_name
from extapi.authentication.trust import HeaderNames, TrustSettings
from extapi.clock import Clock, wall_time
from extapi.http.request import Peer, Request

USERS = 1024
"""Users in the cache."""

PLANS = 256
"""Sets of header names in the cache."""

IDENTITY_LIMIT = 16 * 1024
"""Larger identities and sets of header names, counted in characters, are not cached."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which headers to read, for one set of header names that a request has."""

    username: tuple[str, ...]
    uid: tuple[str, ...]
    group: tuple[str, ...]
    extra: tuple[tuple[str, str], ...]
    """Header names, each with its key of ``extra``."""
    used: tuple[str, ...]
    """The names of all headers to read."""


class RequestHeader:
    """Authenticates by the headers of a front proxy whose certificate is verified."""

    def __init__(self, settings: TrustSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._verdicts: PeerVerdicts[None] = PeerVerdicts(self, settings, clock, self._judge)
        self._generation = settings.generation
        self._plans: dict[tuple[str, ...], _Plan] = {}
        self._users: dict[tuple[object, ...], User] = {}

    async def authenticate(self, request: Request) -> User | None:
        """The user that the headers name, or None without a certificate, a CA, or a user name.

        Raises:
            AuthenticationError: The certificate is not that of a front proxy.
        """
        if not request.peer.certificates or self._settings.proxy_ca is None:
            return None
        self._verdicts.of(request.peer)
        headers = request.headers
        plan = self._plan(headers)
        key = (plan.used, *[tuple(headers[name]) for name in plan.used])
        user = self._users.get(key)
        if user is None:
            user = _user(plan, headers)
            if user is None:
                return None
            self._keep(key, user, headers, plan)
        return user

    def _judge(self, peer: Peer) -> tuple[None, float]:
        ca = self._settings.proxy_ca
        if ca is None:
            raise AuthenticationError("x509: no CA for front proxies is known")
        verified = ca.verify(peer.certificates, wall_time(self._clock))
        allowed = self._settings.names.allowed
        name = common_name(peer.certificates[0])
        if allowed and name not in allowed:
            raise AuthenticationError(f"x509: subject with cn={name} is not in the allowed list")
        return None, verified.expires

    def _plan(self, headers: Mapping[str, Sequence[str]]) -> _Plan:
        if self._generation != self._settings.generation:
            self._generation = self._settings.generation
            self._plans.clear()
            self._users.clear()
        present = tuple(headers)
        plan = self._plans.get(present)
        if plan is None:
            plan = _planned(self._settings.names, present)
            if sum(map(len, present)) <= IDENTITY_LIMIT:
                if len(self._plans) >= PLANS:
                    self._plans.clear()
                self._plans[present] = plan
        return plan

    def _keep(self, key: tuple[object, ...], user: User, headers: Mapping[str, Sequence[str]], plan: _Plan) -> None:
        if sum(len(name) + sum(map(len, headers[name])) for name in plan.used) > IDENTITY_LIMIT:
            return
        if len(self._users) >= USERS:
            del self._users[next(iter(self._users))]
        self._users[key] = user


def extra_key(encoded: str) -> str:
    """The key after the prefix, in lower case and percent-decoded; not decoded if an escape is broken (behaviour A19)."""
    return unescaped_leniently(encoded.lower())


def _planned(names: HeaderNames, present: Sequence[str]) -> _Plan:
    extra = tuple(
        (name, extra_key(name[len(prefix) :]))
        for prefix in names.extra_prefix
        for name in present
        if name.startswith(prefix)
    )
    username, uid, group = (
        tuple(name for name in wanted if name in present) for wanted in (names.username, names.uid, names.group)
    )
    used = tuple(dict.fromkeys((*username, *uid, *group, *(name for name, _ in extra))))
    return _Plan(username, uid, group, extra, used)


def _user(plan: _Plan, headers: Mapping[str, Sequence[str]]) -> User | None:
    username = _first(plan.username, headers)
    if not username:
        return None
    extra: dict[str, list[str]] = {}
    for name, key in plan.extra:
        extra.setdefault(key, []).extend(headers[name])
    groups = tuple(value for name in plan.group for value in headers[name] if value)
    collected = {key: tuple(values) for key, values in extra.items()}
    return authenticated(User(username, uid=_first(plan.uid, headers), groups=groups, extra=collected))


def _first(names: Sequence[str], headers: Mapping[str, Sequence[str]]) -> str:
    """The first value that is not empty, of the first values of the headers."""
    for name in names:
        values = headers[name]
        if values and values[0]:
            return values[0]
    return ""
