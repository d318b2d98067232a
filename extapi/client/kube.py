"""An async client for a Kubernetes API: verbs on resources, objects as dicts, refusals as the errors the server raised.

Works over any :class:`extapi.client.transport.Transport`. Must not know credentials or connections.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from extapi.client.answerkind import AnswerKinds, WrongAnswer
from extapi.client.status import error_from_status, error_from_text
from extapi.client.transport import ClientRequest, ClientResponse, Transport, TransportError
from extapi.codec.strictjson import encode
from extapi.errors import ApiError

Obj = dict[str, Any]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Objects reduced to their metadata. A server that does not know this format sends whole objects
(``k8s.io/client-go/metadata``)."""
ANSWER = 64 * 1024 * 1024
"""Default limit of bytes per response."""
LIST = 128 * 1024 * 1024
"""Limit of bytes per page of a list."""

BEGIN = 60
"""Bytes of an answer that is not JSON that go into the error's text: enough to tell HTML."""

TEXT_LIMIT = 500
"""Characters of a response without a Status that go into the error's text."""


@dataclass(frozen=True, slots=True)
class ResourceName:
    """A resource in one version, such as ``ResourceName("apps", "v1", "deployments")``; the core group is empty."""

    group: str
    version: str
    resource: str

    @property
    def api_version(self) -> str:
        """As an object says it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The percent-encoded path of the collection, the object or its subresource.

        Raises:
            ValueError: A part is ``.`` or ``..``.
        """
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace:
            parts += ["namespaces", namespace]
        parts.append(self.resource)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/" + "/".join(_segment(part) for part in parts)


class ReceivedEvent(NamedTuple):
    """One event: ADDED, MODIFIED, DELETED or BOOKMARK, and the object."""

    type: str
    object: Obj


class Watch:
    """The events of one watch, in order. Iterate it, or :meth:`close` it."""

    def __init__(self, reply: ClientResponse) -> None:
        self._reply = reply

    def close(self) -> None:
        """End the watch; a waiting iteration raises :class:`TransportError`."""
        self._reply.close()

    async def __aiter__(self) -> AsyncIterator[ReceivedEvent]:
        """Iterate over the events.

        Raises:
            ApiError: The error of an ERROR event.
            TransportError: The watch broke off, was closed, or is not one.
        """
        async for line in self._reply.lines():
            if not line.strip():
                continue
            event = _decoded(line)
            kind, obj = event.get("type"), event.get("object")
            if not isinstance(kind, str) or not isinstance(obj, dict):
                raise TransportError("the server sent a watch event without type or object")
            if kind == "ERROR":
                raise error_from_status(obj, 500)
            yield ReceivedEvent(kind, obj)


class Client:
    """The verbs. Each raises a subclass of :class:`ApiError` for a refusal, and :class:`TransportError` without a response.

    The argument ``query`` of a verb holds parameters such as ``labelSelector``.

    Args:
        transport: Carries the requests.
        timeout: Seconds per request, unless a call gives its own.
        user_agent: The User-Agent header.
        metadata_only: Whether get, list, watch and patch ask for the metadata of objects only.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        timeout: float = 30.0,
        user_agent: str = "extapi",
        metadata_only: bool = False,
    ) -> None:
        self._transport = transport
        self._timeout = timeout
        self._headers = {"Accept": JSON, "User-Agent": user_agent}
        self._object = f"{METADATA},{JSON}" if metadata_only else JSON
        self._list = f"{METADATA_LIST},{JSON}" if metadata_only else JSON
        self._kinds = AnswerKinds()

    def metadata_only(self) -> Client:
        """The same client for metadata only: get, list, watch and patch return PartialObjectMetadata."""
        agent = self._headers["User-Agent"]
        return Client(self._transport, timeout=self._timeout, user_agent=agent, metadata_only=True)

    async def get(
        self,
        resource: ResourceName,
        name: str,
        *,
        namespace: str = "",
        subresource: str = "",
        query: Mapping[str, str] | None = None,
    ) -> Obj:
        """Get an object."""
        path = resource.path(namespace, name, subresource)
        answer = await self.call("GET", path, query=query, accept=self._object)
        return self._object_of(resource, subresource, path, answer)

    async def list(self, resource: ResourceName, *, namespace: str = "", query: Mapping[str, str] | None = None) -> Obj:
        """Get one page of a list, as the list object; without ``namespace``, of all namespaces."""
        path = resource.path(namespace)
        answer = await self.call("GET", path, query=query, accept=self._list, limit=LIST, long=True)
        try:
            self._kinds.check_list(answer, resource.api_version, resource.resource)
        except WrongAnswer as error:
            raise TransportError(f"{path}: {error}") from error
        return answer

    async def watch(
        self, resource: ResourceName, *, namespace: str = "", query: Mapping[str, str] | None = None
    ) -> Watch:
        """Start a watch, and return it once the server has accepted it. ``query`` has resourceVersion, timeoutSeconds and so on."""
        parameters = {**(query or {}), "watch": "true"}
        request = self._request("GET", resource.path(namespace), query=parameters, accept=self._object)
        reply = await self._transport.send(request)
        if reply.status != 200:
            raise await _refusal(reply)
        return Watch(reply)

    async def create(
        self,
        resource: ResourceName,
        obj: Obj,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        query: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - a property of the request, enforced by the transport
        limit: int = ANSWER,
    ) -> Obj:
        """Create ``obj``; ``name`` only with a subresource. The response has at most ``limit`` bytes."""
        path = resource.path(namespace, name, subresource)
        answer = await self.call("POST", path, query=query, obj=obj, timeout=timeout, limit=limit)
        return self._object_of(resource, subresource, path, answer, obj.get("kind"))

    async def update(
        self,
        resource: ResourceName,
        name: str,
        obj: Obj,
        *,
        namespace: str = "",
        subresource: str = "",
        query: Mapping[str, str] | None = None,
    ) -> Obj:
        """Replace an object."""
        path = resource.path(namespace, name, subresource)
        answer = await self.call("PUT", path, query=query, obj=obj)
        return self._object_of(resource, subresource, path, answer, obj.get("kind"))

    async def patch(
        self,
        resource: ResourceName,
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        subresource: str = "",
        content_type: str = MERGE_PATCH,
        query: Mapping[str, str] | None = None,
    ) -> Obj:
        """Change an object by ``patch``, which is of ``content_type``."""
        path = resource.path(namespace, name, subresource)
        answer = await self.call("PATCH", path, query=query, obj=patch, content_type=content_type, accept=self._object)
        return self._object_of(resource, subresource, path, answer)

    async def delete(
        self,
        resource: ResourceName,
        name: str = "",
        *,
        namespace: str = "",
        options: Obj | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Obj:
        """Delete an object, or without ``name`` a collection. ``options`` are DeleteOptions."""
        return await self.call("DELETE", resource.path(namespace, name), query=query, obj=options)

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        obj: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout: float | None = None,  # noqa: ASYNC109 - a property of the request, enforced by the transport
        limit: int = ANSWER,
        long: bool = False,
    ) -> Obj:
        """Send any request whose response is a JSON object, of at most ``limit`` bytes.

        ``path`` is percent-encoded; ``obj`` becomes the body. ``long``: the response may take longer than the request, as long as
        it arrives.
        """
        request = self._request(
            method, path, query=query, obj=obj, content_type=content_type, accept=accept, timeout=timeout
        )
        reply = await self._transport.send(replace(request, long=True) if long else request)
        if not 200 <= reply.status < 300:
            raise await _refusal(reply)
        body = await reply.read(limit)
        try:
            return _decoded(body)
        except TransportError as error:
            raise TransportError(f"{path}: {error}") from error

    def _object_of(self, resource: ResourceName, subresource: str, path: str, answer: Obj, kind: Any = None) -> Obj:
        """The answer, if it is an object of the resource. A subresource may have any kind, such as a Scale or a Status.

        Raises:
            TransportError: It is something else.
        """
        if not subresource:
            try:
                self._kinds.check_object(answer, resource.api_version, resource.resource, kind)
            except WrongAnswer as error:
                raise TransportError(f"{path}: {error}") from error
        return answer

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        obj: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout: float | None = None,
    ) -> ClientRequest:
        headers = self._headers if accept == JSON else {**self._headers, "Accept": accept}
        if obj is not None:
            headers = {**headers, "Content-Type": content_type}
        return ClientRequest(
            method,
            path,
            query=tuple((query or {}).items()),
            headers=headers,
            body=None if obj is None else encode(obj),
            timeout=self._timeout if timeout is None else timeout,
        )


def items_of(page: Obj) -> list[Obj]:
    """The objects of a list, each with its apiVersion and kind.

    kube-apiserver omits both in lists of its own kinds; then they are derived from those of the list.

    Source: ``k8s.io/apimachinery/pkg/apis/meta/v1/unstructured`` unstructuredJSONScheme.decodeToList.
    """
    items: list[Obj] = page.get("items") or []
    list_kind = page.get("kind")
    if items and "kind" not in items[0] and isinstance(list_kind, str) and list_kind.endswith("List"):
        kind = {"apiVersion": page.get("apiVersion", ""), "kind": list_kind.removesuffix("List")}
        return [{**kind, **item} for item in items]
    return items


def _segment(part: str) -> str:
    """A percent-encoded path segment. ``.`` and ``..`` would make a relative path; no object has such a name."""
    if part in {".", ".."}:
        raise ValueError(f"{part!r} cannot be part of a path")
    return quote(part, safe="")


def _decoded(data: bytes) -> Obj:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        begin = data[:BEGIN].decode("utf-8", "replace")
        raise TransportError(f"the server's answer is not JSON, but begins with {begin!r}: {error}") from error
    if not isinstance(value, dict):
        raise TransportError("the server's answer is not a JSON object")
    return value


async def _refusal(reply: ClientResponse) -> ApiError:
    """The error that a response without success stands for."""
    body = await reply.read(1024 * 1024)
    header = reply.headers.get("retry-after", "")
    retry_after = int(header) if len(header) < 10 and header.isascii() and header.isdigit() else 0
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        value = None
    if isinstance(value, dict) and value.get("kind") == "Status":
        return error_from_status(value, reply.status, retry_after=retry_after)
    text = body[: TEXT_LIMIT * 4].decode("utf-8", "replace").strip()[:TEXT_LIMIT]
    return error_from_text(text or f"the server answered {reply.status}", reply.status, retry_after=retry_after)
