"""Definitions of custom resources: ``scripts/bench --crd``. CPU time where nothing is waited for, otherwise seconds of the clock."""

from __future__ import annotations

import gc
import json
import time
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from extapi.dev.kube import KubeClient
from extapi.schema.schema import Schema
from extapi.schema.structural import from_openapi
from tests.bench.server import Server
from tests.differential import structuralschemas
from tests.kubernetes.control_plane import running

_ROUNDS: Final = 5
_FOLDER: Final = 300
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True, slots=True)
class Row:
    """A figure and what it may be."""

    name: str
    value: float
    bar: float
    unit: str

    def line(self) -> str:
        """A line of the table."""
        return f"| {self.name} | {self.value:,.2f} {self.unit} | {self.bar:,.0f} | {self.value / self.bar:.2f} |"


def main(say: Callable[[str], None], directory: Path, *, quick: bool) -> None:
    """Measure everything, and print the table."""
    say("| definitions | | bar | of the bar |")
    say("|---|---|---|---|")
    for row in rows(directory, quick=quick):
        say(row.line())


def rows(directory: Path, *, quick: bool = False) -> Iterator[Row]:
    """All figures."""
    yield wide_object(50 if quick else 1000)
    yield from folder(directory, 30 if quick else _FOLDER)
    yield applied(directory, 3 if quick else 10)


def wide_schema(properties: int = 300, rules: int = 10) -> dict[str, Any]:
    """A schema of so many properties of all types, some with defaults, with so many rules."""
    made: dict[str, Any] = {}
    for number in range(properties // 6):
        made |= {
            f"text{number}": {"type": "string", "maxLength": 64, "pattern": "^[a-z0-9-]*$"},
            f"size{number}": {"type": "integer", "minimum": 0, "maximum": 65535, "default": number},
            f"mode{number}": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
            f"part{number}": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 32}, "on": {"type": "boolean", "default": True}},
            },
        }
    rule = "!has(self.text{0}) || self.size{0} >= 0 && self.text{0}.size() <= 64"
    written = [{"rule": rule.format(number), "message": "wrong"} for number in range(rules)]
    spec = {"type": "object", "properties": made, "x-kubernetes-validations": written}
    return {"type": "object", "properties": {"spec": spec}}


def wide_object(count: int) -> Row:
    """Pruning, defaulting, validation and rules of an object of 5 KB."""
    schema = Schema(from_openapi(wide_schema()))
    spec: dict[str, Any] = {}
    for number in range(50):
        spec |= {
            f"text{number}": "abcdefgh-12345678-abcdefgh-12345678",
            f"size{number}": number,
            f"part{number}": {"name": "a-name"},
        }
    text = json.dumps({"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}, "spec": spec})
    objects = [json.loads(text) for _ in range(count * (_ROUNDS + 1))]

    def work() -> None:
        obj = objects.pop()
        unknown = schema.prune_and_default(obj)
        assert not unknown
        assert schema.rules is not None
        assert not schema.validate(obj)
        assert not schema.rules.validate(obj).errors

    work()
    gc.collect()
    taken = min(timeit.repeat(work, timer=time.process_time, repeat=_ROUNDS, number=count)) / count * 1e6
    return Row(f"validation of {len(text):,} bytes, 300 properties, 10 rules", taken, 300, "us")


def folder(directory: Path, count: int) -> Iterator[Row]:
    """A folder of manifests, until a server with them is ready, and what it needs."""
    path = directory / "manifests"
    path.mkdir()
    random = Random(1)  # noqa: S311 - the same each time
    for number in range(count):
        made = structuralschemas.definition(number, random)
        for field in structuralschemas.fields_of(made).values():
            _without_defaults(field)  # some break their schema
        (path / f"{number}.json").write_text(json.dumps(made))
    server = Server(directory, kinds=f"--crd={path}")
    try:
        yield Row(f"{count} definitions, until the server is ready: CPU", server.cpu() / 1e6, 5, "s")
        yield Row(f"{count} definitions, until the server is ready: clock", server.started, 5, "s")
        yield Row(f"{count} definitions served: RSS", server.rss(), 250, "MB")
    finally:
        server.stop()


def _without_defaults(value: Any) -> None:
    if isinstance(value, dict):
        value.pop("default", None)
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _without_defaults(each)


def applied(directory: Path, count: int) -> Row:
    """A definition that is created in the built-in control plane, until its kind answers; the average."""
    random = Random(2)  # noqa: S311 - the same each time
    taken = []
    with running(directory / "plane", "builtin") as plane:
        for number in range(count):
            made = structuralschemas.definition(number, random, fields=4)
            for field in structuralschemas.fields_of(made).values():
                _without_defaults(field)
            spec = made["spec"]
            path = f"/apis/{spec['group']}/v1/namespaces/default/{spec['names']['plural']}"
            started = time.perf_counter()
            plane.client.request("POST", _DEFINITIONS, made)
            _until_served(plane.client, path)
            taken.append(time.perf_counter() - started)
    return Row("a definition applied until its kind answers", sum(taken) / len(taken) * 1000, 100, "ms")


def _until_served(client: KubeClient, path: str) -> None:
    end = time.monotonic() + 30
    while why := client.problem(path):
        if time.monotonic() > end:
            raise RuntimeError(why)
