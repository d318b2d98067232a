"""Is this client certificate vouched for by that bundle? OpenSSL builds the chain, the rest is judged here.

TLS asks for a certificate and accepts any (spec A11), so everything is checked afterwards: chain, time, key usage.
Go's ``crypto/x509`` is the measure: every certificate of a bundle is a trust anchor, even an intermediate; extended key
usage counts along the chain (OpenSSL would take a serverAuth-only leaf). Must not know who may do what.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import crypto

from extapi.authentication.base import AuthenticationError

MAX_INTERMEDIATES = 16
"""More certificates than this from a peer are not looked at: building chains costs time."""

IDENTIFIED = 16 * 1024
"""Bytes of a certificate up to which its identifiers are looked up for the log: others have thousands of extensions."""

BUNDLE_LIMIT = 1024 * 1024
"""Bytes of a bundle."""

_CLIENT_USAGES = frozenset({ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})
_WEAK = (hashes.MD5, hashes.SHA1)


MALFORMED = (ValueError, TypeError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
"""What the ``cryptography`` package raises, late, for a certificate whose names or extensions are broken."""


class BundleError(Exception):
    """The PEM text is no usable bundle of certificates."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A chain that holds."""

    expires: float
    """Seconds since the epoch at which the first certificate of the chain expires."""


class Bundle:
    """Trust anchors out of PEM text. Raises :class:`BundleError` if there is none in it, or one is broken."""

    def __init__(self, pem: bytes) -> None:
        if len(pem) > BUNDLE_LIMIT:
            raise BundleError(f"a CA bundle has more than {BUNDLE_LIMIT} bytes")
        try:
            self.certificates = tuple(x509.load_pem_x509_certificates(pem))
            self._anchors = [crypto.X509.from_cryptography(each) for each in self.certificates]
        except (ValueError, crypto.Error) as error:
            raise BundleError(f"a CA bundle holds no usable certificates: {error}") from error
        self.pem = pem

    def verify(self, presented: Sequence[x509.Certificate], now: float) -> Verified:
        """Whether ``presented`` (leaf first) is good for client authentication at ``now``, seconds since the epoch.

        Raises :class:`AuthenticationError` in the words of Go's x509 package.
        """
        leaf = presented[0]
        try:
            chain = self._chain(presented, now)
            for certificate in chain:
                _check_usage(certificate)
        except AuthenticationError as error:
            raise AuthenticationError(f"verifying certificate {_identifier(leaf)} failed: {error}") from error
        return Verified(min(each.not_valid_after_utc.timestamp() for each in chain))

    def _chain(self, presented: Sequence[x509.Certificate], now: float) -> list[x509.Certificate]:
        """From the leaf to the anchor."""
        if len(presented) - 1 > MAX_INTERMEDIATES:
            raise AuthenticationError(f"x509: more than {MAX_INTERMEDIATES} intermediate certificates")
        moment = dt.datetime.fromtimestamp(now, dt.UTC)
        # A store of its own for each verification: OpenSSL keeps the first time that a store is given.
        store = crypto.X509Store()
        for anchor in self._anchors:
            store.add_cert(anchor)
        store.set_time(moment)
        store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)
        try:
            leaf, *others = [crypto.X509.from_cryptography(each) for each in presented]
            found = crypto.X509StoreContext(store, leaf, others).get_verified_chain()
        except crypto.X509StoreContextError as error:
            raise AuthenticationError(_in_words_of_go(error, moment)) from error
        except crypto.Error as error:
            raise AuthenticationError("x509: malformed certificate") from error
        chain = [each.to_cryptography() for each in found]
        for certificate in chain[:-1]:
            if isinstance(certificate.signature_hash_algorithm, _WEAK):
                name = certificate.signature_hash_algorithm.name.upper()
                raise AuthenticationError(f"x509: cannot verify signature: insecure algorithm {name}")
        return chain


def shared_authorities(
    clients: Iterable[x509.Certificate], proxies: Iterable[x509.Certificate]
) -> list[x509.Certificate]:
    """The authorities of ``clients`` whose leaves also verify against ``proxies``.

    Those are the ones with the same public key (a renewed certificate is the same authority, whatever its PEM text), and
    those that one of ``proxies`` has issued, directly or by others of the two bundles: a client presents what is between.
    """
    clients = tuple(clients)
    known = {_key(each): each for each in proxies}
    reached = list(known.values())
    open_ = {_key(each): each for each in clients if _key(each) not in known}
    while reached:
        issuers: dict[bytes, list[x509.Certificate]] = {}
        for each in reached:
            issuers.setdefault(_name(each, "subject"), []).append(each)
        reached = [each for each in open_.values() if _is_issued_by(each, issuers.get(_name(each, "issuer"), ()))]
        for each in reached:
            known[_key(each)] = each
            del open_[_key(each)]
    return [each for each in clients if _key(each) in known]


def _key(certificate: x509.Certificate) -> bytes:
    """What makes an authority the same; the whole certificate where its key is of a kind that nobody knows here."""
    try:
        return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except (UnsupportedAlgorithm, *MALFORMED):
        return certificate.public_bytes(Encoding.DER)


def _name(certificate: x509.Certificate, which: str) -> bytes:
    try:
        name: x509.Name = getattr(certificate, which)
        return name.public_bytes()
    except MALFORMED:
        return b""


def subject_text(certificate: x509.Certificate) -> str:
    """The subject for people, as ``CN=front-proxy-ca``."""
    try:
        return certificate.subject.rfc4514_string() or "an empty subject"
    except MALFORMED:
        return "a malformed subject"


def _is_issued_by(certificate: x509.Certificate, issuers: Iterable[x509.Certificate]) -> bool:
    for issuer in issuers:
        try:
            certificate.verify_directly_issued_by(issuer)
        except (InvalidSignature, UnsupportedAlgorithm, *MALFORMED):
            continue
        return True
    return False


def _check_usage(certificate: x509.Certificate) -> None:
    """No extended key usage means any (``checkChainForKeyUsage``)."""
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    if _CLIENT_USAGES.isdisjoint(usages):
        raise AuthenticationError("x509: certificate specifies an incompatible key usage")


# OpenSSL's X509_V_ERR_ numbers.
_NOT_YET_VALID, _EXPIRED = 9, 10
_UNKNOWN_AUTHORITY = frozenset({2, 7, 18, 19, 20, 21})


def _in_words_of_go(error: crypto.X509StoreContextError, now: dt.datetime) -> str:
    number = error.errors[0]
    about = error.certificate.to_cryptography()
    if number == _EXPIRED:
        limit = about.not_valid_after_utc
        return f"x509: certificate has expired or is not yet valid: current time {_rfc3339(now)} is after {_rfc3339(limit)}"
    if number == _NOT_YET_VALID:
        limit = about.not_valid_before_utc
        return f"x509: certificate has expired or is not yet valid: current time {_rfc3339(now)} is before {_rfc3339(limit)}"
    if number in _UNKNOWN_AUTHORITY:
        return "x509: certificate signed by unknown authority"
    return f"x509: {error}"


def _rfc3339(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _identifier(certificate: x509.Certificate) -> str:
    """How k8s.io/apiserver names a certificate in its log."""
    subject, authority = b"", b""
    try:
        for extension in certificate.extensions if len(certificate.tbs_certificate_bytes) <= IDENTIFIED else ():
            if isinstance(extension.value, x509.SubjectKeyIdentifier):
                subject = extension.value.digest
            elif isinstance(extension.value, x509.AuthorityKeyIdentifier):
                authority = extension.value.key_identifier or b""
    except MALFORMED:
        pass  # an extension is malformed: the serial number has to do
    return f"SN={certificate.serial_number}, SKID={_hex(subject)}, AKID={_hex(authority)}"


def _hex(data: bytes) -> str:
    return data.hex(":").upper()
