"""The Authorization header of an operator's requests: issued by a plugin, or read from a file, and looked for again after a 401.

Blocks, and may be used in several threads. Must not know how a request travels.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Protocol

from extapi.client.credentials import CredentialsError, FileToken
from extapi.client.execplugin import INTERACTIVE_SECONDS, PluginError, exec_plugin
from extapi.client.kubernetespackage import PackageKubeconfig
from extapi.client.renewal import Issued, Renewal


class OperatorToken(Protocol):
    """Where the header comes from."""

    def current(self, seconds: float) -> str:
        """The header, within so many seconds; empty: none.

        Raises:
            CredentialsError: There is none.
        """
        ...

    def refused(self, authorization: str) -> None:
        """The server has answered 401 to that header."""
        ...


class _Machine:
    def seconds(self) -> float:
        return time.monotonic()


class PluginToken:
    """What an exec plugin has issued (:class:`OperatorToken`)."""

    def __init__(self, renewal: Renewal) -> None:
        self._renewal = renewal

    def current(self, seconds: float) -> str:
        """See :class:`OperatorToken`."""
        return self._renewal.wait(seconds).authorization

    def refused(self, authorization: str) -> None:
        """See :class:`OperatorToken`."""
        self._renewal.refused(authorization)


class TokenFile:
    """A token in a file (:class:`OperatorToken`)."""

    def __init__(self, path: Path) -> None:
        self._token = FileToken(path, _Machine())

    def current(self, seconds: float) -> str:  # noqa: ARG002 - it is there at once
        """See :class:`OperatorToken`."""
        return self._token.current()

    def refused(self, authorization: str) -> None:
        """See :class:`OperatorToken`."""
        self._token.refused(authorization)


def operator_token(found: PackageKubeconfig) -> tuple[OperatorToken | None, Issued | None]:
    """Where the header comes from; None: from the package. And what a plugin has issued, which is run for it.

    Somebody who sits at a terminal may be asked by the plugin, as by kubectl.

    Raises:
        CredentialsError: The plugin cannot be used, or issues nothing.
    """
    if found.plugin is None:
        return (None if found.token_file is None else TokenFile(found.token_file)), None
    authority = found.configuration.ssl_ca_cert
    try:
        plugin = exec_plugin(
            found.plugin,
            user=found.user_name,
            file=found.user_file,
            cluster=found.cluster,
            ca=Path(authority).read_bytes() if authority else None,
            terminal=_is_terminal(sys.stdin),
            shows_errors=_is_terminal(sys.stderr),
        )
    except PluginError as error:
        raise CredentialsError(str(error)) from error
    renewal = Renewal(plugin, seconds=time.monotonic, wall_time=time.time)
    return PluginToken(renewal), renewal.wait(INTERACTIVE_SECONDS)


class _Stream(Protocol):
    def isatty(self) -> bool: ...


def _is_terminal(stream: _Stream | None) -> bool:
    return stream is not None and stream.isatty()
