"""Kubeconfigs with certificates or a token, in the file or in files that it names: read at once, without a child process.

That is what ``extapi dev``, kubeadm, kind and minikube write. Whatever else a kubeconfig may say, plugins above all, is
left to ``kubernetespackage``, which also complains about broken ones.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extapi.client.credentials import Credentials, FileToken, StaticToken, TokenSource
from extapi.client.proxy import ProxyError, parse_proxy
from extapi.clock import Clock
from extapi.codec import strictyaml

_CLUSTER = frozenset({"server", "certificate-authority", "certificate-authority-data", "tls-server-name", "proxy-url"})
_USER = frozenset(
    {"client-certificate", "client-certificate-data", "client-key", "client-key-data", "token", "tokenFile"}
)


def plain_credentials(content: bytes, context: str, directory: Path, clock: Clock) -> Credentials | None:
    """The credentials of ``context``; None where anything is missing, broken or of another kind.

    Args:
        content: The kubeconfig.
        context: One of its contexts; empty: the current one.
        directory: The kubeconfig's, which the files that it names are found from.
        clock: Times a token file.
    """
    try:
        config = strictyaml.decode(content).value
        chosen = _named(config["contexts"], "context", context or config["current-context"])
        cluster = _named(config["clusters"], "cluster", chosen["cluster"])
        user = _named(config["users"], "user", chosen["user"])
        texts = {**cluster, **user}
        if not (
            cluster.keys() <= _CLUSTER and user.keys() <= _USER and all(isinstance(t, str) for t in texts.values())
        ):
            return None
        proxy = cluster.get("proxy-url")
        server = cluster["server"].rstrip("/")
        certificate, key = _pem(user, "client-certificate", directory), _pem(user, "client-key", directory)
        if not server.startswith("https://") or (certificate is None) != (key is None):
            return None
        return Credentials(
            server=server,
            ca=_pem(cluster, "certificate-authority", directory),
            certificate=certificate,
            key=key,
            token=_token(user, directory, clock),
            server_name=cluster.get("tls-server-name", ""),
            proxy=parse_proxy(proxy) if proxy else None,
        )
    except (strictyaml.YAMLError, KeyError, TypeError, ValueError, AttributeError, ProxyError, OSError):
        return None  # binascii.Error and UnicodeDecodeError are ValueErrors


def _named(entries: Any, part: str, name: str) -> Mapping[str, Any]:
    """The one of that name.

    Raises:
        KeyError: There is none, or more than one.
    """
    found = [entry[part] for entry in entries if entry["name"] == name]
    if len(found) != 1 or not isinstance(found[0], Mapping):
        raise KeyError(name)
    return found[0]


def _pem(texts: Mapping[str, str], key: str, directory: Path) -> bytes | None:
    """What stands there, or in the file that is named.

    Raises:
        KeyError: Both are given; another reader knows which one counts.
    """
    data, file = texts.get(f"{key}-data"), texts.get(key)
    if data and file:
        raise KeyError(key)
    if file:
        return (directory / file).read_bytes()
    return base64.b64decode(data, validate=True) if data else None


def _token(user: Mapping[str, str], directory: Path, clock: Clock) -> TokenSource | None:
    """As :func:`_pem`."""
    token, file = user.get("token"), user.get("tokenFile")
    if token and file:
        raise KeyError(file)
    if file:
        path = directory / file
        path.read_text("utf-8")  # one that is not there is an error now, not with the first request
        return FileToken(path, clock)
    return StaticToken(f"Bearer {token}") if token else None
