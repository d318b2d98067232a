"""Expressions made up over a schema: mostly well typed, over all operators, macros and libraries."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from tests.differential.cel.generation import NAMES, Schema
from tests.differential.cel.templates import TEMPLATES, Part, Template, Type, read

_SCALARS: Final = tuple(map(read, ("int", "string", "bool", "double", "timestamp", "duration", "bytes", "uint")))
_LITERALS: Final = {
    "bool": ("true", "false"),
    "int": ("0", "1", "-1", "2", "7", "0x10", "9223372036854775807", "-9223372036854775808"),
    "uint": ("0u", "1u", "3u", "18446744073709551615u"),
    "double": ("0.0", "1.5", "-2.25", "1e3", "1e21", ".5"),
    "string": ("''", "'a'", '"HTTP"', "'1h'", "'foo.example.com'", r"'\u00e9\n'", "r'\\d+'", "'1.2.3'", "'10.0.0.1'", "'''x'y'''",
               "'1Gi'", "'2024-01-01T00:00:00Z'", "'https://a.example.com:8080/p?q=1'", "'10.0.0.0/8'", "'12'"),
    "bytes": ("b''", "b'ab'", r"b'\xff'"),
    "timestamp": ("timestamp('2024-01-01T00:00:00Z')", "timestamp('1999-12-31T23:59:59.999Z')"),
    "duration": ("duration('1h')", "duration('-1.5s')", "duration('0s')"),
    "null_type": ("null",),
    "url": ("url('https://a.example.com:8080/p?q=1')",),
    "quantity": ("quantity('1Gi')", "quantity('500m')"),
    "ip": ("ip('10.0.0.1')", "ip('::1')"),
    "cidr": ("cidr('10.0.0.0/8')", "cidr('2001:db8::/32')"),
    "semver": ("semver('1.2.3')", "semver('1.2.3-rc.1')"),
}  # fmt: skip
_BY_RESULT: Final = {
    name: [template for template in TEMPLATES if template.result[0] in {name, "T"}]
    for name in {str(template.result[0]) for template in TEMPLATES} | _LITERALS.keys()
}
_FORMATS: Final = {"byte": "bytes", "date": "timestamp", "date-time": "timestamp", "duration": "duration"}

Atom = tuple[str, Type]


def type_of(schema: Schema, nodes: list[Schema]) -> Type:
    """The type of a schema; that of an object is its number in ``nodes``, to which it is added."""
    if schema.get("x-kubernetes-int-or-string"):
        return ("dyn",)
    match schema.get("type"):
        case "integer":
            return ("int",)
        case "number":
            return ("double",)
        case "boolean":
            return ("bool",)
        case "string":
            return (_FORMATS.get(schema.get("format", ""), "string"),)
        case "array":
            return ("list", type_of(schema["items"], nodes))
    if "additionalProperties" in schema:
        return ("map", ("string",), type_of(schema["additionalProperties"], nodes))
    if schema not in nodes:
        nodes.append(schema)
    return ("object", nodes.index(schema))


class Writer:
    """Writes expressions over one schema."""

    def __init__(self, schema: Schema, random: Random, *, mistakes: float = 0.03) -> None:
        self._random = random
        self._nodes: list[Schema] = []
        self._mistakes = mistakes
        self._counter = 0
        of = type_of(schema, self._nodes)
        self._own = list(self._reached("self", of, 0))
        self._old = list(self._reached("oldSelf", of, 0))

    def rule(self, depth: int, *, transition: bool = False) -> str:
        """A rule: of type bool."""
        self._counter = 0
        scope = self._own + self._old if transition else self._own
        template = self._random.choice(_BY_RESULT["bool"])
        return self._filled(template, _bound(template.result, ("bool",)) or {}, depth, scope)

    def message(self, depth: int) -> str:
        """A messageExpression: of type string."""
        self._counter = 50
        return self._written(("string",), depth, self._own)

    def _reached(self, text: str, of: Type, depth: int) -> Iterator[Atom]:
        """The value that a text stands for, and what is in it."""
        yield text, of
        if of[0] == "object" and depth < 3:
            schema = self._nodes[int(str(of[1]))]
            for name, each in (schema.get("properties") or {}).items():
                path = f"{text}.{NAMES.get(name, name)}"
                yield f"has({path})", ("bool",)
                inner = type_of(each, self._nodes)
                yield from self._reached(path, inner, depth + 1)
                if "." in text and self._random.random() < 0.3:
                    yield f"{text}.?{NAMES.get(name, name)}", ("optional", inner)

    def _written(self, of: Type, depth: int, scope: list[Atom]) -> str:
        random = self._random
        if random.random() < self._mistakes:
            of = random.choice(_SCALARS)
        atoms = [text for text, each in scope if each == of or each == ("dyn",) == of]
        if atoms and (depth <= 0 or random.random() < 0.4):
            return random.choice(atoms[-8:] if random.random() < 0.5 else atoms)
        if depth > 0 and random.random() < 0.9:
            for _ in range(4):
                template = random.choice(self._templates(of))
                bound = _bound(template.result, of)
                if bound is not None:
                    return self._filled(template, bound, depth, scope)
        return self._literal(of, depth, scope)

    def _templates(self, of: Type) -> list[Template]:
        found = _BY_RESULT.get(str(of[0]))
        return found or _BY_RESULT["T"]

    def _filled(self, template: Template, bound: dict[object, Type], depth: int, scope: list[Atom]) -> str:
        known = [each for _, each in scope]
        variable = ""
        if "#" in template.text:
            self._counter += 1
            variable = f"v{self._counter}"
        parts = []
        for part in template.parts:
            self._bind(part, bound, known)
            inner = scope
            if part.variable is not None:
                inner = [*scope, *self._reached(variable, _replaced(part.variable, bound), 1)]
            text = self._written(_replaced(part.type, bound), depth - 1, inner)
            parts.append(f"({text})" if _compound(text) else text)
        return template.text.replace("#", variable).format(*parts)

    def _bind(self, part: Part, bound: dict[object, Type], known: list[Type]) -> None:
        """Choose what the part's free type stands for: mostly what the scope has such values of."""
        fitting = [found for each in known if (found := _bound(part.type, each)) and found.keys().isdisjoint(bound)]
        for name in _free(part.type):
            if name not in bound:
                if fitting and self._random.random() < 0.7 and name in fitting[0]:
                    bound[name] = self._random.choice(fitting)[name]
                else:
                    bound[name] = self._random.choice(_SCALARS)

    def _literal(self, of: Type, depth: int, scope: list[Atom]) -> str:
        random = self._random
        match of[0]:
            case "list":
                items = [self._written(_inner(of, 1), depth - 1, scope) for _ in range(random.choice((0, 1, 2, 3)))]
                return f"[{', '.join(items)}]"
            case "map":
                keys = random.sample(("'a'", "'b'", "'c'"), random.choice((0, 1, 1)))
                entries = [f"{key}: {self._written(_inner(of, 2), depth - 1, scope)}" for key in keys]
                return f"{{{', '.join(entries)}}}"
            case "optional":
                return (
                    f"optional.of({self._written(_inner(of, 1), depth - 1, scope)})"
                    if random.random() < 0.7
                    else "optional.none()"
                )
            case "dyn":
                return f"dyn({self._written(random.choice(_SCALARS), 0, scope)})"
            case "object":
                return random.choice([text for text, each in scope if each == of] or ["self"])
        return random.choice(_LITERALS[str(of[0])])


def _inner(of: Type, index: int) -> Type:
    found = of[index]
    assert isinstance(found, tuple)
    return found


def _compound(text: str) -> bool:
    return any(mark in text for mark in " -?!") and not text.startswith(("'", '"', "["))


def _free(of: Type) -> Iterator[object]:
    for each in of:
        if isinstance(each, tuple):
            yield from _free(each)
        elif each in {"T", "U"}:
            yield each


def _bound(pattern: Type, of: Type) -> dict[object, Type] | None:
    """What makes the pattern the type; None if nothing does."""
    if pattern[0] in {"T", "U"}:
        return {pattern[0]: of}
    if pattern[0] != of[0] or len(pattern) != len(of):
        return None
    found: dict[object, Type] = {}
    for one, other in zip(pattern[1:], of[1:], strict=True):
        if not (isinstance(one, tuple) and isinstance(other, tuple)):
            return None
        inner = _bound(one, other)
        if inner is None or any(found.get(key, each) != each for key, each in inner.items()):
            return None
        found |= inner
    return found


def _replaced(of: Type, bound: dict[object, Type]) -> Type:
    if of[0] in bound:
        return bound[of[0]]
    return tuple(_replaced(each, bound) if isinstance(each, tuple) else each for each in of)


def with_rules(schema: Schema, random: Random, count: int) -> Schema:
    """The schema with so many rules, most of them at its root, some at nodes below."""
    found: dict[str, Any] = dict(schema)
    writer = Writer(schema, random)
    found["x-kubernetes-validations"] = [_rule(writer, random) for _ in range(count)]
    for name, each in (schema.get("properties") or {}).items():
        if random.random() < 0.2 and "type" in each:
            inner = Writer(each, random)
            rules = [_rule(inner, random) for _ in range(random.choice((1, 2)))]
            found["properties"] = {**found["properties"], name: {**each, "x-kubernetes-validations": rules}}
    return found


def _rule(writer: Writer, random: Random) -> dict[str, Any]:
    transition = random.random() < 0.2
    rule: dict[str, Any] = {"rule": writer.rule(random.choice((1, 2, 2, 3, 3, 4)), transition=transition)}
    if random.random() < 0.1:
        rule["messageExpression"] = writer.message(random.choice((1, 2)))
    elif random.random() < 0.1:
        rule["message"] = "must be right"
    if random.random() < 0.05:
        rule["reason"] = random.choice(
            ("FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "FieldValueInvalid")
        )
    if transition and random.random() < 0.2:
        rule["optionalOldSelf"] = True
    return rule
