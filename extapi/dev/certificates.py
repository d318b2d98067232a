"""The keys and certificates of a local control plane: three authorities and what they sign.

The authorities are those of a real cluster, each of a purpose of its own: the *cluster CA* says who a client is and
signs kube-apiserver's serving certificate, the *front-proxy CA* says who may speak for somebody else (kube-apiserver,
when it proxies), the *serving CA* is the one an APIService names in ``caBundle``. Knows files, and nothing of what
reads them.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = dt.timedelta(days=3650)
LEAF_LIFE = dt.timedelta(days=365)
RENEWAL = dt.timedelta(days=30)
"""A set of which something expires within this time is made anew."""
NAME_LIMIT = 64
"""Characters in the name of a user or a group (RFC 5280, ub-common-name and ub-organization-name)."""
_BACKDATED = dt.timedelta(minutes=5)
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1")
_APISERVER_HOSTS = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1")
_AUTHORITIES = ("cluster-ca", "front-proxy-ca", "serving-ca")
_LEAVES = (
    "kube-apiserver",
    "admin",
    "controller-manager",
    "extension-client",
    "front-proxy-client",
    "extension-server",
)
_VERSION = "1"


@dataclass(frozen=True)
class Signed:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self) -> bytes:
        """The private key as PEM, in the form (SEC 1) that every Go program reads."""
        return private_pem(self.key)


@dataclass(frozen=True)
class Certificates:
    """A directory that holds a complete set; the paths in it follow from the names."""

    directory: Path

    def certificate(self, name: str) -> Path:
        """The certificate ``name``: an authority's or a leaf's."""
        return self.directory / f"{name}.crt"

    def key(self, name: str) -> Path:
        """The private key ``name``."""
        return self.directory / f"{name}.key"

    @property
    def service_account_public(self) -> Path:
        """The public half of the key that signs the tokens of service accounts."""
        return self.directory / "service-account.pub"


@dataclass(frozen=True)
class Identities:
    """Whom the leaves are for: the names of the extension server, as a client and as a server."""

    extension_user: str
    extension_groups: Sequence[str]
    extension_hosts: Sequence[str]


def ensure(directory: Path, identities: Identities, *, now: dt.datetime) -> Certificates:
    """The set in ``directory``, made if there is none, or only an incomplete, expiring or older kind of one.

    :raises OSError: the directory cannot be written.
    """
    certificates = Certificates(directory)
    if not _is_usable(certificates, identities, now):
        unfinished = directory.with_name(directory.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700, parents=True)
        _make(Certificates(unfinished), identities, now)
        shutil.rmtree(directory, ignore_errors=True)
        unfinished.rename(directory)
    return certificates


def make_authority(name: str, *, now: dt.datetime) -> Signed:
    """A self-signed authority."""
    key = _new_key()
    subject = _name(name, ())
    builder = _builder(subject, subject, key, now, AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
    return Signed(builder.sign(key, hashes.SHA256()), key)


def make_server(authority: Signed, name: str, hosts: Sequence[str], *, now: dt.datetime) -> Signed:
    """A certificate for serving under ``hosts``: DNS names and IP addresses."""
    names = x509.SubjectAlternativeName([_host(host) for host in hosts])
    return _make_leaf(authority, _name(name, ()), ExtendedKeyUsageOID.SERVER_AUTH, names, now)


def make_client(
    authority: Signed, user: str, groups: Sequence[str], *, now: dt.datetime, life: dt.timedelta = LEAF_LIFE
) -> Signed:
    """A certificate for a client: Kubernetes reads the user from CN and the groups from O.

    :raises ValueError: a name is empty, or longer than :data:`NAME_LIMIT`.
    """
    return _make_leaf(authority, _name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, None, now, life)


def read(certificates: Certificates, name: str) -> Signed:
    """The certificate ``name`` and its key, out of their files.

    :raises OSError: they cannot be read.
    :raises ValueError: they are not what :func:`ensure` has written.
    """
    key = serialization.load_pem_private_key(certificates.key(name).read_bytes(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{certificates.key(name)} is no EC key")  # noqa: TRY004 - a wrong file
    return Signed(x509.load_pem_x509_certificate(certificates.certificate(name).read_bytes()), key)


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A private key as unencrypted PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _make(certificates: Certificates, identities: Identities, now: dt.datetime) -> None:
    cluster, front_proxy, serving = (make_authority(f"extapi-dev-{name}", now=now) for name in _AUTHORITIES)
    made = {
        "cluster-ca": cluster,
        "front-proxy-ca": front_proxy,
        "serving-ca": serving,
        "kube-apiserver": make_server(cluster, "kube-apiserver", (*_LOOPBACK_HOSTS, *_APISERVER_HOSTS), now=now),
        "admin": make_client(cluster, "kubernetes-admin", ("system:masters",), now=now),
        "controller-manager": make_client(cluster, "system:kube-controller-manager", (), now=now),
        "extension-client": make_client(cluster, identities.extension_user, identities.extension_groups, now=now),
        "front-proxy-client": make_client(front_proxy, "front-proxy-client", (), now=now),
        "extension-server": make_server(serving, "extension-server", identities.extension_hosts, now=now),
    }
    for name, signed in made.items():
        _write(certificates.certificate(name), signed.certificate_pem())
        _write(certificates.key(name), signed.key_pem())
    tokens = _new_key()
    _write(certificates.key("service-account"), private_pem(tokens))
    public = tokens.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    _write(certificates.service_account_public, public)
    _write(certificates.directory / "made-for", _made_for(identities))


def _is_usable(certificates: Certificates, identities: Identities, now: dt.datetime) -> bool:
    """Whether the set is there, is for these identities, and stays valid for a while."""
    try:
        if (certificates.directory / "made-for").read_bytes() != _made_for(identities):
            return False
        for name in (*_AUTHORITIES, *_LEAVES):
            certificate = x509.load_pem_x509_certificate(certificates.certificate(name).read_bytes())
            key = serialization.load_pem_private_key(certificates.key(name).read_bytes(), None)
            if certificate.public_key() != key.public_key() or certificate.not_valid_after_utc - now < RENEWAL:
                return False
        serialization.load_pem_private_key(certificates.key("service-account").read_bytes(), None)
        serialization.load_pem_public_key(certificates.service_account_public.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    return True


def _made_for(identities: Identities) -> bytes:
    """The identities as text; a new kind of set gets a new version, so that old ones are not taken for it."""
    words = (_VERSION, identities.extension_user, *identities.extension_groups, *identities.extension_hosts)
    return "\n".join(words).encode()


def _write(path: Path, content: bytes) -> None:
    """A new file that nobody else can read, not even while it is written."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _make_leaf(
    authority: Signed,
    subject: x509.Name,
    usage: x509.ObjectIdentifier,
    names: x509.SubjectAlternativeName | None,
    now: dt.datetime,
    life: dt.timedelta = LEAF_LIFE,
) -> Signed:
    key = _new_key()
    builder = _builder(subject, authority.certificate.subject, key, now, life)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = builder.add_extension(issuer, critical=False)
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return Signed(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: dt.datetime,
    life: dt.timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _name(common: str, organizations: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
