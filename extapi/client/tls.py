"""TLS towards one server: which authorities may vouch for it, which certificate the client shows, what its errors say.

Nothing switches verification off but an APIService that says so.
"""

from __future__ import annotations

from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from OpenSSL import SSL, crypto
from service_identity import CertificateError, VerificationError
from service_identity.pyopenssl import verify_hostname, verify_ip_address
from twisted.internet import error as network, ssl
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from zope.interface import implementer

from extapi.api.timestamp import format_timestamp
from extapi.client.credentials import Credentials, CredentialsError
from extapi.clock import wall_time

_PARTIAL_CHAIN = 0x80000
"""``X509_V_FLAG_PARTIAL_CHAIN``."""

_NOT_YET_VALID, _EXPIRED = 9, 10
"""``X509_V_ERR_CERT_NOT_YET_VALID``, ``X509_V_ERR_CERT_HAS_EXPIRED``."""
_PROBLEMS = {
    26: "certificate specifies an incompatible key usage",
}
"""Others of OpenSSL's verification errors, in words."""


class TlsPolicy:
    """Makes the TLS options of each new connection out of :class:`Credentials`.

    Raises:
        CredentialsError: They hold no usable PEM.
    """

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
        return self._made(self._server_name or host)

    def proxy_options(self, host: str) -> Any:
        """The options of a connection to a proxy on the way: the same trust and certificate, as in Go's net/http."""
        return self._made(host)

    def _made(self, name: str) -> Any:
        return ssl.optionsForClientTLS(name, trustRoot=self._trust, extraCertificateOptions=dict(self._options))


def sentence(error: BaseException) -> str:
    """What an error of the network, TLS or not, says: in one line, and without a full stop."""
    if type(error).__module__.startswith("OpenSSL"):
        queue = error.args[0] if error.args else []  # a number where the system failed, not TLS
        details = [item[-1] for item in queue if item] if isinstance(queue, list) else []
        return f"TLS: {'; '.join(details) or 'the connection was ended'}"
    if isinstance(error, network.TimeoutError):
        return "connecting took too long"  # Twisted would blame a user
    text = " ".join(str(error).split()) or type(error).__name__
    return text.rstrip(".")


def _trust(pem: bytes) -> Any:
    untyped: Any = ssl
    certificates = x509.load_pem_x509_certificates(pem)
    roots = [untyped.Certificate(crypto.X509.from_cryptography(each)) for each in certificates]
    return untyped.trustRootFromCertificates(roots)


@implementer(IOpenSSLClientConnectionCreator)
class UpstreamTls:
    """TLS towards a server that an object names, as kube-aggregator does it (behaviour D5).

    Args:
        server_name: The name or the IP address that the server's certificate has to be for.
        ca: PEM of the roots, intermediates among them; None: the system's.
        certificate: The client's PEM chain; empty: the client shows none.
        key: The PEM private key that belongs to it.
        insecure: Trust whoever answers, because the object says so; then no name is checked either.
        clock: ``seconds()`` since the epoch, for messages.

    Raises:
        CredentialsError: There is no usable PEM.
    """

    def __init__(
        self,
        server_name: str,
        *,
        ca: bytes | None,
        certificate: bytes = b"",
        key: bytes = b"",
        insecure: bool = False,
        clock: Any,
    ) -> None:
        self.server_name = server_name
        self.insecure = insecure
        self._address = isIPAddress(server_name) or isIPv6Address(server_name)
        self._clock = clock
        self.problem = ""
        """What was wrong with the last certificate that was refused."""
        self._context = context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_min_proto_version(SSL.TLS1_2_VERSION)
        context.set_alpn_protos([b"http/1.1"])
        try:
            if certificate:
                first, *others = x509.load_pem_x509_certificates(certificate)
                context.use_certificate(first)
                for each in others:
                    context.add_extra_chain_cert(each)
                context.use_privatekey(serialization.load_pem_private_key(key, None))  # type: ignore[arg-type]  # the kinds of keys that have certificates
            roots = [] if ca is None or insecure else x509.load_pem_x509_certificates(ca)
        except (ValueError, TypeError, UnsupportedAlgorithm, SSL.Error) as error:
            raise CredentialsError(f"no usable PEM for {server_name}: {error}") from error
        context.set_verify(SSL.VERIFY_NONE if insecure else SSL.VERIFY_PEER, self._verified)
        if ca is None:
            context.set_default_verify_paths()
        store: Any = context.get_cert_store()
        store.set_flags(_PARTIAL_CHAIN)  # Go takes any certificate of the bundle for a root
        for root in roots:
            store.add_cert(crypto.X509.from_cryptography(root))

    def clientConnectionForTLS(self, _protocol: Any) -> SSL.Connection:  # noqa: N802 - Twisted's name
        """A connection that is to be secured."""
        connection = SSL.Connection(self._context, None)
        if not self._address:  # RFC 6066, section 3
            connection.set_tlsext_host_name(self.server_name.encode("ascii"))
        return connection

    def names_server(self, connection: SSL.Connection) -> bool:
        """Whether the certificate of a server that has shaken hands is for its name, as far as that is asked."""
        try:
            if not self.insecure:
                (verify_ip_address if self._address else verify_hostname)(connection, self.server_name)
        except (CertificateError, VerificationError):
            return False
        return True

    def mismatch(self, leaf: x509.Certificate | None) -> str:
        """Why the server's certificate is for another name (Go's ``x509.HostnameError``)."""
        try:
            names: Any = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value if leaf else []
        except (x509.ExtensionNotFound, ValueError):
            names = []
        if self._address:
            found = ", ".join(str(name.value) for name in names if isinstance(name, x509.IPAddress))
            if not found:
                return f"cannot validate certificate for {self.server_name} because it doesn't contain any IP SANs"
            return f"certificate is valid for {found}, not {self.server_name}"
        found = ", ".join(name.value for name in names if isinstance(name, x509.DNSName))
        if not found:
            return f"certificate is not valid for any names, but wanted to match {self.server_name}"
        return f"certificate is valid for {found}, not {self.server_name}"

    def _verified(self, _connection: Any, certificate: crypto.X509, error: int, _depth: int, good: int) -> bool:
        self.problem = "" if good else self._sentence(certificate, error)
        return bool(good)

    def _sentence(self, certificate: crypto.X509, error: int) -> str:
        if error not in (_NOT_YET_VALID, _EXPIRED):
            return _PROBLEMS.get(error, "certificate signed by unknown authority")
        about = certificate.to_cryptography()
        limit = about.not_valid_before_utc if error == _NOT_YET_VALID else about.not_valid_after_utc
        now = format_timestamp(wall_time(self._clock))
        where = "before" if error == _NOT_YET_VALID else "after"
        return (
            f"certificate has expired or is not yet valid: current time {now} is {where} "
            f"{format_timestamp(limit.timestamp())}"
        )
