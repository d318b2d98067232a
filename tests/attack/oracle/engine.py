"""Sends narrow users' requests to a server, in memory or over TLS, and has each judged; the world is put back each time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Protocol

from extapi.api.user import User
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from tests.attack.cluster import Cluster
from tests.attack.fuzz import framing
from tests.attack.fuzz.answers import Answer, Malformed
from tests.attack.fuzz.memory import MemoryServer
from tests.attack.fuzz.wire import Wire
from tests.attack.oracle.judge import Judge, State
from tests.attack.oracle.policy import MASTERS, Identity, may, may_path
from tests.attack.oracle.requests import Plain, allowed
from tests.attack.oracle.tricks import odd
from tests.attack.oracle.world import GROUP, STORED, Place, api
from tests.attack.server import ServerProcess

_ADMIN = [("X-Remote-User", "admin"), ("X-Remote-Group", MASTERS)]
TOKENS = ("things", "others")


class Sender(Protocol):
    """Sends bytes as a peer."""

    def send(self, peer: str, data: bytes, methods: list[str], *, patient: bool = True) -> tuple[list[Answer], bool]:
        """See :meth:`tests.attack.fuzz.memory.MemoryServer.send`."""
        ...


class Policy:
    """An authorizer that asks :mod:`tests.attack.oracle.policy`, and keeps as whom it was asked."""

    def __init__(self) -> None:
        self.asked: list[Identity] = []

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """See :class:`extapi.authorization.authorizer.Authorizer`."""
        who = Identity(user.name, tuple(user.groups))
        self.asked.append(who)
        if attributes.is_resource:
            resource = attributes.resource + (f"/{attributes.subresource}" if attributes.subresource else "")
            good = may(who, attributes.verb, attributes.group, resource, attributes.namespace, attributes.name)
        else:
            good = may_path(who, attributes.verb, attributes.path)
        return Decision(Verdict.ALLOW if good else Verdict.NO_OPINION)


def reviewed(spec: dict[str, Any]) -> bool:
    """A SubjectAccessReview's answer, by the same policy."""
    who = Identity(spec.get("user", ""), tuple(spec.get("groups", ())))
    asked = spec.get("resourceAttributes")
    if asked is None:
        return may_path(who, spec["nonResourceAttributes"]["verb"], spec["nonResourceAttributes"]["path"])
    resource = asked["resource"] + (f"/{asked['subresource']}" if asked.get("subresource") else "")
    return may(who, asked["verb"], asked.get("group", ""), resource, asked.get("namespace", ""), asked.get("name", ""))


@dataclass
class Tally:
    """What came of it."""

    requests: int = 0
    served: int = 0
    marks: int = 0
    changes: int = 0
    refused: int = 0
    plain: int = 0
    findings: list[tuple[str, int, str]] = field(default_factory=list)
    """Seed, number, text."""

    def table(self) -> str:
        """For people."""
        return (
            f"{self.requests:,} requests: {self.served:,} served, {self.refused:,} refused, {self.marks:,} with marks, "
            f"{self.changes:,} changed something; {self.plain:,} plain ones that are allowed; authorized as one thing and served as "
            f"another, or allowed and not served: {len(self.findings)}"
        )


class Engine:
    """One world and its attackers."""

    def __init__(self, sender: Sender, policy: Policy | None = None) -> None:
        self._sender = sender
        self._policy = policy
        self._judge = Judge()
        self.tally = Tally()
        self._revisions: dict[tuple[str, str, str], str] = {}
        for place in STORED:
            self._admin("POST", place.collection, place.obj(), 201)
        self._home = self._state()
        self._tokens = [
            self._token(path)
            for plural in TOKENS
            for path in (
                f"/apis/{GROUP}/v1/{plural}",
                f"/apis/{GROUP}/v1/namespaces/a/{plural}",
                f"/apis/{GROUP}/v1/namespaces/b/{plural}",
            )
        ]
        self._now = self._home

    def _admin(self, method: str, path: str, body: Any = None, status: int = 200) -> Answer:
        headers = [*_ADMIN, ("Content-Type", "application/json")] if body is not None else _ADMIN
        data = b"" if body is None else json.dumps(body).encode()
        answers, _ = self._sender.send("proxy", framing.plain(method, path, headers, data), [method])
        if not answers or answers[0].status != status:
            raise RuntimeError(f"{method} {path}: {answers}")
        return answers[0]

    def _token(self, path: str) -> str:
        token: str = json.loads(self._admin("GET", f"{path}?limit=1").body)["metadata"]["continue"]
        return token

    def _state(self) -> State:
        found: dict[Place, str] = {}
        for plural in ("things", "others", "globals"):
            for item in json.loads(self._admin("GET", f"/apis/{GROUP}/v1/{plural}").body)["items"]:
                metadata = item["metadata"]
                self._revisions[metadata.get("namespace", ""), metadata["name"], plural] = metadata["resourceVersion"]
                place = Place(plural, metadata.get("namespace", ""), metadata["name"])
                for name in ("resourceVersion", "generation", "uid", "creationTimestamp", "managedFields"):
                    metadata.pop(name, None)
                found[place] = json.dumps(item, sort_keys=True)
        return found

    def _restore(self) -> None:
        """Put everything back as it was."""
        for place, text in self._now.items():
            if self._home.get(place) != text:
                self._admin("DELETE", place.path)
        for place in self._home:
            if self._now.get(place) != self._home[place]:
                self._admin("POST", place.collection, place.obj(), 201)
        self._now = self._state()
        if self._now != self._home:
            raise RuntimeError("the world could not be put back")

    def play(self, seed: str, count: int) -> Tally:
        """Send ``count`` requests that the seed decides on."""
        dice = Random(seed)  # noqa: S311 - it shall be the same each time
        for number in range(count):
            if dice.random() < 0.15:
                self._allowed(seed, number, self._current(allowed(dice)))
            else:
                self._odd(seed, number, self._current(odd(dice, self._tokens)))
        return self.tally

    def _current(self, request: Plain) -> Plain:
        """With the resourceVersion that an update needs."""
        place = request.place
        if request.verb != "update" or not isinstance(request.body, dict):
            return request
        metadata = {
            **request.body["metadata"],
            "resourceVersion": self._revisions.get((place.namespace, place.name, place.plural), ""),
        }
        return replace(request, body={**request.body, "metadata": metadata})

    def _send(self, request: Plain) -> list[Answer]:
        if self._policy is not None:
            self._policy.asked.clear()
        try:
            answers, _ = self._sender.send(request.peer, request.data, [request.method])
        except Malformed:
            answers = []
        return answers

    def _odd(self, seed: str, number: int, request: Plain) -> None:
        answers = self._send(request)
        self._judged(seed, number, request, answers)

    def _judged(self, seed: str, number: int, request: Plain, answers: list[Answer]) -> None:
        tally = self.tally
        tally.requests += 1
        asked = [who for who in self._policy.asked if who.name != "admin"] if self._policy is not None else []
        after = self._now
        if any(answer.status < 300 for answer in answers) or number % 20 == 0:
            after = self._state()
        self._judge.request(request, answers, self._now, after, asked)
        served = any(answer.status < 300 for answer in answers)
        tally.served += served
        tally.refused += not served
        tally.marks += any(b"mark" in answer.body for answer in answers)
        if after != self._now:
            tally.changes += 1
            self._now = after
            self._restore()
        found, self._judge.findings = self._judge.findings, []
        tally.findings += [(seed, number, text) for text in found]

    def _allowed(self, seed: str, number: int, request: Plain) -> None:
        """What a user may do is done, too."""
        self.tally.plain += 1
        answers = self._send(request)
        self._judged(seed, number, request, answers)
        codes = [answer.status for answer in answers]
        # Somebody who was refused very often has to wait before authorization is asked about them again.
        taken = (request.verb == "create" and codes == [409]) or codes == [429]
        if not taken and not any(answer.status < 300 for answer in answers):
            self.tally.findings.append(
                (
                    seed,
                    number,
                    f"allowed and not served: {[(a.status, a.body[:300]) for a in answers]}: {request.short()}",
                )
            )


def in_memory(use: Callable[[Engine], None]) -> None:
    """Have an engine on a server in memory used."""
    policy = Policy()
    server = MemoryServer(api, [policy], {"good": User("token-user")})
    server.start()
    try:
        use(Engine(server, policy))
    finally:
        server.stop()


def over_tls(directory: Path, use: Callable[[Engine], None]) -> None:
    """Have an engine on a real process used, whose reviews are answered by the same policy."""
    cluster = Cluster(("a", "b", "c"))
    cluster.tokens["good"] = {"username": "token-user"}
    cluster.allows = reviewed
    try:
        process = ServerProcess(directory, "tests.attack.oracle.world:api", cluster)
        wire = Wire(process)
        try:
            use(Engine(wire))
        finally:
            wire.close()
            process.stop()
    finally:
        cluster.stop()
