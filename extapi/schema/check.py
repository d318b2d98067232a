"""Checks whether a schema is structural, and reports all errors at once (behaviour J12 to J18).

Texts and paths are those of the validation of CRDs: a schema that was written for a CRD is judged as by kube-apiserver.

Source: ``apiextensions-apiserver/pkg/apiserver/schema`` (validation, complete) and
``pkg/apis/apiextensions/validation``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from extapi.api.jsonvalue import NotJSONError, check_json, json_copy
from extapi.errors import FieldError
from extapi.schema.check_keywords import check_keywords
from extapi.schema.default import defaulter, has_default
from extapi.schema.pattern import matcher
from extapi.schema.prune import pruner
from extapi.schema.structural import MISSING, Structural, join
from extapi.schema.validate import validator

if TYPE_CHECKING:
    from extapi.schema.cel.checks import DefaultRules

_META = ("apiVersion", "kind", "metadata")
_INTEGER, _STRING = Structural(type="integer"), Structural(type="string")
_UNSUPPORTED = ("$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties")


def check(structural: Structural, path: str = "", *, every_default: bool = False) -> list[FieldError]:
    """Check the schema of a whole object, with its rules.

    Args:
        structural: The schema.
        path: Where the schema stands, such as ``spec.versions[0].schema.openAPIV3Schema``.
        every_default: Also check the defaults and rules of fields that are right while others are wrong. Otherwise they are
            checked only once the structure is right, rules after defaults, as in kube-apiserver.

    Returns:
        The errors, sorted; none if the schema is structural.
    """
    found = [
        *_node(structural, path, "root"),
        *_values(structural, path),
        *_complete(structural, structural, path, path),
    ]
    of_keywords = list(check_keywords(structural, path))
    sound = _Soundness([*found, *of_keywords])
    if every_default:
        of_rules = _rules(structural, path, sound)
        sound = _Soundness([*found, *of_keywords, *of_rules])
        found += [*of_rules, *_Defaults(sound, filled=True).errors(structural, path)]
    elif not found:
        found += _Defaults(sound, filled=False).errors(structural, path)
        if not found:
            found += _rules(structural, path, sound)
    found += of_keywords
    # Errors are compared by their texts: values need not be hashable.
    return [error for _, error in sorted({error.text(): error for error in found}.items())]


def _rules(structural: Structural, path: str, sound: _Soundness) -> list[FieldError]:
    if not structural.has_rules:
        return []
    from extapi.schema.cel.checks import check_rules  # noqa: PLC0415 -- without rules it is not needed

    return check_rules(structural, path, sound.is_sound)


class _Soundness:
    """Which parts of a schema have errors: broken schemas cannot judge values, and cannot be compiled against."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self._wrong = tuple(error.path for error in errors)

    def is_sound(self, path: str) -> bool:
        """Whether there is no error at a path or below."""
        return not any(wrong.startswith(path) for wrong in self._wrong)


def _node(node: Structural, path: str, level: str) -> Iterator[FieldError]:
    """The rules for a node of the structure; ``level`` is root, field or item."""
    if node.type == "array" and node.items is None and "items" not in node.unsupported:
        yield FieldError.required(join(path, "items"), "must be specified")
    if node.additional_properties is not None:
        yield from _additional(node, join(path, "additionalProperties"), level)
    yield from _flags(node, path)
    yield from _type(node, path, level)
    if level == "root" or node.embedded_resource:
        for name in ("apiVersion", "kind"):
            if name in node.properties and node.properties[name].type != "string":
                at = f"{join(path, 'properties')}[{name}].type"
                yield FieldError.invalid(at, node.properties[name].type, "must be string")
        yield from _metadata(node, path, level)
    for key, sub in node.properties.items():
        yield from _node(sub, f"{join(path, 'properties')}[{key}]", "field")
    if node.items is not None:
        yield from _node(node.items, join(path, "items"), "item")


def _additional(node: Structural, path: str, level: str) -> Iterator[FieldError]:
    if level == "root":
        yield FieldError.forbidden(path, "must not be used at the root")
    if node.embedded_resource:
        yield FieldError.forbidden(path, "must not be used if x-kubernetes-embedded-resource is set")
    if node.additional_properties is False:
        yield FieldError.forbidden(path, "additionalProperties cannot be set to false")
    if node.additional is not None:
        yield from _node(node.additional, path, "field")


def _flags(node: Structural, path: str) -> Iterator[FieldError]:
    preserve = join(path, "x-kubernetes-preserve-unknown-fields")
    if node.preserve_unknown is False:
        yield FieldError.invalid(preserve, value=False, detail="must be true or undefined")
    if node.int_or_string and node.preserve_unknown:
        yield FieldError.invalid(preserve, value=True, detail="must be false if x-kubernetes-int-or-string is true")
    if node.embedded_resource:
        if node.int_or_string:
            at = join(path, "x-kubernetes-embedded-resource")
            yield FieldError.invalid(at, value=True, detail="must be false if x-kubernetes-int-or-string is true")
        if not node.preserve_unknown and not node.properties:
            yield FieldError.required(
                join(path, "properties"),
                "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            )


def _type(node: Structural, path: str, level: str) -> Iterator[FieldError]:
    at = join(path, "type")
    if node.embedded_resource and node.type != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        yield FieldError.invalid(at, node.type, text) if node.type else FieldError.required(at, text)
    elif not node.type and not node.int_or_string and not node.preserve_unknown:
        where = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
        yield FieldError.required(at, f"must not be empty {where[level]}")
    if level == "root" and node.type not in {"", "object"}:
        yield FieldError.invalid(at, node.type, "must be object at the root")
    if level == "root" and node.nullable:
        yield FieldError.forbidden(join(path, "nullable"), "nullable cannot be true at the root")


def _metadata(node: Structural, path: str, level: str) -> Iterator[FieldError]:
    meta = node.properties.get("metadata")
    if meta is None:
        return
    at = f"{join(path, 'properties')}[metadata]"
    if meta.type != "object":
        yield FieldError.invalid(join(at, "type"), meta.type, "must be object")
    rest = dataclasses.replace(meta, type="", default=MISSING, properties={})
    if level == "root" and (rest != Structural() or not meta.properties.keys() <= {"name", "generateName"}):
        yield FieldError.forbidden(
            at, "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )


def _values(node: Structural, path: str) -> Iterator[FieldError]:
    """The rules for value validations, in the whole structure."""
    yield from _value(node, path)
    any_of, all_of = _int_or_string_patterns(node)
    for at, branch in node.branches():
        if any_of and at.startswith("anyOf["):
            continue
        yield from _branch(branch, join(path, at), skip_any_of=all_of and at == "allOf[0]")
    for at, sub in _inner(node, path):
        yield from _values(sub, at)


def _inner(node: Structural, path: str) -> Iterator[tuple[str, Structural]]:
    return ((join(path, at), sub) for at, sub in node.nodes())


def _int_or_string_patterns(node: Structural) -> tuple[bool, bool]:
    """Whether int-or-string is written in an allowed way (behaviour J14): in anyOf, or in anyOf of the first allOf."""
    pattern = (_INTEGER, _STRING)
    return node.any_of == pattern, bool(node.all_of) and node.all_of[0].any_of == pattern


def _value(node: Structural, path: str) -> Iterator[FieldError]:
    """The rules of structure for every node, inside and outside of junctors (allOf, anyOf, oneOf, not)."""
    if node.pattern:
        try:
            matcher(node.pattern)
        except ValueError as error:
            text = f"must be a valid regular expression, but isn't: {error}"
            yield FieldError.invalid(join(path, "pattern"), node.pattern, text)
    yield from _constants(node, path)
    for keyword in node.unsupported:
        if keyword == "items":
            text = "items must be a schema object and not an array"
        elif keyword in _UNSUPPORTED:
            text = f"{keyword} is not supported"
        else:
            text = "is not a keyword of structural schemas"
        yield FieldError.forbidden(join(path, keyword), text)


def _constants(node: Structural, path: str) -> Iterator[FieldError]:
    """Constants that are not JSON for every client: a default such as NaN would be stored with every object."""
    constants = {
        "default": node.default,
        "enum": list(node.enum),
        "minimum": node.minimum,
        "maximum": node.maximum,
        "multipleOf": node.multiple_of,
    }
    for keyword, constant in constants.items():
        if constant is MISSING:
            continue
        try:
            check_json(constant)
        except NotJSONError as error:
            at = f"{join(path, keyword)}{'.' if error.path[:1] not in ('', '[') else ''}{error.path}"
            yield FieldError.forbidden(at, f"must be JSON that every client can read, but is {error.why}")


def _branch(node: Structural, path: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    """A schema inside allOf, anyOf, oneOf or not: it may constrain values, but not define structure (behaviour J13)."""
    forbidden = {
        "type": (node.type, "empty"),
        "title": (node.title, "empty"),
        "description": (node.description, "empty"),
        "nullable": (node.nullable, "false"),
        "default": (has_default(node), "undefined"),
        "additionalProperties": (node.additional_properties is not None, "undefined"),
        "x-kubernetes-preserve-unknown-fields": (node.preserve_unknown, "false"),
        "x-kubernetes-embedded-resource": (node.embedded_resource, "false"),
        "x-kubernetes-int-or-string": (node.int_or_string, "false"),
        "x-kubernetes-list-type": (node.list_type, "undefined"),
        "x-kubernetes-list-map-keys": (node.list_map_keys, "empty"),
        "x-kubernetes-map-type": (node.map_type, "undefined"),
        "x-kubernetes-validations": (node.validations, "empty"),
    }
    for keyword, (used, allowed) in forbidden.items():
        if used:
            yield FieldError.forbidden(join(path, keyword), f"must be {allowed} to be structural")
    if "metadata" in node.properties:
        at = f"{join(path, 'properties')}[metadata]"
        yield FieldError.forbidden(at, "must not be specified in a nested context")
    yield from _value(node, path)
    for at, branch in node.branches():
        if not (skip_any_of and at.startswith("anyOf[")):
            yield from _branch(branch, join(path, at))
    for at, sub in _inner(dataclasses.replace(node, additional_properties=None), path):
        yield from _branch(sub, at)


def _complete(node: Structural | None, branch: Structural, path: str, branch_path: str) -> Iterator[FieldError]:
    """The fields that a junctor mentions must exist in the structure outside of it."""
    if node is None:
        yield FieldError.required(path, f"because it is defined in {branch_path}")
        return
    for at, inner in branch.branches():
        yield from _complete(node, inner, path, join(branch_path, at))
    if node is branch:  # the structure itself: continue with its own nodes
        for at, sub in _inner(node, path):
            yield from _complete(sub, sub, at, at)
        return
    if branch.items is not None:
        yield from _complete(node.items, branch.items, join(path, "items"), join(branch_path, "items"))
    for key, sub in branch.properties.items():
        at, branch_at = f"{join(path, 'properties')}[{key}]", f"{join(branch_path, 'properties')}[{key}]"
        yield from _complete(node.properties.get(key), sub, at, branch_at)


class _Defaults:
    """Checks defaults: they must have only known fields and be valid (behaviour J18).

    Args:
        sound: The parts of the schema that can judge.
        filled: Whether a default is judged with the defaults inside of it, as it will be when it is filled in. That of a
            Struct leaves them out; kube-apiserver judges rules without them.
    """

    def __init__(self, sound: _Soundness, *, filled: bool) -> None:
        self._sound = sound
        self._filled = filled
        self._rules: DefaultRules | None = None

    def errors(self, structural: Structural, path: str) -> Iterator[FieldError]:
        """The errors of all defaults of a whole object's schema."""
        for name in _META:
            top = structural.properties.get(name)
            if top is not None:
                yield from _forbidden_defaults(top, f"{join(path, 'properties')}[{name}]", name)
        for key, sub in structural.properties.items():
            if key not in _META:
                yield from self._below(sub, f"{join(path, 'properties')}[{key}]")

    def _below(self, node: Structural, path: str) -> Iterator[FieldError]:
        if has_default(node) and self._sound.is_sound(path):
            yield from self._default(node, join(path, "default"))
        for at, sub in _inner(node, path):
            yield from self._below(sub, at)

    def _default(self, node: Structural, at: str) -> Iterator[FieldError]:
        # Checked as the only member of an object, as it will be when it is filled in.
        around = Structural(type="object", properties={"default": dataclasses.replace(node, default=MISSING)})
        obj: dict[str, Any] = {"default": json_copy(node.default)}
        if pruner(around)(obj):
            yield FieldError.invalid(at, node.default, "must not have unknown fields")
        defaulter(around)(obj)
        errors = [_moved(error, at) for error in validator(around)(obj, None)]
        default = obj["default"] if self._filled else node.default
        yield from errors or self._broken_rules(node, default, at)

    def _broken_rules(self, node: Structural, default: Any, at: str) -> list[FieldError]:
        if not node.has_rules:
            return []
        if self._rules is None:
            from extapi.schema.cel.checks import DefaultRules  # noqa: PLC0415 -- without rules it is not needed

            self._rules = DefaultRules()
        return self._rules.errors(node, default, at)


def _forbidden_defaults(node: Structural, path: str, name: str) -> Iterator[FieldError]:
    if has_default(node):
        yield FieldError.forbidden(join(path, "default"), f"must not be set in top-level {name}")
    for at, sub in _inner(node, path):
        yield from _forbidden_defaults(sub, at, name)


def _moved(error: FieldError, path: str) -> FieldError:
    """An error about the object ``{"default": ...}`` as an error about the default itself."""
    inner = error.path.removeprefix("default")
    quote = '"' if error.detail.startswith('"') else ""
    detail = error.detail.removeprefix(quote).removeprefix("default")
    moved = f"{quote}{path}{detail}" if detail != error.detail.removeprefix(quote) else error.detail
    return dataclasses.replace(error, path=path + inner if error.path else "", detail=moved)
