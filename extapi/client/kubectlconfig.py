"""Whom kubectl would be, and at which cluster: for commands that an operator types. By the ``kubernetes`` package.

It reads every kubeconfig, exec plugins and token files included, but leaves out whom a user speaks for (``as``), and of
several files takes the last current context where kubectl takes the first. Must not know what is asked of the cluster.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import urllib3
import yaml
from kubernetes import client, config

from extapi.client.credentials import SERVICE_ACCOUNT
from extapi.client.impersonation import impersonation

_DEFAULT = Path("~/.kube/config")


class UnusableKubeconfig(Exception):
    """There is no cluster to ask. The text says what was tried and what to do."""


class Operator:
    """A client of kube-apiserver with the operator's credentials; ``server`` is its URL, without a slash at the end.

    Requests are urllib3's, and so is what comes of them.
    """

    def __init__(self, configuration: Any, headers: Sequence[tuple[str, str]] = ()) -> None:
        """``configuration``: of the ``kubernetes`` package; ``headers``: sent with every request."""
        self.server = str(configuration.host).rstrip("/")
        self._client: Any = client.ApiClient(configuration)
        self._headers = headers

    def request(self, method: str, path: str, headers: dict[str, str], body: bytes | None = None, **more: Any) -> Any:
        """Send a request; never retried, never redirected. ``more``: what urllib3 takes besides.

        :raises urllib3.exceptions.HTTPError: there is no answer.
        :raises UnusableKubeconfig: a plugin gives no further credentials.
        """
        whole = urllib3.HTTPHeaderDict(headers)
        whole.extend(self._headers)
        try:
            self._client.update_params_for_auth(whole, [], ["BearerToken"], path, method, body)
        except config.ConfigException as error:
            raise UnusableKubeconfig(str(error)) from error
        return self._client.rest_client.pool_manager.request(
            method, self.server + path, headers=whole, body=body, retries=False, redirect=False, **more
        )


def operator(kubeconfig: Path | None, context: str = "") -> Operator:
    """The operator at the cluster that kubectl would talk to: ``kubeconfig``, ``KUBECONFIG``, ``~/.kube/config``, the pod's.

    Source of the order: k8s.io/client-go/tools/clientcmd.

    :raises UnusableKubeconfig: it cannot be used.
    """
    # The kubernetes package reads the variable too, but when it is imported.
    path = str(kubeconfig or os.environ.get("KUBECONFIG") or _DEFAULT.expanduser())
    in_cluster = kubeconfig is None and not os.environ.get("KUBECONFIG") and not Path(path).exists()
    if in_cluster and not (SERVICE_ACCOUNT / "token").exists():
        raise UnusableKubeconfig(
            "no kubeconfig: --kubeconfig was not given, KUBECONFIG is not set, there is no ~/.kube/config, and this is "
            f"no pod ({SERVICE_ACCOUNT}/token is missing); give --kubeconfig FILE"
        )
    configuration: Any = client.Configuration()
    headers: list[tuple[str, str]] = []
    untyped: Any = config
    try:
        if in_cluster:
            untyped.load_incluster_config(client_configuration=configuration)
        else:
            contents = _contents(path)
            chosen = context or _current(contents)
            _check_context(contents, chosen)
            untyped.load_kube_config(
                config_file=path, context=chosen, client_configuration=configuration, persist_config=False
            )
            user = _named(contents, "contexts", "context", chosen).get("user")
            headers = impersonation(_named(contents, "users", "user", user))
        _check_url(configuration.host)
        if not configuration.verify_ssl:
            # The kubeconfig says so: that is the operator's matter, and not to be told with every request.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        with warnings.catch_warnings():
            # That PySocks is missing, is said once, and by us.
            warnings.simplefilter("ignore", urllib3.exceptions.DependencyWarning)
            return Operator(configuration, headers)
    # A broken kubeconfig surfaces as almost anything: YAML, base64, TLS, the plugin's errors.
    except Exception as error:
        where = "of this pod" if in_cluster else path
        raise UnusableKubeconfig(f"cannot use the kubeconfig {where}: {_why(error)}") from error


def _check_url(server: str) -> None:
    if not server.startswith(("https://", "http://")):
        raise ValueError(f"the cluster's server is {server!r}, which is no URL")


def _contents(path: str) -> list[dict[str, Any]]:
    """What stands in each of several files; one that is missing counts as none, as for kubectl. Not all may be missing."""
    files = [Path(each).expanduser() for each in path.split(os.pathsep) if each]
    there = [each for each in files if each.exists()]
    if not there:
        raise FileNotFoundError("no such file")
    read = [yaml.safe_load(each.read_text()) for each in there]
    return [each for each in read if isinstance(each, dict)]


def _check_context(contents: Sequence[dict[str, Any]], chosen: str) -> None:
    """The package names a missing context in words of its own."""
    names = [str(each.get("name")) for content in contents for each in content.get("contexts") or ()]
    has = f"it has: {', '.join(dict.fromkeys(names)) or 'none'}"
    if not chosen:
        raise ValueError(f"it has no current context, and none was named; {has}")
    if chosen not in names:
        raise ValueError(f"it has no context {chosen!r}; {has}")


def _current(contents: Sequence[dict[str, Any]]) -> str:
    """The current context of several files: the first that names one, as for kubectl; the package takes the last."""
    return next((str(each["current-context"]) for each in contents if each.get("current-context")), "")


def _named(contents: Sequence[dict[str, Any]], kind: str, part: str, name: Any) -> dict[str, Any]:
    """The first of that name, as the package and kubectl have it; empty if there is none."""
    for content in contents:
        for each in content.get(kind) or ():
            if each.get("name") == name:
                found = each.get(part)
                return found if isinstance(found, dict) else {}
    return {}


def _why(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == "socks":
        return "its proxy is a SOCKS proxy, for which the kubernetes package needs PySocks: pip install PySocks"
    return " ".join(str(error).split()) or type(error).__name__
