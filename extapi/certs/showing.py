"""Describes the certificates and keys in a directory, and which vouches for which. Changes nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from extapi.certs.directory import Paths
from extapi.certs.failure import CertsFailure
from extapi.certs.reading import describe_key, hosts, moment, read_certificates, read_key, vouches
from extapi.issuing import PrivateKey

T = TypeVar("T")


def show(paths: Paths, *, now: dt.datetime, say: Callable[[str], None]) -> bool:
    """Describe each certificate and key, and the problem of each file that cannot be read. Returns whether all could be read."""
    problems: list[str] = []

    def read(reader: Callable[[Path], T], path: Path, instead: T) -> T:
        try:
            return reader(path)
        except CertsFailure as failure:
            problems.append(str(failure))
            return instead

    none: tuple[x509.Certificate, ...] = ()
    bundles = {path: read(read_certificates, path, none) for path in (paths.authorities, paths.certificate)}
    keys = {path: read(read_key, path, None) for path in (paths.authority_key, paths.next_key, paths.key)}
    if not any(bundles.values()) and not any(keys.values()) and not problems:
        raise CertsFailure(
            f"there is nothing in {paths.directory}: make certificates with extapi certs --service NAME --namespace NAME"
        )
    for path, certificates in bundles.items():
        for certificate in certificates:
            for line in _describe(path, certificate, bundles, keys, now):
                say(line)
    for path, key in keys.items():
        if key and not any(each.public_key() == key.public_key() for found in bundles.values() for each in found):
            say(f"{path}: {describe_key(key.public_key())}, the key of none of these")
    for problem in problems:
        say(problem)
    return not problems


def _describe(
    path: Path,
    certificate: x509.Certificate,
    bundles: Mapping[Path, tuple[x509.Certificate, ...]],
    keys: Mapping[Path, PrivateKey | None],
    now: dt.datetime,
) -> Iterator[str]:
    yield f"{path}: {certificate.subject.rfc4514_string()}"
    yield f"  issuer       {certificate.issuer.rfc4514_string()} ({_issuer(certificate, bundles)})"
    if names := hosts(certificate):
        yield f"  names        {', '.join(names)}"
    yield f"  not before   {moment(certificate.not_valid_before_utc)}{_early(certificate, now)}"
    yield f"  not after    {moment(certificate.not_valid_after_utc)} ({_left(certificate, now)})"
    holding = [file.name for file, key in keys.items() if key and key.public_key() == certificate.public_key()]
    yield f"  key          {describe_key(certificate.public_key())}, {_in(holding)}"
    yield f"  SHA-256      {certificate.fingerprint(hashes.SHA256()).hex(':').upper()}"


def _issuer(certificate: x509.Certificate, bundles: Mapping[Path, tuple[x509.Certificate, ...]]) -> str:
    if vouches(certificate, certificate):
        return "itself"
    holding = [path.name for path, found in bundles.items() if any(vouches(each, certificate) for each in found)]
    return _in(holding)


def _early(certificate: x509.Certificate, now: dt.datetime) -> str:
    return " (not yet)" if certificate.not_valid_before_utc > now else ""


def _left(certificate: x509.Certificate, now: dt.datetime) -> str:
    left = certificate.not_valid_after_utc - now
    if left <= dt.timedelta(0):
        return "expired"
    return f"in {left.days} days" if left >= dt.timedelta(days=2) else f"in {int(left.total_seconds() // 3600)} hours"


def _in(files: list[str]) -> str:
    return f"in {' and '.join(files)}" if files else "not here"
