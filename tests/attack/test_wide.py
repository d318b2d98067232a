"""Objects with very many owned fields: what an apply does grows with their number, and no faster.

Counts calls of Python functions, which are the same on every machine; ``docs/reference/performance.md`` has the seconds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from extapi import Api, Group, Kind, Version
from extapi.testing import InMemoryServer, serve

_STRING = {"type": "string"}
_ITEM = {"type": "object", "required": ["name"], "properties": {"name": _STRING, "a": _STRING, "b": _STRING}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "map": {"type": "object", "additionalProperties": _STRING},
                "set": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
                "list": {
                    "type": "array",
                    "items": _ITEM,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}
GROUP = "wide.example.com"
PATH = f"/apis/{GROUP}/v1/namespaces/a/wides/w"
FEW, MANY = 1_000, 4_000
"""Both too many for the sets that are kept in memory after they were read."""

Shape = Callable[[int, str], Any]
SHAPES: dict[str, Shape] = {
    "map": lambda size, value: {f"k{number}": value for number in range(size)},
    "set": lambda size, value: [f"{value}{number}" for number in range(size)],
    "list": lambda size, value: [{"name": f"n{number}", "a": value, "b": value} for number in range(size // 4)],
    "open": lambda size, value: {f"k{number}": {"a": value} for number in range(size // 2)},
}


def _apply(server: InMemoryServer, name: str, value: Any, manager: str) -> int:
    """Apply it; how many calls that took."""
    config = {"apiVersion": f"{GROUP}/v1", "kind": "Wide", "metadata": {"name": "w"}, "spec": {name: value}}
    headers = {"Content-Type": "application/apply-patch+yaml"}
    query = {"fieldManager": manager, "force": "true"}
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        answer = server.request("PATCH", PATH, query, headers, json.dumps(config).encode())
    finally:
        sys.setprofile(before)
    assert answer.status in {200, 201}, answer.body[:500]
    return calls


def _story(name: str, size: int) -> list[int]:
    """Calls of an apply, of the same again, of another manager that takes all over, and of the first again."""
    api = Api(Group(GROUP, Kind("Wide", storage="v1", versions={"v1": Version(SCHEMA)})))
    make = SHAPES[name]
    with serve(api) as server:
        return [
            _apply(server, name, make(size, value), manager)
            for value, manager in (("1", "one"), ("1", "one"), ("2", "two"), ("3", "one"))
        ]


@pytest.mark.parametrize("name", SHAPES)
def test_the_work_grows_with_the_number_of_fields(name: str) -> None:
    few, many = _story(name, FEW), _story(name, MANY)
    for less, more in zip(few, many, strict=True):
        assert more < less * MANY / FEW * 1.1, (few, many)
        assert more < MANY * 400, many
