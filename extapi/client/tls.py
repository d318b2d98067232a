"""TLS towards one server: which authorities may vouch for it, and which certificate the client shows.

Nothing here switches verification off.
"""

from __future__ import annotations

from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from OpenSSL import crypto
from twisted.internet import ssl

from extapi.client.credentials import Credentials, CredentialsError


class TlsPolicy:
    """Makes the TLS options of each new connection out of :class:`Credentials`; raises CredentialsError on bad PEM."""

    def __init__(self, credentials: Credentials) -> None:
        self._server_name = credentials.server_name
        self._options: dict[str, Any] = {}
        try:
            self._trust = None if credentials.ca is None else _trust(credentials.ca)
            if credentials.certificate is not None:
                first, *others = x509.load_pem_x509_certificates(credentials.certificate)
                self._options["certificate"] = first
                self._options["extraCertChain"] = others
                self._options["privateKey"] = serialization.load_pem_private_key(credentials.key or b"", None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise CredentialsError(f"the credentials for {credentials.server} hold no usable PEM: {error}") from error

    def options(self, host: str) -> Any:
        """The options of a connection to ``host``, a name or an IP address."""
        name = self._server_name or host
        return ssl.optionsForClientTLS(name, trustRoot=self._trust, extraCertificateOptions=dict(self._options))


def _trust(pem: bytes) -> Any:
    untyped: Any = ssl
    certificates = x509.load_pem_x509_certificates(pem)
    roots = [untyped.Certificate(crypto.X509.from_cryptography(each)) for each in certificates]
    return untyped.trustRootFromCertificates(roots)
