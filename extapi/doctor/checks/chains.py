"""Whether a caBundle vouches for a presented chain, as Go's ``crypto/x509`` decides. Pure: the time is an argument.

Every certificate of the bundle is an anchor, even an intermediate or a leaf. Only subject alternative names count. Dates are
judged separately, so that each finding names one cause.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from typing import Any

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import crypto

_NO_CHECK_TIME = 0x200000
"""``X509_V_FLAG_NO_CHECK_TIME``."""
_SERVER_USAGES = frozenset({ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})
_MALFORMED = (ValueError, TypeError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
"""What the ``cryptography`` package raises when broken names or extensions of a certificate are read."""
SOON = dt.timedelta(days=14)
"""A certificate that expires sooner is worth a warning; for short-lived ones the limit is a tenth of their life."""


def vouched(chain: Sequence[x509.Certificate], anchors: Sequence[x509.Certificate]) -> str:
    """Why ``anchors`` do not vouch for ``chain`` (the leaf first); empty if they do."""
    store = crypto.X509Store()
    for anchor in anchors:
        store.add_cert(crypto.X509.from_cryptography(anchor))
    store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN | _NO_CHECK_TIME)
    leaf, *others = [crypto.X509.from_cryptography(each) for each in chain]
    try:
        crypto.X509StoreContext(store, leaf, others).verify_certificate()
    except crypto.X509StoreContextError as error:
        return str(error)
    except crypto.Error:
        return "a certificate is malformed"
    usage = _extension(chain[0], x509.ExtendedKeyUsage)
    if usage is not None and _SERVER_USAGES.isdisjoint(usage):
        return "its extended key usage is not for servers (serverAuth)"
    return ""


def names_of(leaf: x509.Certificate) -> list[str]:
    """The DNS names and addresses that a certificate is for."""
    found = _extension(leaf, x509.SubjectAlternativeName) or []
    return [str(each.value) for each in found if isinstance(each, x509.DNSName | x509.IPAddress)]


def is_for(leaf: x509.Certificate, host: str) -> bool:
    """Whether one of its DNS names matches; a wildcard stands for one whole label at the left (``matchHostnames``).

    An address has to be among its addresses, however it is spelt.

    Source: Go's ``crypto/x509`` verify.go VerifyHostname.
    """
    found = _extension(leaf, x509.SubjectAlternativeName) or []
    try:
        return ipaddress.ip_address(host) in [each.value for each in found if isinstance(each, x509.IPAddress)]
    except ValueError:
        pass  # a name
    wanted = host.lower().split(".")
    for name in [each.value for each in found if isinstance(each, x509.DNSName)]:
        labels = name.lower().rstrip(".").split(".")
        if labels == wanted or (labels[0] == "*" and labels[1:] == wanted[1:]):
            return True
    return False


def is_authority(certificate: x509.Certificate) -> bool:
    """Whether it may sign others."""
    constraints = _extension(certificate, x509.BasicConstraints)
    return constraints is not None and bool(constraints.ca)


def ends_soon(certificate: x509.Certificate, now: dt.datetime) -> bool:
    """Whether it expires soon."""
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after_utc - now < min(SOON, life / 10)


def subject_of(certificate: x509.Certificate) -> str:
    """The subject as ``openssl x509 -noout -subject`` prints it."""
    return certificate.subject.rfc4514_string() or f"serial number {certificate.serial_number:x}"


def _extension(certificate: x509.Certificate, kind: Any) -> Any:
    """The extension; None if it is missing or broken."""
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except (x509.ExtensionNotFound, *_MALFORMED):
        return None
