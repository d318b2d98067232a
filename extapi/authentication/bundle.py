"""A CA bundle: whether it vouches for a client certificate, and the file it may come from (behaviour A9, A11).

TLS asks for a certificate and accepts any (behaviour A11), so chain, validity and key usage are checked here. OpenSSL
builds the chain. The rules are those of Go's ``crypto/x509``: every certificate of a bundle is a trust anchor, even an
intermediate, and extended key usage is checked along the chain (OpenSSL would accept a leaf that is only for servers).
Must not know what is allowed to whom.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import crypto
from twisted.logger import Logger

from extapi.authentication.authenticator import AuthenticationError
from extapi.clock import Clock, Timer, stop_timer

MAX_INTERMEDIATES = 16
"""A peer that presents more is refused: building chains takes time."""

IDENTIFIED = 16 * 1024
"""The log has no key identifiers of larger certificates, in bytes: they have thousands of extensions."""

BUNDLE_LIMIT = 1024 * 1024
"""Bytes per bundle."""

RELOAD_SECONDS = 60.0
"""Seconds between two reads of a file; as often as k8s.io/apiserver reads it, without its file events."""

_CLIENT_USAGES = frozenset({ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})
_WEAK = (hashes.MD5, hashes.SHA1)


MALFORMED = (ValueError, TypeError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
"""What the ``cryptography`` package raises on access to malformed names or extensions of a certificate."""


class BundleError(Exception):
    """A CA bundle cannot be read, or cannot be used."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A chain that was verified."""

    expires: float
    """Seconds since the epoch at which the first certificate of the chain expires."""


class Bundle:
    """Trust anchors from PEM text.

    Raises:
        BundleError: It has no certificates, malformed ones, or too many bytes.
    """

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
        """Verify certificates for client authentication.

        Args:
            presented: The leaf, then intermediates.
            now: Seconds since the epoch.

        Raises:
            AuthenticationError: The leaf is not vouched for; the text is that of Go's x509 package.
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
        """The chain from the leaf to the anchor."""
        if len(presented) - 1 > MAX_INTERMEDIATES:
            raise AuthenticationError(f"x509: more than {MAX_INTERMEDIATES} intermediate certificates")
        moment = dt.datetime.fromtimestamp(now, dt.UTC)
        # A new store per verification: in OpenSSL, the first time set in a store stays.
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


class BundleFile:
    """A bundle in a file, which is read again while the server runs (behaviour A9).

    Args:
        path: The file.
        apply: Is given the PEM text; raises :class:`BundleError` if it does not accept it.
        clock: The time.
    """

    _log = Logger()

    def __init__(self, path: Path, apply: Callable[[bytes], object], clock: Clock) -> None:
        self._path = path
        self._apply = apply
        self._clock = clock
        self._timer: Timer | None = None

    def load(self) -> None:
        """Read the file.

        Raises:
            BundleError: It cannot be read, or is not accepted.
        """
        try:
            pem = self._path.read_bytes()
        except OSError as error:
            raise BundleError(f"cannot read the CA bundle {self._path}: {error.strerror or error}") from error
        try:
            self._apply(pem)
        except BundleError as error:
            raise BundleError(f"{self._path}: {error}") from error

    def start(self) -> None:
        """Read it every minute. Errors are logged; the last good bundle stays in force."""
        self._timer = self._clock.callLater(RELOAD_SECONDS, self._reload)

    def stop(self) -> None:
        """Stop reading it."""
        stop_timer(self._timer)

    def _reload(self) -> None:
        try:
            self.load()
        except BundleError as error:
            self._log.error("the last good CA bundle stays in force: {error}", error=str(error))
        self.start()


def shared_authorities(
    clients: Iterable[x509.Certificate], proxies: Iterable[x509.Certificate]
) -> list[x509.Certificate]:
    """The authorities of ``clients`` whose leaves also verify against ``proxies``.

    An authority of ``proxies`` has the same public key (a renewed certificate is the same authority, even if its PEM text
    differs), or issued it, directly or through others of the two bundles: a client presents the intermediates.
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
    """What identifies an authority: its public key, or the whole certificate if the key is of an unknown type."""
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
    """The subject as people read it, such as ``CN=front-proxy-ca``."""
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
    """Check the extended key usage; without one, any usage is allowed.

    Source: Go's ``crypto/x509`` checkChainForKeyUsage.
    """
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
        pass  # a malformed extension: only the serial number is known
    return f"SN={certificate.serial_number}, SKID={_hex(subject)}, AKID={_hex(authority)}"


def _hex(data: bytes) -> str:
    return data.hex(":").upper()
