"""Objects of the cluster that kubectl would talk to, which lead to servers: read, and patched.

Imported only where it is used: the ``kubernetes`` package, which reads kubeconfigs, takes its time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from extapi.client.operatorclient import NoAnswer, UnusableKubeconfig, operator
from extapi.manifests.cabundle import Obj, PatchFailed, Registered

_TIMEOUT = 30.0
"""Seconds for one request."""
_LIMIT = 16 * 1024 * 1024
"""Bytes of an answer."""


class KubectlsCluster:
    """See :class:`extapi.manifests.cabundle.RegisteredObjects`. ``server`` is the URL of its kube-apiserver.

    Args:
        kubeconfig: None: what kubectl takes.
        context: A name in it; empty: the current one.

    Raises:
        PatchFailed: It cannot be used.
    """

    def __init__(self, kubeconfig: Path | None, context: str = "") -> None:
        try:
            self._operator = operator(kubeconfig, context)
        except UnusableKubeconfig as error:
            raise PatchFailed(str(error)) from error
        self.server = self._operator.server

    def get(self, of: Registered) -> Obj | None:
        """The object; None if there is none of that kind and name.

        Raises:
            PatchFailed: It cannot be read.
        """
        status, data = self._ask("GET", of.path, {})
        if status == 404:
            return None
        return self._object("get", of, status, data)

    def patch(self, of: Registered, patch: list[Obj]) -> None:
        """Change it by a JSON patch (RFC 6902).

        Raises:
            PatchFailed: The cluster refuses, or does not answer.
        """
        content = {"Content-Type": "application/json-patch+json"}
        target = f"{of.path}?fieldManager=extapi-manifests"
        status, data = self._ask("PATCH", target, content, json.dumps(patch).encode())
        self._object("patch", of, status, data)

    def _ask(self, method: str, target: str, headers: dict[str, str], body: bytes | None = None) -> tuple[int, bytes]:
        headers = {"Accept": "application/json", "User-Agent": "extapi-manifests", **headers}
        try:
            answer = self._operator.request(method, target, headers, body, seconds=_TIMEOUT)
            data, _ = answer.read(_LIMIT)  # half an answer is no JSON
        except NoAnswer as error:
            raise PatchFailed(f"{self.server} does not answer: {error}") from error
        return answer.status, data

    def _object(self, verb: str, of: Registered, status: int, data: bytes) -> Obj:
        try:
            found: Any = json.loads(data)
        except ValueError:
            found = None
        if status == 200 and isinstance(found, dict) and found.get("kind") == of.kind:
            return found
        message = found.get("message") if isinstance(found, dict) else None
        why = message or f"the answer is {status}, and neither {of.kind} nor Status"
        raise PatchFailed(f"cannot {verb} the {of.kind} {of.name} at {self.server}: {why}")
