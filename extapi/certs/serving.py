"""The serving certificate: for which names it is, and how it is made anew.

Writes ``tls.crt`` and ``tls.key``, and says what is to be done with them; when to do so is decided by
:mod:`extapi.certs.keeping` and :mod:`extapi.certs.rotation`.
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
from extapi.certs.issuing import NAME_LIMIT, Authority, PrivateKey, Signed, make_server, self_sign
from extapi.certs.reading import hosts, moment, title


@dataclass(frozen=True)
class Names:
    """What a serving certificate is made out to: a common name of at most 64 characters, and hosts."""

    common: str
    hosts: Sequence[str]


def service_names(service: str, namespace: str, further: Sequence[str] = ()) -> Names:
    """The names of a Service, as its clients spell them; kube-apiserver asks for the first of them.

    Source: ``k8s.io/kube-aggregator/pkg/apiserver`` (``ServerName``: ``<service>.<namespace>.svc``).
    """
    full = f"{service}.{namespace}.svc"
    own = [full, f"{full}.cluster.local", f"{service}.{namespace}", service]
    return Names(full if len(full) <= NAME_LIMIT else service, [*own, *further])


def names_of(paths: Paths, holdings: Holdings) -> Names:
    """Those of the serving certificate that there is.

    :raises CertsFailure: there is none, or it has no names.
    """
    if holdings.leaf is None:
        raise CertsFailure(
            f"there is no {paths.certificate} yet: say for whom it is, by extapi certs --service NAME --namespace NAME"
        )
    found = hosts(holdings.leaf)
    if not found:
        raise CertsFailure(
            f"{title(holdings.leaf)} in {paths.certificate} is for no host: say for whom a new one is, by extapi certs "
            "--service NAME --namespace NAME"
        )
    common = [str(each.value) for each in holdings.leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return Names(common[0] if common else found[0][:NAME_LIMIT], found)


def new_authority(now: dt.datetime, key: PrivateKey) -> x509.Certificate:
    """An authority for ``caBundle``. The time in its name tells the old one from the new one."""
    return self_sign(f"extapi serving CA {moment(now)}", key, now=now)


def issue(paths: Paths, holdings: Holdings, signer: Authority, names: Names, *, now: dt.datetime) -> Signed:
    """A new serving certificate, written.

    :raises CertsFailure: nobody would trust what this authority signs now.
    :raises OSError: the files cannot be written.
    """
    check_validity(paths, signer.certificate, now)
    signed = make_server(signer, names.common, names.hosts, now=now)
    directory.write_pair(paths, signed, holdings.path(signer.certificate))
    return signed


def check_validity(paths: Paths, authority: x509.Certificate, now: dt.datetime) -> None:
    """Nobody trusts what an authority signed before or after its time.

    :raises CertsFailure: it is not its time.
    """
    if not authority.not_valid_before_utc <= now < authority.not_valid_after_utc:
        raise CertsFailure(
            f"the authority {title(authority)} in {paths.authorities} is valid from {moment(authority.not_valid_before_utc)} "
            f"to {moment(authority.not_valid_after_utc)}, and this clock says {moment(now)}: if the clock is right, get "
            f"another authority by extapi certs rotate --dir {paths.directory}"
        )
