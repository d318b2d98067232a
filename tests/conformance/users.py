"""Users of a real etcd, made by its own calls."""

from __future__ import annotations

from extapi.storage.etcd.channel import Channel
from tests.unit.storage.etcd.test_wire import field

_READWRITE = 2


async def administered(admin: Channel, method: str, *parts: bytes) -> None:
    """A call of ``etcdserverpb.Auth``, with its fields from 1 on."""
    request = b"".join(field(number, part) for number, part in enumerate(parts, 1))
    await admin.call(f"/etcdserverpb.Auth/{method}".encode(), request, repeatable=False)


async def with_users(admin: Channel, prefix: str) -> None:
    """Switch on authentication: for root, "toor", and for extapi, "secret", which may read and write below the prefix."""
    await administered(admin, "UserAdd", b"root", b"toor")
    await administered(admin, "UserGrantRole", b"root", b"root")
    await administered(admin, "RoleAdd", b"store")
    first, end = prefix.encode() + b"/", prefix.encode() + b"0"
    await administered(admin, "RoleGrantPermission", b"store", field(1, _READWRITE) + field(2, first) + field(3, end))
    await administered(admin, "UserAdd", b"extapi", b"secret")
    await administered(admin, "UserGrantRole", b"extapi", b"store")
    await administered(admin, "AuthEnable")
