"""Requests of narrow users: plain ones, and the same with tricks that have opened doors elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from urllib.parse import quote

from tests.attack.fuzz import framing
from tests.attack.oracle.policy import USERS
from tests.attack.oracle.world import GROUP, PLACES, Place

METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
PEERS = ("proxy", "client", "nobody")


@dataclass(frozen=True)
class Plain:
    """What a request means as long as nothing is done to it."""

    peer: str
    verb: str
    place: Place
    subresource: str = ""
    across: bool = False
    """Of all namespaces."""
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: Any = None
    media: str = ""
    path: str = ""
    method: str = ""
    tricks: tuple[str, ...] = field(default=())

    @property
    def resource(self) -> str:
        """With its subresource."""
        return f"{self.place.plural}/{self.subresource}" if self.subresource else self.place.plural

    @property
    def data(self) -> bytes:
        """The bytes on the wire."""
        target = self.path.encode("utf-8", "replace").decode("latin-1")
        target = "".join(char if "!" <= char <= "~" else quote(char.encode("latin-1")) for char in target)
        if self.query:
            target += "?" + "&".join(f"{name}={value}" for name, value in self.query)
        body = (
            b"" if self.body is None else self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        )
        headers = [*self.headers, *([("Content-Type", self.media)] if self.media else [])]
        return framing.plain(self.method, target, headers, body)

    def short(self) -> str:
        """For a finding's line."""
        return f"{self.peer} {self.headers} {self.method} {self.path[:300]} {self.query} {json.dumps(self.body, default=repr)[:200]} {self.tricks}"


def plain(dice: Random) -> Plain:
    """A request as kubectl would send it."""
    place = dice.choice(PLACES)
    verb = dice.choice(
        ("get", "get", "list", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    )
    peer = dice.choices(PEERS, (90, 5, 5))[0]
    headers: tuple[tuple[str, str], ...] = ()
    if peer == "proxy":
        headers = (("X-Remote-User", dice.choice(list(USERS))),)
        if dice.random() < 0.1:
            headers = (*headers, ("X-Remote-Group", "dev"))
    elif dice.random() < 0.5:
        headers = (("Authorization", dice.choice(("Bearer good", "Bearer bad"))),)
    subresource = ""
    if place.plural == "things" and verb in ("get", "update", "patch", "create") and dice.random() < 0.35:
        subresource = "act" if verb == "create" else dice.choice(("status", "notes"))
    across = verb in ("list", "watch") and dice.random() < 0.25
    made = Plain(peer, verb, place, subresource, across, headers=headers, method=METHODS[verb])
    return filled(dice, made)


def allowed(dice: Random) -> Plain:
    """A plain request that its user may make."""
    name = dice.choice(
        [
            name
            for name, rules in USERS.items()
            if rules and rules[0].resources and not name.startswith(("i-", "cert", "token"))
        ]
    )
    rule = dice.choice(USERS[name])
    plural, _, subresource = dice.choice(rule.resources).partition("/")
    verb = dice.choice(rule.verbs)
    places = [
        place
        for place in PLACES
        if place.plural == plural
        and (not rule.names or place.name in rule.names)
        and ("*" in rule.namespaces or place.namespace in rule.namespaces)
    ]
    made = Plain(
        "proxy", verb, dice.choice(places), subresource, headers=(("X-Remote-User", name),), method=METHODS[verb]
    )
    if rule.names and verb in ("list", "watch"):
        made = replace(made, query=(("fieldSelector", f"metadata.name%3D{made.place.name}"),))
    return filled(dice, made)


def filled(dice: Random, made: Plain) -> Plain:
    """With its path, its body and its options."""
    place, verb = made.place, made.verb
    named = verb in ("get", "update", "patch", "delete") or made.subresource
    path = place.path if named else place.collection
    if made.across:
        path = f"/apis/{GROUP}/v1/{place.plural}"
    if made.subresource:
        path += f"/{made.subresource}"
    body: Any = None
    query, media = made.query, ""
    if verb == "watch":
        query = (*query, ("watch", "true"), ("timeoutSeconds", "1"))
    if verb == "create":
        new = Place(place.plural, place.namespace, dice.choice(("new", place.name)))
        body, media = new.obj(), "application/json"
        if made.subresource:
            body = {"apiVersion": f"{GROUP}/v1", "kind": "Act"}
    elif verb == "update":
        body, media = place.obj(), "application/json"
        body["spec"]["color"] = dice.choice(("blue", "green"))
        body["status"] = {"phase": dice.choice(("x", "y"))}
        body["notes"] = ["changed"]
    elif verb == "patch":
        media = dice.choice(("application/merge-patch+json", "application/json-patch+json"))
        body = {"spec": {"color": "blue"}, "status": {"phase": "z"}, "notes": ["patched"]}
        if "json-patch" in media:
            body = [{"op": "add", "path": f"/{part}", "value": value} for part, value in body.items()]
    return replace(made, path=path, query=query, body=body, media=media)
