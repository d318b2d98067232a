"""Compares our answers with the judge's: of expressions, of schemas with objects, of whole definitions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from tests.differential.cel import engine, ruling
from tests.differential.cel.comparison import Comparison, blanked
from tests.differential.cel.judge import Answer, Judge, Request
from tests.differential.cel.narrowing import single_rules, smaller

_AGAIN = 12
"""How often the judge is asked again about what differs, since Go walks through maps in random order."""


def _ours(answer: Any, request: Request) -> Answer:
    """Our answer; a crash is one."""
    try:
        found: Answer = answer(request)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a difference
        return {"error": f"crash {type(error).__name__}: {error}", "crash": True}
    return found


def expressions(judge: Judge, corpus: str, named: Iterable[tuple[str, Request]]) -> Comparison:
    """Compare expressions: verdict, error text, type, estimate, value, cost, evaluation error."""
    cases = list(named)
    comparison = Comparison(corpus)
    theirs = judge.ask({"op": "expression", **request} for _, request in cases)
    for (name, request), answer in zip(cases, theirs, strict=True):
        if "failure" not in answer:
            _expression(comparison, judge, name, request, answer)
    return comparison


def _expression(comparison: Comparison, judge: Judge, name: str, request: Request, theirs: Answer) -> None:
    ours = _ours(engine.expression, request)
    text = repr(request["text"])
    if not _same_verdict(comparison, name, text, theirs, ours):
        return
    if "error" in theirs:
        syntax = "Syntax error" in theirs["error"]
        comparison.note(
            "syntax error text" if syntax else "error text",
            name,
            text,
            blanked(theirs["error"]),
            blanked(ours["error"]),
        )
        return
    comparison.note("type", name, text, blanked(theirs["type"]), blanked(ours["type"]))
    comparison.note("estimate", name, text, (theirs["min"], theirs["max"]), (ours["min"], ours["max"]))
    if request.get("compileOnly"):
        return

    def again(key: str) -> Iterator[Any]:
        for each in judge.ask([{"op": "expression", **request}] * _AGAIN):
            yield engine.like(each.get(key)) if key == "value" else each.get(key)

    if "evaluationError" in theirs or "evaluationError" in ours:
        comparison.note(
            "evaluation error",
            name,
            text,
            theirs.get("evaluationError"),
            ours.get("evaluationError"),
            partial(again, "evaluationError"),
        )
    else:
        comparison.note("value", name, text, engine.like(theirs["value"]), ours["value"], partial(again, "value"))
    comparison.note("cost", name, text, theirs["cost"], ours["cost"], partial(again, "cost"))


def _verdict(answer: Answer) -> tuple[bool, bool]:
    return "error" in answer, "crash" in answer


def _same_verdict(comparison: Comparison, name: str, text: str, theirs: Answer, ours: Answer) -> bool:
    if _verdict(theirs) == _verdict(ours):
        return comparison.note("verdict", name, text, None, None)
    return comparison.note("verdict", name, text, theirs.get("error"), ours.get("error"))


def schemas(judge: Judge, corpus: str, named: Iterable[tuple[str, Request]]) -> Comparison:
    """Compare schemas: what compiles, what it may cost, what is wrong with objects, and what that has cost."""
    cases = list(named)
    comparison = Comparison(corpus)
    theirs = judge.ask({"op": "schema", **request} for _, request in cases)
    for (name, request), answer in zip(cases, theirs, strict=True):
        if "failure" in answer:
            continue
        ours = _ours(ruling.schema, request)
        if "crash" in ours:
            comparison.note("no crash", name, json.dumps(request["schema"])[:600], None, ours["error"])
            continue
        _rules(comparison, name, answer["rules"] or [], ours["rules"])
        given = request.get("objects", ())
        for number, pair in enumerate(zip(given, answer["objects"] or (), ours.get("objects", ()), strict=False)):
            _object(comparison, judge, f"{name} object {number}" if len(given) > 1 else name, request, *pair)
    return comparison


def _rules(comparison: Comparison, name: str, theirs: Sequence[Answer], ours: Sequence[Answer]) -> None:
    found = {(each["path"], each["index"]): each for each in ours}
    for rule in theirs:
        at = f"{name} {rule['path']}[{rule['index']}]"
        own = found.pop((rule["path"], rule["index"]), {"error": "crash: no such rule", "crash": True})
        text = repr(rule["rule"])
        if not _same_verdict(comparison, at, text, rule, own):
            continue
        if "error" in rule:
            syntax = "Syntax error" in rule["error"]
            comparison.note("position", at, text, positions(rule["error"]), positions(own["error"]))
            comparison.note(
                "syntax error text" if syntax else "error text", at, text, blanked(rule["error"]), blanked(own["error"])
            )
            continue
        comparison.note("estimate", at, text, rule["max"], own["max"])
        comparison.note("cardinality", at, text, rule["cardinality"], own["cardinality"])
        comparison.note("uses oldSelf", at, text, rule["usesOldSelf"], own["usesOldSelf"])
        comparison.note("field path", at, text, rule.get("fieldPath"), own.get("fieldPath"))
        if rule["messageMax"] or "messageError" in rule or own["messageMax"] or "messageError" in own:
            comparison.note("message", at, text, _message(rule), _message(own))
    for rule in found.values():
        comparison.note("verdict", f"{name} {rule['path']}[{rule['index']}]", repr(rule["rule"]), "no such rule", rule)


def _message(rule: Answer) -> tuple[str, int]:
    return blanked(rule.get("messageError", "")), rule["messageMax"]


def positions(error: str) -> list[str]:
    """The places in an error: ``1:7``."""
    marks = (line.split("<input>:", 1)[1] for line in error.split("\n") if "ERROR: <input>:" in line)
    return [":".join(mark.split(":")[:2]) for mark in marks]


def _object(
    comparison: Comparison, judge: Judge, name: str, request: Request, given: Request, theirs: Answer, ours: Answer
) -> None:
    recorded = request.get("recorded")
    if recorded and (recorded["cost"], _texts(recorded["errors"])) == (
        ours["cost"],
        _texts(each["text"] for each in ours["errors"]),
    ):
        theirs = ours
    again = list(_others(judge, request, given)) if _seen(theirs) != _seen(ours) else []
    shown = ""
    if again and _seen(ours) not in map(_seen, again):
        shown = json.dumps(_narrowed(judge, {**request, "objects": [given]}))
    comparison.note("errors", name, shown, _errors(theirs), _errors(ours), lambda: map(_errors, again))
    comparison.note("cost", name, shown, theirs["cost"], ours["cost"], lambda: (each["cost"] for each in again))


def _seen(answer: Answer) -> tuple[Any, ...]:
    return _errors(answer), answer["cost"]


def _others(judge: Judge, request: Request, given: Request) -> Iterator[Answer]:
    """What the judge answers at times."""
    for each in judge.ask([{"op": "schema", **request, "objects": [given]}] * _AGAIN):
        yield from each.get("objects") or ()


def _narrowed(judge: Judge, request: Request) -> Request:
    """The same with one rule and few properties, if that still differs."""
    for narrow in (single_rules, smaller, smaller, smaller):
        tried = [{**request, "schema": schema} for schema in narrow(request["schema"])]
        for each in tried:
            ours = _ours(ruling.schema, each)
            theirs = [answer for answer in judge.ask([{"op": "schema", **each}] * 3) if "failure" not in answer]
            if (
                theirs
                and ours.get("objects")
                and all(_seen(answer["objects"][0]) != _seen(ours["objects"][0]) for answer in theirs)
            ):
                request = each
                break
    return request


def _texts(texts: Iterable[str]) -> list[str]:
    return sorted(map(blanked, texts))


def _errors(answer: Answer) -> list[str]:
    """Errors, and warnings, without their order: Go walks through properties in random order."""
    of = (f"{each['type']} {blanked(each['text'])}" for each in answer["errors"] or ())
    return sorted([*of, *(f"warning {blanked(each)}" for each in answer["warnings"] or ())])


def definitions(judge: Judge, corpus: str, named: Iterable[tuple[str, dict[str, Any]]]) -> Comparison:
    """Compare what is wrong with the schemas of whole definitions of one version: the errors' texts."""
    cases = list(named)
    comparison = Comparison(corpus)
    path = "spec.validation.openAPIV3Schema"
    theirs = judge.ask({"op": "definition", "definition": definition} for _, definition in cases)
    for (name, definition), answer in zip(cases, theirs, strict=True):
        openapi = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        try:
            ours = ruling.definition(openapi, path)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a difference
            ours = [f"crash {type(error).__name__}: {error}"]
        found = sorted(blanked(each["text"]) for each in answer["errors"] if each["field"].startswith(path))
        comparison.note("errors", name, json.dumps(openapi), found, sorted(map(blanked, ours)))
    return comparison
