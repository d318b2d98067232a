"""Calls from the supervisor to kube-apiserver and to the extension server: HTTPS and JSON, on the standard library.

A handful of requests at start-up; the library's own client is for running servers. Knows no kinds.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from pathlib import Path
from typing import Any

from extapi.dev.ports import LOOPBACK

FIELD_MANAGER = "extapi-dev"
_TIMEOUT = 10.0


class KubeError(Exception):
    """An answer that is not a success: its code and its message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class KubeClient:
    """Requests to one server on loopback, each on a connection of its own."""

    def __init__(self, port: int, *, ca: Path, certificate: Path | None = None, key: Path | None = None) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(ca))
        if certificate is not None:
            self._tls.load_cert_chain(certificate, key)

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> bytes:
        """The body of the answer.

        :raises KubeError: the answer is an error.
        :raises OSError: there is no answer.
        """
        connection = http.client.HTTPSConnection(LOOPBACK, self._port, timeout=_TIMEOUT, context=self._tls)
        try:
            content = None if body is None else json.dumps(body).encode()
            connection.request(method, path, content, {"Accept": "application/json", "Content-Type": content_type})
            answer = connection.getresponse()
            data = answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()
        if answer.status >= 300:
            raise KubeError(answer.status, _message(data))
        return data

    def get(self, path: str) -> Any:
        """The JSON at ``path``."""
        return json.loads(self.request("GET", path))

    def apply(self, path: str, obj: dict[str, Any]) -> None:
        """Create the object at ``path``; if it is there, change in it what ``obj`` says, and leave the rest.

        By create and merge patch, which every control plane has; lists are replaced as a whole.
        """
        query = f"?fieldManager={FIELD_MANAGER}"
        try:
            self.request("POST", path.rpartition("/")[0] + query, obj)
        except KubeError as error:
            if error.code != 409:
                raise
            self.request("PATCH", path + query, obj, "application/merge-patch+json")

    def delete(self, path: str) -> None:
        """Delete the object at ``path`` if it is there."""
        try:
            self.request("DELETE", path)
        except KubeError as error:
            if error.code != 404:
                raise

    def problem(self, path: str) -> str | None:
        """Why a GET of ``path`` does not succeed right now; None if it does."""
        try:
            self.request("GET", path)
        except (KubeError, OSError) as error:
            return str(error)
        return None


def kubeconfig(port: int, *, user: str, ca: bytes, certificate: bytes, key: bytes) -> str:
    """A kubeconfig for a control plane on loopback with everything (PEM) inside, so that the file can be copied."""
    import yaml  # noqa: PLC0415 - only here, and start-up counts

    def data(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    cluster = {"server": f"https://{LOOPBACK}:{port}", "certificate-authority-data": data(ca)}
    credentials = {"client-certificate-data": data(certificate), "client-key-data": data(key)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "extapi-dev", "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "extapi-dev", "context": {"cluster": "extapi-dev", "user": user}}],
        "current-context": "extapi-dev",
    }
    text: str = yaml.safe_dump(config, sort_keys=False)
    return text


def _message(data: bytes) -> str:
    """The message of a Status, or the beginning of whatever came instead."""
    try:
        return str(json.loads(data)["message"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode(errors="replace").strip()
