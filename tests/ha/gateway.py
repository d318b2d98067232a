"""etcd's JSON gateway, which is part of every member: calls past the client under test."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PORT = 2379
_SECONDS = 2.0


@dataclass(frozen=True)
class User:
    """Who asks, where etcd has users: each call begins with a token of its own, so that none is ever too old."""

    name: str
    password: str


ROOT = User("root", "toor")
REPLICA = User("extapi", "secret")
"""The replicas, who may use their prefix alone."""


def ask(address: str, path: str, body: Mapping[str, Any], seconds: float = _SECONDS, user: User | None = None) -> Any:
    """One call.

    Raises:
        OSError: The member does not answer in time, or with an error.
    """
    with _connected(address, seconds) as connection:
        connection.request("POST", path, json.dumps(body), _authorization(address, user, seconds))
        answer = connection.getresponse()
        data = answer.read()
    if answer.status != 200:
        raise OSError(f"{address}{path}: {answer.status} {data[:200]!r}")
    return json.loads(data)


def watch(address: str, request: Mapping[str, Any], user: User | None = None) -> Generator[Any, None, None]:
    """The answers to a watch, until it breaks off.

    Raises:
        OSError: The member does not answer in time, or breaks off.
    """
    with _connected(address, _SECONDS) as connection:
        body = json.dumps({"create_request": request})
        connection.request("POST", "/v3/watch", body, _authorization(address, user, _SECONDS))
        for line in connection.getresponse():
            yield json.loads(line)["result"]


@contextlib.contextmanager
def _connected(address: str, seconds: float) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(address, PORT, timeout=seconds)
    try:
        yield connection
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()


def _authorization(address: str, user: User | None, seconds: float) -> Mapping[str, str]:
    if user is None:
        return {}
    given = ask(address, "/v3/auth/authenticate", {"name": user.name, "password": user.password}, seconds)
    return {"Authorization": given["token"]}


def make_users(address: str, prefix: str) -> None:
    """Switch on authentication: for root, and for the replicas' user, who may read and write below the prefix.

    Raises:
        OSError: As :func:`ask`.
    """
    for user in (ROOT, REPLICA):
        ask(address, "/v3/auth/user/add", {"name": user.name, "password": user.password})
    key, end = (base64.b64encode(text.encode()).decode() for text in (f"{prefix}/", f"{prefix}0"))
    ask(address, "/v3/auth/role/add", {"name": "store"})
    ask(
        address,
        "/v3/auth/role/grant",
        {"name": "store", "perm": {"permType": "READWRITE", "key": key, "range_end": end}},
    )
    ask(address, "/v3/auth/user/grant", {"user": ROOT.name, "role": "root"})
    ask(address, "/v3/auth/user/grant", {"user": REPLICA.name, "role": "store"})
    ask(address, "/v3/auth/enable", {})


def change_users(address: str, name: str) -> None:
    """Add a user, after which each token that is signed is too old (``auth.ErrAuthOldRevision``).

    Raises:
        OSError: As :func:`ask`.
    """
    ask(address, "/v3/auth/user/add", {"name": name, "password": "x"}, user=ROOT)


def leader(members: Mapping[str, str], user: User | None = None) -> str | None:
    """The name of the member that leads, of members by name with their addresses; None if none says so."""
    for name, address in members.items():
        with contextlib.suppress(OSError):
            status = ask(address, "/v3/maintenance/status", {}, 0.5, user)
            if status.get("leader") == status["header"]["member_id"]:  # a member without one leaves it out
                return name
    return None
