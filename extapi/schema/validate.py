"""Validation by a structural schema: all errors at once, worded as by kube-apiserver (behaviour J22, J25, J26).

This is the slow path behind :mod:`extapi.schema.predicate`: it walks schema and object together, knows paths, and drops
the errors of values that an update did not change.

Source (texts and order): ``k8s.io/kube-openapi/pkg/validation`` (validate, errors) and
``apiextensions-apiserver/pkg/apiserver/validation``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from extapi.api.jsonvalue import INT64, go_json, json_equal
from extapi.errors import MOST_ERRORS, FieldError, FieldErrorType, go_quote
from extapi.fielderrors import go_marshalled
from extapi.schema.correlate import Correlation, old_member
from extapi.schema.embedded import validate_embedded
from extapi.schema.formats import enforced, string_format
from extapi.schema.listtype import validate_lists
from extapi.schema.number import INT32, MAX_FLOAT32, int64, is_multiple, json_type, printed
from extapi.schema.pattern import matcher
from extapi.schema.predicate import predicate
from extapi.schema.structural import MISSING, Structural, join
from extapi.schema.typecheck import WantedTypes, type_invalid, wrong_type

Validate = Callable[[dict[str, Any], dict[str, Any] | None], list[FieldError]]


def validate(obj: dict[str, Any], structural: Structural, old: dict[str, Any] | None = None) -> list[FieldError]:
    """The errors of a whole object; with ``old``, unchanged values have none (behaviour J26).

    Compiles the schema on each call: servers use :class:`extapi.schema.schema.Schema`.
    """
    return validator(structural)(obj, old)


def validator(structural: Structural, *, defined: bool = False) -> Validate:
    """:func:`validate` for one schema, compiled.

    With ``defined`` it is that of a CustomResourceDefinition, and embedded resources are judged even if an update does not
    change them: so does kube-apiserver. An author's new rule should not lock what is stored.

    Raises:
        ValueError: A pattern does not compile.
    """
    patterns: dict[str, Callable[[str], bool]] = {}
    accepts = _predicate(structural, patterns)

    def run(obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[FieldError]:
        if accepts(obj):
            return []
        walk = _Walk(patterns)
        found = list(walk.check(structural, obj, "", MISSING if old is None else old).errors.values())
        embedded = list(islice(validate_embedded(obj, structural), MOST_ERRORS))
        if embedded and old is not None and not defined:
            before = {error.text() for error in islice(validate_embedded(old, structural), MOST_ERRORS)}
            embedded = [error for error in embedded if error.text() not in before]
        return found + embedded + _of_lists(structural, obj, old)

    return run


def validate_default(node: Structural, value: Any) -> list[FieldError]:
    """The errors of a default in a definition, as kube-apiserver judges it: by the schema as it is written.

    A format that is not enforced, or not for the type, is not dropped before, as it is for objects: a value that is neither text
    nor a list has to be of the format, which only Go's own numbers are; text and lists fit any type with a format, but numbers.
    Duplicates in lists are not looked for. Paths are those in the default; a key of a map at its top comes after a dot.

    Raises:
        ValueError: A pattern does not compile.

    Source: ``apiextensions-apiserver/pkg/apiserver/schema/defaulting`` validate; ``kube-openapi/pkg/validation`` typeValidator.
    """
    return list(_Walk({}, as_written=True).apply(node, value, "", MISSING).errors.values())


def _nothing(_obj: dict[str, Any], _old: dict[str, Any] | None = None) -> list[FieldError]:
    return []


def status_validator(structural: Structural) -> Validate:
    """The errors of an object in a write of its status: those of the status, whose texts name fields from the status on.

    The rest of the object is not looked at, and neither are names of embedded resources.

    Source: ``apiextensions-apiserver/pkg/registry/customresource`` ValidateStatusUpdate.
    """
    node = structural.properties.get("status")
    if node is None:
        return _nothing
    patterns: dict[str, Callable[[str], bool]] = {}
    compiled: list[Callable[[Any], bool]] = []  # at the first use: the whole schema holds it already

    def run(obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[FieldError]:
        if not compiled:
            compiled.append(_predicate(node, patterns))
        if "status" not in obj or compiled[0](obj["status"]):
            return []
        before = old_member(old, "status")
        found = _Walk(patterns).check(node, obj["status"], "", before).errors.values()
        below = [replace(error, path=f"status.{error.path}" if error.path else "status") for error in found]
        return below + _of_lists(structural, obj, old)

    return run


def _predicate(node: Structural, patterns: dict[str, Callable[[str], bool]]) -> Callable[[Any], bool]:
    def exact(branch: Structural) -> Callable[[Any], bool]:
        return lambda value: not _Walk(patterns).apply(branch, value, "", MISSING).errors

    return predicate(node, exact)


def _of_lists(structural: Structural, obj: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
    """Duplicates in lists; none if the old object has some anywhere."""
    lists = list(islice(validate_lists(obj, structural), MOST_ERRORS))
    return lists if lists and (old is None or not any(True for _ in validate_lists(old, structural))) else []


@dataclass(slots=True)
class _Found:
    """Errors, each once, and the number of rules that were met, which tells the best of several branches."""

    errors: dict[tuple[FieldErrorType, str, str], FieldError] = field(default_factory=dict)
    matches: int = 0

    def add(self, error: FieldError) -> None:
        self.errors.setdefault((error.type, error.path, error.detail), error)

    def merge(self, other: _Found) -> None:
        for key, error in other.errors.items():
            self.errors.setdefault(key, error)
        self.matches += other.matches


class _Walk:
    """One walk through a schema and an object.

    Args:
        patterns: Caches compiled patterns for the next walk.
        as_written: No format is dropped, and what is walked through is no object of its own: see :func:`validate_default`.
    """

    __slots__ = ("_as_written", "_correlation", "_patterns")

    def __init__(self, patterns: dict[str, Callable[[str], bool]], *, as_written: bool = False) -> None:
        self._patterns = patterns
        self._correlation = Correlation()
        self._as_written = as_written

    def check(self, node: Structural, value: Any, path: str, old: Any) -> _Found:
        """Like :meth:`apply`, but a value equal to its old one has no errors."""
        found = self.apply(node, value, path, old)
        if found.errors and old is not MISSING and self._correlation.unchanged(node, value, old):
            return _Found()
        return found

    def apply(self, node: Structural, value: Any, path: str, old: Any) -> _Found:
        """Apply all rules of ``node`` to ``value``; ``old`` is the old value, or MISSING."""
        found = _Found()
        kind = json_type(value)
        of = self._types(node)
        wrong = wrong_type(of, kind, value, path)
        if wrong is not None:
            found.add(wrong)
        if kind == "null":
            found.matches += wrong is None
        elif of.types or of.format:
            found.matches += 1 + (wrong is None)
        if kind != "null":
            found.matches += 3
            found.merge(self._branches(node, value, path, old))
            if kind == "string":
                self._string(node, of.format, value, path, found)
            elif kind in {"integer", "number"}:
                _number(node, kind, value, path, found)
            elif kind == "array":
                self._array(node, value, path, old, found)
        if node.enum and not any(_is_allowed(value, allowed) for allowed in node.enum):
            found.add(FieldError.not_supported(path, value, [_enum_text(allowed) for allowed in node.enum]))
        if kind == "object":
            self._object(node, value, path, old, found)
        return found

    def _types(self, node: Structural) -> WantedTypes:
        if self._as_written:
            return WantedTypes(() if node.int_or_string else node.types, node.format, node.nullable, lenient=True)
        return WantedTypes(node.types, enforced(node.types, node.format), node.nullable, lenient=False)

    def _string(self, node: Structural, name: str, value: str, path: str, found: _Found) -> None:
        found.matches += 1
        if node.max_length is not None and len(value) > node.max_length:
            found.add(FieldError.too_long(path, node.max_length))
        elif node.min_length is not None and len(value) < node.min_length:
            found.add(_invalid(path, value, f"should be at least {node.min_length} chars long"))
        elif node.pattern and not self._matches(node.pattern, value):
            found.add(_invalid(path, value, f"should match '{node.pattern}'"))
        fits = string_format(name) if name else None
        if fits is not None:
            found.matches += 1
            if not fits(value):
                found.add(type_invalid(path, name, value))

    def _matches(self, pattern: str, value: str) -> bool:
        if pattern not in self._patterns:
            self._patterns[pattern] = matcher(pattern)
        return self._patterns[pattern](value)

    def _array(self, node: Structural, value: list[Any], path: str, old: Any, found: _Found) -> None:
        found.matches += 2
        if node.items is not None:
            for index, item in enumerate(value):
                before = self._correlation.old_item(node, item, old)
                found.merge(self.check(node.items, item, f"{path}[{index}]", before))
                if len(found.errors) >= MOST_ERRORS:
                    break
        size = len(value)
        if node.min_items is not None and size < node.min_items:
            found.add(_invalid(path, size, f"should have at least {node.min_items} items"))
        if node.max_items is not None and size > node.max_items:
            found.add(FieldError.too_many(path, size, node.max_items))

    def _object(self, node: Structural, value: dict[str, Any], path: str, old: Any, found: _Found) -> None:
        found.matches += 1
        size = len(value)
        if node.min_properties is not None and size < node.min_properties:
            found.add(_invalid(path, size, f"should have at least {node.min_properties} properties"))
        if node.max_properties is not None and size > node.max_properties:
            found.add(FieldError.too_many(path, size, node.max_properties))
        for key, member in value.items():
            if key in node.properties:
                continue
            if len(found.errors) >= MOST_ERRORS:
                break
            if node.additional_properties is False:
                found.add(FieldError.invalid(path, key, f"{join(path, key)} in body is a forbidden property"))
            elif node.additional is not None and self._as_written:
                found.merge(self.apply(node.additional, member, f"{path}.{key}", MISSING))
            elif node.additional is not None:
                found.merge(self._member(node.additional, key, member, path, old))
        for key, sub in node.properties.items():
            if key in value:
                found.merge(self._member(sub, key, value[key], path, old))
        for key in node.required:
            if key not in value:
                found.add(FieldError.required(join(path, key)))

    def _member(self, node: Structural, key: str, value: Any, path: str, old: Any) -> _Found:
        before = MISSING if not path and key in {"apiVersion", "kind"} else old_member(old, key)
        return self.check(node, value, join(path, key), before)

    def _branches(self, node: Structural, value: Any, path: str, old: Any) -> _Found:
        """Apply ``anyOf``, ``oneOf``, ``allOf`` and ``not``. Their errors have no path (``<nil>``)."""
        found = _Found(matches=1)
        if node.any_of:
            results = [self.apply(branch, value, path, old) for branch in node.any_of]
            good = [result for result in results if not result.errors]
            if not good:
                found.add(_whole(path, "must validate at least one schema (anyOf)"))
            found.merge(good[0] if good else _best(results))
        if node.one_of:
            results = [self.apply(branch, value, path, old) for branch in node.one_of]
            good = [result for result in results if not result.errors]
            if len(good) == 1:
                found.merge(good[0])
            elif good:
                text = f"must validate one and only one schema (oneOf). Found {len(good)} valid alternatives"
                found.add(_whole(path, text))
            else:
                found.add(_whole(path, "must validate one and only one schema (oneOf). Found none valid"))
                found.merge(_best(results))
        if node.all_of:
            results = [self.apply(branch, value, path, old) for branch in node.all_of]
            for result in results:
                found.merge(result)
            if any(result.errors for result in results):
                none = "" if any(not result.errors for result in results) else ". None validated"
                found.add(_whole(path, f"must validate all the schemas (allOf){none}"))
        if node.not_ is not None and not self.apply(node.not_, value, path, old).errors:
            found.add(_whole(path, "must not validate the schema (not)"))
        return found


def _best(results: list[_Found]) -> _Found:
    """The branch that met most rules, or the first of several: its errors are the most useful."""
    return max(results, key=lambda result: result.matches)


def _number(node: Structural, kind: str, value: float, path: str, found: _Found) -> None:
    """The rules for numbers. An integer is compared with the whole part of each bound, as Go converts it.

    Source: ``k8s.io/kube-openapi/pkg/validation/validate`` numberValidator, MinimumNativeType.
    """
    found.matches += 2
    name = enforced(node.types, node.format)

    def bound(declared: float, what: str) -> float:
        if not _in_range(node.types, name, declared):
            found.add(_out_of_range(node, name, what, path))
            return float(declared)
        return int64(declared) if kind == "integer" else float(declared)

    if not _in_range(node.types, name, value):
        found.add(_out_of_range(node, name, "Checked", path))
    if node.multiple_of is not None:
        factor = bound(node.multiple_of, "MultipleOf")
        if factor <= 0:
            why = f"factor MultipleOf declared for {path} must be positive: {printed(factor, like=factor)}"
            found.add(FieldError.invalid(path, factor, why))
        elif not is_multiple(value, factor):
            found.add(_invalid(path, value, f"should be a multiple of {printed(factor, like=factor)}"))
    if node.minimum is not None:
        low = bound(node.minimum, "Minimum boundary")
        if value <= low if node.exclusive_minimum else value < low:
            than = "greater than" if node.exclusive_minimum else "greater than or equal to"
            found.add(_invalid(path, value, f"should be {than} {printed(low, like=low)}"))
    if node.maximum is not None:
        high = bound(node.maximum, "Maximum boundary")
        if value >= high if node.exclusive_maximum else value > high:
            than = "less than" if node.exclusive_maximum else "less than or equal to"
            found.add(_invalid(path, value, f"should be {than} {printed(high, like=high)}"))


def _out_of_range(node: Structural, name: str, what: str, path: str) -> FieldError:
    of = f"with format {name}" if name else "(default format)"
    return FieldError.invalid("", "", f"{what} value must be of type {node.types[0]} {of} in {path}")


def _in_range(types: tuple[str, ...], name: str, value: float) -> bool:
    if types == ("integer",):
        # Judged by what Go writes: a float just below the least int64 is written as that int64.
        text = go_json(value)
        return text.lstrip("-").isdecimal() and int(text) in (INT32 if name == "int32" else INT64)
    return name != "float" or abs(value) <= MAX_FLOAT32


def _is_allowed(value: Any, allowed: Any) -> bool:
    """Whether a value is one of an enum, after Go's conversion to its type.

    Source: ``k8s.io/kube-openapi/pkg/validation/validate`` Enum.
    """
    if allowed is None:
        return False
    if value.__class__ is float and allowed.__class__ is int:
        return int64(value) == allowed
    if value.__class__ is int and allowed.__class__ is str:
        return bool(allowed == (chr(value) if 0 <= value < 0xD800 or 0xE000 <= value < 0x110000 else "\ufffd"))
    return json_equal(value, allowed)


def _enum_text(allowed: Any) -> str:
    if isinstance(allowed, str):
        return allowed
    is_number = isinstance(allowed, int | float) and not isinstance(allowed, bool)
    return go_json(allowed) if is_number else go_marshalled(allowed)


def _invalid(path: str, value: Any, rule: str) -> FieldError:
    return FieldError.invalid(path, value, f"{path} in body {rule}")


def _whole(path: str, text: str) -> FieldError:
    return FieldError.invalid("", "", f"{go_quote(path)} {text}")
