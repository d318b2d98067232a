"""Checks defaults: they must have only known fields and be valid (behaviour J18).

Source: ``apiextensions-apiserver/pkg/apiserver/schema/defaulting`` ValidateDefaults.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from extapi.api.jsonvalue import json_copy
from extapi.errors import FieldError, aggregate
from extapi.schema.check_keywords import META
from extapi.schema.default import defaulter, has_default
from extapi.schema.embedded import validate_embedded
from extapi.schema.prune import pruner
from extapi.schema.structural import MISSING, Structural, join
from extapi.schema.validate import validate_default, validator

if TYPE_CHECKING:
    from extapi.schema.cel.checks import DefaultRules

_Around = Callable[[Any], dict[str, Any]]
"""Puts a value where it stands into an object."""


class DefaultCheck:
    """Checks the defaults of one schema.

    Args:
        is_sound: Whether the part of the schema at a path has no errors, so that it can judge.
        of_author: Whether the defaults are those of types: each is judged with the defaults inside of it, as it will be when it
            is filled in, also in maps, but not in metadata. kube-apiserver judges them as they stand.
        pruned: Whether they may have no unknown fields.
    """

    def __init__(
        self, is_sound: Callable[[str], bool] = lambda _path: True, *, of_author: bool = False, pruned: bool = True
    ) -> None:
        self._is_sound = is_sound
        self._of_author = of_author
        self._pruned = pruned
        self._rules: DefaultRules | None = None

    def errors(self, structural: Structural, path: str) -> Iterator[FieldError]:
        """The errors of all defaults of a whole object's schema."""
        root = dataclasses.replace(structural, embedded_resource=True)
        for key, sub in structural.properties.items():
            at = f"{join(path, 'properties')}[{key}]"
            if key not in META:
                yield from self._below(sub, at)
            elif not self._of_author:
                yield from self._in_meta(sub, at, root, _member(_whole, key))

    def _below(self, node: Structural, path: str) -> Iterator[FieldError]:
        if has_default(node) and self._is_sound(path):
            yield from self._default(node, join(path, "default"))
        if node.items is not None:
            yield from self._below(node.items, join(path, "items"))
        if self._of_author and node.additional is not None:
            yield from self._below(node.additional, join(path, "additionalProperties"))
        for key, sub in node.properties.items():
            if sub.plain:
                continue
            at = f"{join(path, 'properties')}[{key}]"
            if node.embedded_resource and key in META and not self._of_author:
                yield from self._in_meta(sub, at, node, _member(_whole, key))
            else:
                yield from self._below(sub, at)

    def _default(self, node: Structural, at: str) -> Iterator[FieldError]:
        return self._of_type(node, at) if self._of_author else self._of_definition(node, at)

    def _of_type(self, node: Structural, at: str) -> Iterator[FieldError]:
        # Checked as the only member of an object, as it will be when it is filled in.
        around = Structural(type="object", properties={"default": dataclasses.replace(node, default=MISSING)})
        obj: dict[str, Any] = {"default": json_copy(node.default)}
        if pruner(around)(obj):
            yield FieldError.invalid(at, node.default, "must not have unknown fields")
        defaulter(around)(obj)
        errors = [_moved(error, at, node) for error in validator(around)(obj, None)]
        yield from errors or self._broken_rules(node, obj["default"], at)

    def _of_definition(self, node: Structural, at: str) -> Iterator[FieldError]:
        if self._pruned:
            around = Structural(type="object", properties={"default": dataclasses.replace(node, default=MISSING)})
            if pruner(around)({"default": json_copy(node.default)}):
                yield FieldError.invalid(at, node.default, "must not have unknown fields")
        errors = list(validate_embedded(node.default, node, at))
        yield from errors or self._broken(node, at)

    def _broken(self, node: Structural, at: str) -> list[FieldError]:
        """The rules of its schema that a default of a definition breaks."""
        errors = [_placed(error, at) for error in validate_default(node, node.default)]
        return errors or self._broken_rules(node, node.default, at)

    def _in_meta(self, node: Structural, path: str, root: Structural, around: _Around) -> Iterator[FieldError]:
        """The defaults in the metadata of an object, whose schema is ``root``."""
        if has_default(node):
            at = join(path, "default")
            found = list(validate_embedded(around(json_copy(node.default)), root))
            if found:
                text = aggregate(error.text() for error in found)
                yield FieldError.invalid(at, node.default, f"must result in valid metadata: {text}")
            else:
                yield from self._broken(node, at)
        if node.items is not None:
            yield from self._in_meta(node.items, join(path, "items"), root, _item(around))
        for key, sub in node.properties.items():
            yield from self._in_meta(sub, f"{join(path, 'properties')}[{key}]", root, _member(around, key))

    def _broken_rules(self, node: Structural, default: Any, at: str) -> list[FieldError]:
        if not node.has_rules:
            return []
        if self._rules is None:
            from extapi.schema.cel.checks import DefaultRules  # noqa: PLC0415 -- without rules it is not needed

            self._rules = DefaultRules()
        return self._rules.errors(node, default, at)


def _whole(value: Any) -> dict[str, Any]:
    """The least object that has what is given."""
    return {"apiVersion": "validation/v1", "kind": "Validation", **value}


def _member(around: _Around, key: str) -> _Around:
    return lambda value: around({key: value})


def _item(around: _Around) -> _Around:
    return lambda value: around([value])


def _placed(error: FieldError, at: str) -> FieldError:
    """An error inside of a default as an error of the definition, as kube-apiserver writes its path."""
    return dataclasses.replace(error, path=f"{at}.{error.path.removeprefix('.')}" if error.path else at)


def _moved(error: FieldError, path: str, node: Structural) -> FieldError:
    """An error about the object ``{"default": ...}`` as an error about the default itself.

    The text names the field inside of the default; that of the default itself is empty, and a key of a map comes after a dot,
    as in kube-apiserver.
    """
    inner = error.path.removeprefix("default")
    quote = '"' if error.detail.startswith('"') else ""
    detail = error.detail.removeprefix(quote)
    moved = detail.removeprefix("default")
    if moved != detail and node.additional is None:
        moved = moved.removeprefix(".")
    if inner.startswith("["):
        inner = f".{inner}"  # as kube-apiserver writes it
    return dataclasses.replace(error, path=path + inner, detail=quote + moved)
