"""The worst rules at their limits: how long each takes in the reactor's thread, to its end in another, and past its deadline.

``python -m tests.attack.cel``: rules over lists of ``--size`` items, each stopped by the bounds of the reactor's thread, by the
limit of a call, or by a deadline. Prints milliseconds of CPU, cost, and nanoseconds per unit; exit status 1: a rule took more
than ``--most`` milliseconds of the reactor's, or ran more than ``--past`` milliseconds after its deadline.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from extapi.registry.ruling import INLINE, INLINE_TIME
from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.declared import declare
from extapi.schema.cel.environment import rule_environment
from extapi.schema.cel.expression import CALL_LIMIT, Evaluation, Expression
from extapi.schema.structural import MISSING, from_openapi
from tests.attack.table import exit_status, say

_STRING: Final = {"type": "string"}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "l": {"type": "array", "items": {"type": "integer"}},
        "ls": {"type": "array", "items": _STRING},
        "o": {
            "type": "array",
            "items": {"type": "object", "properties": {"a": _STRING, "b": {"type": "integer"}}},
        },
        "set": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
        "byName": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a"],
            "items": {"type": "object", "required": ["a"], "properties": {"a": _STRING, "b": {"type": "integer"}}},
        },
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "dates": {"type": "array", "items": {"type": "string", "format": "date-time"}},
        "s": _STRING,
        "any": {"x-kubernetes-int-or-string": True},
    },
}
RULES: Final = (
    "self.l.all(a, self.l.all(b, a + b >= 0))",
    "self.ls.all(a, self.ls.exists(b, a == b))",
    "self.ls.map(a, self.ls.map(b, a + b)).size() > 0",
    "self.ls.all(a, a.matches('^[a-z]+[0-9]+$'))",
    "self.ls.all(a, self.ls.all(b, b.startsWith(a) || true))",
    "sets.contains(self.ls, self.ls)",
    "sets.equivalent(self.ls, self.ls)",
    "sets.intersects(self.ls, self.ls.map(x, x + 'y'))",
    "self.ls.distinct().size() > 0",
    "self.o.distinct().size() > 0",
    "self.o.all(x, self.o.exists_one(y, x.a == y.a))",
    "self.o.all(x, x in self.o)",
    "self.ls.all(a, a in self.ls)",
    "self.o == self.o && self.o.all(x, self.o == self.o)",
    "self.l.all(a, self.ls.isSorted())",
    "self.l.all(a, self.l.isSorted())",
    "self.ls.all(a, quantity('1Gi').isLessThan(quantity(string(size(a)))))",
    "self.l.all(a, self.s.replace('x', 'yy').size() > 0)",
    "self.o.map(x, x.b).sum() > 0 && self.l.all(a, self.o.map(x, x.b).sum() > 0)",
    "self.l.all(a, self.ls.all(b, has(self.s) && b != '' && self.s != 'q'))",
    "self.l.all(a, self.o.filter(x, x.b > 5).size() > 0)",
    "self.set == self.set && self.l.all(a, self.set == self.set)",
    "self.byName == self.byName && self.l.all(a, self.byName == self.byName)",
    "self.l.all(a, (self.set + self.set).size() > 0)",
    "self.l.all(a, (self.byName + self.byName).size() > 0)",
    "self.l.all(a, (self.ls + self.ls).size() > 0)",
    "self.l.all(a, self.m.all(k, v, v > -1))",
    "self.l.all(a, self.m.all(k, k in self.m))",
    "self.l.all(a, self.dates.all(d, d.getFullYear('Europe/Berlin') > 1))",
    "self.l.all(a, self.ls.sort().size() > 0)",
    "self.l.all(a, self.o.sortBy(x, -x.b).size() > 0)",
    "self.l.all(a, self.ls.join(',').split(',').size() > 0)",
    "self.l.all(a, self.s.findAll('x').size() > 0)",
    "self.l.all(a, self.s.matches('(x+x+)+y'))",
    "self.l.all(a, '%s'.format([self.ls]).size() > 0)",
    "self.l.all(a, strings.quote(self.s).size() > 0)",
    "self.l.all(a, self.s.lastIndexOf('y') < 0)",
    "self.l.all(a, self.s.indexOf('xxxxxxxxxy') < 0)",
    "self.l.all(a, self.l.slice(0, 2999).reverse().size() > 0)",
    "self.l.all(a, [self.l, self.l].flatten().size() > 0)",
    "self.l.all(a, self.ls.transformMapEntry(i, v, {v: i}).size() > 0)",
    "self.l.all(a, self.l.indexOf(-5) < 0)",
    "self.l.all(a, dyn(self.any) == 'x' || self.l == self.l)",
    "self.l.exists(a, 1 / (a - a) > 0)",
    "self.l.all(a, optional.of(self.l).optMap(x, x.size() > 0).orValue(false))",
    "self.l.all(a, url('https://a.example.com/' + self.s).getHost() != '')",
    "self.l.all(a, !format.dns1123Subdomain().validate(self.s).hasValue() || true)",
    "self.l.all(a, self.l.max() > self.l.min())",
)
"""Each does much for little cost, or calls what does."""


def obj(size: int) -> dict[str, Any]:
    """An object of the schema, with lists of so many items."""
    return {
        "l": list(range(size)),
        "ls": [f"name{number:05}" for number in range(size)],
        "o": [{"a": f"x{number}", "b": number} for number in range(size)],
        "set": [f"s{number}" for number in range(size)],
        "byName": [{"a": f"x{number}", "b": number} for number in range(size)],
        "m": {f"k{number}": number for number in range(size)},
        "dates": ["2024-02-29T12:00:00Z"] * size,
        "s": "x" * size,
        "any": size,
    }


def compiled(rule: str, schema: dict[str, Any] = SCHEMA) -> Expression:
    """The rule, ready to run."""
    declared = declare(from_openapi(schema))
    assert declared is not None
    return compile_expression(rule, rule_environment(declared))


@dataclass(frozen=True, slots=True)
class Run:
    """What one evaluation took."""

    milliseconds: float
    evaluation: Evaluation

    @property
    def per_unit(self) -> float:
        """Nanoseconds of CPU per unit of cost."""
        return self.milliseconds * 1e6 / max(self.evaluation.cost, 1)


def run(
    expression: Expression, value: Any, *, limit: int = CALL_LIMIT, expired: Callable[[], bool] | None = None
) -> Run:
    """Evaluate a rule whose code is there already."""
    begun = time.process_time()
    found = expression.evaluate((value, MISSING), limit=limit, expired=expired)
    return Run((time.process_time() - begun) * 1000, found)


def deadline(seconds: float) -> Callable[[], bool]:
    """Whether so many seconds of CPU have passed since now."""
    end = time.process_time() + seconds
    return lambda: time.process_time() >= end


@dataclass(frozen=True, slots=True)
class Measured:
    """What one rule takes."""

    inline: float
    """Milliseconds in the reactor's thread, until it ends or is begun again in another: the better of two runs."""
    whole: Run
    """The rule at the limit of a call."""
    past: float
    """Milliseconds that it ran past a deadline."""


def measured(rule: str, value: Any, *, after: float) -> Measured:
    """Run a rule within each bound.

    Args:
        rule: The rule.
        value: The object.
        after: When the deadline is, in milliseconds.
    """
    expression = compiled(rule)
    expression.evaluate((value, MISSING), limit=100)
    inline = [run(expression, value, limit=INLINE, expired=deadline(INLINE_TIME)) for _ in range(2)]
    ended = run(expression, value, expired=deadline(after / 1000))
    return Measured(
        min(each.milliseconds for each in inline), run(expression, value), max(0.0, ended.milliseconds - after)
    )


def main(arguments: list[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.cel", description=__doc__)
    parser.add_argument("--size", type=int, default=3000, help="of lists and strings")
    parser.add_argument("--most", type=float, default=150, help="milliseconds of the reactor's thread")
    parser.add_argument("--past", type=float, default=50, help="milliseconds past the deadline")
    parser.add_argument("--deadline", type=float, default=10, help="milliseconds")
    parser.add_argument("rules", nargs="*", default=RULES)
    options = parser.parse_args(arguments)
    value = obj(options.size)
    wrong = []
    say("| rule | ms of the reactor | ms at the limit | cost | ns per unit | ms past the deadline | |")
    say("|---|---|---|---|---|---|---|")
    for rule in options.rules:
        found = measured(rule, value, after=options.deadline)
        whole, evaluation = found.whole, found.whole.evaluation
        outcome = evaluation.value if evaluation.error is None else str(evaluation.error)[:40]
        say(
            f"| `{rule}` | {found.inline:.1f} | {whole.milliseconds:.1f} | {evaluation.cost:,} | {whole.per_unit:.0f} | "
            f"{found.past:.1f} | {outcome} |"
        )
        if found.inline > options.most:
            wrong.append(f"{rule}: {found.inline:.0f} ms")
        if found.past > options.past:
            wrong.append(f"{rule}: {found.past:.0f} ms past its deadline")
    return exit_status(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
