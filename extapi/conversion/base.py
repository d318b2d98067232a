"""The seam of conversion: what brings objects of one kind from the versions they are in to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from extapi.api.types import Obj


class Converter(Protocol):
    """Converts objects of one kind. Takes lists, since a webhook converts in batches; pure functions answer at once."""

    async def convert(self, objects: Sequence[Obj], to: str) -> list[Obj]:
        """The objects in version ``to``, in the same order; each says in its apiVersion what it is in.

        Those already in ``to`` come back as they are. Metadata is that of the originals. What comes back has to be pruned
        and defaulted for ``to``. Raises :class:`~extapi.errors.InternalError`.
        """
        ...
