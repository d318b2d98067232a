"""ApplyConfiguration: an object that an expression has made is merged into the object of a write.

Nobody manages what is set so; the fields' managers stay as they are.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/smd.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from extapi.admission.expressions.evaluating import Expired
from extapi.admission.mutations.made import Allowance, MutationError, check_type_names, object_of
from extapi.api.jsonvalue import json_copy
from extapi.api.types import Obj
from extapi.managedfields.atom import Atom
from extapi.managedfields.fieldset import field_element, shown
from extapi.managedfields.items import TypedError
from extapi.managedfields.merging import merge
from extapi.managedfields.validation import check
from extapi.schema.cel.values.made import MadeObject


def configuration(made: MadeObject, expired: Expired | None = None) -> Obj:
    """What an expression says, as JSON but for what is no JSON, which :func:`applied` refuses.

    Args:
        made: The value of the expression.
        expired: Says that time is up.

    Raises:
        MutationError: It is no object, or too large.
    """
    check_type_names(made, Allowance(expired))
    return object_of(made, Allowance(expired))


def applied(obj: Obj, configured: Obj, atom: Atom) -> Obj:
    """A copy of an object with a configuration merged into it.

    Args:
        obj: The object.
        configured: What is to be in it. Its apiVersion and kind do not count.
        atom: The object's type.

    Raises:
        MutationError: One of them does not fit the type, or the configuration sets what is atomic.
    """
    patch = {**configured, "apiVersion": obj.get("apiVersion"), "kind": obj.get("kind")}
    with_type = "error applying patch: failed to convert {} object to typed object: {}"
    try:
        check(patch, atom)
    except TypedError as error:
        raise MutationError(with_type.format("patch", error)) from None
    atomics = list(_atomics([], patch, atom))
    if atomics:
        what = f"may not mutate atomic arrays, maps or structs: {', '.join(atomics)}"
        raise MutationError(f"error applying patch: invalid ApplyConfiguration: {what}")
    try:
        check(obj, atom, duplicates=True)
    except TypedError as error:
        raise MutationError(with_type.format("original", error)) from None
    try:
        found = merge(obj, patch, atom)
    except TypedError as error:
        raise MutationError(f"error applying patch: failed to merge patch: {error}") from None
    copied: Obj = json_copy(found)
    return copied


def _atomics(path: list[str], value: Any, atom: Atom) -> Iterator[str]:
    """Where a configuration sets what has one manager as a whole. What is in a map without declared fields is not looked at."""
    map_, list_ = atom.map, atom.list
    if isinstance(value, dict) and map_ is not None:
        if map_.atomic:
            yield shown(tuple(path))
        for name, each in value.items():
            field = map_.fields.get(name)
            if field is not None:
                yield from _atomics([*path, field_element(name)], each, field)
    elif isinstance(value, list) and list_ is not None:
        if not list_.associative:
            yield shown(tuple(path))
        for index, each in enumerate(value):
            yield from _atomics([*path, f"i:{index}"], each, list_.element)
