"""What ``changes`` of a feed yields besides objects, and what ``watch`` yields.

Pure data; :class:`extapi.api.protocols.Feed` has the methods, and ``extapi.registry.feedlog`` reads what they give.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal


@dataclass(frozen=True, slots=True)
class Deleted:
    """An object is gone. One that was not known is ignored."""

    name: str
    namespace: str = ""
    """Empty for cluster-scoped kinds."""


@dataclass(frozen=True, slots=True)
class ObjectEvent:
    """What a method ``watch`` of REST storage yields (``watch.Event``)."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Any
    """The object; if it was deleted, as it was before."""


class Relist(Enum):
    """The type of :data:`RELIST`."""

    RELIST = "RELIST"


RELIST: Final[Literal[Relist.RELIST]] = Relist.RELIST
"""Something changed, or may have: the server calls ``list`` and finds out what."""
