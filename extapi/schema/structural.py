"""The structural schema: a frozen tree with everything that the ``openAPIV3Schema`` of a CRD can say.

:func:`from_openapi` reads the JSON and refuses only keywords with values of the wrong type; :mod:`extapi.schema.check`
says whether the tree is *structural*. Nothing here looks at objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from extapi.fielderrors import LONGEST_PATH

MAX_DEPTH: Final = 100
"""How deeply schemas may nest: far more than real ones do, and far less than Python's stack allows."""


class _Missing:
    """The type of :data:`MISSING`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final[Any] = _Missing()
"""No value, where None is one (a JSON null)."""


@dataclass(frozen=True, kw_only=True)
class Structural:
    """One node. Also used inside ``allOf``, ``anyOf``, ``oneOf`` and ``not``, where fewer keywords are allowed.

    Source: ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema`` Structural and NestedValueValidation.
    """

    type: str = ""
    description: str = ""
    title: str = ""
    format: str = ""
    nullable: bool = False
    default: Any = MISSING
    example: Any = MISSING
    external_docs: Mapping[str, Any] | None = None

    properties: Mapping[str, Structural] = field(default_factory=dict)
    additional_properties: Structural | bool | None = None
    items: Structural | None = None
    required: tuple[str, ...] = ()

    enum: tuple[Any, ...] = ()
    minimum: float | None = None
    exclusive_minimum: bool = False
    maximum: float | None = None
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None

    all_of: tuple[Structural, ...] = ()
    any_of: tuple[Structural, ...] = ()
    one_of: tuple[Structural, ...] = ()
    not_: Structural | None = None

    preserve_unknown: bool | None = None
    """``x-kubernetes-preserve-unknown-fields``; an explicit False is kept, since it is an error (behaviour J16)."""
    embedded_resource: bool = False
    int_or_string: bool = False
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    validations: tuple[Mapping[str, Any], ...] = ()
    """``x-kubernetes-validations``: CEL rules, as they were written but for empty members; see :mod:`extapi.schema.cel.rules`."""

    patch_strategy: str = ""
    """``x-kubernetes-patch-strategy`` of a list. It is published but never read: CRDs may not have it."""
    patch_merge_key: str = ""
    """``x-kubernetes-patch-merge-key``, likewise."""
    list_repeats: bool = False
    """Whether items of a set or map list may repeat. It is not published: no list of a CRD may."""

    unsupported: Mapping[str, Any] = field(default_factory=dict)
    """Keywords that structural schemas do not have; :mod:`extapi.schema.check` reports them."""

    plain = False  # without a type, so that it is no field
    """Whether it is known to be a scalar with nothing that could be wrong by itself. Two of three nodes are; checks pass them by."""

    @property
    def types(self) -> tuple[str, ...]:
        """The JSON types that a value may have; empty for any."""
        if self.int_or_string:
            return ("integer", "string")
        return (self.type,) if self.type else ()

    @property
    def additional(self) -> Structural | None:
        """The schema of the values of other keys, if there is one."""
        found = self.additional_properties
        return found if isinstance(found, Structural) else None

    def child(self, key: str) -> Structural | None:
        """The schema of the value of ``key``."""
        found = self.properties.get(key)
        return found if found is not None else self.additional

    def branches(self) -> Iterator[tuple[str, Structural]]:
        """The schemas inside ``not``, ``allOf``, ``anyOf`` and ``oneOf``, with their paths."""
        if self.not_ is not None:
            yield "not", self.not_
        for keyword, group in (("allOf", self.all_of), ("anyOf", self.any_of), ("oneOf", self.one_of)):
            for index, branch in enumerate(group):
                yield f"{keyword}[{index}]", branch

    def nodes(self) -> Iterator[tuple[str, Structural]]:
        """The schemas of what is inside of a value, with their paths."""
        for key, sub in self.properties.items():
            yield f"properties[{key}]", sub
        additional = self.additional
        if additional is not None:
            yield "additionalProperties", additional
        if self.items is not None:
            yield "items", self.items

    @property
    def has_rules(self) -> bool:
        """Whether there are rules anywhere in it. CRDs have none in ``allOf``, but they would be run."""
        return bool(self.validations) or any(
            node.has_rules for node in (*(sub for _, sub in self.nodes()), *self.all_of)
        )

    def to_openapi(self) -> dict[str, Any]:
        """The schema as JSON: keywords in a fixed order, without those that say nothing."""
        out: dict[str, Any] = {}
        fields = self.__dict__
        for name in sorted(fields.keys() & _ORDER.keys(), key=_ORDER.__getitem__):
            value = fields[name]
            silent = (
                value is MISSING or value is None or (name not in _ANY and (value is False or value in ("", (), {})))
            )
            if silent:
                continue
            written = _written(value) if name in _NESTED else list(value) if name in _TUPLES else value
            out[_KEYWORD_OF[name]] = written
        if self.additional_properties is False:
            out["additionalProperties"] = False
        if self.preserve_unknown is False:
            out["x-kubernetes-preserve-unknown-fields"] = False
        if self.patch_merge_key:
            out["x-kubernetes-patch-merge-key"] = self.patch_merge_key
        if self.patch_strategy:
            out["x-kubernetes-patch-strategy"] = self.patch_strategy
        return out | dict(self.unsupported)


KEYWORDS: Final[Mapping[str, str]] = {
    "description": "description",
    "type": "type",
    "title": "title",
    "format": "format",
    "nullable": "nullable",
    "default": "default",
    "example": "example",
    "externalDocs": "external_docs",
    "required": "required",
    "properties": "properties",
    "additionalProperties": "additional_properties",
    "items": "items",
    "enum": "enum",
    "minimum": "minimum",
    "exclusiveMinimum": "exclusive_minimum",
    "maximum": "maximum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "allOf": "all_of",
    "anyOf": "any_of",
    "oneOf": "one_of",
    "not": "not_",
    "x-kubernetes-preserve-unknown-fields": "preserve_unknown",
    "x-kubernetes-embedded-resource": "embedded_resource",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-list-type": "list_type",
    "x-kubernetes-list-map-keys": "list_map_keys",
    "x-kubernetes-map-type": "map_type",
    "x-kubernetes-validations": "validations",
}
"""The keywords and the fields that hold them."""

_KEYWORD_OF: Final = {name: keyword for keyword, name in KEYWORDS.items()}
_ORDER: Final = {name: position for position, name in enumerate(_KEYWORD_OF)}
_SCALARS: Final = frozenset({"boolean", "integer", "number", "string"})
_HARMLESS: Final = frozenset({"type", "description", "title", "format", "nullable", "enum"})
"""Fields that are never wrong in a scalar."""
_NOTHING: Final[Mapping[str, Any]] = {}
_ANY = {"default", "example"}
_NESTED = {"properties", "additional_properties", "items", "all_of", "any_of", "one_of", "not_"}
_TUPLES = {"required", "enum", "list_map_keys", "validations"}
_STRINGS = {"type", "description", "title", "format", "pattern", "list_type", "map_type"}
_FLAGS = {
    "nullable",
    "exclusive_minimum",
    "exclusive_maximum",
    "unique_items",
    "preserve_unknown",
    "embedded_resource",
    "int_or_string",
}
_NUMBERS = {"minimum", "maximum", "multiple_of"}
_RULE_MEMBERS = {"rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"}


def from_openapi(schema: Mapping[str, Any], path: str = "") -> Structural:
    """Read a schema from JSON.

    Args:
        schema: The ``openAPIV3Schema``.
        path: Where it stands, for errors.

    Raises:
        ValueError: It has one line per keyword with a value of the wrong type, or says that schemas nest deeper than
            :data:`MAX_DEPTH`.
    """
    problems: list[str] = []
    found = _read(schema, path, 0, problems)
    if problems:
        raise ValueError("\n".join(problems))
    return found


def _read(schema: Any, path: str, depth: int, problems: list[str]) -> Structural:
    if not isinstance(schema, Mapping):
        problems.append(f"{path or '<nil>'}: must be an object")
        return Structural()
    if depth > MAX_DEPTH:
        problems.append(f"{path}: must not nest deeper than {MAX_DEPTH} schemas")
        return Structural()
    fields: dict[str, Any] = {}
    unsupported: dict[str, Any] = {}
    for keyword, value in schema.items():
        name = KEYWORDS.get(keyword)
        if name is None or (name == "items" and isinstance(value, list)):
            unsupported[keyword] = value
        elif value is None and name not in _ANY:
            continue  # null means absent, as for Go's decoder
        elif name in _NESTED:
            fields[name] = _nested(name, value, join(path, keyword), depth + 1, problems)
        elif (wanted := _expected(name, value)) != "":
            problems.append(f"{join(path, keyword)}: must be {wanted}")
        elif name == "validations" and (wrong := [*_wrong_members(value, join(path, keyword))]):
            problems += wrong
        elif name == "validations":
            fields[name] = tuple({key: each for key, each in rule.items() if _says(key, each)} for rule in value)
        else:
            fields[name] = tuple(value) if name in _TUPLES else value
    return _made(fields, unsupported)


def _made(fields: dict[str, Any], unsupported: dict[str, Any]) -> Structural:
    """A node with these fields.

    A folder of manifests has a hundred thousand nodes with three fields each. The constructor would set forty in each, which
    takes ten times as long and six times the memory; what is not set is found in the class.
    """
    node = object.__new__(Structural)
    node.__dict__.update(fields)
    node.__dict__["unsupported"] = unsupported or _NOTHING
    if "properties" not in fields:
        node.__dict__["properties"] = _NOTHING
        if not unsupported and fields.get("type") in _SCALARS and fields.keys() <= _HARMLESS:
            node.__dict__["plain"] = True
    return node


def _says(member: str, value: Any) -> bool:
    """Whether a member of a rule is there; an empty reason is a wrong one."""
    return value is not None and (value != "" or member == "reason")


def replace(node: Structural, **changes: Any) -> Structural:
    """The node with other values of some fields. Sets no fields but those that the node has, unlike ``dataclasses.replace``."""
    made = object.__new__(Structural)
    made.__dict__.update(node.__dict__)
    made.__dict__.pop("plain", None)
    made.__dict__.update(changes)
    return made


def _nested(name: str, value: Any, path: str, depth: int, problems: list[str]) -> Any:
    if name == "additional_properties" and isinstance(value, bool):
        return value
    if name == "properties":
        if isinstance(value, Mapping):
            return {key: _read(sub, f"{path}[{key}]", depth, problems) for key, sub in value.items()}
        problems.append(f"{path}: must be an object")
        return {}
    if name in {"all_of", "any_of", "one_of"}:
        if isinstance(value, (list, tuple)):
            return tuple(_read(sub, f"{path}[{i}]", depth, problems) for i, sub in enumerate(value))
        problems.append(f"{path}: must be an array")
        return ()
    return _read(value, path, depth, problems)


def _expected(name: str, value: Any) -> str:
    """The type that ``value`` should have; empty if it has it."""
    if name in _ANY:
        return ""
    if name in _STRINGS:
        return "" if isinstance(value, str) else "a string"
    if name in _FLAGS:
        return "" if isinstance(value, bool) else "a boolean"
    if name == "external_docs":
        return "" if isinstance(value, Mapping) else "an object"
    if name in _TUPLES:
        if not isinstance(value, (list, tuple)):
            return "an array"
        if name == "enum":
            return ""
        kind, text = (Mapping, "objects") if name == "validations" else (str, "strings")
        return "" if all(isinstance(item, kind) for item in value) else f"an array of {text}"
    if name in _NUMBERS:
        return "" if isinstance(value, (int, float)) and not isinstance(value, bool) else "a number"
    return "" if isinstance(value, int) and not isinstance(value, bool) else "an integer"


def _wrong_members(rules: Iterable[Mapping[str, Any]], path: str) -> Iterator[str]:
    """The members of rules that have the wrong type."""
    for index, rule in enumerate(rules):
        for key, value in rule.items():
            wanted, text = (bool, "a boolean") if key == "optionalOldSelf" else (str, "a string")
            if key in _RULE_MEMBERS and value is not None and not isinstance(value, wanted):
                yield f"{path}[{index}].{key}: must be {text}"


def _written(value: Any) -> Any:
    if isinstance(value, Structural):
        return value.to_openapi()
    if isinstance(value, Mapping):
        return {key: sub.to_openapi() for key, sub in value.items()}
    if isinstance(value, tuple):
        return [sub.to_openapi() for sub in value]
    return value


def join(path: str, name: str) -> str:
    """``path.name``, or only the name at the top."""
    return _bounded(f"{path}.{name}" if path else name)


def join_key(path: str, key: str) -> str:
    """``path[key]``, for a member that the schema does not name."""
    return _bounded(f"{path}[{key}]")


def _bounded(path: str) -> str:
    return path if len(path) <= LONGEST_PATH else f"{path[:LONGEST_PATH]}..."


__all__ = [
    "KEYWORDS",
    "MAX_DEPTH",
    "MISSING",
    "Structural",
    "from_openapi",
    "join",
    "join_key",
    "replace",
]
