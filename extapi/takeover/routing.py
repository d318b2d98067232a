"""The APIServices of the versions that move: whether kube-apiserver serves them itself, and sending them elsewhere.

kube-apiserver keeps an APIService without a service for each version of its definitions, marked as its own. It leaves those
without the mark alone, and makes its own again when one is deleted. So the way there is an update, and the way back a delete.

Source: ``kube-aggregator/pkg/controllers/autoregister/autoregister_controller.go`` checkAPIService.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from extapi.client.kube import Obj
from extapi.console.failure import told
from extapi.errors import AlreadyExists, ApiError, Conflict, NotFound
from extapi.takeover.cluster import APISERVICES, Cluster
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.freeze import MANAGER

OWN = "kube-aggregator.kubernetes.io/automanaged"
"""The label by which kube-apiserver knows its own APIServices."""
PRIORITIES = ("groupPriorityMinimum", "versionPriority")
_ATTEMPTS = 5
_LARGEST = 4 * 1024 * 1024
"""Bytes of a file with APIServices."""


@dataclass(frozen=True)
class Route:
    """One version of a group."""

    group: str
    version: str

    @property
    def name(self) -> str:
        """The name of its APIService."""
        return f"{self.version}.{self.group}"

    async def live(self, cluster: Cluster) -> Obj | None:
        """Its APIService; None if there is none."""
        return await cluster.get(APISERVICES, self.name)

    async def is_moved(self, cluster: Cluster) -> bool:
        """Whether kube-apiserver sends its requests to a service."""
        live = await self.live(cluster)
        return live is not None and bool(live["spec"].get("service"))

    async def move(self, cluster: Cluster, wanted: Obj) -> None:
        """Send its requests to a service. Does nothing if they go to that service already.

        Args:
            cluster: The cluster.
            wanted: The APIService. Priorities that it lacks are those of the present one, so that discovery keeps its order.

        Raises:
            TakeoverFailure: kube-apiserver refuses it.
        """
        for attempt in range(_ATTEMPTS):
            live = await self.live(cluster)
            if live is not None and live["spec"].get("service") == _complete(wanted["spec"]["service"]):
                return
            obj = api_service(self, wanted, live)
            try:
                if live is None:
                    await cluster.client.create(APISERVICES, obj)
                else:
                    await cluster.client.update(APISERVICES, self.name, obj)
            except (AlreadyExists, Conflict, NotFound) as error:
                if attempt == _ATTEMPTS - 1:
                    raise TakeoverFailure(f"the APIService {self.name} changes all the time: {told(error)}") from error
            except ApiError as error:
                raise TakeoverFailure(f"the APIService {self.name} cannot be written: {told(error)}") from error
            else:
                return

    async def move_back(self, cluster: Cluster) -> None:
        """Have kube-apiserver serve it itself: it makes its own APIService once ours is deleted.

        Raises:
            TakeoverFailure: It cannot be deleted, or kube-apiserver makes none.
        """
        if await self.is_moved(cluster):
            try:
                await cluster.client.delete(APISERVICES, self.name)
            except NotFound:
                pass
            except ApiError as error:
                raise TakeoverFailure(f"the APIService {self.name} cannot be deleted: {told(error)}") from error

        async def missing() -> str | None:
            live = await self.live(cluster)
            if live is None:
                return "there is none"
            return f"it names the service {live['spec']['service']}" if live["spec"].get("service") else None

        await cluster.until(
            missing,
            f"kube-apiserver's own APIService {self.name}",
            seconds=60,
            otherwise=f"Look at: kubectl get apiservice {self.name} -o yaml; then run it again",
        )


def api_service(route: Route, wanted: Obj, live: Obj | None) -> Obj:
    """The APIService to be written: the wanted one, in the place of the live one."""
    given = wanted.get("metadata") or {}
    metadata: dict[str, Any] = {
        "name": route.name,
        "labels": {"app.kubernetes.io/managed-by": MANAGER, **(given.get("labels") or {})},
    }
    metadata["labels"].pop(OWN, None)
    if given.get("annotations"):
        metadata["annotations"] = given["annotations"]
    before: Mapping[str, Any] = live["spec"] if live is not None else {}
    spec = {"groupPriorityMinimum": 1000, "versionPriority": 100}
    spec |= {name: before[name] for name in PRIORITIES if name in before}
    if live is not None:
        metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": metadata,
        "spec": {**spec, **wanted["spec"], "group": route.group, "version": route.version},
    }


def read_file(path: Path, routes: Sequence[Route]) -> dict[Route, Obj]:
    """The APIServices of a file, one per version that moves.

    Raises:
        TakeoverFailure: The file cannot be read, or has too few of them, or other ones.
    """
    try:
        data = path.read_bytes()
        if len(data) > _LARGEST:
            raise TakeoverFailure(f"{path}: has {len(data)} bytes, the limit is {_LARGEST}")
        documents = [each for each in yaml.safe_load_all(data) if each is not None]
    except (OSError, yaml.YAMLError) as error:
        raise TakeoverFailure(f"{path}: {error}") from error
    found: dict[Route, Obj] = {}
    for each in documents:
        if not isinstance(each, dict) or each.get("kind") != "APIService":
            continue  # a file of all of a server's manifests is fine
        spec = each.get("spec")
        if not isinstance(spec, dict) or not isinstance(spec.get("service"), dict):
            raise TakeoverFailure(f"{path}: an APIService without spec.service leads to no extension server")
        route = Route(str(spec.get("group", "")), str(spec.get("version", "")))
        if route in routes:
            found[route] = each
    missing = [route.name for route in routes if route not in found]
    if missing:
        raise TakeoverFailure(f"{path}: has no APIService {', '.join(missing)}; these versions move, too")
    return found


def of_flags(service: str, ca: Path | None, routes: Sequence[Route]) -> dict[Route, Obj]:
    """The APIServices for a service and the authority of its certificate.

    Args:
        service: ``NAMESPACE/NAME`` or ``NAMESPACE/NAME:PORT``.
        ca: A PEM file; None: kube-apiserver trusts the authorities of its machine.
        routes: The versions that move.

    Raises:
        TakeoverFailure: The service is not of that form, or the file cannot be read.
    """
    namespace, _, rest = service.partition("/")
    name, _, port = rest.partition(":")
    if not namespace or not name or (port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
        raise TakeoverFailure(f"--service {service!r} is not of the form NAMESPACE/NAME or NAMESPACE/NAME:PORT")
    spec: Obj = {"service": {"namespace": namespace, "name": name, "port": int(port or 443)}}
    if ca is not None:
        try:
            spec["caBundle"] = base64.b64encode(ca.read_bytes()).decode()
        except OSError as error:
            raise TakeoverFailure(f"--ca {ca}: {error.strerror}") from error
    return {route: {"metadata": {}, "spec": spec} for route in routes}


def _complete(service: Mapping[str, Any]) -> dict[str, Any]:
    """A reference to a service with its default."""
    return {"port": 443, **service}
