"""One of the two sides of a comparison: sends steps, and keeps what came back in a form in which both can be compared."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.differential.neutral import Neutral

JSON = "application/json"
YAML = "application/yaml"
STRICT = "?fieldValidation=Strict"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
PROBES = "/apis/{g}/v1/namespaces/{ns}/probes"
OLDER = "/apis/{g}/v1beta1/namespaces/{ns}/probes"
BEACONS = "/apis/{g}/v1/beacons"
SECONDS, INTERVAL = 20.0, 0.05
"""How long a step waits for what it waits for, and how long between two questions."""
IDLE = 30.0
"""Seconds after which a connection is made anew: servers close those that nobody uses, kube-apiserver after 90."""


@dataclass(frozen=True)
class Step:
    """One request. ``path`` continues the one of the probes, unless it starts with ``/apis``.

    In path, headers and body ``{g}``, ``{ns}``, ``{rv}`` and ``{uid}`` stand for the group, the case's namespace, and the
    resourceVersion and uid of the object that came back last; ``{list}`` for the resourceVersion of the last list,
    ``{continue}`` for its token; ``{token}`` for the bearer token that was made last.
    """

    method: str
    path: str = ""
    body: Any = None
    """Bytes or text are sent as they are, all else as JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)
    stranger: bool = False
    """Whether it is sent without a client certificate."""
    awaits: str = ""
    """A read that is repeated until it brings this text: what controllers do takes its time."""


def get(path: str = "", accept: str = "", **headers: str) -> Step:
    """A read."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Step("GET", path, None, {"Accept": accept, **sent} if accept else sent)


def waiting(path: str, text: str) -> Step:
    """A read that is repeated until it brings a text."""
    return Step("GET", path, awaits=text)


def post(body: Any, path: str = "", form: str = JSON, accept: str = "") -> Step:
    """A create; of a probe, if ``body`` is a dict that names no kind."""
    return Step("POST", path, body, _writing(form, accept))


def put(path: str, body: Any, form: str = JSON, accept: str = "") -> Step:
    """An update."""
    return Step("PUT", path, body, _writing(form, accept))


def merge(path: str, body: Any, form: str = MERGE, accept: str = "") -> Step:
    """A merge patch."""
    return Step("PATCH", path, body, _writing(form, accept))


def json_patch(path: str, *operations: Any) -> Step:
    """A JSON patch: ``("add", "/spec/x", 1)``, or operations as they are sent."""
    sent = [
        dict(zip(("op", "path", "value"), operation, strict=False)) if isinstance(operation, tuple) else operation
        for operation in operations
    ]
    return Step("PATCH", path, sent, _writing(JSON_PATCH, ""))


def apply(path: str, body: Any, manager: str = "m", *, more: str = "", force: bool = False, accept: str = "") -> Step:
    """A server-side apply; ``more``: of the query."""
    query = f"?fieldManager={manager}" + ("&force=true" if force else "") + more
    return Step("PATCH", path + query, body, _writing(APPLY, accept))


def delete(path: str = "", body: Any = None, form: str = JSON, accept: str = "") -> Step:
    """A delete, with or without options in the body."""
    return Step("DELETE", path, body, _writing(form, accept) if body is not None else {"Accept": accept or "*/*"})


def _writing(form: str, accept: str) -> dict[str, str]:
    return {**({"Content-Type": form} if form else {}), **({"Accept": accept} if accept else {})}


def probe(
    name: str = "new", *, meta: Mapping[str, Any] | None = None, status: Any = None, **spec: Any
) -> dict[str, Any]:
    """A valid probe, but for what is given; a spec field of ``...`` is left out."""
    wanted = {key: value for key, value in {"size": 1, **spec}.items() if value is not ...}
    metadata = {**({"name": name} if name else {}), **(meta or {})}
    obj = {"apiVersion": "{g}/v1", "kind": "Probe", "metadata": metadata, "spec": wanted}
    return obj if status is None else {**obj, "status": status}


class Side:
    """Speaks for one group on one connection that is kept open; strangers have one of their own."""

    def __init__(
        self, group: str, port: int, tls: ssl.SSLContext, *, strangers: ssl.SSLContext | None = None, base: str = PROBES
    ) -> None:
        """:param base: what paths of steps continue."""
        self.group = group
        self._base = base
        self._connections = [
            http.client.HTTPSConnection("localhost", port, timeout=30, context=context)
            for context in (tls, strangers or tls)
        ]
        self._used = [time.monotonic(), time.monotonic()]

    def close(self) -> None:
        """No more requests."""
        for connection in self._connections:
            connection.close()

    def play(self, namespace: str, steps: Sequence[Step], view: Callable[[bytes], Any] | None = None) -> list[Any]:
        """Send the steps one after the other; what came back to each, made comparable, or the ``view`` of its body."""
        made = json.dumps({"metadata": {"name": namespace}}).encode()
        self._send(self._connection(), Step("POST"), "/api/v1/namespaces", made, {})
        known: dict[str, str] = {"g": self.group, "ns": namespace}
        neutral = Neutral(self.group, namespace)
        return [self._one(step, known, neutral, view) for step in steps]

    def _connection(self, *, stranger: bool = False) -> http.client.HTTPSConnection:
        connection, now = self._connections[stranger], time.monotonic()
        if now - self._used[stranger] > IDLE:
            connection.close()  # the next request opens it again
        self._used[stranger] = now
        return connection

    def _one(self, step: Step, known: dict[str, str], neutral: Neutral, view: Callable[[bytes], Any] | None) -> Any:
        path = step.path if step.path.startswith("/apis") else self._base + step.path
        body = step.body
        if not isinstance(body, bytes | str | None):
            body = json.dumps(body)
        if isinstance(body, str):
            body = _filled(body, known).encode()
        connection = self._connection(stranger=step.stranger)
        try:
            answer, content = self._awaited(connection, step, _filled(path, known), body, known)
        except (http.client.RemoteDisconnected, ConnectionError):
            connection.close()
            return "closed"
        except TimeoutError:
            connection.close()  # what comes late must not answer the next step
            raise
        _learn(content, known)
        return neutral.answer(answer.status, answer.headers, content) if view is None else view(content)

    def _awaited(
        self,
        connection: http.client.HTTPSConnection,
        step: Step,
        path: str,
        body: bytes | None,
        known: Mapping[str, str],
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """What comes back; of a step that waits, once it says what is waited for, or after some seconds."""
        text = _filled(step.awaits, known).encode()
        deadline = time.monotonic() + SECONDS
        while True:
            answer, content = self._send(connection, step, path, body, known)
            if text in content or time.monotonic() > deadline:
                return answer, content
            time.sleep(INTERVAL)

    @staticmethod
    def _send(
        connection: http.client.HTTPSConnection, step: Step, path: str, body: bytes | None, known: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection.putrequest(step.method, path, skip_accept_encoding=True)
        for name, value in step.headers.items():
            connection.putheader(name, _filled(value, known))
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        if answer.will_close:
            connection.close()
        return answer, content


def _filled(text: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\{(g|ns|rv|uid|list|continue|token)\}", lambda found: known.get(found[1], found[0]), text)


def _learn(content: bytes, known: dict[str, str]) -> None:
    """What later steps may refer to."""
    try:
        found = json.loads(content)
        metadata = found["metadata"]
    except (ValueError, KeyError, TypeError):
        return
    if found.get("kind") == "TokenRequest":
        known["token"] = found.get("status", {}).get("token", "")
    elif "uid" in metadata:
        known["uid"] = metadata["uid"]
        known["rv"] = metadata.get("resourceVersion", "")
    elif "resourceVersion" in metadata:
        known["list"] = metadata["resourceVersion"]
        known["continue"] = metadata.get("continue", "")
