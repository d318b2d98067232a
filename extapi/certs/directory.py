"""The directory that ``extapi certs`` keeps: its files, what they mean together, and how they are written.

Four files, and a fifth during a rotation:

    ca.crt        the caBundle: one authority, or the old and the new one
    ca.key        the key of the authority that signs
    next-ca.key   the key of the authority that will sign next
    tls.crt       the serving certificate, with the intermediates that vouch for it
    tls.key       its key

The stage of a rotation is not recorded: it follows from the issuer of ``tls.crt`` and the content of ``ca.crt``.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from extapi.certs import files
from extapi.certs.failure import CertsFailure
from extapi.certs.reading import is_authority, read_certificates, read_key, title, titles, vouches
from extapi.issuing import Authority, PrivateKey, Signed, private_pem


@dataclass(frozen=True)
class Paths:
    """Names of the files in ``directory``."""

    directory: Path

    @property
    def authorities(self) -> Path:
        """``ca.crt``."""
        return self.directory / "ca.crt"

    @property
    def authority_key(self) -> Path:
        """``ca.key``."""
        return self.directory / "ca.key"

    @property
    def next_key(self) -> Path:
        """``next-ca.key``."""
        return self.directory / "next-ca.key"

    @property
    def certificate(self) -> Path:
        """``tls.crt``."""
        return self.directory / "tls.crt"

    @property
    def key(self) -> Path:
        """``tls.key``."""
        return self.directory / "tls.key"

    def warnings(self) -> list[str]:
        """Access that others have to the files, and the command that removes it."""
        found = [
            f"{path} can be read by others: chmod 600 {path}"
            for path in (self.authority_key, self.next_key, self.key)
            if path.exists() and path.stat().st_mode & 0o077
        ]
        if self.directory.exists() and self.directory.stat().st_mode & 0o022:
            found.append(
                f"{self.directory} can be written by others, who could put keys there: chmod 700 {self.directory}"
            )
        return found


class Stage(enum.Enum):
    """The stage of a rotation of the authority."""

    NONE = enum.auto()
    BEGUN = enum.auto()
    """A new authority is in ``ca.crt``; ``tls.crt`` is still signed by the old one."""
    SWITCHED = enum.auto()
    """The new authority signed ``tls.crt``; the old one is still in ``ca.crt``."""


@dataclass(frozen=True)
class Holdings:
    """The content of the directory. Missing files are empty or None."""

    authorities: tuple[x509.Certificate, ...]
    authority_key: PrivateKey | None
    next_key: PrivateKey | None
    chain: tuple[x509.Certificate, ...]
    key: PrivateKey | None

    @property
    def leaf(self) -> x509.Certificate | None:
        """The serving certificate itself."""
        return self.chain[0] if self.chain else None

    @property
    def paired(self) -> bool:
        """Whether ``tls.key`` is the key of ``tls.crt``."""
        return bool(self.chain and self.key and self.chain[0].public_key() == self.key.public_key())

    @property
    def issuer(self) -> x509.Certificate | None:
        """The authority in ``ca.crt`` that vouches for the serving certificate."""
        return next((each for each in self.authorities if self.leaf and vouches(each, self.leaf)), None)

    @property
    def signer(self) -> Authority | None:
        """The authority of ``ca.key``."""
        return self._authority(self.authority_key)

    @property
    def upcoming(self) -> Authority | None:
        """The authority that will sign the next serving certificate, if it did not sign this one."""
        following = self._authority(self.next_key)
        if following is None and self.leaf and self.signer and not vouches(self.signer.certificate, self.leaf):
            return self.signer  # the key was put in place by hand
        return following

    @property
    def latest(self) -> Authority | None:
        """The authority that remains after the rotation."""
        return self.upcoming or self.signer

    @property
    def old(self) -> tuple[x509.Certificate, ...]:
        """The certificates in ``ca.crt`` that are neither the latest authority nor vouch for it."""
        return tuple(
            each for each in self.authorities if self.latest and each not in self.path(self.latest.certificate)
        )

    @property
    def stage(self) -> Stage:
        """The stage of a rotation."""
        if self.leaf and self.upcoming and not vouches(self.upcoming.certificate, self.leaf):
            return Stage.BEGUN
        return Stage.SWITCHED if self.old else Stage.NONE

    def path(self, authority: x509.Certificate) -> tuple[x509.Certificate, ...]:
        """The authority and the certificates in ``ca.crt`` that vouch for it, up to the root."""
        found = [authority]
        while above := [each for each in self.authorities if each not in found and vouches(each, found[-1])]:
            found.append(above[0])
        return tuple(found)

    def _authority(self, key: PrivateKey | None) -> Authority | None:
        """A key with its certificate; of several the one that expires last."""
        if key is None:
            return None
        own = [each for each in self.authorities if each.public_key() == key.public_key()]
        return Authority(max(own, key=lambda each: each.not_valid_after_utc), key) if own else None


def load(paths: Paths) -> Holdings:
    """Read everything.

    Raises:
        CertsFailure: A file cannot be used, or does not match the others.
    """
    holdings = Holdings(
        read_certificates(paths.authorities),
        read_key(paths.authority_key),
        read_key(paths.next_key),
        read_certificates(paths.certificate),
        read_key(paths.key),
    )
    for each in holdings.authorities:
        if not is_authority(each):
            raise CertsFailure(
                f"{title(each)} in {paths.authorities} is no authority (CA:TRUE, and certificate signing among its key "
                "usages): take it out, caBundle holds authorities alone"
            )
    if holdings.authorities and holdings.authority_key and not holdings.signer:
        raise CertsFailure(
            f"{paths.authority_key} is the key of no certificate in {paths.authorities} ({titles(holdings.authorities)}): "
            "put the key and the certificate there that belong together"
        )
    if holdings.leaf and not holdings.authorities:
        raise CertsFailure(
            f"{paths.authorities} is missing, but there is a certificate {title(holdings.leaf)} in {paths.certificate}: put "
            "its authority there, or move all files away to start over"
        )
    if holdings.leaf and not holdings.issuer:
        raise CertsFailure(
            f'{title(holdings.leaf)} in {paths.certificate} (issuer "{holdings.leaf.issuer.rfc4514_string()}") is signed by '
            f"no authority in {paths.authorities} ({titles(holdings.authorities)}): add its authority there, or move "
            f"{paths.certificate} and {paths.key} away to have new ones made"
        )
    if holdings.key and not holdings.leaf:
        raise CertsFailure(f"{paths.key} has no {paths.certificate} beside it: put it there, or move the key away")
    return holdings


@contextlib.contextmanager
def held(paths: Paths) -> Iterator[None]:
    """Lock the directory until the context ends. Finishes first what an interrupted run left half done.

    Raises:
        CertsFailure: Another process has locked it, or a file cannot be read.
        OSError: The directory or a file cannot be written.
    """
    with files.locked(paths.directory):
        settle(paths)
        yield


def settle(paths: Paths) -> None:
    """Finish what an interrupted run left half done. Call it with the directory :func:`held`.

    Raises:
        CertsFailure: A file cannot be read.
        OSError: A file cannot be renamed.
    """
    unfinished, key = _complete(files.beside(paths.certificate)), read_key(paths.key)
    if unfinished and key and unfinished[0].public_key() == key.public_key():
        files.finish_pair(paths.certificate)
    for path in (paths.authorities, paths.authority_key, paths.next_key, paths.certificate, paths.key):
        files.discard(path)
    leaf, following = read_certificates(paths.certificate), read_key(paths.next_key)
    if leaf and following:
        signed = [each for each in read_certificates(paths.authorities) if vouches(each, leaf[0])]
        if any(each.public_key() == following.public_key() for each in signed):
            files.take_place_of(paths.next_key, paths.authority_key)


def write_authorities(paths: Paths, authorities: Sequence[x509.Certificate]) -> None:
    """Write ``ca.crt``.

    Raises:
        OSError: It cannot be written.
    """
    files.replace(paths.authorities, _pem(authorities), mode=files.CERTIFICATE_MODE)


def write_key(path: Path, key: PrivateKey) -> None:
    """Write the key of an authority.

    Raises:
        OSError: It cannot be written.
    """
    files.replace(path, private_pem(key), mode=files.KEY_MODE)


def write_pair(paths: Paths, signed: Signed, authorities: Sequence[x509.Certificate]) -> None:
    """Write ``tls.crt`` and ``tls.key``. ``authorities``: the chain above it, of which the intermediates are served.

    Raises:
        OSError: They cannot be written.
    """
    intermediates = [each for each in authorities if not vouches(each, each)]
    files.replace_pair(paths.certificate, _pem([signed.certificate, *intermediates]), paths.key, signed.key_pem())


def _pem(certificates: Sequence[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)


def _complete(path: Path) -> tuple[x509.Certificate, ...]:
    """The certificates of a file that may be incomplete."""
    try:
        return read_certificates(path)
    except CertsFailure:
        return ()
