"""Looks at an object in every way that a client has, and at a whole server: what was accepted must be readable."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from tests.attack.fuzz import framing, managed
from tests.attack.fuzz.answers import Answer
from tests.attack.fuzz.api import PIZZAS, RESOURCES, Served
from tests.attack.fuzz.judge import Judge, strict_json
from tests.attack.fuzz.memory import MemoryServer
from tests.attack.fuzz.requests import PROXY, Memory, Request
from tests.attack.fuzz.spellings import APPLY, MERGE_PATCH

_ADMIN = [("X-Remote-User", "inspector"), ("X-Remote-Group", "system:masters")]
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


class Inspection:
    """Sends requests that must succeed."""

    def __init__(self, server: MemoryServer, judge: Judge) -> None:
        self._server = server
        self._judge = judge

    def make_topping(self, name: str) -> None:
        """One that pizzas may name."""
        topping = {
            "apiVersion": f"{PIZZAS}/v1alpha1",
            "kind": "Topping",
            "metadata": {"name": name},
            "spec": {"cost": "1.50"},
        }
        self._send("POST", f"/apis/{PIZZAS}/v1alpha1/toppings", body=topping)

    def _send(
        self, method: str, target: str, accept: str = "", body: Any = None, media: str = "application/json"
    ) -> Answer:
        headers = [*_ADMIN]
        if accept:
            headers.append(("Accept", accept))
        data = b""
        if body is not None:
            headers.append(("Content-Type", media))
            data = json.dumps(body).encode()
        answers, _ = self._server.send(PROXY, framing.plain(method, target, headers, data), [method])
        return answers[0] if answers else Answer(0)

    def _good(
        self, what: str, method: str, target: str, accept: str = "", body: Any = None, media: str = "application/json"
    ) -> Any:
        """The content of an answer that must be 200; None, and a finding, otherwise."""
        answer = self._send(method, target, accept, body, media)
        about = f"{what}: {method} {target} {accept}"
        if answer.status != 200:
            self._judge.add("an accepted object cannot be read", f"{answer.status} {answer.body[:300]!r} to {about}")
            return None
        return self._judge.answer(method, answer, about)

    def learn(self, request: Request, answer: Answer, memory: Memory) -> None:
        """Keep what later requests can use."""
        if (
            answer.status not in (200, 201)
            or answer.media != "application/json"
            or request.served is None
            or answer.chunked
        ):
            return
        try:
            content = strict_json(answer.body)
        except ValueError:
            return  # a finding already
        if not isinstance(content, dict) or not isinstance(content.get("metadata"), dict):
            return
        if token := content["metadata"].get("continue"):
            memory.tokens.append(token)
        if content.get("kind") == request.served.kind and request.served.stored and "dryRun" not in request.target:
            memory.keep(request.served.plural, content)

    def everywhere(self, served: Served | None, answer: Answer) -> None:
        """The object that was answered to a write: by get, list, table, watch, in each version, as YAML, and updated with itself."""
        if served is None or not served.stored or answer.media != "application/json":
            return
        content = strict_json(answer.body)
        if content.get("kind") != served.kind or not content.get("metadata", {}).get("name"):
            return
        name, namespace = content["metadata"]["name"], content["metadata"].get("namespace", "")
        if content["metadata"].get("deletionTimestamp") and not content["metadata"].get("finalizers"):
            return  # the write took off the last finalizer, and the object went with it
        for version in RESOURCES:
            if (version.group, version.plural) == (served.group, served.plural):
                self._object(version, namespace, name)

    def _object(self, served: Served, namespace: str, name: str) -> None:
        collection = f"/apis/{served.group}/{served.version}"
        collection += f"/namespaces/{namespace}/{served.plural}" if served.namespaced else f"/{served.plural}"
        path = f"{collection}/{quote(name, safe='')}"
        got = self._good("get", "GET", path)
        if got is None:
            return
        alike = [("yaml", self._good("yaml", "GET", path, "application/yaml"))]
        pinned = f"{collection}?fieldSelector=metadata.name%3D{quote(name, safe='')}"
        listed = self._good("list", "GET", pinned)
        if listed is not None:
            alike.append(("list", listed["items"][0] if listed["items"] else None))
        watched = self._good("watch", "GET", f"{pinned}&watch=1&timeoutSeconds=1&resourceVersion=0")
        if watched is not None:
            alike.append(("watch", next((event["object"] for event in watched if event["type"] == "ADDED"), None)))
        table = self._good("table", "GET", path, _TABLE + f",{_TABLE}")
        if table is not None and not _is_table(table):
            self._judge.add("an odd table", f"{json.dumps(table)[:500]}")
        self._good("table with object", "GET", f"{path}?includeObject=Object", _TABLE)
        metadata = self._good("metadata", "GET", path, _METADATA)
        if metadata is not None and metadata["metadata"] != got["metadata"]:
            self._judge.add("forms differ", f"metadata {metadata['metadata']} {got['metadata']}")
        alike.append(("update with itself", self._good("update with itself", "PUT", f"{path}?dryRun=All", body=got)))
        alike.append(
            ("an empty patch", self._good("an empty patch", "PATCH", f"{path}?dryRun=All", body={}, media=MERGE_PATCH))
        )
        self._managed(path, got)
        for what, other in alike:
            if other is not None and other != got:
                self._judge.add("forms differ", f"{what}: {json.dumps(other)[:600]} and {json.dumps(got)[:600]}")

    def _managed(self, path: str, got: Any) -> None:
        """What is there can be applied, and says in good form who manages it."""
        for entry in got["metadata"].get("managedFields", []):
            if wrong := managed.problem(entry):
                self._judge.add("odd managed fields", f"{path}: {wrong}: {json.dumps(entry)[:600]}")
        config = {**got, "metadata": {"name": got["metadata"]["name"]}}
        target = f"{path}?dryRun=All&force=true&fieldManager=inspector"
        applied = self._good("apply of itself", "PATCH", target, body=config, media=APPLY)
        if applied is not None and _without_metadata(applied) != _without_metadata(got):
            self._judge.add("forms differ", f"apply of itself: {json.dumps(applied)[:600]} and {json.dumps(got)[:600]}")

    def sweep(self) -> None:
        """Read every collection in every form; then delete everything, and see that it is gone."""
        for served in RESOURCES:
            path = f"/apis/{served.group}/{served.version}/{served.plural}"
            whole = self._good("list", "GET", path)
            self._good("table", "GET", f"{path}?includeObject=Object", _TABLE)
            self._good("wide table", "GET", path, "application/yaml;as=Table;v=v1;g=meta.k8s.io")
            in_yaml = self._good("yaml", "GET", path, "application/yaml")
            if whole is not None and in_yaml is not None and whole != in_yaml:
                self._judge.add("forms differ", f"the list {path} as YAML")
            if served.stored:
                self._watched(path, whole)
        for served in RESOURCES:
            if served.stored:
                self._emptied(served)

    def _watched(self, path: str, whole: Any) -> None:
        watched = self._good("watch", "GET", f"{path}?watch=1&timeoutSeconds=1")
        if watched is not None and whole is not None:
            initial = [event["object"] for event in watched if event["type"] == "ADDED"]
            if sorted(map(_key, initial)) != sorted(map(_key, whole["items"])):
                self._judge.add("forms differ", f"watch and list of {path}")

    def _emptied(self, served: Served) -> None:
        path = f"/apis/{served.group}/{served.version}"
        listed = self._good("list", "GET", f"{path}/{served.plural}")
        for item in (listed or {}).get("items", []):
            namespace, name = item["metadata"].get("namespace"), item["metadata"]["name"]
            one = f"{path}/namespaces/{namespace}/{served.plural}" if namespace else f"{path}/{served.plural}"
            one += "/" + quote(name, safe="")
            if item["metadata"].get("finalizers"):
                self._good(
                    "take off finalizers", "PATCH", one, body={"metadata": {"finalizers": None}}, media=MERGE_PATCH
                )
                if item["metadata"].get("deletionTimestamp"):
                    continue
            self._good("delete", "DELETE", one)
        left = self._good("list", "GET", f"{path}/{served.plural}")
        if left is not None and left["items"]:
            self._judge.add("not everything could be deleted", f"{len(left['items'])} of {served.plural}")


def _without_metadata(obj: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in obj.items() if name != "metadata"}


def _key(obj: dict[str, Any]) -> tuple[str, str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"], metadata["resourceVersion"]


def _is_table(table: dict[str, Any]) -> bool:
    columns = table["columnDefinitions"]
    return len(table["rows"]) == 1 and all(
        len(row["cells"]) == len(columns) and not any(isinstance(cell, dict | list) for cell in row["cells"])
        for row in table["rows"]
    )
