"""The front proxy: kube-apiserver vouches for users by headers, and for itself by a client certificate (spec A15-A20).

The certificate is judged once a connection; the users a connection brings are looked up by the headers' values. Must
not know how the CA and the names got here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from extapi.api.percent import unescaped_leniently
from extapi.api.user import User
from extapi.authentication.base import AuthenticationError
from extapi.authentication.groups import authenticated
from extapi.authentication.peer import PeerVerdicts
from extapi.authentication.settings import HeaderNames, Settings
from extapi.authentication.x509 import common_name
from extapi.client.clock import Clock
from extapi.listener.call import Call, Peer

USERS = 1024
"""Identities that are kept."""

PLANS = 256
"""Sets of header names that are kept."""

IDENTITY_LIMIT = 16 * 1024
"""Characters of an identity's headers, or of a set of names, above which it is not kept."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to read, and what to delete, for one set of header names."""

    username: tuple[str, ...]
    uid: tuple[str, ...]
    group: tuple[str, ...]
    extra: tuple[tuple[str, str], ...]
    """Header names and the keys they stand for."""
    used: tuple[str, ...]
    """All of them."""


class RequestHeader:
    """Authenticates by the headers of a verified front proxy."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._verdicts: PeerVerdicts[None] = PeerVerdicts(self, settings, clock, self._judge)
        self._generation = settings.generation
        self._plans: dict[tuple[str, ...], _Plan] = {}
        self._users: dict[tuple[object, ...], User] = {}

    async def authenticate(self, call: Call) -> User | None:
        """Whom the headers name; they are deleted then. No opinion without a certificate, a CA, or a user name."""
        if not call.peer.certificates or self._settings.proxy_ca is None:
            return None
        self._verdicts.of(call.peer)
        headers = call.headers
        plan = self._plan(headers)
        key = (plan.used, *[tuple(headers[name]) for name in plan.used])
        user = self._users.get(key)
        if user is None:
            user = _user(plan, headers)
            if user is None:
                return None
            self._keep(key, user, headers, plan)
        for name in plan.used:
            del headers[name]
        return user

    def _judge(self, peer: Peer) -> tuple[None, float]:
        ca = self._settings.proxy_ca
        if ca is None:
            raise AuthenticationError("x509: no CA for front proxies is known")
        verified = ca.verify(peer.certificates, self._clock.seconds())
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
    """The key that follows a prefix: lower case, percent-decoded; as it is where an escape is broken (spec A19)."""
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
    """The first of the headers whose first value is not empty."""
    for name in names:
        values = headers[name]
        if values and values[0]:
            return values[0]
    return ""
