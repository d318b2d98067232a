"""Our answers to what the judge is asked about schemas with rules, in the judge's form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from extapi.fielderrors import FieldError
from extapi.schema.cel.declared import Declared, declare
from extapi.schema.cel.expression import CALL_LIMIT
from extapi.schema.cel.rules import NEW, STORED, CompiledRule, compile_rules
from extapi.schema.cel.validator import OBJECT_BUDGET, rule_validator
from extapi.schema.check import check
from extapi.schema.structural import MISSING, Structural, from_openapi, replace

Answer = dict[str, Any]


def schema(request: dict[str, Any]) -> Answer:
    """Compile the rules of a schema, and validate objects by them."""
    structural = from_openapi(request["schema"])
    root, stored = bool(request.get("root")), bool(request.get("stored"))
    answer: Answer = {
        "rules": [_rule(*found) for found in _rules(structural, declare(structural, root=root), stored=stored)]
    }
    if request.get("compileOnly"):
        return answer
    validator = rule_validator(structural, root=root)
    answer["objects"] = objects = []
    budget = request.get("budget", OBJECT_BUDGET)
    for each in request.get("objects", ()):
        if validator is None:
            objects.append({"errors": [], "warnings": [], "remaining": budget, "cost": 0})
            continue
        old = each.get("old")
        found = validator.validate(
            each["object"],
            MISSING if old is None else old,
            budget=budget,
            call_limit=request.get("limit", CALL_LIMIT),
            ratchets=bool(request.get("ratchet")),
            path=request.get("path", ""),
        )
        objects.append(
            {
                "errors": [_error(error) for error in found.errors],
                "warnings": found.warnings,
                "remaining": found.remaining,
                "cost": budget - found.remaining,
            }
        )
    return answer


def _error(error: FieldError) -> Answer:
    return {"type": error.type.reason, "field": error.path, "detail": error.detail, "text": error.text()}


def _rules(
    rules: Structural, declared: Declared | None, path: str = "", *, stored: bool, node: Structural | None = None
) -> Iterator[tuple[str, int, CompiledRule]]:
    """Each rule, with where it is. Source: ``apiextensions-apiserver/pkg/apiserver/schema/cel`` validator."""
    node = rules if node is None else node
    if rules.validations and declared is not None:
        compiled = compile_rules(
            replace(node, validations=rules.validations), declared, stored=STORED if stored else NEW
        )
        yield from ((path, index, each) for index, each in enumerate(compiled))
    element = None if declared is None else declared.element
    for mark, one, other in (("[]", rules.items, node.items), ("{}", rules.additional, node.additional)):
        if one is not None and other is not None:
            yield from _rules(one, element, path + mark, stored=stored, node=other)
    for name, each in rules.properties.items():
        inner = node.properties.get(name)
        of = None if declared is None else declared.properties.get(name)
        if inner is not None and of is not None:
            yield from _rules(each, of, f"{path}.{name}", stored=stored, node=inner)
    for number, each in enumerate(rules.all_of):
        yield from _rules(each, declared, f"{path}&{number}", stored=stored, node=node)


def _rule(path: str, index: int, compiled: CompiledRule) -> Answer:
    answer: Answer = {
        "path": path,
        "index": index,
        "rule": compiled.rule.rule,
        "max": compiled.cost,
        "cardinality": compiled.cardinality,
        "usesOldSelf": compiled.uses_old_self,
        "messageMax": compiled.message_cost,
    }
    # Go's json leaves out what is empty.
    for key, text in (
        ("error", compiled.error),
        ("messageError", compiled.message_error),
        ("fieldPath", compiled.field_path),
    ):
        if text:
            answer[key] = text
    return answer


def definition(openapi: dict[str, Any], path: str) -> list[str]:
    """The texts of the errors of a definition's schema, sorted."""
    return [error.text() for error in check(from_openapi(openapi), path)]
