"""A resource in all its versions, as admission plugins see it (:class:`extapi.admission.versions.ResourceVersions`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from extapi.admission.versions import KindName
from extapi.api.metadata import coerce
from extapi.api.types import Obj
from extapi.managedfields.atom import Atom
from extapi.registry.served import ServedKind

Convert = Callable[[Obj, str], Awaitable[Obj]]
"""As :meth:`extapi.registry.served.ServedKind.convert`."""
WeakConvert = Callable[[], Convert | None]
"""Returns it, as long as the store is used."""


class RequestPath(NamedTuple):
    """What a path names."""

    kind: ServedKind
    """The kind whose resource it is, or whose subresource."""
    version: str
    name: str = ""


class ReviewedVersions:
    """The versions of one resource.

    Args:
        kind: The kind of its bodies.
        path: The kind that its paths name, which is the same but for some subresources.
        subresource: The subresource; empty for the objects themselves.
        convert: Converts its bodies; by default ``kind`` does.
    """

    __slots__ = ("_convert", "_kind", "_own", "served")

    def __init__(
        self, kind: ServedKind, path: ServedKind, subresource: str = "", convert: Convert | None = None
    ) -> None:
        self._kind = kind
        self._own = kind is not path
        self._convert = convert or kind.convert
        served = path.served_with.get(subresource)
        if served is None:
            served = path.served_with[subresource] = tuple(_served(path, subresource))
        self.served: tuple[str, ...] = served
        """See :class:`extapi.admission.versions.ResourceVersions`."""

    def kind(self, version: str) -> KindName:
        """See :class:`extapi.admission.versions.ResourceVersions`."""
        return KindName(self._kind.group, self._body(version), self._kind.kind.name)

    async def convert(self, obj: Obj, version: str) -> Obj:
        """See :class:`extapi.admission.versions.ResourceVersions`."""
        wanted = self._body(version)
        if obj["apiVersion"] == self._kind.versions[wanted].api_version:
            return obj
        return await self._convert(obj, wanted)

    def atom(self, version: str) -> Atom:
        """See :class:`extapi.admission.versions.ResourceVersions`."""
        return self._kind.atoms[self._kind.versions[self._body(version)].api_version]

    def complete(self, obj: Obj, version: str, whose: str = "an admission webhook") -> None:
        """See :class:`extapi.admission.versions.ResourceVersions`."""
        self._kind.check(obj, whose)
        body = self._body(version)
        if self._kind.kind.behaviour.defined:
            # A custom resource has no types in Go: what is no metadata is left out.
            obj["metadata"] = coerce(obj["metadata"], drop_malformed=True).metadata
        self._kind.check_type(obj, body, str((obj.get("metadata") or {}).get("name") or ""))
        self._kind.coerce_and_default(obj, body)

    def _body(self, version: str) -> str:
        """The version of bodies: some subresources have one whatever that of the path is."""
        if self._own and version not in self._kind.versions:
            return self._kind.kind.storage
        return version


def _served(path: ServedKind, subresource: str) -> list[str]:
    """The versions that have the subresource."""
    names = path.kind.served_versions()
    if subresource == "status" and subresource not in path.kind.subresources:
        return [name for name in names if path.versions[name].status]
    if subresource == "scale" and subresource not in path.kind.subresources:
        return [name for name in names if path.versions[name].scale is not None]
    return names
