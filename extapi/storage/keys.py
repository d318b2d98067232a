"""Keys: how those of objects are built, and what holds for every key in every backend.

The key of an object is ``/registry/<group>/<resource>/[<namespace>/]<name>`` (behaviour K4). Only this module knows that;
backends see bytes. Must not know a store, or kinds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CORE = "core"
"""What keys call the group without a name. It collides with no other group, since the names of others have a dot."""
OBJECTS = b"/registry/"
"""What the keys of objects begin with."""


def resource_prefix(group: str, resource: str) -> bytes:
    """The prefix of the keys of a resource's objects."""
    return f"/registry/{group or CORE}/{resource}/".encode()


def resource_prefix_of(key: bytes) -> bytes:
    """The :func:`resource_prefix` that a key starts with; empty if it is not the key of an object."""
    group = key.find(b"/", 1)
    resource = key.find(b"/", group + 1)
    end = key.find(b"/", resource + 1)
    return key[: end + 1] if group > 0 and resource > 0 and end > 0 else b""


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """The keys of one resource's objects.

    Raises:
        ValueError: A group or resource with a slash, or no resource.
    """

    group: str
    resource: str
    namespaced: bool
    prefix: bytes = field(init=False)
    """The prefix of all keys."""

    def __post_init__(self) -> None:
        if not self.resource or "/" in self.group + self.resource:
            raise ValueError(f"not a resource: {self.resource!r} in group {self.group!r}")
        object.__setattr__(self, "prefix", resource_prefix(self.group, self.resource))

    def key(self, namespace: str, name: str) -> bytes:
        """The key of an object; ``namespace`` is ignored if the resource is cluster-scoped."""
        return self.prefix + (f"{namespace}/{name}" if self.namespaced else name).encode()

    def namespace_prefix(self, namespace: str) -> bytes:
        """The prefix of the keys in a namespace; of all keys if it is empty, or the resource is cluster-scoped."""
        return self.prefix + f"{namespace}/".encode() if namespace and self.namespaced else self.prefix

    def name_suffix(self, name: str) -> bytes:
        """How the keys of objects called ``name`` end, whatever their namespace."""
        return f"/{name}".encode()

    def namespace(self, key: bytes) -> str:
        """The namespace in a key; empty if the resource is cluster-scoped."""
        return key[len(self.prefix) :].partition(b"/")[0].decode(errors="replace") if self.namespaced else ""

    def name(self, key: bytes) -> str:
        """The name in a key."""
        return key[key.rfind(b"/") + 1 :].decode(errors="replace")


def successor(prefix: bytes) -> bytes | None:
    """The smallest key greater than every key with ``prefix``; None if there is none.

    Source: ``etcd/client/v3`` GetPrefixRangeEnd.
    """
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def check_write(key: bytes, value: bytes | None, expected: int) -> None:
    """Check the arguments of a commit, as every backend does first.

    Raises:
        ValueError: The key is empty, so that ``page``, which continues after a key and starts after the empty one, could
            not list it; or a delete expects that the key does not exist.
    """
    if not key:
        raise ValueError("a key has at least one byte")
    if value is None and expected == 0:
        raise ValueError("a delete needs the revision it deletes")
