"""The serving certificate: its names, and how it is issued.

Writes ``tls.crt`` and ``tls.key``; :mod:`extapi.certs.keeping` and :mod:`extapi.certs.rotation` decide when.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.x509.oid import NameOID

from extapi.certs import directory
from extapi.certs.directory import Holdings, Paths
from extapi.certs.failure import CertsFailure
from extapi.certs.reading import hosts, moment, title
from extapi.issuing import NAME_LIMIT, Authority, PrivateKey, Signed, make_server, self_sign


@dataclass(frozen=True)
class Names:
    """The names of a serving certificate: a common name of at most 64 characters, and hosts."""

    common: str
    hosts: Sequence[str]


def service_names(service: str, namespace: str, further: Sequence[str] = ()) -> Names:
    """The names of a Service as clients write them; kube-apiserver uses the first.

    Source: ``k8s.io/kube-aggregator/pkg/apiserver`` (``ServerName``: ``<service>.<namespace>.svc``).
    """
    full = f"{service}.{namespace}.svc"
    own = [full, f"{full}.cluster.local", f"{service}.{namespace}", service]
    return Names(full if len(full) <= NAME_LIMIT else service, [*own, *further])


def names_of(paths: Paths, holdings: Holdings) -> Names:
    """The names of the present serving certificate.

    Raises:
        CertsFailure: There is none, or it has no names.
    """
    if holdings.leaf is None:
        raise CertsFailure(
            f"there is no {paths.certificate} yet: make it with extapi certs --service NAME --namespace NAME"
        )
    found = hosts(holdings.leaf)
    if not found:
        raise CertsFailure(
            f"{title(holdings.leaf)} in {paths.certificate} names no host: make a new one with extapi certs "
            "--service NAME --namespace NAME"
        )
    common = [str(each.value) for each in holdings.leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return Names(common[0] if common else found[0][:NAME_LIMIT], found)


def new_authority(now: dt.datetime, key: PrivateKey) -> x509.Certificate:
    """A new authority for ``caBundle``. The time in its name distinguishes it from the old one."""
    return self_sign(f"extapi serving CA {moment(now)}", key, now=now)


def issue(paths: Paths, holdings: Holdings, signer: Authority, names: Names, *, now: dt.datetime) -> Signed:
    """Issue and write a new serving certificate.

    Raises:
        CertsFailure: The authority is not valid now, so nobody would trust the certificate.
        OSError: The files cannot be written.
    """
    check_validity(paths, signer.certificate, now)
    signed = make_server(signer, names.common, names.hosts, now=now)
    directory.write_pair(paths, signed, holdings.path(signer.certificate))
    return signed


def check_validity(paths: Paths, authority: x509.Certificate, now: dt.datetime) -> None:
    """Check that the authority is valid now; otherwise nobody trusts what it signs.

    Raises:
        CertsFailure: The authority is not valid now.
    """
    if not authority.not_valid_before_utc <= now < authority.not_valid_after_utc:
        raise CertsFailure(
            f"the authority {title(authority)} in {paths.authorities} is valid from {moment(authority.not_valid_before_utc)} "
            f"to {moment(authority.not_valid_after_utc)}, and this clock says {moment(now)}: if the clock is right, make "
            f"another authority with extapi certs rotate --dir {paths.directory}"
        )
