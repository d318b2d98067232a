"""What an operator can do about a refusal, by the words of etcd and of TLS. Knows no calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from extapi.storage.etcd.endpoints import EtcdOptions


def advised(words: str, options: EtcdOptions) -> str:
    """What was said, and what to do about it, if that is known.

    Args:
        words: Those of etcd, or of the connection to it.
        options: How etcd is reached.

    Returns:
        One line.
    """
    found = next((advice(options) for part, advice in _ADVICE.items() if part in words), "")
    return f"{words}; {found}" if found else words


def _permission(options: EtcdOptions) -> str:
    who = f"user {options.username!r} of --etcd-username" if options.username else "the user"
    right = f"readwrite {options.prefix}/ --prefix"
    return f"{who} needs a role with the right to --etcd-prefix ('etcdctl role grant-permission ROLE {right}')"


def _user(_: EtcdOptions) -> str:
    return "etcd has users: give --etcd-username and --etcd-password-file"


def _password(options: EtcdOptions) -> str:
    return f"check --etcd-username ({options.username}) and what is in --etcd-password-file ({options.password_file})"


def _own(options: EtcdOptions) -> str:
    if options.certfile is None:
        return "etcd asks for a certificate of its clients: give --etcd-certfile and --etcd-keyfile"
    return f"etcd does not accept the certificate in --etcd-certfile ({options.certfile}): replace it and its key"


def _theirs(options: EtcdOptions) -> str:
    authorities = (
        f"in --etcd-cafile ({options.cafile})" if options.cafile else "of the system, as there is no --etcd-cafile"
    )
    return f"etcd's certificate must be valid, and from an authority {authorities}"


_ADVICE: Final[dict[str, Callable[[EtcdOptions], str]]] = {
    "etcdserver: permission denied": _permission,
    "etcdserver: user name is empty": _user,
    "invalid user ID or password": _password,
    "alert certificate required": _own,
    "alert certificate expired": _own,
    "alert bad certificate": _own,
    "alert unknown ca": _own,
    "certificate verify failed": _theirs,
}
"""By what the words have in them: of ``go.etcd.io/etcd/api/v3/v3rpc/rpctypes`` error.go, and of OpenSSL's reasons. Alerts come from
etcd, and are about our certificate."""
