"""What a write leaves: the new object's bytes for the store, and those that answer the client and fill the cache.

Each is made once: the object is encoded for the store, and, if the request has another version, converted back and encoded
for the answer. The cache gets both, so that it need not make again what readers of these versions ask for. Must not know
admission, validation or the store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from extapi.api.types import Obj
from extapi.codec.strictjson import Parts, encode_parts
from extapi.errors import ApiError
from extapi.registry.results import EncodedResult
from extapi.registry.served import ServedKind

Read = Callable[[bytes, str], Awaitable[Obj]]
"""Converts stored bytes to a version; see :meth:`extapi.registry.store.Store.read`."""


class EncodedObject:
    """One new object. ``stored``: in the storage version, which changes; ``version``: of the request.

    ``read``: converts what is stored to the version of the request, if the kind's conversion may wait.

    Raises:
        InternalError: An author's code made what is no JSON.
    """

    __slots__ = ("_is_whole", "_kind", "_projected", "_read", "_stored", "_stored_parts", "_version", "value")

    def __init__(self, kind: ServedKind, stored: Obj, version: str, read: Read | None = None) -> None:
        self._kind = kind
        self._read = read
        self._stored = stored
        self._version = version
        self._stored_parts = kind.to_parts(stored, version)
        self.value = b"".join(self._stored_parts)
        """The bytes for the store."""
        # A new object has lost the status that its client sent. It is stored without one, and read with that one's default.
        self._is_whole = "status" in stored or not kind.versions[kind.kind.storage].defaults_status
        same = self._is_whole and kind.is_stored_as(version)
        self._projected: Parts | ApiError | None = self._stored_parts if same else None

    async def projections(self) -> dict[str, Parts]:
        """What readers will see of the object, by the name of the representation; what cannot be converted is missing."""
        versions, kind = self._kind.versions, self._kind.kind
        projected = await self._projection()
        found = {} if isinstance(projected, ApiError) else {versions[self._version].representation: projected}
        storage = versions[kind.storage]
        # Without a hub, readers also see defaults of the storage version, which conversion to it does not fill in.
        if kind.hub is not None and self._is_whole and self._stored["apiVersion"] == storage.api_version:
            found[storage.representation] = self._stored_parts
        return found

    async def answer(self, revision: int) -> EncodedResult:
        """The object as a read at ``revision`` shows it; 0: without a resourceVersion.

        Raises:
            ApiError: It cannot be converted back to the request's version.
        """
        projected = await self._projection()
        if isinstance(projected, ApiError):
            raise projected
        return EncodedResult(self._kind, self._version, projected, revision)

    async def _projection(self) -> Parts | ApiError:
        """The object in the request's version, converted back from the stored one; made once, or why it could not be made."""
        if self._projected is None:
            try:
                shown = (
                    self._kind.shown(self._stored, self._version)
                    if self._read is None
                    else await self._read(self.value, self._version)
                )
                self._projected = encode_parts(shown, self._kind.encode)
            except ApiError as error:
                self._projected = error
        return self._projected
