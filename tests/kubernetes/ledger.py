"""An API of which every change is accounted for, for ``extapi serve tests.kubernetes.ledger:api``."""

from __future__ import annotations

from typing import Any

from extapi import Api, Group, Kind, Version

GROUP = "ledger.example.com"
VERSION = "v1"
KIND = "Line"
PLURAL = "lines"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"step": {"type": "integer"}}}},
}

api = Api(Group(GROUP, Kind(KIND, storage=VERSION, status=False, versions={VERSION: Version(SCHEMA)})))
"""A kind without code of an author's, so that nobody but the tests writes its objects."""


def lines_path(namespace: str) -> str:
    """The collection in a namespace."""
    return f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"


def line(name: str, step: int) -> dict[str, Any]:
    """A line with the number of the change that made it."""
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "metadata": {"name": name}, "spec": {"step": step}}
