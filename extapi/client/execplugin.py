"""The exec plugin of a kubeconfig's user: what is run, what it is told, and what its answer means.

Runs nothing itself: ``guardedprocess`` does, when ``renewal`` says. Must not know how a request travels.

Source: ``k8s.io/client-go/plugin/pkg/client/auth/exec`` Authenticator.refreshCredsLocked.
"""

from __future__ import annotations

import json
import os
import shutil
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extapi.api.timestamp import parse_timestamp
from extapi.client.clientpair import Pair, checked_pair
from extapi.client.credentials import CredentialsError
from extapi.client.guardedprocess import Command, Printed
from extapi.client.renewal import Issued

PLUGIN_SECONDS = 60.0
"""Seconds a plugin may take."""

INTERACTIVE_SECONDS = 300.0
"""Seconds where somebody is asked, who first has to find a browser."""

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_MODES = ("Never", "IfAvailable", "Always")
_EXTENSION = "client.authentication.k8s.io/exec"
_SAID = 300
"""Characters of what a plugin said that go into an error."""


class PluginError(Exception):
    """A kubeconfig's entry, or what the plugin printed, is wrong. The text says in which way."""


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A plugin (:class:`extapi.client.renewal.Issuer`)."""

    source: str
    """What it is, for messages."""
    command: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    """What it gets besides this process's."""
    version: str
    """The apiVersion that it speaks."""
    cluster: Mapping[str, Any] | None
    """What it is told of the cluster; None: nothing."""
    interactive: bool
    """Whether it may talk to whoever sits at the terminal."""
    shows_errors: bool
    """Whether its stderr is this process's: for somebody who has to open a page and type a code."""
    hint: str
    """What the kubeconfig says about installing it."""

    def prepare(self) -> Command:
        """What is to be run.

        Raises:
            CredentialsError: There is no such program.
        """
        spec: dict[str, Any] = {"interactive": self.interactive}
        if self.cluster is not None:
            spec["cluster"] = dict(self.cluster)
        info = {"kind": "ExecCredential", "apiVersion": self.version, "spec": spec}
        environment = {**os.environ, **self.environment, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        found = self.command if os.sep in self.command else shutil.which(self.command)
        if found is None:
            hint = f": {' '.join(self.hint.split())}" if self.hint else ""
            raise CredentialsError(f"{self.source} is not installed: there is no such program on PATH{hint}")
        seconds = INTERACTIVE_SECONDS if self.interactive else PLUGIN_SECONDS
        return Command(
            (found, *self.arguments),
            environment,
            seconds,
            interactive=self.interactive,
            keep_errors=not (self.interactive or self.shows_errors),
        )

    def issued(self, printed: Printed) -> Issued:
        """The credentials that it has printed.

        Raises:
            CredentialsError: It failed, or printed something else.
        """
        if printed.code:
            how = (
                f"was killed by signal {-printed.code}" if printed.code < 0 else f"failed with exit code {printed.code}"
            )
            said = " ".join(printed.errors.split())[-_SAID:]
            raise CredentialsError(f"{self.source} {how}" + (f": {said}" if said else ""))
        try:
            return self._parsed(printed.output)
        except (PluginError, ValueError) as error:
            raise CredentialsError(f"{self.source} gave nothing usable: {error}") from error

    def _parsed(self, output: str) -> Issued:
        try:
            found = json.loads(output)
        except (ValueError, RecursionError) as error:
            raise PluginError(f"no JSON: {error}") from error
        if not isinstance(found, dict) or found.get("kind") != "ExecCredential":
            raise PluginError("no ExecCredential")
        if found.get("apiVersion") != self.version:
            raise PluginError(f"its apiVersion has to be {self.version}, and is {str(found.get('apiVersion'))[:100]!r}")
        status = found.get("status")
        if not isinstance(status, dict):
            raise PluginError("an ExecCredential without status")
        token, certificate, key = (_text(status, name) for name in ("token", "clientCertificateData", "clientKeyData"))
        if not (token or certificate or key):
            raise PluginError("neither a token nor a certificate")
        if bool(certificate) != bool(key):
            raise PluginError("only one of clientCertificateData and clientKeyData")
        if not token.isprintable() or not token.isascii():
            raise PluginError("a token that cannot be in a header")
        pair = Pair(certificate.encode(), key.encode()) if certificate else None
        return Issued(
            authorization=f"Bearer {token}" if token else "",
            pair=None if pair is None else checked_pair(pair, "clientCertificateData", "clientKeyData"),
            expiry=_time(status),
        )


def exec_plugin(
    entry: Any,
    *,
    user: str,
    file: Path,
    cluster: Mapping[str, Any],
    ca: bytes | None,
    terminal: bool = False,
    shows_errors: bool = False,
) -> ExecPlugin:
    """The plugin that a kubeconfig names.

    Args:
        entry: ``exec`` of the user.
        user: Its name.
        file: The kubeconfig, which a relative command is found from.
        cluster: The cluster as it stands in the kubeconfig.
        ca: The cluster's certificates.
        terminal: Whether stdin is a terminal, at which somebody can be asked.
        shows_errors: Whether its stderr is this process's.

    Raises:
        PluginError: The entry is wrong; the text goes on after the kubeconfig's path and a colon.

    Source: ``k8s.io/client-go/tools/clientcmd`` validateAuthInfo, GetAuthInfoFileReferences, and for the cluster
    ``k8s.io/client-go/rest`` ConfigToExecCluster.
    """
    where = f"exec of the user {user!r}"
    if not isinstance(entry, dict):
        raise PluginError(f"{where} has to be an object")
    command = _required(entry, "command", where)
    version = _required(entry, "apiVersion", where)
    if version not in _VERSIONS:
        raise PluginError(f"{where}: apiVersion {version!r} is not supported; it has to be {' or '.join(_VERSIONS)}")
    # The older version has a default.
    mode = entry.get("interactiveMode") or ("IfAvailable" if version == _VERSIONS[1] else "")
    if mode not in _MODES:
        raise PluginError(f"{where}: interactiveMode has to be one of {', '.join(_MODES)}, not {mode!r}")
    if mode == "Always" and not terminal:
        raise PluginError(f"{where}: its interactiveMode is Always, but there is no terminal here; use another plugin")
    arguments = entry.get("args") or []
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        raise PluginError(f"{where}: args has to be a list of strings")
    if os.sep in command:
        command = str(file.parent.absolute() / command)
    if "\0" in command or any("\0" in each for each in arguments):
        raise PluginError(f"{where}: command and args cannot hold the character U+0000")
    return ExecPlugin(
        source=f"the exec plugin {command} of the kubeconfig {file}",
        command=command,
        arguments=tuple(arguments),
        environment=_environment(entry.get("env"), where),
        version=version,
        cluster=_shown(cluster, ca) if entry.get("provideClusterInfo") else None,
        interactive=terminal and mode != "Never",
        shows_errors=shows_errors,
        hint=str(entry.get("installHint") or ""),
    )


def _required(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise PluginError(f"{where} needs {key}, a string")
    return value


def _environment(entries: Any, where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in entries or ():
        name, value = (each.get("name"), each.get("value", "")) if isinstance(each, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(value, str) or not name or "=" in name or "\0" in name + value:
            raise PluginError(f"{where}: each of env has to have a name and a value, both strings")
        found[name] = value
    return found


def _shown(cluster: Mapping[str, Any], ca: bytes | None) -> dict[str, Any]:
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression")
    shown: dict[str, Any] = {name: cluster[name] for name in names if cluster.get(name)}
    if ca is not None:
        shown["certificate-authority-data"] = b64encode(ca).decode()
    extensions = cluster.get("extensions")
    for each in extensions if isinstance(extensions, list) else ():
        if isinstance(each, dict) and each.get("name") == _EXTENSION:
            shown["config"] = each.get("extension")
    return shown


def _text(status: Mapping[str, Any], key: str) -> str:
    value = status.get(key) or ""
    if not isinstance(value, str):
        raise PluginError(f"a {key} that is no string")
    return value


def _time(status: Mapping[str, Any]) -> float | None:
    """Seconds since the epoch."""
    text = status.get("expirationTimestamp")
    if text is None:
        return None
    if not isinstance(text, str):
        raise PluginError("an expirationTimestamp that is no string")
    try:
        return parse_timestamp(text[:100]).timestamp()
    except ValueError as error:
        raise PluginError(f"an expirationTimestamp that is no time: {error}") from error
