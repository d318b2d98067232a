"""The credentials of a server out of a kubeconfig: read at once where it is plain, by the ``kubernetes`` package otherwise.

The package takes 20 MB once imported, and it keeps private keys in temporary files as long as its process lives. A
short-lived child process (``kubernetespackage``, 0.3 s and more) spares the server both; a kubeconfig without plugins needs
neither (``plainkubeconfig``). An exec plugin is run by this process, and not by the package (``execplugin``). Must not know
how a request travels.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from extapi.client.credentials import Credentials, CredentialsError, FileToken, StaticToken, TokenSource, check_server
from extapi.client.execplugin import PLUGIN_SECONDS, PluginError, exec_plugin
from extapi.client.guardedprocess import Command, GuardedProcess, Printed, ProcessFailed
from extapi.client.issuedtoken import IssuedToken
from extapi.client.kubernetespackage import MissingPackage, require_kubernetes
from extapi.client.plainkubeconfig import plain_credentials
from extapi.client.proxy import ProxyError, ProxyURL, parse_proxy
from extapi.client.renewal import Issued

READ_TIMEOUT = 60.0
"""Seconds the package may take, with an auth provider that it asks."""


def load_kubeconfig(
    path: Path, reactor: Any, *, context: str = "", environ: Mapping[str, str] = os.environ
) -> Credentials:
    """Read a kubeconfig, and run its exec plugin once. Blocks; meant for the start of a process.

    Args:
        path: The file.
        reactor: Provides IReactorTime and, where an exec plugin or an auth provider renews tokens, IReactorThreads.
        context: One of its contexts; empty: the current one.
        environ: May name a proxy; the kubeconfig's ``proxy-url`` comes first.

    Raises:
        CredentialsError: It has no usable ones, or says what is not supported.
    """
    found = _plain(path, reactor, context) or _any(path, reactor, context)
    try:
        check_server(found.server)
    except ValueError as error:
        raise CredentialsError(f"{path}: {error}") from error
    return found.by_environment(environ)


def _any(path: Path, reactor: Any, context: str) -> Credentials:
    """What the ``kubernetes`` package makes of it."""
    reader = _Reader(path, context)
    found = reader.read()
    if not found["verify"]:
        raise CredentialsError(
            f"{path}: insecure-skip-tls-verify is not supported; give the cluster's certificate-authority instead"
        )
    if found["impersonates"]:
        raise CredentialsError(f"{path}: as, impersonation, is not supported; give the server credentials of its own")
    credentials = Credentials(
        server=found["server"],
        ca=_encoded(found["ca"]),
        certificate=_encoded(found["certificate"]),
        key=_encoded(found["key"]),
        server_name=found["server_name"],
        proxy=_proxy(path, found["cluster"].get("proxy-url", "")),
    )
    return replace(credentials, token=_token(path, reactor, reader, found, credentials.ca))


def _token(path: Path, reactor: Any, reader: _Reader, found: Mapping[str, Any], ca: bytes | None) -> TokenSource | None:
    if found["exec"] is not None:
        try:
            plugin = exec_plugin(
                found["exec"], user=found["user"], file=Path(found["file"]), cluster=found["cluster"], ca=ca
            )
        except PluginError as error:
            raise CredentialsError(f"cannot load the kubeconfig {path}: {error}") from error
        issued = IssuedToken(plugin, reactor)
        try:
            issued.load(PLUGIN_SECONDS)
        except CredentialsError as error:
            issued.stop()
            raise CredentialsError(f"cannot load the kubeconfig {path}: {error}") from error
        return issued
    if found["token_file"]:
        return FileToken(Path(found["token_file"]), reactor)
    if found["provider"] and found["authorization"]:
        return IssuedToken(reader, reactor, _issued(found))
    return StaticToken(found["authorization"]) if found["authorization"] else None


def _proxy(path: Path, url: Any) -> ProxyURL | None:
    """What ``proxy-url`` says, of whatever type it is."""
    if not isinstance(url, str):
        raise CredentialsError(f"{path}: proxy-url is no text, such as http://proxy.example.com:3128")
    try:
        return parse_proxy(url) if url else None
    except ProxyError as error:
        raise CredentialsError(f"{path}: proxy-url {error}") from error


class _Reader:
    """The child process that reads, and by which auth providers renew tokens (:class:`extapi.client.renewal.Issuer`)."""

    def __init__(self, path: Path, context: str) -> None:
        self.source = f"the auth provider of the kubeconfig {path}"
        self._path = path
        self._context = context

    def prepare(self) -> Command:
        """See :class:`extapi.client.renewal.Issuer`."""
        try:
            require_kubernetes("what it says besides certificates and tokens, such as a plugin,")
        except MissingPackage as error:
            raise CredentialsError(f"cannot load the kubeconfig {self._path}: {error}") from error
        reader = str(Path(__file__).with_name("kubernetespackage.py"))
        # -P: the directory of the script must not come before the standard library, which has an http module too.
        return Command((sys.executable, "-P", reader, str(self._path), self._context), os.environ, READ_TIMEOUT)

    def read(self) -> dict[str, Any]:
        """What the child process prints."""
        try:
            printed = GuardedProcess(self.prepare()).run()
        except ProcessFailed as error:
            raise CredentialsError(f"cannot load the kubeconfig {self._path}: its reader {error}") from error
        return self._content(printed)

    def issued(self, printed: Printed) -> Issued:
        """See :class:`extapi.client.renewal.Issuer`."""
        return _issued(self._content(printed))

    def _content(self, printed: Printed) -> dict[str, Any]:
        if printed.code != 0:
            why = printed.errors.strip() or f"its reader ended with {printed.code}"
            raise CredentialsError(f"cannot load the kubeconfig {self._path}: {why}")
        found: dict[str, Any] = json.loads(printed.output)
        return found


def _issued(found: Mapping[str, Any]) -> Issued:
    return Issued(found["authorization"], expiry=found["expiry"])


def _plain(path: Path, reactor: Any, context: str) -> Credentials | None:
    try:
        return plain_credentials(path.read_bytes(), context, path.parent, reactor)
    except OSError:
        return None  # the reader says what is wrong


def _encoded(text: str | None) -> bytes | None:
    return text.encode() if text else None
