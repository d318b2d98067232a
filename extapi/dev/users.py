"""``extapi dev --user``: a kubeconfig for any user of the control plane that runs in DIR.

Anyone who can read DIR can act as any user, since it holds the key of the cluster's authority.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

from extapi import issuing
from extapi.dev import certificates
from extapi.dev.certificates import Certificates
from extapi.dev.directory import StateDirectory, running_at
from extapi.dev.failure import DevFailure
from extapi.dev.kube import kubeconfig

LIFE = dt.timedelta(days=1)
"""How long such a kubeconfig is valid."""


def kubeconfig_for(directory: Path, user: str, groups: Sequence[str], *, now: dt.datetime) -> str:
    """The kubeconfig of ``user``, a member of ``groups``, as YAML.

    Args:
        directory: DIR of the control plane.

    Raises:
        DevFailure: Nothing runs there, or a name cannot stand in a certificate.
    """
    host, port = running_at(directory)
    keys = Certificates(StateDirectory(directory.absolute()).certificates)
    authority = certificates.read(keys, "cluster-ca")
    for name in (user, *groups):
        if not 0 < len(name) <= issuing.NAME_LIMIT:
            raise DevFailure(
                f"{name!r} cannot be used in a certificate: a name has 1 to {issuing.NAME_LIMIT} characters"
            )
    signed = issuing.make_client(authority, user, groups, now=now, life=LIFE)
    return kubeconfig(
        port,
        user=user,
        ca=authority.certificate_pem(),
        certificate=signed.certificate_pem(),
        key=signed.key_pem(),
        host=host,
    )
