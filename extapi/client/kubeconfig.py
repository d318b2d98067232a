"""The credentials of a server out of a kubeconfig: read at once where it is plain, by the ``kubernetes`` package otherwise.

The package takes 20 MB once imported, and it keeps private keys in temporary files as long as its process lives. A
short-lived child process (``kubernetespackage``, 0.3 s and more) spares the server both; a kubeconfig without plugins needs
neither (``plainkubeconfig``). Must not know how a request travels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.threads import deferToThreadPool

from extapi.client.credentials import Credentials, CredentialsError, FileToken, StaticToken, TokenSource, check_server
from extapi.client.kubernetespackage import MissingPackage, require_kubernetes
from extapi.client.plainkubeconfig import plain_credentials
from extapi.client.proxy import ProxyError, ProxyURL, parse_proxy
from extapi.clock import wall_time

READ_TIMEOUT = 60.0
"""Seconds an exec plugin may take."""

EXPIRY_SKEW = 300.0
"""Seconds before its expiry at which a token is renewed, as the ``kubernetes`` package has it."""


def load_kubeconfig(
    path: Path, reactor: Any, *, context: str = "", environ: Mapping[str, str] = os.environ
) -> Credentials:
    """Read a kubeconfig. Blocks; meant for the start of a process.

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
    found = _read(path, context)
    if not found["verify"]:
        raise CredentialsError(
            f"{path}: insecure-skip-tls-verify is not supported; give the cluster's certificate-authority instead"
        )
    if found["impersonates"]:
        raise CredentialsError(f"{path}: as, impersonation, is not supported; give the server credentials of its own")
    token: TokenSource | None = None
    if found["token_file"]:
        token = FileToken(Path(found["token_file"]), reactor)
    elif found["authorization"] and found["expiry"] is not None:
        token = RenewedToken(path, context, reactor, _Token(found["authorization"], found["expiry"]))
    elif found["authorization"]:
        token = StaticToken(found["authorization"])
    return Credentials(
        server=found["server"],
        ca=_encoded(found["ca"]),
        certificate=_encoded(found["certificate"]),
        key=_encoded(found["key"]),
        token=token,
        server_name=found["server_name"],
        proxy=_proxy(path, found["proxy"]),
    )


def _proxy(path: Path, url: Any) -> ProxyURL | None:
    """What ``proxy-url`` says, of whatever type it is."""
    if not isinstance(url, str):
        raise CredentialsError(f"{path}: proxy-url is no text, such as http://proxy.example.com:3128")
    try:
        return parse_proxy(url) if url else None
    except ProxyError as error:
        raise CredentialsError(f"{path}: proxy-url {error}") from error


@dataclass(frozen=True, slots=True)
class _Token:
    authorization: str
    expiry: float


class RenewedToken:
    """A token that an exec plugin or an auth provider hands out anew before it expires."""

    def __init__(self, path: Path, context: str, reactor: Any, first: _Token) -> None:
        self._path = path
        self._context = context
        self._reactor = reactor
        self._token = first

    async def authorization(self) -> str:
        """The current token; close to its expiry, a new one.

        Raises:
            CredentialsError: The plugin gives none.
        """
        if wall_time(self._reactor) >= self._token.expiry - EXPIRY_SKEW:
            found = await deferToThreadPool(
                self._reactor, self._reactor.getThreadPool(), _read, self._path, self._context
            )
            expiry = found["expiry"]
            self._token = _Token(found["authorization"], float("inf") if expiry is None else expiry)
        return self._token.authorization


def _plain(path: Path, reactor: Any, context: str) -> Credentials | None:
    try:
        return plain_credentials(path.read_bytes(), context, path.parent, reactor)
    except OSError:
        return None  # the reader says what is wrong


def _encoded(text: str | None) -> bytes | None:
    return text.encode() if text else None


def _read(path: Path, context: str) -> dict[str, Any]:
    """What the child process prints."""
    try:
        require_kubernetes("what it says besides certificates and tokens, such as a plugin,")
    except MissingPackage as error:
        raise CredentialsError(f"cannot load the kubeconfig {path}: {error}") from error
    reader = Path(__file__).with_name("kubernetespackage.py")
    # -P: the directory of the script must not come before the standard library, which has an http module too.
    command = [sys.executable, "-P", str(reader), str(path), context]
    try:
        # Nothing of the command comes from a client: paths and the context are the operator's flags.
        done = subprocess.run(command, capture_output=True, timeout=READ_TIMEOUT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise CredentialsError(f"{path}: no credentials within {READ_TIMEOUT:g} seconds") from error
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "replace").strip()
        raise CredentialsError(f"cannot load the kubeconfig {path}: {why or f'reader ended with {done.returncode}'}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
