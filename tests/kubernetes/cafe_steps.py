"""Requests about cafes that are sent to both servers, and what came of them without what differs from one to another."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.kubernetes.cafe import PLURAL

Obj = dict[str, Any]

UID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
PORT = re.compile(r"127\.0\.0\.1:\d+->127\.0\.0\.1:\d+")


@dataclass(frozen=True)
class Step:
    """One request; ``{group}`` and ``{name}`` in it are those of the side."""

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"


def cafe(version: str = "v1", *, labels: Any = None, **spec: Any) -> Obj:
    metadata: Obj = {"name": "{name}"}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": f"{{group}}/{version}", "kind": "Cafe", "metadata": metadata, "spec": spec}


def path(version: str = "v1", rest: str = "", namespace: str = "default") -> str:
    return f"/apis/{{group}}/{version}/namespaces/{namespace}/{PLURAL}{rest}"


def posted(version: str = "v1", query: str = "", **members: Any) -> Step:
    return Step("POST", path(version, query), cafe(version, **members))


MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def filled(text: str, *, group: str, name: str) -> str:
    return text.replace("{group}", group).replace("{name}", name)


def neutral(value: Any, group: str, name: str) -> Any:
    """What was said, without what differs from one server to another."""
    text = json.dumps(value).replace(group, "GROUP").replace(name, "NAME")
    text = PORT.sub("PORTS", UID.sub("UID", TIME.sub("TIME", text)))
    return _plain(json.loads(text))


def last_try(calls: Sequence[Any]) -> list[Any]:
    """Reviews without those of an update that kube-apiserver began with an object of its cache that was old, and began anew.

    Source: ``apiserver/pkg/storage/etcd3`` GuaranteedUpdate, ``origStateIsCurrent``.
    """

    def of(call: Any) -> tuple[Any, ...]:
        request = call[1]["request"]
        kind = request["kind"]  # each version shows the object in its own way
        return request["operation"], kind["kind"], kind["version"], request.get("namespace"), request.get("name")

    last = {of(call): call[1]["request"].get("oldObject") for call in calls}
    return [call for call in calls if of(call)[0] != "UPDATE" or call[1]["request"].get("oldObject") == last[of(call)]]


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {key: _plain(each) for key, each in value.items()}
    made.pop("managedFields", None)  # the names of their managers and the times of their versions differ
    if "generateName" in made:
        made.pop("name", None)
    if made.get("operation") == "UPDATE" and made.get("object"):
        # An object that is replaced is shown with the metadata that stays: unsupported.md lists it.
        kept = {"creationTimestamp", "generation", "uid"}
        metadata = {key: each for key, each in made["object"]["metadata"].items() if key not in kept}
        made["object"] = {**made["object"], "metadata": metadata}
    if "resourceVersion" in made:
        made["resourceVersion"] = "RV"
    return made
