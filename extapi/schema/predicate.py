"""The fast path of validation: whether an object breaks any rule of the schema, compiled to closures.

True is final. False may rarely be a false alarm (an integral float in place of an integer): then
:mod:`extapi.schema.validate` walks the object and words the errors. Nearly all writes pay only for this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from extapi.api.jsonvalue import INT64, json_equal
from extapi.schema.formats import enforced, string_format
from extapi.schema.number import INT32, int64
from extapi.schema.pattern import matcher
from extapi.schema.structural import Structural

Accepts = Callable[[Any], bool]
Exact = Callable[[Structural], Accepts]
"""Makes the exact check of a branch: inside ``oneOf`` and ``not``, a false alarm would become a wrong True."""


def predicate(node: Structural, exact: Exact) -> Accepts:
    """A function that says whether a value certainly breaks no rule of ``node``."""
    checks = [check for check in (_typed(node, exact), _enum(node), *_junctors(node, exact)) if check is not None]
    accepts = checks[0] if len(checks) == 1 else _all(checks)
    if not node.types or node.nullable:
        null = not node.enum
        return lambda value: null if value is None else accepts(value)
    return accepts


def _all(checks: list[Accepts]) -> Accepts:
    def accepts(value: Any) -> bool:
        for check in checks:  # noqa: SIM110  a generator in all() takes twice the time
            if not check(value):
                return False
        return True

    return accepts


def _typed(node: Structural, exact: Exact) -> Accepts:
    """The rules for the value's own type."""
    if node.types == ("string",):
        return _string(node)
    if node.types == ("boolean",):
        return lambda value: value.__class__ is bool
    if node.types in {("integer",), ("number",)}:
        return _number(node)
    if node.types == ("object",):
        return _object(node, exact)
    if node.types == ("array",):
        return _array(node, exact)
    if node.types and not node.int_or_string:
        return lambda _value: False  # no type of JSON: a definition is told so, and its defaults do not fit either
    by_class: dict[type, Accepts] = {str: _string(node), int: _number(node), float: _number(node)}
    if not node.types and enforced(node.types, node.format):
        by_class = {str: _string(node), list: _array(node, exact)}
    elif not node.types:
        by_class |= {bool: _true, dict: _object(node, exact), list: _array(node, exact)}
    else:
        del by_class[float]

    def accepts(value: Any) -> bool:
        check = by_class.get(value.__class__)
        return check is not None and check(value)

    return accepts


def _true(_value: Any) -> bool:
    return True


def _string(node: Structural) -> Accepts:
    low, high = node.min_length, node.max_length
    matches = matcher(node.pattern) if node.pattern else None
    name = enforced(node.types, node.format)
    fits = string_format(name) if name else None
    if low is None and high is None and matches is None and fits is None:
        return lambda value: value.__class__ is str

    def accepts(value: Any) -> bool:
        if value.__class__ is not str:
            return False
        if (low is not None and len(value) < low) or (high is not None and len(value) > high):
            return False
        return (matches is None or matches(value)) and (fits is None or fits(value))

    return accepts


def _number(node: Structural) -> Accepts:
    """Accepts integers in range, and floats only where the type is number and nothing restricts them."""
    span = INT32 if enforced(node.types, node.format) == "int32" else INT64
    low, high = span[0], span[-1]
    floats = node.types == ("number",) and enforced(node.types, node.format) != "float"
    ruled = node.minimum is not None or node.maximum is not None or node.multiple_of is not None
    if node.multiple_of is not None or enforced(node.types, node.format) == "float":
        return lambda _value: False
    if any(bound is not None and int64(bound) != bound for bound in (node.minimum, node.maximum)):
        return lambda _value: False  # rare, and integers are compared with something else than floats
    if not ruled:
        return lambda value: (value.__class__ is int and low <= value <= high) or (floats and value.__class__ is float)
    least = float("-inf") if node.minimum is None else node.minimum
    most = float("inf") if node.maximum is None else node.maximum
    above, below = node.exclusive_minimum, node.exclusive_maximum

    def accepts(value: Any) -> bool:
        if not ((value.__class__ is int and low <= value <= high) or (floats and value.__class__ is float)):
            return False
        return (value > least if above else value >= least) and (value < most if below else value <= most)

    return accepts


def _object(node: Structural, exact: Exact) -> Accepts:
    if node.embedded_resource:
        return lambda _value: False  # rare, and apiVersion, kind and metadata have more rules
    known: Mapping[str, Accepts] = {key: predicate(sub, exact) for key, sub in node.properties.items()}
    others = None if node.additional is None else predicate(node.additional, exact)
    closed = node.additional_properties is False
    required = node.required
    low, high = node.min_properties, node.max_properties
    sized = low is not None or high is not None

    def accepts(value: Any) -> bool:
        if value.__class__ is not dict:
            return False
        if sized and not (low or 0) <= len(value) <= (len(value) if high is None else high):
            return False
        for key in required:
            if key not in value:
                return False
        for key, sub in value.items():
            check = known.get(key, others)
            if check is None:
                if closed:
                    return False
            elif not check(sub):
                return False
        return True

    return accepts


def _array(node: Structural, exact: Exact) -> Accepts:
    check = None if node.items is None else predicate(node.items, exact)
    low, high = node.min_items, node.max_items
    unique = _unique(node)

    def accepts(value: Any) -> bool:
        if value.__class__ is not list:
            return False
        if (low is not None and len(value) < low) or (high is not None and len(value) > high):
            return False
        if check is not None:
            for item in value:
                if not check(item):
                    return False
        return unique is None or unique(value)

    return accepts


def _unique(node: Structural) -> Accepts | None:
    """Whether a set or map list has no duplicates; False if that takes more than a look."""
    if node.patch_strategy or node.list_repeats:
        return None
    if node.list_type == "set":
        return _distinct
    if node.list_type != "map":
        return None
    keys = node.list_map_keys
    if len(keys) == 1:
        only = keys[0]
        return lambda value: _distinct([item.get(only) if item.__class__ is dict else None for item in value])
    return lambda value: _distinct(
        [tuple(item.get(key) for key in keys) if item.__class__ is dict else None for item in value]
    )


def _distinct(values: list[Any]) -> bool:
    try:
        return len(set(values)) == len(values)
    except TypeError:  # objects and lists in it
        return len(values) < 2


def _enum(node: Structural) -> Accepts | None:
    if not node.enum:
        return None
    values = node.enum
    if all(value.__class__ is str for value in values):
        texts = frozenset(values)
        return lambda value: value.__class__ is str and value in texts
    return lambda value: any(json_equal(value, allowed) for allowed in values)


def _junctors(node: Structural, exact: Exact) -> list[Accepts]:
    checks = [predicate(branch, exact) for branch in node.all_of]
    if node.any_of:
        any_of = [predicate(branch, exact) for branch in node.any_of]
        checks.append(lambda value: any(check(value) for check in any_of))
    if node.one_of:
        one_of = [exact(branch) for branch in node.one_of]
        checks.append(lambda value: sum(check(value) for check in one_of) == 1)
    if node.not_ is not None:
        refused = exact(node.not_)
        checks.append(lambda value: not refused(value))
    return checks
