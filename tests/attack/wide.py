"""Objects with very many owned fields: how long each kind of write takes.

``python -m tests.attack.wide --fields 50000``: bodies of up to 3 MiB, of several shapes, to a server in memory. Prints the
seconds of CPU of each write, the best of ``--rounds``; exit status 1: one took longer than ``--most``.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

from extapi import Api, Group, Kind, Version
from extapi.testing import InMemoryServer, serve
from tests.attack.table import exit_status, say

_STRING = {"type": "string"}
_STRINGS = {"type": "object", "additionalProperties": _STRING}
_ITEM = {"type": "object", "required": ["name"], "properties": {"name": _STRING, "a": _STRING, "b": _STRING}}
_HOLDER = {"type": "object", "required": ["name"], "properties": {"name": _STRING, "map": _STRINGS}}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "map": _STRINGS,
                "set": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
                "list": _list(_ITEM),
                "nested": _list(_HOLDER),
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "deep": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}
GROUP = "wide.example.com"
PATH = f"/apis/{GROUP}/v1/namespaces/a/wides/w"
APPLY, JSON, MERGE = "application/apply-patch+yaml", "application/json", "application/merge-patch+json"
LARGEST = 3 << 20
"""Bytes of a body. An object in the store has at most twice as many."""
_SET = 3 << 18
"""Bytes of a body that is one set: the items are in the managed fields once more, for each manager."""
_LEVELS = 180

Shape = Callable[[int, str], Any]


def _deep(size: int, value: str) -> Any:
    """Chains of maps, each with a field at every level."""
    found: dict[str, Any] = {}
    for number in range(size // _LEVELS):
        inner: Any = value
        for _ in range(_LEVELS - 1):
            inner = {"a": inner}
        found[f"k{number}"] = inner
    return found


SHAPES: dict[str, Shape] = {
    "map": lambda size, value: {f"k{number}": value for number in range(size)},
    "set": lambda size, value: [f"{value}{number}" for number in range(size)],
    "list": lambda size, value: [{"name": f"n{number}", "a": value, "b": value} for number in range(size // 4)],
    "nested": lambda size, value: [
        {"name": f"n{number}", "map": {f"k{each}": value for each in range(8)}} for number in range(size // 10)
    ],
    "open": lambda size, value: {f"k{number}": {"a": value} for number in range(size // 2)},
    "deep": _deep,
}
"""About so many owned fields with a value; a set's items are its values."""


class _RefusedError(Exception):
    """A bound was met."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


def server() -> Any:
    """A server of the kind, as a context manager."""
    return serve(Api(Group(GROUP, Kind("Wide", storage="v1", versions={"v1": Version(SCHEMA)}))))


def obj(name: str, value: Any, **metadata: Any) -> dict[str, Any]:
    """An object, or a configuration, with a value in ``spec``."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Wide",
        "metadata": {"name": "w", **metadata},
        "spec": {name: value},
    }


def _filled(name: str, size: int, letter: str) -> dict[str, Any]:
    """An object with values as long as a body can have."""
    bare = len(json.dumps(obj(name, SHAPES[name](size, letter)), separators=(",", ":")))
    values = json.dumps(SHAPES[name](size, "#"), separators=(",", ":")).count("#")
    largest = _SET if name == "set" else LARGEST
    return obj(name, SHAPES[name](size, letter * (1 + (largest - bare) // values)))


def _writes(server: InMemoryServer, name: str, size: int) -> Iterator[tuple[str, float]]:
    """Writes one after the other, each with its seconds."""
    first, second, third, fourth = (_filled(name, size, letter) for letter in "abcd")

    revision = ""

    def write(media: str, body: Any, manager: str, status: int, *, force: bool = False, method: str = "PATCH") -> float:
        nonlocal revision
        if method == "PUT":
            body["metadata"]["resourceVersion"] = revision
        data = json.dumps(body, separators=(",", ":")).encode()
        query = {"fieldManager": manager} | ({"force": "true"} if force else {})
        gc.collect()
        begun = time.process_time()
        answer = server.request(method, PATH, query, {"Content-Type": media}, data)
        spent = time.process_time() - begun
        if answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise _RefusedError(spent)
        assert answer.status == status, answer.body[:500]
        if status != HTTPStatus.CONFLICT:
            revision = json.loads(answer.body)["metadata"]["resourceVersion"]
        return spent

    yield "create by apply", write(APPLY, first, "one", 201)
    yield "apply the same again", write(APPLY, first, "one", 200)
    yield "apply by its manager, all changed", write(APPLY, second, "one", 200)
    if name != "set":  # its items are its fields: others are no conflict
        yield "apply by another, all in conflict", write(APPLY, third, "two", 409)
    yield "apply by another, the same values", write(APPLY, second, "three", 200)
    yield "apply by another, all taken over", write(APPLY, third, "two", 200, force=True)
    yield "update by another, all changed", write(JSON, fourth, "four", 200, method="PUT")
    yield "merge patch by another, all changed", write(MERGE, {"spec": first["spec"]}, "five", 200)
    yield "apply by another, all taken over again", write(APPLY, second, "six", 200, force=True)
    yield "apply of a few, the others given up", write(APPLY, obj(name, SHAPES[name](4 * _LEVELS, "e")), "six", 200)


def measured(name: str, size: int) -> dict[str, float]:
    """Seconds of CPU of each write."""
    found: dict[str, float] = {}
    with server() as serving:
        try:
            found.update(_writes(serving, name, size))
        except _RefusedError as refused:
            found["refused with 413"] = refused.seconds
    return found


def main(arguments: list[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.wide", description=__doc__)
    parser.add_argument("--fields", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=float, default=1.0, help="seconds of CPU")
    parser.add_argument("shapes", nargs="*", default=list(SHAPES), help=f"of {', '.join(SHAPES)}")
    options = parser.parse_args(arguments)
    best: dict[str, dict[str, float]] = {}
    for shape in options.shapes:
        rounds = [measured(shape, options.fields) for _ in range(options.rounds)]
        best[shape] = {write: min(each[write] for each in rounds) for write in rounds[0]}
    writes = dict.fromkeys(write for found in best.values() for write in found)
    say(f"| {options.fields:,} fields, CPU s | {' | '.join(best)} |")
    say("|---" * (1 + len(best)) + "|")
    for write in writes:
        figures = (f"{found[write]:.2f}" if write in found else "" for found in best.values())
        say(f"| {write} | {' | '.join(figures)} |")
    return exit_status(
        [
            f"{shape}, {write}: {seconds:.2f} s"
            for shape, found in best.items()
            for write, seconds in found.items()
            if seconds > options.most
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
