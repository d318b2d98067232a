"""The cluster of a kubeconfig, as far as APIServices go: by the ``kubernetes`` package, which knows every kubeconfig.

Imported only where it is used: the package takes its time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from urllib3 import Retry
from urllib3.exceptions import HTTPError

from extapi.manifests.cabundle import Obj, PatchFailed

_RESOURCE = ("apiregistration.k8s.io", "v1", "apiservices")
_UNUSABLE = (ConfigException, OSError, ValueError, TypeError, yaml.YAMLError)
"""What the package raises for files of many kinds of wrong."""
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
        try:
            load(str(kubeconfig) if kubeconfig else None, client_configuration=settings, persist_config=False)
        except _UNUSABLE as error:
            why = " ".join(str(error).split())
            raise PatchFailed(f"cannot use the kubeconfig {kubeconfig or 'of kubectl'}: {why}") from error
        self._objects: Any = client.CustomObjectsApi(client.ApiClient(settings))
        self._server: str = settings.host

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
            raise PatchFailed(f"{self._server} does not answer: {error}") from error
        return found

    def _refused(self, verb: str, name: str, error: Any) -> PatchFailed:
        try:
            message = json.loads(error.body)["message"]
        except (TypeError, ValueError, KeyError):
            message = error.reason
        return PatchFailed(f"cannot {verb} the APIService {name} at {self._server}: {message}")
