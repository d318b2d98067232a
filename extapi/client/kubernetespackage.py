"""The ``kubernetes`` package, an extra of ours: whether it is installed, and the kubeconfigs that it reads.

It brings twenty packages and 120 MB, and takes 20 MB of memory; a server in a pod needs none of it. So it is imported
only where it reads. Run as a program, with a path and a context (empty: the current one) as arguments, this module prints
as JSON what a server needs; to start fast, it imports nothing of extapi.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

IMPERSONATION = ("as", "as-uid", "as-groups", "as-user-extra")
"""What a user says of whom it speaks for; the package passes over it (``k8s.io/client-go/tools/clientcmd/api/v1``)."""


class MissingPackage(Exception):
    """The package is not installed. The text says for what it is needed, and how to install it."""


def require_kubernetes(purpose: str) -> None:
    """Check that the package is installed.

    Args:
        purpose: What needs it, as the message begins: "extapi doctor".

    Raises:
        MissingPackage: It is not.
    """
    if importlib.util.find_spec("kubernetes") is None:
        raise MissingPackage(
            f"{purpose} needs the Python package 'kubernetes', which is not installed: pip install 'extapi[kubeconfig]'. "
            "An image built from deploy/Dockerfile leaves it out: run this where kubectl runs"
        )


@dataclass(frozen=True, slots=True)
class PackageKubeconfig:
    """What the package made of one context, and what it passes over. It runs no exec plugin: ``execplugin`` says how."""

    configuration: Any
    """A ``kubernetes.client.Configuration``; its ``host`` is empty where the cluster names no server."""
    cluster: Mapping[str, Any]
    """The cluster as it stands in the file."""
    user: Mapping[str, Any]
    """The user as it stands in the file."""
    user_name: str
    """Its name."""
    user_file: Path
    """The file that it stands in."""
    token_file: Path | None
    """The file that the user's token is in."""
    expiry: float | None
    """When the token expires: seconds since the epoch."""

    @property
    def plugin(self) -> Any:
        """``exec`` of the user; None where it has other credentials, which come first.

        Source: ``k8s.io/client-go/plugin/pkg/client/auth/exec`` UpdateTransportConfig.
        """
        others = self.configuration.api_key.get("BearerToken") or self.configuration.cert_file
        return None if others else self.user.get("exec")


def read_kubeconfig(paths: str, context: str) -> PackageKubeconfig:
    """Read ``context`` (empty: the current one) from one file, or from several as in the variable ``KUBECONFIG``.

    Of several files the first that names a current context counts, as for kubectl; the package takes the last.

    Raises:
        Exception: Almost anything, if it is broken: of YAML, base64, TLS, plugins.
    """
    from kubernetes.client import Configuration  # noqa: PLC0415 - 20 MB: only where it reads
    from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger  # noqa: PLC0415 - the same

    untyped_merger: Any = KubeConfigMerger
    # The package would wait for a plugin as long as it runs, in the middle of a request too.
    untyped_loader: Any = type("Loader", (KubeConfigLoader,), {"_load_from_exec_plugin": lambda _: None})
    contents = _contents(paths)
    chosen = context or next((str(each["current-context"]) for _, each in contents if each.get("current-context")), "")
    _check_context([each for _, each in contents], chosen)
    loader = untyped_loader(
        config_dict=untyped_merger(_joined(contents)).config, active_context=chosen, config_base_path=None
    )
    configuration = Configuration()
    configuration.host = ""
    loader.load_and_set(configuration)
    _, its = _named(contents, "context", chosen)
    _, cluster = _named(contents, "cluster", its.get("cluster"))
    file, user = _named(contents, "user", its.get("user"))
    token_file, expiry = user.get("tokenFile"), getattr(loader, "expiry", None)
    return PackageKubeconfig(
        configuration=configuration,
        cluster=cluster,
        user=user,
        user_name=str(its.get("user") or ""),
        user_file=file,
        token_file=file.parent / token_file if token_file else None,
        expiry=None if expiry is None else expiry.timestamp(),
    )


def _contents(paths: str) -> list[tuple[Path, dict[str, Any]]]:
    """Each of several files and what is in it; a missing one counts as empty, as for kubectl. Not all may be missing."""
    import yaml  # noqa: PLC0415 - the package needs it, too

    files = [Path(each).expanduser() for each in paths.split(os.pathsep) if each]
    there = [each for each in files if each.exists()]
    if not there:
        raise FileNotFoundError("no such file")
    read = [(each, yaml.safe_load(each.read_text())) for each in there]
    if wrong := [str(file) for file, content in read if content is not None and not isinstance(content, dict)]:
        raise ValueError(f"{wrong[0]} is no kubeconfig")
    return [(file, content) for file, content in read if content is not None]


def _joined(contents: Sequence[tuple[Path, Any]]) -> str:
    """The files in which something is; the package stumbles over an empty one."""
    return os.pathsep.join(str(file) for file, _ in contents)


def _check_context(contents: Sequence[Mapping[str, Any]], chosen: str) -> None:
    """The package names a missing context in words of its own."""
    names = [str(each.get("name")) for content in contents for each in content.get("contexts") or ()]
    has = f"it has: {', '.join(dict.fromkeys(names)) or 'none'}"
    if not chosen:
        raise ValueError(f"it has no current context, and none was named; {has}")
    if chosen not in names:
        raise ValueError(f"it has no context {chosen!r}; {has}")


def _named(contents: Sequence[tuple[Path, dict[str, Any]]], part: str, name: Any) -> tuple[Path, dict[str, Any]]:
    """The first of that name and its file, as the package and kubectl have it; empty if there is none."""
    for file, content in contents:
        for each in content.get(f"{part}s") or ():
            if each.get("name") == name:
                found = each.get(part)
                return file, found if isinstance(found, dict) else {}
    return Path(), {}


def main(path: str, context: str) -> dict[str, Any]:
    """What a server needs: its URL, PEM texts, the Authorization header, and what it has to refuse."""
    found = read_kubeconfig(path, context)
    configuration = found.configuration
    return {
        "server": configuration.host,
        "ca": _text(configuration.ssl_ca_cert),
        "certificate": _text(configuration.cert_file),
        "key": _text(configuration.key_file),
        "authorization": configuration.api_key.get("BearerToken", ""),
        "expiry": found.expiry,
        "token_file": str(found.token_file or ""),
        "server_name": configuration.tls_server_name or "",
        "verify": configuration.verify_ssl,
        "provider": "auth-provider" in found.user,
        "exec": found.plugin,
        "user": found.user_name,
        "file": str(found.user_file),
        "cluster": found.cluster,
        "impersonates": any(found.user.get(key) for key in IMPERSONATION),
    }


def _text(path: str | None) -> str | None:
    return Path(path).read_text("utf-8") if path else None


if __name__ == "__main__":
    try:
        sys.stdout.write(json.dumps(main(sys.argv[1], sys.argv[2]), default=str))
    except Exception as error:  # noqa: BLE001 - whatever the package raises becomes the one line the caller shows
        sys.exit(f"{error}" or type(error).__name__)
