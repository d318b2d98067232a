"""APIServices of a test: for a server that the test runs itself, or of one that is registered already."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from typing import Any

from extapi.dev import registration
from extapi.dev.kube import KubeClient
from tests.kubernetes.calling import MERGE
from tests.kubernetes.second import APISERVICES

HOST = f"{registration.SERVICE}.{registration.NAMESPACE}.svc"
"""The name that the certificate of a server behind the Service of all tests has to be for."""


class Registration:
    """The APIService ``name``: asked for its condition, and changed."""

    def __init__(self, client: KubeClient, name: str) -> None:
        self._client = client
        self._at = f"{APISERVICES}/{name}"
        self._priority = 10
        version, _, group = name.partition(".")
        self.path = f"/apis/{group}/{version}"
        """Of the version's discovery."""

    def change(self, **spec: Any) -> None:
        """Change something of its spec."""
        self._client.request("PATCH", self._at, {"spec": spec}, MERGE)

    def trust(self, bundle: bytes) -> None:
        """Name other authorities, in PEM."""
        self.change(caBundle=base64.b64encode(bundle).decode())

    def poke(self) -> None:
        """Have it probed now, as after every change, instead of when the next round is due (kube-apiserver: 30 s)."""
        self._priority += 1
        self.change(versionPriority=self._priority)

    def condition(self) -> dict[str, Any]:
        """The condition Available; empty if there is none yet."""
        status = self._client.get(self._at).get("status", {})
        found: list[dict[str, Any]] = [each for each in status.get("conditions", ()) if each["type"] == "Available"]
        return found[0] if found else {}


@contextlib.contextmanager
def registered(client: KubeClient, name: str, port: int, bundle: bytes) -> Iterator[Registration]:
    """An APIService as long as the block lasts, behind the Service that the first extension server has made.

    ``port``: of loopback; ``bundle``: the authorities for its certificate. It goes at the end: while it is not
    available, no namespace can be deleted.
    """
    version, _, group = name.partition(".")
    spec = {
        "group": group,
        "version": version,
        "service": {"namespace": registration.NAMESPACE, "name": registration.SERVICE, "port": port},
        "caBundle": base64.b64encode(bundle).decode(),
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
    }
    made = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name}, "spec": spec}
    client.request("POST", APISERVICES, made)
    try:
        yield Registration(client, name)
    finally:
        client.delete(f"{APISERVICES}/{name}")
