"""Run as a program: reads one kubeconfig with the ``kubernetes`` package and prints what is in it as JSON.

Arguments: the path and the context (empty: the current one). Ends with status 1 and one line on stderr if it cannot.
Imports nothing of extapi, so that it starts fast.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main(path: str, context: str) -> dict[str, Any]:
    """Server, PEM texts, Authorization header and its expiry (seconds since the epoch or None)."""
    from kubernetes.client import Configuration  # noqa: PLC0415 - 20 MB: only the process that reads
    from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger  # noqa: PLC0415 - the same

    if not Path(path).exists():
        raise FileNotFoundError("no such file")
    untyped_merger: Any = KubeConfigMerger
    untyped_loader: Any = KubeConfigLoader
    merged = untyped_merger(path).config
    loader = untyped_loader(config_dict=merged, active_context=context or None, config_base_path=None)
    configuration = Configuration()
    configuration.host = ""
    loader.load_and_set(configuration)
    chosen = loader.current_context["context"]
    user = _part(merged, "user", chosen.get("user"))
    authorization = configuration.api_key.get("BearerToken", "")
    if "exec" in user and not authorization and not configuration.cert_file:
        raise RuntimeError("the exec plugin gave no credentials")
    token_file = user.get("tokenFile", "")
    expiry = getattr(loader, "expiry", None)
    return {
        "server": configuration.host,
        "ca": _text(configuration.ssl_ca_cert),
        "certificate": _text(configuration.cert_file),
        "key": _text(configuration.key_file),
        "authorization": authorization,
        "expiry": expiry.timestamp() if expiry is not None else None,
        "token_file": str(Path(path).parent / token_file) if token_file else "",
        "server_name": configuration.tls_server_name or "",
        "verify": configuration.verify_ssl,
        "impersonates": any(user.get(key) for key in ("as", "as-uid", "as-groups", "as-user-extra")),
        # Not configuration.proxy: that may be the environment's, by other rules than client-go's.
        "proxy": _part(merged, "cluster", chosen.get("cluster")).get("proxy-url", ""),
    }


def _part(merged: Any, kind: str, name: str | None) -> dict[str, Any]:
    """What the file says about the ``cluster`` or ``user`` of that name; empty if nothing."""
    node = merged[f"{kind}s"].get_with_name(name, safe=True) if name else None
    found = None if node is None else node.value[kind]
    return found if isinstance(found, dict) else {}


def _text(path: str | None) -> str | None:
    return Path(path).read_text("utf-8") if path else None


if __name__ == "__main__":
    try:
        sys.stdout.write(json.dumps(main(sys.argv[1], sys.argv[2])))
    except Exception as error:  # noqa: BLE001 - whatever the package raises becomes the one line the caller shows
        sys.exit(f"{error}" or type(error).__name__)
