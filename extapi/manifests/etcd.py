"""How the pod reaches its etcd: the flags of the server, and the Secret whose files they name.

The objects' own etcd, which several pods share. Knows no manifest but the volume.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from twisted.internet.abstract import isIPAddress, isIPv6Address

from extapi.storage.etcd.endpoints import EtcdOptions, check_etcd, parse_endpoint

DIRECTORY = "/etc/extapi/etcd"
"""Where the pod finds the files of the Secret."""
_CA, _CERTIFICATE, _KEY, _PASSWORD = "ca.crt", "tls.crt", "tls.key", "password"


def make_etcd(servers: str, prefix: str, username: str) -> EtcdOptions:
    """How the server in the pod reaches etcd.

    Args:
        servers: The members, separated by commas. If one is ``https``, the Secret has the authority of their certificates.
        prefix: Of all keys.
        username: The user whose password the Secret has; empty: the client certificate in the Secret says who asks.
    """
    tls = servers.startswith("https:") or ",https:" in servers
    pair = tls and not username
    return EtcdOptions(
        servers=tuple(each for each in servers.split(",") if each),
        prefix=prefix,
        cafile=Path(DIRECTORY, _CA) if tls else None,
        certfile=Path(DIRECTORY, _CERTIFICATE) if pair else None,
        keyfile=Path(DIRECTORY, _KEY) if pair else None,
        username=username,
        password_file=Path(DIRECTORY, _PASSWORD) if username else None,
    )


def etcd_problems(options: EtcdOptions) -> Iterator[str]:
    """What is wrong with the flags, one line each."""
    yield from check_etcd(options)
    if options.username and options.servers and options.cafile is None:
        yield "--etcd-username: the password would go to etcd unencrypted; give --etcd-servers with https"


def etcd_arguments(options: EtcdOptions) -> list[str]:
    """The flags of ``extapi serve`` that say the same."""
    flags = {
        "etcd-servers": ",".join(options.servers),
        "etcd-prefix": options.prefix,
        "etcd-cafile": options.cafile,
        "etcd-certfile": options.certfile,
        "etcd-keyfile": options.keyfile,
        "etcd-username": options.username,
        "etcd-password-file": options.password_file,
    }
    return [f"--{name}={value}" for name, value in flags.items() if value]


def etcd_files(options: EtcdOptions) -> list[str]:
    """The names of the files that the Secret has; empty: none is needed."""
    paths = (options.cafile, options.certfile, options.keyfile, options.password_file)
    return [path.name for path in paths if path is not None]


def etcd_ports(options: EtcdOptions) -> list[tuple[str, int]]:
    """The protocols and ports of the members, in order, each once; then those of DNS, if one is given by its name."""
    endpoints = [parse_endpoint(server) for server in options.servers]
    names = any(not isIPAddress(each.host) and not isIPv6Address(each.host) for each in endpoints)
    dns = [("UDP", 53), ("TCP", 53)] if names else []
    return [*(("TCP", port) for port in sorted({each.port for each in endpoints})), *dns]
