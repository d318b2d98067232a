"""The cluster of a kubeconfig, as far as APIServices go: by the ``kubernetes`` package, which knows every kubeconfig.

Imported only where it is used: the package takes its time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from urllib3 import Retry, disable_warnings
from urllib3.exceptions import HTTPError, InsecureRequestWarning, MaxRetryError

from extapi.manifests.cabundle import Obj, PatchFailed

_RESOURCE = ("apiregistration.k8s.io", "v1", "apiservices")
_TIMEOUT = 30.0
"""Seconds for one request."""


class Cluster:
    """See :class:`extapi.manifests.cabundle.ApiServices`."""

    def __init__(self, kubeconfig: Path | None) -> None:
        """``kubeconfig``: None is what kubectl takes: ``$KUBECONFIG``, else ``~/.kube/config``.

        :raises PatchFailed: it cannot be used.
        """
        settings: Any = client.Configuration()
        settings.retries = Retry(0)
        load: Any = config.load_kube_config
        unusable = f"cannot use the kubeconfig {kubeconfig or 'of kubectl'}"
        try:
            load(str(kubeconfig) if kubeconfig else None, client_configuration=settings, persist_config=False)
            self._objects: Any = client.CustomObjectsApi(client.ApiClient(settings))
        # A broken kubeconfig surfaces as almost anything: YAML, types, TLS, a proxy's URL, what a plugin raises.
        except Exception as error:
            raise PatchFailed(f"{unusable}: {_why(error)}") from error
        if not settings.host.startswith(("https://", "http://")):
            raise PatchFailed(f"{unusable}: the cluster's server is {settings.host!r}, which is no URL")
        self._server: str = settings.host
        if not settings.verify_ssl:  # the kubeconfig says so; not to be told with every request
            disable_warnings(InsecureRequestWarning)

    def get(self, name: str) -> Obj | None:
        """The APIService; None if there is none of that name. Raises :class:`PatchFailed`."""
        try:
            return self._ask("get", name)
        except ApiException as error:
            if error.status == 404:
                return None
            raise self._refused("get", name, error) from error

    def patch(self, name: str, patch: Obj) -> None:
        """Change it by a JSON merge patch. Raises :class:`PatchFailed`."""
        try:
            self._ask("patch", name, body=patch, field_manager="extapi-manifests")
        except ApiException as error:
            raise self._refused("patch", name, error) from error

    def _ask(self, verb: str, name: str, **options: Any) -> Obj:
        """By the methods for custom resources, which read and write plain objects whatever their kind is."""
        method: Any = getattr(self._objects, f"{verb}_cluster_custom_object")
        try:
            found: Obj = method(*_RESOURCE, name, _request_timeout=_TIMEOUT, **options)
        except (HTTPError, OSError) as error:
            why = error.reason if isinstance(error, MaxRetryError) else error
            raise PatchFailed(f"{self._server} does not answer: {why}") from error
        return found

    def _refused(self, verb: str, name: str, error: Any) -> PatchFailed:
        try:
            message = json.loads(error.body)["message"]
        except (TypeError, ValueError, KeyError):
            message = error.reason
        return PatchFailed(f"cannot {verb} the APIService {name} at {self._server}: {message}")


def _why(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == "socks":
        return "its proxy is a SOCKS proxy, for which the kubernetes package needs PySocks: pip install PySocks"
    return " ".join(str(error).split()) or type(error).__name__
