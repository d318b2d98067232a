"""All comparisons, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Final

from tests.differential.cel import (
    celspec,
    comparing,
    corpora,
    definitions,
    extremes,
    generation,
    libraries,
    malformed,
    objects,
    policies,
    writing,
)
from tests.differential.cel.comparison import Comparison
from tests.differential.cel.judge import Judge, Request
from tests.differential.cel.manifests import real_schemas

_OBJECTS: Final = 60
"""Of each real schema."""
_RULES: Final = 5
"""Of each schema that is made up, and as many objects."""


def recorded_expressions(judge: Judge) -> Comparison:
    """Those of the tests of Kubernetes, cel-go and cel-spec."""
    named = ((f"expression {number}", {"text": text}) for number, text in enumerate(corpora.expressions()))
    return comparing.expressions(judge, "recorded expressions", named)


def recorded_rules(judge: Judge) -> Comparison:
    """Rules that Kubernetes' tests compile."""
    return comparing.schemas(judge, "recorded rules", ((name, request) for name, request, _ in corpora.compiled()))


def recorded_objects(judge: Judge) -> Comparison:
    """Objects that Kubernetes' tests validate."""
    return comparing.schemas(judge, "recorded objects", ((name, request) for name, request, _ in corpora.validated()))


def cel_spec(judge: Judge) -> Comparison:
    """cel-spec's conformance tests, in Kubernetes' environment."""
    return comparing.expressions(judge, "cel-spec", ((case.name, {"text": case.text}) for case in celspec.cases()))


def real_rules(judge: Judge) -> Comparison:
    """The rules of real projects."""
    named = ((real.name, {"schema": real.schema, "root": True, "compileOnly": True}) for real in real_schemas())
    return comparing.schemas(judge, "real rules", named)


def real_objects(judge: Judge, count: int = _OBJECTS, seed: str = "1") -> Comparison:
    """Made up objects of real projects' schemas, half of them updates."""

    def named() -> Iterator[tuple[str, Request]]:
        for real in real_schemas():
            random = Random(f"{seed} {real.name}")  # noqa: S311 - the same each time
            given = [{"object": new, "old": old} for new, old in objects.pairs(real.schema, count, random)]
            yield real.name, {"schema": real.schema, "root": True, "ratchet": True, "objects": given}

    return comparing.schemas(judge, "real objects", named())


def malformed_rules(judge: Judge, count: int = 431, seed: str = "1") -> Comparison:
    """Rules of real projects with mistakes put in."""
    made = malformed.malformed(count, Random(seed))  # noqa: S311 - the same each time
    named = ((f"{seed} {number}", {"schema": schema, "compileOnly": True}) for number, schema in enumerate(made))
    return comparing.schemas(judge, "malformed rules", named)


def refused_definitions(judge: Judge) -> Comparison:
    """Definitions that kube-apiserver refuses."""
    return comparing.definitions(judge, "definitions", definitions.refused())


def libraries_calls(judge: Judge, each: int = 12, seed: str = "1") -> Comparison:
    """Calls of each overload."""
    overloads = judge.ask([{"op": "environment"}])[0]["overloads"]
    named = ((name, {"text": text}) for name, text in libraries.calls(overloads, each, seed))
    return comparing.expressions(judge, "libraries", named)


def extremes_of_expressions(judge: Judge, *depths: int) -> Comparison:
    """Deep and long expressions."""
    cases = extremes.cases(depths) if depths else extremes.cases()
    return comparing.expressions(judge, "extremes", ((name, {"text": text}) for name, text in cases))


def generated(judge: Judge, pairs: int = 600, seed: str = "1") -> Comparison:
    """Made up schemas with made up rules, and objects of them: so many pairs of a rule and an object."""

    def named() -> Iterator[tuple[str, Request]]:
        for number in range(pairs // (_RULES * _RULES)):
            random = Random(f"{seed} {number}")  # noqa: S311 - the same each time
            schema = writing.with_rules(generation.schema(random), random, _RULES)
            given = [{"object": new, "old": old} for new, old in objects.pairs(schema, _RULES, random)]
            yield (
                f"{seed} {number}",
                {"schema": schema, "root": True, "ratchet": random.random() < 0.5, "objects": given},
            )

    return comparing.schemas(judge, "generated", named())


COMPARISONS: Final[Mapping[str, Callable[[Judge], Comparison]]] = {
    "recorded-expressions": recorded_expressions,
    "recorded-rules": recorded_rules,
    "recorded-objects": recorded_objects,
    "cel-spec": cel_spec,
    "libraries": libraries_calls,
    "extremes": extremes_of_expressions,
    "real-rules": real_rules,
    "real-objects": real_objects,
    "malformed": malformed_rules,
    "definitions": refused_definitions,
    "policies": policies.compared,
    "generated": generated,
}
"""All that are there."""
RECORDED: Final = frozenset({"recorded-expressions", "recorded-rules", "recorded-objects"})
"""Those that need the corpora of others."""


def table(comparisons: Mapping[str, Comparison]) -> Iterator[str]:
    """The lines of the table of corpora."""
    yield "| corpus | aspect | same | different |"
    yield "|---|---|---|---|"
    for comparison in comparisons.values():
        for aspect, same, different in comparison.rows():
            yield f"| {comparison.corpus} | {aspect} | {same:,} | {different:,} |"
