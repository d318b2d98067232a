"""A reviewed resource in all versions in which it is served: for plugins that want objects in another one than the request's."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from extapi.api.types import Obj
from extapi.managedfields.atom import Atom


class KindName(NamedTuple):
    """A kind in a version."""

    group: str
    version: str
    kind: str


class ResourceVersions(Protocol):
    """The versions of a resource, or of a subresource, and its objects in each of them (Go's ``EquivalentResourceMapper``)."""

    @property
    def served(self) -> tuple[str, ...]:
        """The versions in which it is served."""
        ...

    def kind(self, version: str) -> KindName:
        """The kind of the bodies of requests for the resource in a version."""
        ...

    async def convert(self, obj: Obj, version: str) -> Obj:
        """An object as a request for the resource in ``version`` has it. May wait. ``obj`` stays as it is, and may be shared.

        Raises:
            Unfit: Its fields do not fit their types.
            ApiError: The conversion failed.
        """
        ...

    def atom(self, version: str) -> Atom:
        """The type along which bodies in a version are merged."""
        ...

    def complete(self, obj: Obj, version: str, whose: str = "an admission webhook") -> None:
        """Coerce metadata, prune and default, in place, what ``whose`` has made in a version.

        Raises:
            Invalid: It is of another kind or version.
            BadRequest: Metadata has a wrong type.
            InternalError: It is no JSON for clients.
        """
        ...
