"""Client certificates: the common name is the user, the organizations are the groups (behaviour A21).

A verdict is cached per connection, since verifying takes 100 us and a look-up less than one. It holds until trust changes
or the certificate expires. Must not know about front proxies, which may judge the same connection.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID, ObjectIdentifier

from extapi.api.user import User
from extapi.authentication.authenticator import AuthenticationError, authenticated
from extapi.authentication.bundle import MALFORMED
from extapi.authentication.trust import TrustSettings
from extapi.clock import Clock, wall_time
from extapi.http.request import Peer, Request

UID_OID = ObjectIdentifier("1.3.6.1.4.1.57683.2")
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"

V = TypeVar("V")

REFUSAL_SECONDS = 10.0
"""Seconds for which a refusal is cached: a certificate that is not valid yet becomes valid."""


class _Kept(NamedTuple):
    """A verdict, the generation of trust under which it was made, and when it expires: a refusal by the clock that nobody sets."""

    generation: int
    expires: float
    verdict: Any


def first_expiry(peer: Peer) -> float:
    """When the first accepted certificate of the peer expires, in seconds since the epoch; ``inf`` if there is none."""
    kept = (each for each in peer.verdicts.values() if isinstance(each, _Kept))
    return min(
        (each.expires for each in kept if not isinstance(each.verdict, AuthenticationError)), default=float("inf")
    )


class PeerVerdicts(Generic[V]):
    """Caches one verdict per connection.

    Args:
        key: Tells the verdicts of one authenticator from those of another.
        settings: The trust under which verdicts are made.
        clock: The time.
        judge: Makes a verdict: what was found, and when it expires.
    """

    def __init__(
        self, key: Hashable, settings: TrustSettings, clock: Clock, judge: Callable[[Peer], tuple[V, float]]
    ) -> None:
        self._key = key
        self._settings = settings
        self._clock = clock
        self._judge = judge

    def of(self, peer: Peer) -> V:
        """What was found.

        Raises:
            AuthenticationError: The certificate is refused.
        """
        generation = self._settings.generation
        kept = peer.verdicts.get(self._key)
        if kept is None or kept.generation != generation or self._is_over(kept):
            found: V | AuthenticationError
            try:
                found, expires = self._judge(peer)
            except AuthenticationError as error:
                found, expires = error, self._clock.seconds() + REFUSAL_SECONDS
            except MALFORMED as error:
                # The DER parsed as a whole, but a name or an extension inside it did not.
                found = AuthenticationError(f"x509: malformed certificate: {error}")
                expires = self._clock.seconds() + REFUSAL_SECONDS
            kept = _Kept(generation, expires, found)
            peer.verdicts[self._key] = kept
        verdict: V | AuthenticationError = kept.verdict
        if isinstance(verdict, AuthenticationError):
            # A new one: each raise of the cached one would add to its traceback.
            raise AuthenticationError(*verdict.args)
        return verdict

    def _is_over(self, kept: _Kept) -> bool:
        """A certificate ends by the wall clock; that a refusal is kept must not depend on that: it may have been wrong."""
        refused = isinstance(kept.verdict, AuthenticationError)
        return (self._clock.seconds() if refused else wall_time(self._clock)) >= kept.expires


class ClientCertificate:
    """Authenticates by the client CA of ``settings``."""

    def __init__(self, settings: TrustSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._verdicts: PeerVerdicts[User | None] = PeerVerdicts(self, settings, clock, self._judge)

    async def authenticate(self, request: Request) -> User | None:
        """The certificate's user, or None without a certificate, a CA, or a common name.

        Raises:
            AuthenticationError: The certificate is not accepted.
        """
        if not request.peer.certificates or self._settings.client_ca is None:
            return None
        return self._verdicts.of(request.peer)

    def _judge(self, peer: Peer) -> tuple[User | None, float]:
        ca = self._settings.client_ca
        if ca is None:
            raise AuthenticationError("x509: no CA for clients is known")
        verified = ca.verify(peer.certificates, wall_time(self._clock))
        return user_of(peer.certificates[0]), verified.expires


def common_name(certificate: x509.Certificate) -> str:
    """The last common name, as in Go's ``pkix.Name``; empty if there is none."""
    names = _texts(certificate, NameOID.COMMON_NAME)
    return names[-1] if names else ""


def user_of(certificate: x509.Certificate) -> User | None:
    """The user that a certificate names, or None without a common name.

    Raises:
        AuthenticationError: It has several uids, or one that is no text.
    """
    name = common_name(certificate)
    if not name:
        return None
    fingerprint = certificate.fingerprint(hashes.SHA256()).hex()
    return authenticated(
        User(
            name,
            uid=_uid(certificate),
            groups=tuple(_texts(certificate, NameOID.ORGANIZATION_NAME)),
            extra={CREDENTIAL_ID: (f"X509SHA256={fingerprint}",)},
        )
    )


def _uid(certificate: x509.Certificate) -> str:
    found = list(certificate.subject.get_attributes_for_oid(UID_OID))
    if len(found) > 1:
        raise AuthenticationError("expected 1 UID, but found multiple")
    if not found:
        return ""
    value = found[0].value
    if not isinstance(value, str) or not value:
        raise AuthenticationError("the UID is not a string, or empty")
    return value


def _texts(certificate: x509.Certificate, oid: ObjectIdentifier) -> list[str]:
    return [each.value for each in certificate.subject.get_attributes_for_oid(oid) if isinstance(each.value, str)]
