"""Rules of real projects with a mistake put in: a character, a token or a name that does not belong there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from tests.differential.cel.manifests import real_schemas

Schema = dict[str, Any]

_TOKEN: Final = re.compile(r"""\s+|'[^']*'|"[^"]*"|\w+|&&|\|\||[=!<>]=|.""", re.DOTALL)
_TOKENS: Final = ("(", ")", "[", "]", "{", "}", ".", ",", "?", ":", "+", "&&", "||", "!", "==", "=", "&", "|", "in", "in ", "1", "'", '"', "a", "true",
                  "null", "1.", ".5", "0x", "-", "r'", "`", "\\", "#", "@", ";", "$", "é", "\t", "\n", "//", "?.", "[?", "1u", "self", "has", "has(", "all(",
                  "map(x, ", "package", "while", "\u00a0", "\x00", "'\\q'", "'\\u12'", "9223372036854775808", "1e999")  # fmt: skip


def nodes(schema: Schema) -> Iterator[tuple[Schema, str]]:
    """Each rule of a schema, with the node that it is for, without other rules."""
    for rule in schema.get("x-kubernetes-validations") or ():
        yield without_rules(schema), rule["rule"]
    for each in (schema.get("properties") or {}).values():
        yield from nodes(each)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key])


def without_rules(schema: Any) -> Any:
    """A schema as it is, its rules taken out everywhere."""
    if isinstance(schema, dict):
        return {key: without_rules(value) for key, value in schema.items() if key != "x-kubernetes-validations"}
    if isinstance(schema, list):
        return list(map(without_rules, schema))
    return schema


def malformed(count: int, random: Random) -> Iterator[Schema]:
    """So many schemas, each with one rule that was right once."""
    known = [pair for real in real_schemas() for pair in nodes(real.schema) if len(pair[1]) < 400]
    seen: set[str] = set()
    while len(seen) < count:
        node, rule = random.choice(known)
        text = mutated(rule, random)
        if text not in seen and text.strip():
            seen.add(text)
            yield {**node, "x-kubernetes-validations": [{"rule": text}]}


def mutated(rule: str, random: Random) -> str:
    """The rule with one mistake, or two."""
    text = rule
    for _ in range(random.choice((1, 1, 1, 2))):
        text = _mutated(text, random)
    return text


def _mutated(text: str, random: Random) -> str:
    tokens = _TOKEN.findall(text) or [""]
    at = random.randrange(len(tokens))
    match random.randrange(8):
        case 0:
            del tokens[at]
        case 1:
            tokens.insert(at, random.choice(_TOKENS))
        case 2:
            tokens[at] = random.choice(_TOKENS)
        case 3:
            tokens[at] = random.choice(tokens)
        case 4:
            tokens = tokens[:at]
        case 5:
            tokens.insert(at, tokens[at])
        case 6:
            other = random.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case _:
            place = random.randrange(len(text) or 1)
            return text[:place] + random.choice(("", random.choice(_TOKENS))) + text[place + 1 :]
    return "".join(tokens)
