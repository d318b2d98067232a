"""The keys and certificates of a local control plane: three authorities and what they sign.

The authorities are those of a real cluster, each with its own purpose: the *cluster CA* vouches for clients and signs
kube-apiserver's serving certificate, the *front-proxy CA* vouches for those who speak for other users (kube-apiserver,
when it proxies), and the *serving CA* is the one that an APIService names in ``caBundle``. Knows files, not their readers.
"""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from extapi.certs.files import write_new
from extapi.issuing import Signed, make_authority, make_client, make_server, new_key, private_pem

RENEWAL = dt.timedelta(days=30)
"""A set in which something expires within this time is made anew."""
SERVICE_ADDRESSES = {"127.0.0.1": "10.0.0.0/24", "::1": "fd00:10::/112"}
"""The addresses of Services, by the loopback address of their control plane. The Service ``kubernetes`` has the first one."""
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
_APISERVER_HOSTS = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1", "fd00:10::1")
_AUTHORITIES = ("cluster-ca", "front-proxy-ca", "serving-ca")
_LEAVES = (
    "kube-apiserver",
    "admin",
    "controller-manager",
    "extension-client",
    "front-proxy-client",
    "extension-server",
)
_VERSION = "2"


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
    """The names of the extension server, as a client and as a server, that the leaf certificates carry."""

    extension_user: str
    extension_groups: Sequence[str]
    extension_hosts: Sequence[str]


def ensure(directory: Path, identities: Identities, *, now: dt.datetime) -> Certificates:
    """The set in ``directory``; made anew if it is missing, incomplete, about to expire, or of an older format.

    Also if it is not valid yet: the clock was ahead when it was made.

    Raises:
        OSError: The directory cannot be written.
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


def read(certificates: Certificates, name: str) -> Signed:
    """The certificate ``name`` and its key, read from their files.

    Raises:
        OSError: They cannot be read.
        ValueError: They are not what :func:`ensure` wrote.
    """
    key = serialization.load_pem_private_key(certificates.key(name).read_bytes(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{certificates.key(name)} is not an EC key")  # noqa: TRY004 - a wrong file
    return Signed(x509.load_pem_x509_certificate(certificates.certificate(name).read_bytes()), key)


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
        write_new(certificates.certificate(name), signed.certificate_pem())
        write_new(certificates.key(name), signed.key_pem())
    tokens = new_key()
    write_new(certificates.key("service-account"), private_pem(tokens))
    public = tokens.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_new(certificates.service_account_public, public)
    write_new(certificates.directory / "made-for", _made_for(identities))


def _is_usable(certificates: Certificates, identities: Identities, now: dt.datetime) -> bool:
    """Whether the set exists, is for these identities, and stays valid for a while."""
    try:
        if (certificates.directory / "made-for").read_bytes() != _made_for(identities):
            return False
        for name in (*_AUTHORITIES, *_LEAVES):
            certificate = x509.load_pem_x509_certificate(certificates.certificate(name).read_bytes())
            key = serialization.load_pem_private_key(certificates.key(name).read_bytes(), None)
            valid = certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc - RENEWAL
            if not valid or certificate.public_key() != key.public_key():
                return False
        serialization.load_pem_private_key(certificates.key("service-account").read_bytes(), None)
        serialization.load_pem_public_key(certificates.service_account_public.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    return True


def _made_for(identities: Identities) -> bytes:
    """The identities as text. A new format of the set gets a new version, so that old sets are made anew."""
    words = (_VERSION, identities.extension_user, *identities.extension_groups, *identities.extension_hosts)
    return "\n".join(words).encode()
