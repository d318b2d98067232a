"""Users of a real etcd, made by its own calls."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

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


def signed_tokens(directory: Path, ttl: str = "10m") -> str:
    """A flag of etcd with which tokens are signed, and end with each change of users; files are made for it."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (directory / "jwt.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (directory / "jwt.pub").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return f"--auth-token=jwt,pub-key={directory}/jwt.pub,priv-key={directory}/jwt.key,sign-method=RS256,ttl={ttl}"
