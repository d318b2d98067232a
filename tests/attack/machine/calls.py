"""What clients ask: one :class:`Call` each, and the HTTP request that says it.

Pure. Every call that writes brings a number of its own, its step, so that whatever shows that number later is known to come
from that call.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tests.attack.machine.api import API_VERSION, KIND, robots

CLIENTS: Final = ("alice", "bob", "carol")
"""Users and field managers. With their subresources they are nine managers that update: from eleven on, the server merges some."""
NAMESPACES: Final = ("a", "b")
NAMES: Final = ("r1", "r2", "r3")
KEEP: Final = "keep"
"""A member of every map and set that is written: what becomes of an emptied one is not this test's question."""


class Key(NamedTuple):
    """Which object."""

    namespace: str
    name: str


@dataclass(frozen=True, eq=False, repr=False)
class Call:
    """One request of a client.

    ``verb``: create, update, merge, json, strategic, apply, status, scale, rescale (a patch of scale) or delete. ``content``:
    of create, update and apply the object, of others what they change: ``metadata``, ``spec`` and ``status``. ``operations``:
    of a JSON patch. ``revision``, ``uid``: what the object has to have; empty for any.
    """

    verb: str
    client: str
    key: Key
    step: int
    content: dict[str, Any] = field(default_factory=dict)
    operations: tuple[dict[str, Any], ...] = ()
    revision: str = ""
    uid: str = ""
    force: bool = False

    def __repr__(self) -> str:
        said = (self.content, self.operations, self.revision, self.uid, "force" if self.force else "")
        return f"{self.step}: {self.client} {self.verb} {'/'.join(self.key)} {' '.join(str(each) for each in said if each)}"


class Request(NamedTuple):
    """A call, as HTTP has it; ``query`` needs no escapes."""

    method: str
    path: str
    query: dict[str, str]
    content_type: str
    body: bytes


_PATCHES: Final = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
    "status": "application/merge-patch+json",
    "rescale": "application/merge-patch+json",
}
_METHODS: Final = {"create": "POST", "update": "PUT", "scale": "PUT", "delete": "DELETE"}
_BELOW: Final = {"status": "/status", "scale": "/scale", "rescale": "/scale"}


def request_of(call: Call) -> Request:
    """The request that says it."""
    collection = robots(call.key.namespace)
    path = collection if call.verb == "create" else f"{collection}/{call.key.name}{_BELOW.get(call.verb, '')}"
    query = {} if call.verb == "delete" else {"fieldManager": call.client}
    if call.force:
        query["force"] = "true"
    content_type = _PATCHES.get(call.verb, "application/json")
    return Request(_METHODS.get(call.verb, "PATCH"), path, query, content_type, json.dumps(_body(call)).encode())


def _body(call: Call) -> Any:
    conditions = {name: value for name, value in (("resourceVersion", call.revision), ("uid", call.uid)) if value}
    if call.verb == "json":
        return list(call.operations)
    if call.verb == "delete":
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        return {**options, "preconditions": conditions} if conditions else options
    metadata = {**call.content.get("metadata", {}), **conditions}
    if call.verb in {"create", "update", "apply", "scale"}:
        metadata["name"] = call.key.name
    body = {**call.content, "metadata": metadata}
    if call.verb in {"create", "update", "apply"}:
        body |= {"apiVersion": API_VERSION, "kind": KIND}
    if call.verb == "scale":
        body |= {"apiVersion": "autoscaling/v1", "kind": "Scale"}
    return body
