"""Client certificates: the common name is the user, the organizations are the groups (spec A21).

Must not know about front proxies; the same connection may be judged by both.
"""

from __future__ import annotations

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID, ObjectIdentifier

from extapi.api.user import User
from extapi.authentication.base import AuthenticationError
from extapi.authentication.groups import authenticated
from extapi.authentication.peer import PeerVerdicts
from extapi.authentication.settings import Settings
from extapi.client.clock import Clock
from extapi.listener.call import Call, Peer

UID_OID = ObjectIdentifier("1.3.6.1.4.1.57683.2")
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


class ClientCertificate:
    """Authenticates by the client CA of ``settings``."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._verdicts: PeerVerdicts[User | None] = PeerVerdicts(self, settings, clock, self._judge)

    async def authenticate(self, call: Call) -> User | None:
        """The certificate's user; no opinion without a certificate, without a CA, or with an empty common name."""
        if not call.peer.certificates or self._settings.client_ca is None:
            return None
        return self._verdicts.of(call.peer)

    def _judge(self, peer: Peer) -> tuple[User | None, float]:
        ca = self._settings.client_ca
        if ca is None:
            raise AuthenticationError("x509: no CA for clients is known")
        verified = ca.verify(peer.certificates, self._clock.seconds())
        return user_of(peer.certificates[0]), verified.expires


def common_name(certificate: x509.Certificate) -> str:
    """The last one, as in Go's ``pkix.Name``; empty if there is none."""
    names = _texts(certificate, NameOID.COMMON_NAME)
    return names[-1] if names else ""


def user_of(certificate: x509.Certificate) -> User | None:
    """Who a certificate names, or ``None`` without a common name. Raises :class:`AuthenticationError` for a bad uid."""
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
