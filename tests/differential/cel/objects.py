"""Objects that fit a schema, more or less, and changes of them: what rules are run on."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

Schema = dict[str, Any]

WORDS: Final = (
    "", "a", "HTTP", "HTTPS", "TLS", "gateway.networking.k8s.io", "Service", "foo.example.com", "*.example.com", "Exact",
    "PathPrefix", "/a", "/a/b", "10.0.0.1", "10.0.0.0/8", "80", "default", "x-y", "RequestRedirect", "Terminate", "Passthrough",
    "1h", "core", "ReplacePrefixMatch", "URLRewrite", "https://a.example.com:8080/p?q=1", "1Gi", "500m", "1.2.3", "é☃", "2001:db8::1",
)  # fmt: skip
"""What strings are made of: values that real rules ask for, and some that they do not expect."""
_FORMATTED: Final = {
    "date-time": ("2024-01-01T00:00:00Z", "2025-06-01T10:00:00.5+02:00", "1999-12-31T23:59:59.999999999-07:30"),
    "date": ("2024-01-01", "2020-02-29"),
    "duration": ("1h", "30s", "1m30s", "-1.5h", "100ms"),
    "byte": ("aGVsbG8=", "", "AA=="),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
    "ipv4": ("1.2.3.4", "10.0.0.1"),
    "ipv6": ("::1", "2001:db8::1"),
    "uri": ("https://example.com/a?b=c#d", "mailto:a@b.example"),
    "email": ("a@b.example",),
}


def made(schema: Schema, random: Random, depth: int = 0) -> Any:
    """A value for the schema: types fit, value validations mostly."""
    if schema.get("nullable") and random.random() < 0.1:
        return None
    if schema.get("enum"):
        return random.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return random.choice((0, 1, 80, 8080, "50%", "http", ""))
    match schema.get("type"):
        case "object":
            return _object(schema, random, depth)
        case "array":
            least = min(schema.get("minItems", 0), 20)
            most = max(least, min(schema.get("maxItems", 3), 3))
            return _correlatable(
                schema, [made(schema.get("items", {}), random, depth + 1) for _ in range(random.randint(least, most))]
            )
        case "string":
            formatted = _FORMATTED.get(schema.get("format", ""))
            return random.choice(formatted) if formatted else random.choice(WORDS)[: schema.get("maxLength", 1000)]
        case "integer":
            return random.choice((0, 1, 2, -1, 80, 443, schema.get("minimum", 5), schema.get("maximum", 5), 2**31 - 1))
        case "number":
            return random.choice((0, 1, 1.5, 2.0, -0.25, 1e21, schema.get("minimum", 5)))
        case "boolean":
            return random.random() < 0.5
    return random.choice((1, "a", {"a": 1}, [1], True, 1.5))


def _object(schema: Schema, random: Random, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    of = schema.get("additionalProperties")
    if isinstance(of, dict):
        for _ in range(random.randint(0, min(3, schema.get("maxProperties", 3)))):
            found[random.choice(WORDS[1:])] = made(of, random, depth + 1)
        return found
    chance = 0.55 if depth < 6 else 0.2
    for name, each in (schema.get("properties") or {}).items():
        if name in schema.get("required", ()) or random.random() < chance:
            found[name] = made(each, random, depth + 1)
    if schema.get("x-kubernetes-preserve-unknown-fields") and random.random() < 0.5:
        found["unknown"] = random.choice((1, "x", [1, "a"], {"b": None}))
    if schema.get("x-kubernetes-embedded-resource"):
        found |= {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "embedded"}}
    return found


def _correlatable(schema: Schema, items: list[Any]) -> list[Any]:
    """Without what a set or a map of this kind may hold once only."""
    kind = schema.get("x-kubernetes-list-type")
    if kind not in {"set", "map"}:
        return items
    keys = schema.get("x-kubernetes-list-map-keys", ())
    kept: dict[str, Any] = {}
    for each in items:
        if kind == "map":
            key = json.dumps([each.get(name) if isinstance(each, dict) else None for name in keys])
        else:
            key = json.dumps(each, sort_keys=True)
        kept.setdefault(key, each)
    return list(kept.values())


def resource(schema: Schema, random: Random) -> dict[str, Any]:
    """A whole object."""
    found = made(schema, random)
    found.setdefault("apiVersion", "example.com/v1")
    found.setdefault("kind", "Thing")
    return {**found, "metadata": {"name": random.choice(("n", "another-name"))}}


def changed(value: Any, schema: Schema, random: Random, depth: int = 0) -> Any:
    """The value with some parts made anew, taken away, or put into another order."""
    if random.random() < (0.08 if depth else 0):
        return made(schema, random, depth)
    if isinstance(value, dict):
        of, properties = schema.get("additionalProperties"), schema.get("properties") or {}
        found = {}
        for name, each in value.items():
            inner = properties.get(name) or (of if isinstance(of, dict) else {})
            if random.random() < 0.04 and name not in schema.get("required", ()) and depth:
                continue
            found[name] = changed(each, inner, random, depth + 1) if inner else each
        return found
    if isinstance(value, list):
        items = [changed(each, schema.get("items", {}), random, depth + 1) for each in value if random.random() < 0.95]
        if random.random() < 0.1:
            random.shuffle(items)
        if random.random() < 0.1:
            items.append(made(schema.get("items", {}), random, depth + 1))
        return _correlatable(schema, items)
    return value


def pairs(schema: Schema, count: int, random: Random) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """So many objects; every other one replaces an old object."""
    found: list[tuple[dict[str, Any], dict[str, Any] | None]] = []
    for number in range(count):
        new = resource(schema, random)
        if number % 2 == 0:
            found.append((new, None))
        else:
            old = (
                new
                if random.random() < 0.2
                else resource(schema, random)
                if random.random() < 0.2
                else changed(new, schema, random)
            )
            found.append(
                (new, {**old, "apiVersion": new["apiVersion"], "kind": new["kind"], "metadata": new["metadata"]})
            )
    return found
