"""Whether an answer, and what became of the store, is covered by the rights of who asked.

Goes backwards: from the marks that were shown and the objects that changed to the right that this needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.attack.fuzz.answers import Answer
from tests.attack.oracle.policy import Identity, acting, identify, may, may_path
from tests.attack.oracle.requests import Plain
from tests.attack.oracle.world import GROUP, MARKS, Place

State = Mapping[Place, str]
"""Each object as JSON without its resourceVersion, generation and managers: whoever writes a part is noted as one."""

_MARK = re.compile(rb"mark[0-9a-f]{12}")
_SUBRESOURCES = {"things": ("status", "notes", "act")}
_DOCUMENTS = (
    (b'"gitVersion"', ("/version", "/version/")),
    (b'"swagger"', ("/openapi/v2", "/openapi/v2/")),
    (b'"openapi"', (f"/openapi/v3/apis/{GROUP}/v1", f"/openapi/v3/apis/{GROUP}/v1/")),
    (b'"APIGroupList"', ("/apis", "/apis/")),
    (b'"APIResourceList"', (f"/apis/{GROUP}/v1", f"/apis/{GROUP}/v1/")),
)


@dataclass(frozen=True)
class Shown:
    """What kind of answer it is, told from its body alone."""

    verb: str
    """get, list or watch."""
    marks: frozenset[Place]


def shown(answer: Answer) -> Shown:
    """The objects whose marks are in the answer."""
    marks = frozenset(MARKS[found.decode()] for found in _MARK.findall(answer.body) if found.decode() in MARKS)
    if answer.body.startswith(b'{"type":"'):
        return Shown("watch", marks)
    verb = "get"
    if answer.media == "application/json" and marks:
        content = json.loads(answer.body)
        kind = str(content.get("kind", ""))
        rows = content.get("rows", [])
        # The Table of one object has its resourceVersion; that of a list the list's.
        one = kind == "Table" and len(rows) == 1
        verb = "list" if kind.endswith("List") or (kind == "Table" and not one) else "either" if one else "get"
    elif b"kind: Table\n" in answer.body:
        verb = "either" if len(marks) == 1 else "list"
    elif b"List\n" in answer.body or b"items:" in answer.body:
        verb = "list"
    return Shown(verb, marks)


class Judge:
    """Judges one answer after the other."""

    def __init__(self) -> None:
        self.findings: list[str] = []

    def request(
        self, request: Plain, answers: Iterable[Answer], before: State, after: State, asked: Iterable[Identity] = ()
    ) -> None:
        """``asked``: as whom authorization was asked, in order, where that is known."""
        sender = identify(request.peer, request.headers)
        who = acting(sender, request.headers)
        for answer in answers:
            self._answer(request, answer, who)
        self._changes(request, who, before, after)
        for identity in asked:
            if sender is None or identity.name not in (sender.name, who.name if who else sender.name):
                self._add("authorized as somebody else", request, f"{identity} instead of {sender}, as {who}")

    def _add(self, what: str, request: Plain, detail: str) -> None:
        self.findings.append(f"{what}: {detail}: {request.short()}")

    def _answer(self, request: Plain, answer: Answer, who: Identity | None) -> None:
        found = shown(answer)
        if who is None:
            if found.marks or (answer.status < 300 and answer.status != 101):
                self._add("served nobody", request, f"{answer.status} {answer.body[:200]!r}")
            return
        for place in found.marks:
            if answer.status >= 400 and place.mark.encode() in request.data:
                continue  # a refusal says what the request said
            if not any(self._right(who, verb, place) for verb in self._verbs(request, found)):
                self._add("shown without a right", request, f"{place} to {who} in {answer.status}")
        if answer.status == 200 and not found.marks:
            for sign, paths in _DOCUMENTS:
                if sign in answer.body[:3000] and not any(
                    may_path(who, "get", path) or may_path(who, request.method.lower(), path) for path in paths
                ):
                    self._add("a document without a right", request, f"{sign!r} to {who}")

    @staticmethod
    def _verbs(request: Plain, found: Shown) -> tuple[str, ...]:
        """The verbs any of which would make the answer right."""
        if request.method in ("POST", "PUT", "PATCH", "DELETE") and found.verb != "watch":
            if request.method == "DELETE":
                return ("delete", "deletecollection")
            return ({"POST": "create", "PUT": "update", "PATCH": "patch"}[request.method],)
        return ("get", "list") if found.verb == "either" else (found.verb,)

    @staticmethod
    def _right(who: Identity, verb: str, place: Place, subresources: Iterable[str] | None = None) -> bool:
        below = _SUBRESOURCES.get(place.plural, ()) if subresources is None else subresources
        resources = [place.plural, *(f"{place.plural}/{sub}" for sub in below)]
        return any(may(who, verb, GROUP, resource, place.namespace, place.name) for resource in resources)

    def _changes(self, request: Plain, who: Identity | None, before: State, after: State) -> None:
        if before == after:
            return
        for place in {*before, *after}:
            old, new = before.get(place), after.get(place)
            if old == new:
                continue
            if who is None:
                self._add("changed by nobody", request, f"{place}")
            elif old is None:
                if not may(who, "create", GROUP, place.plural, place.namespace, ""):
                    self._add("created without a right", request, f"{place} by {who}")
            elif new is None:
                one = may(who, "delete", GROUP, place.plural, place.namespace, place.name)
                if not one and not may(who, "deletecollection", GROUP, place.plural, place.namespace, ""):
                    self._add("deleted without a right", request, f"{place} by {who}")
            else:
                self._updated(request, who, place, json.loads(old), json.loads(new))

    def _updated(self, request: Plain, who: Identity, place: Place, old: dict[str, Any], new: dict[str, Any]) -> None:
        changed = {part for part in {*old, *new} if old.get(part) != new.get(part)}
        verb = {"PUT": "update", "PATCH": "patch"}.get(request.method, "none")
        for part in changed:
            # A subresource is the right to one part; the main resource that to all but status.
            ways = [place.plural] if part != "status" else []
            if part in ("status", "notes") and place.plural == "things":
                ways.append(f"things/{part}")
            if part == "status" and place.plural != "things":
                ways.append(f"{place.plural}/status")
            if not any(may(who, verb, GROUP, way, place.namespace, place.name) for way in ways):
                self._add("changed without a right", request, f"{part} of {place} by {who}")
