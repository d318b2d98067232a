"""Reads and changes the numbers of replicas in an object: the paths of its version's :class:`~extapi.api.scale.Scale`.

Source: ``apiextensions-apiserver/pkg/registry/customresource`` etcd.go scaleFromCustomResource, validator.go
ValidateScaleSpec and ValidateScaleStatus; ``apimachinery/pkg/apis/meta/v1/unstructured`` helpers.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from extapi.api.definition import Kind
from extapi.api.jsonvalue import INT64
from extapi.api.scale import Scale
from extapi.api.types import Obj
from extapi.codec.scale import INT32, scale_object
from extapi.errors import FieldError, StorageError, go_float
from extapi.managedfields.fieldset import Path, field_element
from extapi.registry.schemapaths import missing
from extapi.schema.structural import Structural

_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
"""What a Scale shows of the object's metadata, in Go's order."""
_MOST: Final = 1024
"""Characters of a wrong value that an error shows."""


class _AccessError(ValueError):
    """A value on the path, or at its end, has another type; the text is Go's."""


class ScalePaths:
    """The paths of one version."""

    __slots__ = ("_selector", "_spec", "_status", "spec_path")

    def __init__(self, scale: Scale) -> None:
        self.spec_path = scale.spec_replicas_path
        self._spec = _steps(scale.spec_replicas_path)
        self._status = _steps(scale.status_replicas_path)
        self._selector = _steps(scale.label_selector_path) if scale.label_selector_path else []

    @property
    def replicas(self) -> Path:
        """Where the wanted number is, as managed fields name it."""
        return tuple(map(field_element, self._spec))

    def has_replicas(self, obj: Obj) -> bool:
        """Whether the wanted number is there.

        Raises:
            StorageError: The object is no longer as its paths need it.
        """
        try:
            return _number(obj, self._spec) is not None
        except _AccessError as error:
            raise StorageError(str(error)) from None

    def scale(self, obj: Obj) -> Obj:
        """The Scale of an object; numbers that are not there are 0.

        Raises:
            StorageError: The object is no longer as its paths need it.
        """
        try:
            replicas, ready = (_number(obj, steps) or 0 for steps in (self._spec, self._status))
            selector = _text(obj, self._selector)
        except _AccessError as error:
            raise StorageError(str(error)) from None
        metadata = {name: obj["metadata"][name] for name in _METADATA if name in obj["metadata"]}
        return scale_object(metadata, _int32(replicas), _int32(ready), selector)

    def scaled(self, obj: Obj, replicas: int) -> Obj:
        """A copy of the object with another wanted number; what it does not share is along the path.

        Raises:
            StorageError: The path leads through something that is no object.
        """
        copy = dict(obj)
        inner = copy
        for depth, step in enumerate(self._spec[:-1], 1):
            below = inner.get(step, {})
            if not isinstance(below, dict):
                where = _shown(self._spec[:depth])
                raise StorageError(f"value cannot be set because {where} is not a map[string]interface{{}}")
            inner[step] = inner = dict(below)
        inner[self._spec[-1]] = replicas
        return copy

    def errors(self, obj: Obj, part: str = "") -> Iterator[FieldError]:
        """What is wrong with the values at the paths (behaviour J29).

        Args:
            obj: The new object.
            part: The subresource that is written; ``status`` leaves spec alone.
        """
        for steps in (self._status,) if part == "status" else (self._spec, self._status):
            try:
                number = _number(obj, steps) or 0
            except _AccessError as error:
                yield FieldError.invalid(_shown(steps), 0, str(error))
            else:
                if number < 0:
                    yield FieldError.invalid(_shown(steps), number, "should be a non-negative integer")
                elif number not in INT32:
                    yield FieldError.invalid(_shown(steps), number, f"should be less than or equal to {INT32[-1]}")
        try:
            _text(obj, self._selector)
        except _AccessError as error:
            yield FieldError.invalid(_shown(self._selector), "", str(error))


def scale_problems(kind: Kind, version: str, structural: Structural) -> Iterator[str]:
    """Paths of a version with a type that lead nowhere, or to a field of another type."""
    scale = kind.scale_of(version)
    if scale is None:
        return
    paths = (
        ("spec_replicas_path", scale.spec_replicas_path, ("integer",)),
        ("status_replicas_path", scale.status_replicas_path, ("integer",)),
        ("label_selector_path", scale.label_selector_path, ("string",)),
    )
    for name, path, wanted in paths:
        why = _problem(structural, _steps(path), wanted) if path else ""
        if why:
            several = len(kind.versions) > 1 and kind.versions[version].scale is None
            hint = f"; give version {version} scale= of its own" if several else ""
            yield f"kind {kind.name}: version {version}: scale: {name} {path}: {why}{hint}"


def _problem(structural: Structural, steps: Sequence[str], wanted: tuple[str, ...]) -> str:
    found = structural
    for step in steps:
        below = found.child(step)
        if below is None:
            is_open = found.preserve_unknown or found.additional_properties is True or not found.types
            return "" if is_open else missing(found.properties, step)
        found = below
    return "" if not found.types or found.type in wanted else f"its type is {found.type}, not {wanted[0]}"


def _steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _shown(steps: Sequence[str]) -> str:
    return "." + ".".join(steps)


def _value(obj: Obj, steps: Sequence[str]) -> tuple[Any, bool]:
    """The value at a path, and whether there is one.

    Raises:
        _AccessError: A value on the way is no object.
    """
    value: Any = obj
    for depth, step in enumerate(steps, 1):
        if value is None:
            return None, False
        if not isinstance(value, dict):
            raise _wrong(steps[:depth], value, "map[string]interface{}")
        if step not in value:
            return None, False
        value = value[step]
    return value, True


def _number(obj: Obj, steps: Sequence[str]) -> int | None:
    value, found = _value(obj, steps)
    if found and (isinstance(value, bool) or not isinstance(value, int) or value not in INT64):
        raise _wrong(steps, value, "int64")
    return value if found else None


def _text(obj: Obj, steps: Sequence[str]) -> str:
    value, found = _value(obj, steps) if steps else ("", False)
    if found and not isinstance(value, str):
        raise _wrong(steps, value, "string")
    return value or ""


def _wrong(steps: Sequence[str], value: Any, wanted: str) -> _AccessError:
    shown, of = _go_value(value), _go_type(value)
    return _AccessError(f"{_shown(steps)} accessor error: {shown} is of the type {of}, expected {wanted}")


def _go_type(value: Any) -> str:
    """The type of a JSON value as Go's ``%T`` prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int) and value in INT64:
        return "int64"
    names = ((str, "string"), (dict, "map[string]interface {}"), (list, "[]interface {}"))
    return next((name for known, name in names if isinstance(value, known)), "float64")


def _go_value(value: Any) -> str:
    """A JSON value as Go's ``%v`` prints it, as far as it is shown."""
    shown = ""
    for piece in _pieces(value):
        shown += piece
        if len(shown) > _MOST:
            break
    return shown[:_MOST]


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        yield "[" if isinstance(value, list) else "map["
        for at, item in enumerate(value if isinstance(value, list) else sorted(value)):
            yield " " if at else ""
            if isinstance(value, dict):
                yield f"{item}:"
            yield from _pieces(item if isinstance(value, list) else value[item])
        yield "]"
    elif isinstance(value, bool) or value is None:
        yield {True: "true", False: "false", None: "<nil>"}[value]
    elif isinstance(value, float) or (isinstance(value, int) and value not in INT64):
        yield go_float(value)
    else:
        yield str(value)


def _int32(number: int) -> int:
    """A Go conversion of an int64, which drops the upper half."""
    return (number + 2**31) % 2**32 - 2**31
