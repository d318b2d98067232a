"""The types of what the control plane serves, as CEL sees them: by resource the kinds, by kind the schema.

Reads discovery and the OpenAPI documents of the server, those of custom resources and other servers included.

Source: ``k8s.io/apiserver/pkg/cel/openapi/resolver``, ``k8s.io/apimachinery/pkg/api/meta`` DefaultRESTMapper,
``k8s.io/client-go/restmapper``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from extapi.client.kube import Client
from extapi.client.transport import TransportError
from extapi.errors import ApiError

DISCOVERY: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
MOST_NODES: Final = 100_000
"""Nodes of a schema whose references are resolved; one that has more counts as unknown. That of Pods has some 10,000."""
_REFERENCE: Final = "#/components/schemas/"
_KINDS: Final = "x-kubernetes-group-version-kind"


class VersionedKind(NamedTuple):
    """A kind in one version. They are sorted by group, version and kind."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        """As Go prints it."""
        return f"{self.group}/{self.version}, Kind={self.kind}"

    @property
    def document(self) -> str:
        """The path of the OpenAPI document that has its schema."""
        return f"/openapi/v3/apis/{self.group}/{self.version}" if self.group else f"/openapi/v3/api/{self.version}"


class DiscoveredResource(NamedTuple):
    """A resource, as discovery names it."""

    group: str
    version: str
    names: frozenset[str]
    """Plural and singular."""
    kind: str


class ServedTypes:
    """What is served now: asked once, and kept.

    Args:
        client: Asks the server.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._resources: list[DiscoveredResource] | None = None
        self._documents: dict[str, Mapping[str, Any]] = {}

    async def kinds(self, group: str, version: str, resource: str) -> list[VersionedKind]:
        """The kinds of a resource. Without a group, those of all groups that have it in the version: so asks a RESTMapper."""
        if self._resources is None:
            self._resources = [each async for each in self._discovered()]
        name = resource.lower()
        found = [
            VersionedKind(each.group, each.version, each.kind)
            for each in self._resources
            if each.version == version and name in each.names and group in ("", each.group)
        ]
        return list(dict.fromkeys(found))

    async def schema(self, kind: VersionedKind) -> Mapping[str, Any] | None:
        """The schema of a kind, without references; None if there is none."""
        schemas = await self._schemas(kind.document)
        for each in schemas.values():
            told = each.get(_KINDS) or () if isinstance(each, dict) else ()
            if any(_is(one, kind) for one in told):
                try:
                    return _Resolver(schemas).resolved(each)
                except _TooLargeError:
                    return None
        return None

    async def _discovered(self) -> Any:
        for path in ("/api", "/apis"):
            found = await self._client.call("GET", path, accept=DISCOVERY)
            for each in _resources(found):
                yield each

    async def _schemas(self, path: str) -> Mapping[str, Any]:
        if path not in self._documents:
            try:
                found = await self._client.call("GET", path)
            except (ApiError, TransportError):
                found = {}
            self._documents[path] = (found.get("components") or {}).get("schemas") or {}
        return self._documents[path]


def _resources(found: Mapping[str, Any]) -> Iterator[DiscoveredResource]:
    for group in found.get("items") or ():
        name = (group.get("metadata") or {}).get("name", "")
        for version in group.get("versions") or ():
            for each in version.get("resources") or ():
                kind = (each.get("responseKind") or {}).get("kind", "")
                singular = each.get("singularResource") or kind.lower()
                names = frozenset({each.get("resource", ""), singular})
                yield DiscoveredResource(name, version.get("version", ""), names, kind)


def _is(told: Any, kind: VersionedKind) -> bool:
    return isinstance(told, dict) and (told.get("group", ""), told.get("version", ""), told.get("kind", "")) == kind


class _TooLargeError(Exception):
    """A schema has too many nodes."""


class _Resolver:
    """Puts schemas where references to them are; one inside of itself becomes an object of no fields (``PopulateRefs``)."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self._within: set[str] = set()
        self._left = MOST_NODES

    def resolved(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema without references."""
        self._left -= 1
        if self._left < 0:
            raise _TooLargeError
        name = _referred(node)
        if not name:
            return self._inside(node)
        if name in self._within:
            return {"type": "object"}
        found = self._schemas.get(name)
        if not isinstance(found, dict):
            return {}
        self._within.add(name)
        try:
            return self._inside(found)
        finally:
            self._within.discard(name)

    def _inside(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        made = dict(node)
        properties = made.get("properties")
        if isinstance(properties, dict):
            made["properties"] = {
                key: self.resolved(each) for key, each in properties.items() if isinstance(each, dict)
            }
        for key in ("additionalProperties", "items"):
            if isinstance(made.get(key), dict):
                made[key] = self.resolved(made[key])
        return made


def _referred(node: Mapping[str, Any]) -> str:
    """The name of the schema that a node is a reference to, perhaps with a description; empty: it is none."""
    for each in (node, *(node.get("allOf") or ())):
        reference = each.get("$ref") if isinstance(each, dict) else None
        if isinstance(reference, str):
            return reference.removeprefix(_REFERENCE)
    return ""
