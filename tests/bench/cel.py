"""CEL beside the Go original, in the same run: ``scripts/bench --cel``. CPU time, the best of some rounds."""

from __future__ import annotations

import gc
import time
import timeit
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, Final

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.declared import declare
from extapi.schema.cel.environment import rule_environment
from extapi.schema.cel.validator import rule_validator
from extapi.schema.structural import MISSING, from_openapi
from tests.differential.cel import objects
from tests.differential.cel.judge import Judge, judge
from tests.differential.cel.malformed import nodes
from tests.differential.cel.manifests import real_schemas

_STRING: Final = {"type": "string"}
_SPEC: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "name": _STRING,
        "replicas": {"type": "integer"},
        "hostnames": {"type": "array", "maxItems": 16, "items": {**_STRING, "maxLength": 253}},
        "start": {"type": "string", "format": "date-time"},
        "end": {"type": "string", "format": "date-time"},
        "timeout": {"type": "string", "format": "duration"},
        "listeners": {
            "type": "array",
            "maxItems": 64,
            "items": {
                "type": "object",
                "required": ["name", "port", "protocol"],
                "properties": {
                    "name": _STRING,
                    "port": {"type": "integer"},
                    "protocol": _STRING,
                    "hostname": _STRING,
                },
            },
        },
    },
}
_OBJECT: Final = {
    "name": "a",
    "replicas": 3,
    "hostnames": ["foo.example.com", "bar.example.com", "a.b.c.example.com"],
    "start": "2024-01-01T00:00:00Z",
    "end": "2024-01-02T12:00:00Z",
    "timeout": "24h",
    "listeners": [
        {"name": f"listener-{number}", "port": 8000 + number, "protocol": "HTTPS", "hostname": f"{number}.example.com"}
        for number in range(8)
    ],
}
_UNIQUE: Final = (
    "self.listeners.all(l1, self.listeners.exists_one(l2, l1.port == l2.port && l1.protocol == l2.protocol && "
    "(has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : !has(l1.hostname) && !has(l2.hostname))))"
)
RULES: Final = {
    "simple rule": ("self.replicas <= 10", 1.0),
    "Gateway uniqueness, 8 listeners": (_UNIQUE, 20.0),
    "matches over 3 hostnames": ("self.hostnames.all(h, h.matches('^([a-z0-9-]+[.])+[a-z]+$'))", 8.0),
    "date arithmetic": ("self.end - self.start > duration('1h') && self.start + self.timeout < self.end", 5.0),
}
"""A rule of each kind, and the microseconds that it may take."""
OBJECT_BAR: Final = 30.0
COMPILE_BAR: Final = 600.0
MEMORY_BAR: Final = 3072.0
_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of ours beside theirs."""

    name: str
    ours: float
    theirs: float | None
    bar: float
    unit: str = "us"

    def line(self) -> str:
        """A line of the table."""
        theirs, ratio = ("", "") if self.theirs is None else (f"{self.theirs:,.1f}", f"{self.ours / self.theirs:.3f}")
        return f"| {self.name} | {self.ours:,.2f} {self.unit} | {theirs} | {ratio} | {self.bar:,.0f} | {self.ours / self.bar:.2f} |"


def best(work: Callable[[], Any], times: int) -> float:
    """Microseconds of CPU that one call takes: the best of some rounds.

    timeit has code of its own for each measurement. In a loop that several share, CPython's specialised call of one piece of
    work is in the way of the next, which adds up to half a microsecond.
    """
    return min(timeit.repeat(work, timer=time.process_time, repeat=_ROUNDS, number=times)) / times * 1e6


def rows(asked: Judge, *, quick: bool = False) -> Iterator[Row]:
    """All figures."""
    yield from _rules(asked, 300 if quick else 5_000)
    yield from _real_objects(asked, 4 if quick else 20)
    yield from _compiled(asked)


def _rules(asked: Judge, times: int) -> Iterator[Row]:
    declared = declare(from_openapi(_SPEC))
    assert declared is not None
    environment = rule_environment(declared)
    for name, (text, bar) in RULES.items():
        expression = compile_expression(text, environment)
        evaluation = expression.evaluate((_OBJECT, MISSING))
        theirs = asked.ask(
            {
                "op": "expression",
                "text": text,
                "variables": [{"name": "self", "schema": _SPEC, "value": _OBJECT}],
                "repeat": times,
            }
            for _ in range(_ROUNDS)
        )
        if (evaluation.value, evaluation.cost) != (theirs[0]["value"][1], theirs[0]["cost"]):
            raise RuntimeError(f"{text}: {evaluation} is not {theirs[0]}")
        taken = best(partial(expression.evaluate, (_OBJECT, MISSING)), times)
        yield Row(name, taken, min(each["evaluateNs"] for each in theirs) / 1000, bar)


def _real_objects(asked: Judge, count: int) -> Iterator[Row]:
    """Objects of real definitions, all rules of each, the average."""
    figures: list[tuple[float, float]] = []
    sound: list[tuple[float, float]] = []
    for real in real_schemas():
        given = objects.pairs(real.schema, count, Random(real.name))  # noqa: S311 - the same each time
        validator = rule_validator(from_openapi(real.schema))
        assert validator is not None
        request = {
            "op": "schema",
            "schema": real.schema,
            "root": True,
            "ratchet": True,
            "repeat": 20,
            "objects": [{"object": new, "old": old} for new, old in given],
        }
        answers = asked.ask([request])[0]["objects"]
        for (new, old), answer in zip(given, answers, strict=True):
            found = validator.validate(new, old)  # code is written when it is first run
            figure = best(partial(validator.validate, new, old), 3), answer["evaluateNs"] / 1000
            figures.append(figure)
            if not any(" evaluating rule: " in error.detail for error in found.errors):
                sound.append(figure)
    for name, of in (("objects of real definitions", figures), ("those whose rules have values", sound)):
        ours, theirs = (fmean(column) for column in zip(*of, strict=True))
        yield Row(f"{name}, average of {len(of):,}", ours, theirs, OBJECT_BAR)


def _compiled(asked: Judge) -> Iterator[Row]:
    """Compiling the rules of real definitions, code included; and what they keep in memory."""
    known = [pair for real in real_schemas() for pair in nodes(real.schema)]
    prepared = []
    for schema, text in known:
        declared = declare(from_openapi(schema))
        if declared is not None:
            prepared.append((text, rule_environment(declared)))

    def compiled() -> list[Any]:
        made = []
        for text, environment in prepared:
            expression = compile_expression(text, environment)
            made.append((expression, expression._write()))
        return made

    taken = best(compiled, 1) / len(prepared)
    answers = asked.ask(
        {"op": "schema", "schema": real.schema, "root": True, "compileOnly": True, "compileRepeat": 3}
        for real in real_schemas()
    )
    theirs = sum(each["compileNs"] for each in answers) / sum(len(each["rules"]) for each in answers) / 1000
    yield Row("compile per rule, code included", taken, theirs, COMPILE_BAR)
    gc.collect()
    tracemalloc.start()
    kept = compiled()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] / len(kept)
    tracemalloc.stop()
    yield Row("memory per rule", held, None, MEMORY_BAR, unit="B")


def main(say: Callable[[str], None], _directory: Path, *, quick: bool) -> None:
    """Print the table."""
    say("| CEL, CPU | ours | Go us | of Go's | bar | of the bar |")
    say("|---|---|---|---|---|---|")
    for row in rows(judge(), quick=quick):
        say(row.line())
