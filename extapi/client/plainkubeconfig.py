"""Kubeconfigs that hold everything themselves: read here and at once, without a process of its own.

That is what ``extapi dev``, kubeadm and kind write: one file, the certificates inside, no plugin. For whatever else it
may say there is ``kubeconfig_reader.py``, which is also who complains.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from extapi.client.credentials import Credentials, StaticToken
from extapi.client.proxy import ProxyError, parse_proxy
from extapi.codec import strictyaml

_CLUSTER = frozenset({"server", "certificate-authority-data", "tls-server-name", "proxy-url"})
_USER = frozenset({"client-certificate-data", "client-key-data", "token"})


def plain_credentials(content: bytes, context: str) -> Credentials | None:
    """The credentials of ``context`` (empty: the current one); None where anything is missing, broken or of another kind."""
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
        server, token = cluster["server"].rstrip("/"), user.get("token")
        certificate, key = _pem(user, "client-certificate-data"), _pem(user, "client-key-data")
        if not server.startswith("https://") or (certificate is None) != (key is None):
            return None
        return Credentials(
            server=server,
            ca=_pem(cluster, "certificate-authority-data"),
            certificate=certificate,
            key=key,
            token=StaticToken(f"Bearer {token}") if token else None,
            server_name=cluster.get("tls-server-name", ""),
            proxy=parse_proxy(proxy) if proxy else None,
        )
    except (strictyaml.YAMLError, KeyError, TypeError, AttributeError, binascii.Error, ProxyError):
        return None


def _named(entries: Any, part: str, name: str) -> Mapping[str, Any]:
    """The one of that name. Raises KeyError if there is none, or more than one."""
    found = [entry[part] for entry in entries if entry["name"] == name]
    if len(found) != 1 or not isinstance(found[0], Mapping):
        raise KeyError(name)
    return found[0]


def _pem(texts: Mapping[str, str], key: str) -> bytes | None:
    return base64.b64decode(texts[key], validate=True) if texts.get(key) else None
