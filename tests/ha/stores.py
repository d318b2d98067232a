"""What the servers under test keep their objects in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MEMBERS = ("m0", "m1", "m2")
REPLICAS = ("r0", "r1", "r2")


@dataclass(frozen=True)
class Store:
    """A store, and who uses it.

    ``members``: those of etcd; none: an SQLite file. ``replicas``: the servers. ``workers``: the processes of each, with a hub
    beside them if there are several and the store is a file. ``users``: whether etcd has users, and tokens that end soon.
    """

    members: Sequence[str]
    replicas: Sequence[str]
    workers: int = 1
    users: bool = False

    @property
    def hub(self) -> bool:
        """Whether a hub has the file, for the workers."""
        return not self.members and self.workers > 1


STORES = {
    "three-members": Store(MEMBERS, REPLICAS),
    "one-member": Store(MEMBERS[:1], REPLICAS),
    "sqlite": Store((), REPLICAS[:1]),
    "workers": Store((), REPLICAS[:1], workers=2),
}
