"""Which certificates and headers are trusted. Changes while the server runs, without a restart.

Flags, files and the ConfigMap write it; the authenticators read it. It does not follow changes that would let users act
as any other user. Must not know where values come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from extapi.authentication.bundle import Bundle, BundleError, shared_authorities, subject_text

CLIENT_CA, PROXY_CA = "client-ca-file", "requestheader-client-ca-file"

NAME_KEYS: Mapping[str, str] = {
    "username": "requestheader-username-headers",
    "uid": "requestheader-uid-headers",
    "group": "requestheader-group-headers",
    "extra_prefix": "requestheader-extra-headers-prefix",
    "allowed": "requestheader-allowed-names",
}
"""The members of :class:`HeaderNames`, and their keys in the ConfigMap, which are also flags."""

EMPTY, UNREADABLE, SHARED = "empty now", "cannot be read", "shares an authority, without allowed names"
"""Why a setting is not followed. Anybody may read these at ``/readyz``: they contain no names."""

_WOULD: Mapping[str, str] = {
    "username": "requests from the front proxy would have no user",
    "group": "users would lose their groups, also those that are denied something",
    "extra_prefix": "users would lose their extra fields, such as scopes that narrow a token",
    "allowed": f"any certificate of {PROXY_CA} could act as any user",
}
"""What an empty list would mean. These lists never become empty while the server runs.

The list of uid headers may: it is empty by default, and a kube-apiserver that does not know the header forwards a
client's own.
"""

_SUBJECTS = 3
"""Authorities that a message names."""


class TrustRefused(BundleError):
    """A change is not followed, or not all of it; what was in force stays. The text says what, why, and what to do."""


@dataclass(frozen=True, slots=True)
class HeaderNames:
    """Which headers name a user, in lower case, and which common names may send them."""

    username: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefix: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    """Common names of the front proxy's certificate; empty: any."""


class TrustSettings:
    """The trust that is in force. ``generation`` grows with each change; verdicts of an older generation are void.

    Two changes are not followed. A list that becomes empty keeps its last values; k8s.io/apiserver follows such a change,
    and an empty ``requestheader-allowed-names`` then lets any common name act as any user. And without allowed names, the
    authorities of clients and those of front proxies never overlap: every user with a certificate could then act as any
    other.
    """

    def __init__(self) -> None:
        self.client_ca: Bundle | None = None
        self.proxy_ca: Bundle | None = None
        self.names = HeaderNames()
        self.generation = 0
        self.observers: list[Callable[[], None]] = []
        """Called after each change."""
        self.not_followed: dict[str, str] = {}
        """Why a setting is not followed, by its key."""
        self._offered: dict[str, Bundle] = {}
        """The last readable bundle per key. One that is not followed comes into force as soon as it does no harm."""

    def update(
        self, *, clients: bytes | None = None, proxies: bytes | None = None, names: HeaderNames | None = None
    ) -> bool:
        """Follow a source, as one change.

        Args:
            clients: The PEM text of the bundle for client certificates; None leaves it as it is.
            proxies: The same for front proxies.
            names: Header names and allowed common names; None leaves them as they are.

        Returns:
            Whether anything changed.

        Raises:
            TrustRefused: A part is not followed; the others are. If it is readable and would do harm, this is raised only
                the first time, although the source may repeat it.
        """
        before = (self.client_ca, self.proxy_ca, self.names)
        problems = [*self._read(CLIENT_CA, clients), *self._read(PROXY_CA, proxies)]
        if names is not None:
            problems += self._update_names(names)
        problems += self._enforce()
        changed = before != (self.client_ca, self.proxy_ca, self.names)
        if changed:
            self._changed()
        if problems:
            raise TrustRefused("; ".join(problems))
        return changed

    def trust_clients(self, pem: bytes) -> bool:
        """Trust a bundle for client certificates.

        Raises:
            BundleError: It is not followed; the old one stays in force (behaviour A7).
        """
        return self.update(clients=pem)

    def trust_proxies(self, pem: bytes) -> bool:
        """Trust a bundle for front proxies.

        Raises:
            BundleError: It is not followed; the old one stays in force (behaviour A7).
        """
        return self.update(proxies=pem)

    def use_names(self, names: HeaderNames) -> bool:
        """Use header names and allowed common names.

        Raises:
            TrustRefused: A list became empty.
        """
        return self.update(names=names)

    def distrust_proxies(self) -> None:
        """Turn request-header authentication off (behaviour A4)."""
        self.names = HeaderNames()
        for key in (PROXY_CA, *NAME_KEYS.values()):
            self._offered.pop(key, None)
            self.not_followed.pop(key, None)
        self._enforce()
        self._changed()

    def note(self) -> str:
        """What is not followed, as ``/readyz`` shows it to anybody; empty if everything is followed."""
        if not self.not_followed:
            return ""
        listed = ", ".join(f"{key} ({why})" for key, why in sorted(self.not_followed.items()))
        return f"not followed: {listed}; what was in force stays, see the log"

    def _changed(self) -> None:
        self.generation += 1
        for observer in self.observers:
            observer()

    def _read(self, key: str, pem: bytes | None) -> list[str]:
        if pem is None:
            return []
        offered, why = self._offered.get(key), self.not_followed.get(key)
        if offered is not None and not pem.strip():
            self.not_followed[key] = EMPTY
            return [] if why == EMPTY else [f"{key} is empty now: its last authorities stay in force"]
        if why in (EMPTY, UNREADABLE):
            del self.not_followed[key]
        current = self.client_ca if key == CLIENT_CA else self.proxy_ca
        if current is not None and current.pem == pem:
            self._offered[key] = current
        elif offered is None or offered.pem != pem:
            try:
                self._offered[key] = Bundle(pem)
            except BundleError as error:
                self.not_followed[key] = UNREADABLE
                return [f"{key}: {error}"]
        return []

    def _update_names(self, names: HeaderNames) -> list[str]:
        problems = []
        last: dict[str, Any] = {}
        for member, key in NAME_KEYS.items():
            values = getattr(self.names, member)
            if member not in _WOULD or not values or getattr(names, member):
                self.not_followed.pop(key, None)
                continue
            last[member] = values
            if self.not_followed.get(key) != EMPTY:
                self.not_followed[key] = EMPTY
                problems.append(
                    f"{key} is empty now: {_WOULD[member]}. The last values stay in force: {', '.join(values)}. Put them "
                    "back; if the empty list is meant, restart the server, which follows it when it starts"
                )
        self.names = replace(names, **last)
        return problems

    def _enforce(self) -> list[str]:
        """Put the offered bundles into force as far as they do no harm; that of clients first, as it may revoke some."""
        told = {key for key, why in self.not_followed.items() if why == SHARED}
        for key in told:
            del self.not_followed[key]
        clients, proxies = self._offered.get(CLIENT_CA), self._offered.get(PROXY_CA)
        shared = self._shared(clients, proxies)
        if not shared:
            self.client_ca, self.proxy_ca = clients, proxies
            return []
        if not self._shared(clients, self.proxy_ca):
            self.client_ca = clients
            self.not_followed[PROXY_CA] = SHARED
        elif not self._shared(self.client_ca, proxies):
            self.proxy_ca = proxies
            self.not_followed[CLIENT_CA] = SHARED
        else:
            self.not_followed |= {CLIENT_CA: SHARED, PROXY_CA: SHARED}
        if told == {key for key, why in self.not_followed.items() if why == SHARED}:
            return []
        problem = (
            f"an authority of {CLIENT_CA} also vouches for front proxies, by {PROXY_CA} ({', '.join(shared)}), and "
            f"{NAME_KEYS['allowed']} is empty: every user with a client certificate could act as any user. Name the "
            f"front proxy's common name in {NAME_KEYS['allowed']}, or give the front proxy its own authority"
        )
        return [problem]

    def _shared(self, clients: Bundle | None, proxies: Bundle | None) -> list[str]:
        """The subjects of authorities that make clients front proxies; none if there are allowed names that are not blank."""
        if clients is None or proxies is None or any(self.names.allowed):
            return []
        found = shared_authorities(clients.certificates, proxies.certificates)
        subjects = [subject_text(each) for each in found[:_SUBJECTS]]
        return [*subjects, f"{len(found) - _SUBJECTS} more"] if len(found) > _SUBJECTS else subjects
