"""A control plane in memory that serves custom resources: definitions, APIServices, and the controllers of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from twisted.internet.task import Clock

from extapi import Api, Group
from extapi.authentication.loopback import APISERVER
from extapi.controlplane.customresources.controller import DefinitionController
from extapi.controlplane.customresources.emptying import Emptier
from extapi.controlplane.customresources.registration import RegistrationController
from extapi.controlplane.customresources.served import CustomResources
from extapi.controlplane.kinds.apiextensions import CUSTOM_RESOURCE_DEFINITION
from extapi.controlplane.kinds.apiregistration import API_SERVICE
from extapi.http.request import Request
from extapi.http.response import Handler, Response
from extapi.server.kindsources import KindSources
from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend
from extapi.testing import InMemoryServer
from extapi.testing.memory import START

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
MERGE = {"Content-Type": "application/merge-patch+json"}
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def version(name: str = "v1", *, served: bool = True, storage: bool = True, **rest: Any) -> dict[str, Any]:
    """A version of a definition."""
    return {"name": name, "served": served, "storage": storage, "schema": SCHEMA, **rest}


def definition(
    plural: str = "crontabs", *versions: dict[str, Any], group: str = "stable.example.com", **names: Any
) -> dict[str, Any]:
    """A definition; ``names``: those that are not derived from its plural."""
    singular = plural.removesuffix("s")
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": plural, "singular": singular, "kind": singular.capitalize(), **names},
        "versions": list(versions) or [version()],
    }
    metadata = {"name": f"{plural}.{group}"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": deepcopy(spec),
    }


class Plane:
    """The server, and short ways to what it serves."""

    def __init__(self, server: InMemoryServer, served: CustomResources) -> None:
        self.server = server
        self.served = served

    def define(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Create a definition, and wait for what comes of it; the definition then."""
        answer = self.server.request("POST", DEFINITIONS, body=obj)
        assert answer.status == 201, answer.body
        self.server.advance(1)
        return self.definition(obj["metadata"]["name"])

    def change(self, name: str, patch: Mapping[str, Any], subresource: str = "") -> dict[str, Any]:
        """Patch a definition, and wait for what comes of it; the definition then."""
        answer = self.server.request("PATCH", f"{DEFINITIONS}/{name}{subresource}", headers=MERGE, body=patch)
        assert answer.status == 200, answer.body
        self.server.advance(1)
        return self.definition(name)

    def definition(self, name: str) -> dict[str, Any]:
        """A definition, as it is now."""
        found: dict[str, Any] = self.server.request("GET", f"{DEFINITIONS}/{name}").json()
        return found

    def conditions(self, name: str) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message of a definition's conditions, by type."""
        found = self.definition(name)["status"].get("conditions", ())
        return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}

    def create(self, path: str, kind: str, name: str, **metadata: Any) -> int:
        """Create a custom resource in the namespace default; the code of the answer."""
        group_version = path.removeprefix("/apis/").rpartition("/namespaces/")[0]
        body = {"apiVersion": group_version, "kind": kind, "metadata": {"name": name, **metadata}}
        return self.server.request("POST", path, body=body).status


CRONTABS = "/apis/stable.example.com/v1/namespaces/default/crontabs"


@contextmanager
def plane(backend: Backend | None = None, clock: Clock | None = None, admission: Sequence[Any] = ()) -> Iterator[Plane]:
    """The plane, started; with ``backend`` it goes on where another one has stopped."""
    if clock is None:
        clock = Clock()
        clock.advance(START)
    backend = backend or MemoryBackend(clock)
    served = CustomResources()
    router: list[Handler] = []

    def front(handler: Handler) -> Handler:
        router.append(handler)
        return handler

    async def direct(request: Request) -> Response:
        request.user = APISERVER
        return await router[0](request)

    emptier = Emptier(direct, backend, clock, {("apiregistration.k8s.io", "apiservices")})
    api = Api(
        Group("apiextensions.k8s.io", CUSTOM_RESOURCE_DEFINITION),
        Group("apiregistration.k8s.io", API_SERVICE),
        controllers=[DefinitionController(served, emptier), RegistrationController()],
        admission=admission,
    )
    server = InMemoryServer(api, backend=backend, clock=clock, builtin=[served], front=front)
    served.serve_by(KindSources(api.groups, server.server.replace, clock).offer)
    server.start()
    server.advance(1)
    try:
        yield Plane(server, served)
    finally:
        server.stop()
