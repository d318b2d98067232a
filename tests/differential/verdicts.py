"""What kube-apiserver and this project say of the same objects of the same definitions; nothing of it is stored by the former.

A verdict is the code, and the object as it was made of the request, or the error with its message and causes; and the warnings.
"""

from __future__ import annotations

import copy
import http.client
import json
import re
import ssl
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

from extapi.api.definition import Api, Group, Kind
from extapi.crd.defaults import set_defaults
from extapi.crd.definition import Definition as ReadDefinition
from extapi.crd.kinds import kind_of
from extapi.testing.memory import InMemoryServer
from tests.differential.definitions.ours import created
from tests.differential.neutral import Neutral
from tests.kubernetes.calling import authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, running

Definition = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DRY = "dryRun=All"
_LARGE = 2**63
_LIST_FOR_TEXT = re.compile(r'in body must be of type string: "array"$')
_WARNINGS = re.compile(r', (?=299 - ")')


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    body: Any
    query: str = DRY


@dataclass(frozen=True, slots=True)
class Difference:
    """A request that was not answered alike."""

    of: str
    asked: Asked
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        pairs = [(name, self.theirs.get(name), self.ours.get(name)) for name in (*self.theirs, *self.ours)]
        shown = "".join(
            f"\n    {name}: theirs {theirs!r:.1500}\n    {name}:   ours {ours!r:.1500}"
            for name, theirs, ours in dict.fromkeys(map(_hashable, pairs))
            if theirs != ours
        )
        sent = json.dumps(self.asked.body)
        return f"{self.of}: {self.asked.method} {self.asked.path}?{self.asked.query}\n    {sent:.1500}{shown}"


def _hashable(pair: tuple[str, Any, Any]) -> tuple[str, str, str]:
    name, theirs, ours = pair
    return name, json.dumps(theirs), json.dumps(ours)


@dataclass
class Tally:
    """What was compared."""

    same: dict[str, int] = field(default_factory=dict)
    """How often, by what it was."""
    differences: list[Difference] = field(default_factory=list)

    def compare(self, of: str, asked: Asked, theirs: Kube, ours: Ours) -> bool:
        """Ask both; whether they say the same."""
        found = _alike(asked, theirs.verdict(asked), ours.verdict(asked))
        # Go walks through maps in any order: some errors are not the same twice.
        tries = 0
        while found[0] != found[1] and tries < 3:
            found = _alike(asked, theirs.verdict(asked), found[1])
            tries += 1
        if found[0] != found[1]:
            self.differences.append(Difference(of, asked, *found))
            return False
        if found[0] is None:
            return True
        what = f"{asked.method} {found[0]['code']}"
        self.same[what] = self.same.get(what, 0) + 1
        return True

    def compare_change(self, of: str, stored: Asked, change: Asked, theirs: Kube, ours: Ours) -> bool:
        """Let both store an object, then ask both for the change of it; whether they say the same."""
        both = theirs.ask(stored), ours.ask(stored)
        if both[0][0] != both[1][0]:
            self.differences.append(Difference(of, stored, *(of_answer(*each) for each in both)))
        if both[0][0] != 201 or both[1][0] != 201:
            return both[0][0] == both[1][0]
        revisions = [json.loads(body)["metadata"]["resourceVersion"] for _, _, body in both]
        return self.compare(of, change, theirs.at(revisions[0]), ours.at(revisions[1]))

    @property
    def total(self) -> int:
        """How many requests were compared."""
        return sum(self.same.values()) + len(self.differences)

    def __str__(self) -> str:
        shown = ", ".join(f"{count} {what}" for what, count in sorted(self.same.items()))
        return f"{self.total} compared, {len(self.differences)} different; the same: {shown}"


def _alike(asked: Asked, theirs: Any, ours: Any) -> tuple[Any, Any]:
    """Both without what differs on purpose.

    Who manages what is forgotten by kube-apiserver if an object, or what was stored before, does not fit its schema, as a
    malformed status, which is dropped, does not; and objects whose embedded metadata are malformed cannot be changed at all
    once they are stored in a version without that schema.
    """
    metadata = [
        each["content"].get("metadata", {}) if isinstance(each["content"], dict) else {} for each in (theirs, ours)
    ]
    misfit = asked.method == "PUT" or "status" in asked.body
    if misfit and "managedFields" in metadata[1] and "managedFields" not in metadata[0]:
        del metadata[1]["managedFields"]
    lists = [each for each in _causes(ours) if _LIST_FOR_TEXT.search(each["message"]) and each not in _causes(theirs)]
    if lists:  # a list is no text; kube-apiserver lets lists pass where the text has a format
        return None, None
    if theirs["code"] == 500:
        return None, None
    return theirs, ours


def _causes(verdict: Any) -> list[dict[str, Any]]:
    content = verdict["content"]
    found: list[dict[str, Any]] = content.get("details", {}).get("causes", []) if isinstance(content, dict) else []
    return found


def without_fractions(value: Any) -> Any:
    """The value with 2 in place of 2.0, which it is here once it is read: our errors call it an integer, theirs a number."""
    if isinstance(value, dict):
        return {key: without_fractions(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_fractions(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGE else value


def of_answer(code: int, warnings: Iterable[str], body: bytes) -> dict[str, Any]:
    """What is compared of an answer."""
    headers = Message()
    headers["Content-Type"] = "application/json"
    for text in warnings:
        headers["Warning"] = text
    shown = Neutral("\0" * 14, "\0").answer(code, headers, body)
    return {name: shown[name] for name in ("code", "warnings", "content")}


def api(definitions: Iterable[Definition]) -> Api:
    """The kinds of definitions, as we serve them."""
    groups: dict[str, list[Kind]] = {}
    for each in definitions:
        obj = copy.deepcopy(each)
        set_defaults(obj)
        read = ReadDefinition(obj)
        groups.setdefault(read.group, []).append(kind_of(read))
    return Api(*(Group(name, *kinds) for name, kinds in groups.items()))


def refusals(definition: Definition, kube: Kube) -> tuple[Any, Any]:
    """The errors for which a definition is refused, by both: kube-apiserver's, in whose maps there is no order, and ours."""
    code, _, body = kube.ask(Asked("POST", DEFINITIONS, definition, DRY))
    return None if code == 201 else causes(json.loads(body)), causes(created(definition))


def causes(status: Any) -> Any:
    """The causes of a Status, in one order; None if there is no Status."""
    if status is None:
        return None
    found = [
        (each["reason"], re.sub(r"selfType\d+", "selfType", each["message"]), each.get("field", ""))
        for each in status["details"].get("causes", ())
    ]
    return sorted(found) or status["message"]


@contextmanager
def asking(control_plane: ControlPlane, directory: Path) -> Iterator[Kube]:
    """A connection to a control plane, as its administrator."""
    keys = control_plane.certificates
    signed = user_certificate(authority(keys, "cluster-ca"), "e2e-admin", "system:masters")
    kube = Kube(control_plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, directory))
    try:
        yield kube
    finally:
        kube.close()


@contextmanager
def alone() -> Iterator[Kube]:
    """A kube-apiserver for one command."""
    with (
        tempfile.TemporaryDirectory() as name,
        running(Path(name) / "plane", "kube") as plane,
        asking(plane, Path(name)) as kube,
    ):
        yield kube


class Kube:
    """The real one."""

    def __init__(self, port: int, tls: ssl.SSLContext) -> None:
        self._connection = http.client.HTTPSConnection("localhost", port, timeout=60, context=tls)
        self._revision = ""

    def at(self, revision: str) -> Kube:
        """The same; what it is asked names this revision of its object."""
        found = copy.copy(self)
        found._revision = revision
        return found

    def close(self) -> None:
        """No more requests."""
        self._connection.close()

    def ask(self, asked: Asked, content_type: str = "application/json") -> tuple[int, list[str], bytes]:
        """Code, warnings, body."""
        content = None if asked.body is None else json.dumps(_at(asked.body, self._revision)).encode()
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        target = f"{asked.path}?{asked.query}" if asked.query else asked.path
        self._connection.request(asked.method, target, content, headers)
        answer = self._connection.getresponse()
        # http.client reads headers as Latin-1; the texts are UTF-8.
        warnings = [each.encode("latin-1").decode() for each in answer.headers.get_all("Warning", ())]
        return answer.status, warnings, answer.read()

    def verdict(self, asked: Asked) -> dict[str, Any]:
        """Its verdict."""
        return of_answer(*self.ask(asked))

    def install(self, definitions: Iterable[Definition]) -> dict[str, dict[str, Any]]:
        """Make kinds, and wait until they are served.

        Returns:
            The errors of those that are refused, by name.
        """
        refused: dict[str, dict[str, Any]] = {}
        made: list[Definition] = []
        for definition in definitions:
            code, _, body = self.ask(Asked("POST", DEFINITIONS, definition, ""))
            if code == 201:
                made.append(definition)
            else:
                refused[definition["metadata"]["name"]] = json.loads(body)
        end = time.monotonic() + 300
        for definition in made:
            for version in definition["spec"]["versions"]:
                while (
                    version["served"]
                    and self.ask(Asked("GET", f"{path_of(definition, version['name'])}", None, "limit=1"))[0] == 404
                ):
                    if time.monotonic() > end:
                        raise AssertionError(f"{definition['metadata']['name']} is not served")
        return refused

    def remove(self, names: Iterable[str]) -> None:
        """Remove kinds; their removal is not waited for."""
        for name in names:
            self.ask(Asked("DELETE", f"{DEFINITIONS}/{name}", None, ""))


class Ours:
    """This project's server, in memory."""

    def __init__(self, server: InMemoryServer) -> None:
        self._server = server
        self._revision = ""

    def at(self, revision: str) -> Ours:
        """The same; what it is asked names this revision of its object."""
        found = copy.copy(self)
        found._revision = revision
        return found

    def ask(self, asked: Asked) -> tuple[int, list[str], bytes]:
        """Code, warnings, body."""
        query = dict(pair.split("=", 1) for pair in asked.query.split("&") if pair)
        body = _at(asked.body, self._revision)
        answer = self._server.request(asked.method, asked.path, query, {"Content-Type": "application/json"}, body)
        warnings = answer.headers.get("warning", "")
        return answer.status, _WARNINGS.split(warnings) if warnings else [], answer.body

    def verdict(self, asked: Asked) -> dict[str, Any]:
        """Its verdict."""
        return of_answer(*self.ask(asked))


def _at(body: Any, revision: str) -> Any:
    return {**body, "metadata": {**body["metadata"], "resourceVersion": revision}} if revision else body


def path_of(definition: Definition, version: str) -> str:
    """The path of the objects of a version, in the namespace default if they have one."""
    spec = definition["spec"]
    namespace = "namespaces/default/" if spec["scope"] == "Namespaced" else ""
    return f"/apis/{spec['group']}/{version}/{namespace}{spec['names']['plural']}"


def schema_of(definition: Definition, version: str) -> Mapping[str, Any]:
    """The schema of a version."""
    found = next(each for each in definition["spec"]["versions"] if each["name"] == version)
    schema: Mapping[str, Any] = found["schema"]["openAPIV3Schema"]
    return schema
