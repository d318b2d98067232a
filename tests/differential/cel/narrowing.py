"""Makes a difference smaller: the same schema with one of its rules, and without what that rule does not need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.differential.cel.malformed import without_rules

Schema = dict[str, Any]
_RULES = "x-kubernetes-validations"


def single_rules(schema: Schema) -> Iterator[Schema]:
    """The schema with each of its rules alone."""
    bare = without_rules(schema)
    for rule in schema.get(_RULES) or ():
        yield {**bare, _RULES: [rule]}
    for name, each in (schema.get("properties") or {}).items():
        for inner in single_rules(each):
            yield {**bare, "properties": {**bare["properties"], name: inner}}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            for inner in single_rules(schema[key]):
                yield {**bare, key: inner}
    for number, each in enumerate(schema.get("allOf") or ()):
        for inner in single_rules(each):
            branches = list(bare["allOf"])
            branches[number] = inner
            yield {**bare, "allOf": branches}


def smaller(schema: Schema) -> Iterator[Schema]:
    """The schema with a single rule, without one of the properties around it."""
    for name, each in (schema.get("properties") or {}).items():
        rest = {key: value for key, value in schema["properties"].items() if key != name}
        if _RULES not in str(each):
            required = [key for key in schema.get("required", ()) if key != name]
            yield {**{key: value for key, value in schema.items() if key != "required"}, "properties": rest} | (
                {"required": required} if required else {}
            )
