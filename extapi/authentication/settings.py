"""What certificates and headers are trusted right now; changes while the server runs, without a restart.

Filled by flags, files and the ConfigMap; read by the authenticators. Decides what of a change is not followed, because
it would let users claim to be anybody. Must not know where values come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from extapi.authentication.certificates import Bundle, BundleError, shared_authorities, subject_text

CLIENT_CA, PROXY_CA = "client-ca-file", "requestheader-client-ca-file"

NAME_KEYS: Mapping[str, str] = {
    "username": "requestheader-username-headers",
    "uid": "requestheader-uid-headers",
    "group": "requestheader-group-headers",
    "extra_prefix": "requestheader-extra-headers-prefix",
    "allowed": "requestheader-allowed-names",
}
"""What flags and the ConfigMap call the members of :class:`HeaderNames`."""

EMPTY, UNREADABLE, SHARED = "empty now", "cannot be read", "shares an authority, without allowed names"
"""Why a setting is not followed, for everybody who may read ``/readyz``: no names, no subjects."""

_WOULD: Mapping[str, str] = {
    "username": "no request of the front proxy would be anybody's",
    "group": "requests would lose the groups of their users, also those that an authorizer denies something",
    "extra_prefix": "requests would lose the extra fields of their users, such as scopes that narrow a token",
    "allowed": f"any certificate of {PROXY_CA} could speak for any user",
}
"""What an empty list would mean, for those lists that never become empty while the server runs.

Not the uid headers: kube-apiserver has none by default, and one that does not know them passes a client's own header on.
"""

_SUBJECTS = 3
"""Subjects of authorities that a message names."""


class TrustRefused(BundleError):
    """What a source says is not taken, or not wholly. The text says what, why, and what to do; what was in force stays."""


@dataclass(frozen=True, slots=True)
class HeaderNames:
    """Which headers carry an identity, and which common names may send them. Header names in lower case."""

    username: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefix: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    """Common names of the front proxy's certificate; empty: any."""


class Settings:
    """The trust that is in force. ``generation`` grows with each change: a verdict under an older one is void.

    Two changes are not followed. A list that becomes empty keeps its last values: k8s.io/apiserver follows it, and then
    an empty ``requestheader-allowed-names`` lets any common name speak for anybody. And the authorities of users and of
    front proxies never overlap without allowed names: each user with a certificate could name itself anybody then.
    """

    def __init__(self) -> None:
        self.client_ca: Bundle | None = None
        self.proxy_ca: Bundle | None = None
        self.names = HeaderNames()
        self.generation = 0
        self.observers: list[Callable[[], None]] = []
        """Called after each change."""
        self.kept: dict[str, str] = {}
        """What sources say and is not in force, by name of the flag or key: why not."""
        self._offered: dict[str, Bundle] = {}
        """The last readable bundle of each source. One that is refused is taken as soon as it does no harm."""

    def take(
        self, *, clients: bytes | None = None, proxies: bytes | None = None, names: HeaderNames | None = None
    ) -> bool:
        """Take what a source says, all of it in one change; None: it says nothing about that. Tells whether it was one.

        Raises :class:`TrustRefused` for what is not taken, after the rest has been. What is refused because of what it would
        mean is raised once, though the source may say it again and again.
        """
        before = (self.client_ca, self.proxy_ca, self.names)
        problems = [*self._read(CLIENT_CA, clients), *self._read(PROXY_CA, proxies)]
        if names is not None:
            problems += self._take_names(names)
        problems += self._settle()
        changed = before != (self.client_ca, self.proxy_ca, self.names)
        if changed:
            self._changed()
        if problems:
            raise TrustRefused("; ".join(problems))
        return changed

    def trust_clients(self, pem: bytes) -> bool:
        """Take a bundle for client certificates. Raises :class:`BundleError` and keeps the old one (spec A7)."""
        return self.take(clients=pem)

    def trust_proxies(self, pem: bytes) -> bool:
        """Take a bundle for front proxies. Raises :class:`BundleError` and keeps the old one (spec A7)."""
        return self.take(proxies=pem)

    def use_names(self, names: HeaderNames) -> bool:
        """Take header names and allowed common names. Raises :class:`TrustRefused` for lists that became empty."""
        return self.take(names=names)

    def distrust_proxies(self) -> None:
        """Switch request-header authentication off (spec A4)."""
        self.names = HeaderNames()
        for key in (PROXY_CA, *NAME_KEYS.values()):
            self._offered.pop(key, None)
            self.kept.pop(key, None)
        self._settle()
        self._changed()

    def note(self) -> str:
        """What is not followed, for everybody who may read ``/readyz``; empty if there is nothing."""
        if not self.kept:
            return ""
        listed = ", ".join(f"{key} ({why})" for key, why in sorted(self.kept.items()))
        return f"not followed: {listed}; what was in force stays, see the log"

    def _changed(self) -> None:
        self.generation += 1
        for observer in self.observers:
            observer()

    def _read(self, key: str, pem: bytes | None) -> list[str]:
        if pem is None:
            return []
        offered, why = self._offered.get(key), self.kept.get(key)
        if offered is not None and not pem.strip():
            self.kept[key] = EMPTY
            return [] if why == EMPTY else [f"{key} is empty now: its last authorities stay in force"]
        if why in (EMPTY, UNREADABLE):
            del self.kept[key]
        current = self.client_ca if key == CLIENT_CA else self.proxy_ca
        if current is not None and current.pem == pem:
            self._offered[key] = current
        elif offered is None or offered.pem != pem:
            try:
                self._offered[key] = Bundle(pem)
            except BundleError as error:
                self.kept[key] = UNREADABLE
                return [f"{key}: {error}"]
        return []

    def _take_names(self, names: HeaderNames) -> list[str]:
        problems = []
        last: dict[str, Any] = {}
        for member, key in NAME_KEYS.items():
            values = getattr(self.names, member)
            if member not in _WOULD or not values or getattr(names, member):
                self.kept.pop(key, None)
                continue
            last[member] = values
            if self.kept.get(key) != EMPTY:
                self.kept[key] = EMPTY
                problems.append(
                    f"{key} is empty now: {_WOULD[member]}. The last values stay in force: {', '.join(values)}. Put them "
                    "back; if the empty list is meant, restart the server, which follows it when it starts"
                )
        self.names = replace(names, **last)
        return problems

    def _settle(self) -> list[str]:
        """Take as much of what is offered as does no harm; authorities of users first, since those are revoked."""
        told = {key for key, why in self.kept.items() if why == SHARED}
        for key in told:
            del self.kept[key]
        clients, proxies = self._offered.get(CLIENT_CA), self._offered.get(PROXY_CA)
        shared = self._shared(clients, proxies)
        if not shared:
            self.client_ca, self.proxy_ca = clients, proxies
            return []
        if not self._shared(clients, self.proxy_ca):
            self.client_ca = clients
            self.kept[PROXY_CA] = SHARED
        elif not self._shared(self.client_ca, proxies):
            self.proxy_ca = proxies
            self.kept[CLIENT_CA] = SHARED
        else:
            self.kept |= {CLIENT_CA: SHARED, PROXY_CA: SHARED}
        if told == {key for key, why in self.kept.items() if why == SHARED}:
            return []
        problem = (
            f"an authority of {CLIENT_CA} also vouches for front proxies, by {PROXY_CA} ({', '.join(shared)}), and "
            f"{NAME_KEYS['allowed']} is empty: every user with a client certificate could claim to be anybody. Name the "
            f"front proxy's common name in {NAME_KEYS['allowed']}, or give the front proxy an authority of its own"
        )
        return [problem]

    def _shared(self, clients: Bundle | None, proxies: Bundle | None) -> list[str]:
        """The subjects of what makes users front proxies. Allowed names stand between, but for empty ones."""
        if clients is None or proxies is None or any(self.names.allowed):
            return []
        found = shared_authorities(clients.certificates, proxies.certificates)
        subjects = [subject_text(each) for each in found[:_SUBJECTS]]
        return [*subjects, f"{len(found) - _SUBJECTS} more"] if len(found) > _SUBJECTS else subjects
