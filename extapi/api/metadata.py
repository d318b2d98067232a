"""An object's metadata as a plain dict: coerced the way Go decodes it into ``ObjectMeta``, and cleaned up on writes.

Metadata has the same schema in all kinds, so it is a table here (``meta/v1`` ObjectMeta). Knows nothing of kinds or
requests. :mod:`extapi.api.metadata_rules` validates the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from extapi.api.jsonvalue import INT64, go_json
from extapi.api.names import qualified_name
from extapi.api.timestamp import canonical_timestamp
from extapi.errors import MOST_ERRORS, BadRequest, FieldError, go_quote

__all__ = [
    "Coerced",
    "coerce",
    "dedupe_owner_references",
    "finalizer_errors",
    "finalizer_warnings",
]

_STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})
_DROPPED_TIME = "0001-01-01T00:00:00Z"
"""Go's zero time, which means "not set"."""


class Coerced(NamedTuple):
    """Metadata as it is stored and served."""

    metadata: dict[str, Any]
    unknown: list[str]
    """Paths of unknown fields that were dropped, such as ``metadata.foo``; for ``unknown field "..."``."""


class _WrongType(Exception):
    """A field has the wrong type; the text is that of Go's decoder."""


def coerce(metadata: Any, *, drop_malformed: bool = False) -> Coerced:
    """Metadata as Go decodes it (behaviour J19): empty and unknown fields are dropped, null in a map becomes "".

    Args:
        metadata: Any JSON value; it is not changed.
        drop_malformed: Drop fields of a wrong type instead of raising, for what is read from storage.

    Raises:
        BadRequest: A field has the wrong type. The text is the decoder's alone; the caller puts the kind before it
            (behaviour E10).
    """
    unknown: list[str] = []
    if metadata is None:
        return Coerced({}, unknown)
    if not isinstance(metadata, dict):
        if drop_malformed:
            return Coerced({}, unknown)
        raise BadRequest(f"json: cannot unmarshal {_go_name(metadata)} into Go value of type v1.ObjectMeta")
    try:
        return Coerced(_struct(metadata, _OBJECT_META, "", "metadata", unknown), unknown)
    except (_WrongType, ValueError) as error:
        if not drop_malformed:
            raise BadRequest(str(error)) from None
    unknown.clear()
    kept: dict[str, Any] = {}
    for name, value in metadata.items():
        try:
            kept |= _struct({name: value}, _OBJECT_META, "", "metadata", unknown)
        except (_WrongType, ValueError):
            continue
    return Coerced(kept, unknown)


# -- the table --------------------------------------------------------------------------------------------------------
# A reader turns a JSON value into the stored one, or into None for a field that is left out. It gets the field's path
# twice: as Go names it, for errors, and as the client does, for unknown fields.

_Reader = Callable[[Any, str, str, list[str]], Any]


@dataclass(frozen=True, slots=True)
class _Fields:
    """A Go struct: its name, its fields, and those that are written even when empty."""

    name: str
    readers: Mapping[str, _Reader]
    always: Mapping[str, Any] = field(default_factory=dict)


def _struct(value: dict[str, Any], fields: _Fields, where: str, path: str, unknown: list[str]) -> dict[str, Any]:
    result = dict(fields.always)
    readers = fields.readers
    # Sorted as Go's encoder sorts: the first error and the order of unknown fields must not depend on the client.
    for name in sorted(value):
        reader = readers.get(name)
        if reader is None:
            unknown.append(f"{path}.{name}")
            continue
        item = value[name]
        if item is None:
            continue
        stands = f"{where}.{name}" if where else name
        read = reader(item, f"{fields.name}.{stands}", f"{path}.{name}", unknown)
        if read is not None:
            result[name] = read
    return result


def _refuse(value: Any, where: str, wanted: str) -> _WrongType:
    return _WrongType(f"json: cannot unmarshal {_go_name(value)} into Go struct field {where} of type {wanted}")


def _go_name(value: Any) -> str:
    """The type of a JSON value in the words of Go's decoder."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _text(wanted: str = "string") -> _Reader:
    def read(value: Any, where: str, path: str, unknown: list[str]) -> str | None:  # noqa: ARG001 -- a _Reader
        if isinstance(value, str):
            return value or None
        raise _refuse(value, where, wanted)

    return read


def _integer(value: Any, where: str) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = go_json(value)  # Go writes metadata and reads it again
        if text.lstrip("-").isdecimal() and int(text) in INT64:
            return int(text)
        raise _WrongType(f"json: cannot unmarshal number {text} into Go struct field {where} of type int64")
    raise _refuse(value, where, "int64")


def _number(value: Any, where: str, path: str, unknown: list[str]) -> int | None:  # noqa: ARG001 -- a _Reader
    return _integer(value, where) or None


def _number_or_zero(value: Any, where: str, path: str, unknown: list[str]) -> int:  # noqa: ARG001 -- a _Reader
    return _integer(value, where)


def _truth(value: Any, where: str, path: str, unknown: list[str]) -> bool:  # noqa: ARG001 -- a _Reader
    if isinstance(value, bool):
        return value
    raise _refuse(value, where, "bool")


def _time(value: Any, where: str, path: str, unknown: list[str]) -> str | None:  # noqa: ARG001 -- a _Reader
    if not isinstance(value, str):
        raise _refuse(value, where, "string")
    time = canonical_timestamp(value)
    return None if time == _DROPPED_TIME else time


def _any(value: Any, where: str, path: str, unknown: list[str]) -> Any:  # noqa: ARG001 -- a _Reader
    return value


def _texts_by_name(value: Any, where: str, path: str, unknown: list[str]) -> dict[str, str] | None:  # noqa: ARG001 -- a _Reader
    if not isinstance(value, dict):
        raise _refuse(value, where, "map[string]string")
    result = {}
    for name, item in value.items():
        if item is not None and not isinstance(item, str):
            raise _refuse(item, where, "string")
        result[name] = item or ""
    return result or None


def _texts(value: Any, where: str, path: str, unknown: list[str]) -> list[str] | None:  # noqa: ARG001 -- a _Reader
    if not isinstance(value, list):
        raise _refuse(value, where, "[]string")
    for item in value:
        if item is not None and not isinstance(item, str):
            raise _refuse(item, where, "string")
    return [item or "" for item in value] or None


def _structs(fields: _Fields) -> _Reader:
    def read(value: Any, where: str, path: str, unknown: list[str]) -> list[dict[str, Any]] | None:
        if not isinstance(value, list):
            raise _refuse(value, where, f"[]v1.{fields.name}")
        name = where.partition(".")[2]
        result = []
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, dict):
                raise _refuse(item, where, f"v1.{fields.name}")
            result.append(_struct(item or {}, fields, name, f"{path}[{index}]", unknown))
        return result or None

    return read


def _kept_text(wanted: str = "string") -> _Reader:
    """The reader of text that Go writes even when it is empty."""
    read_text = _text(wanted)

    def read(value: Any, where: str, path: str, unknown: list[str]) -> str:
        return read_text(value, where, path, unknown) or ""

    return read


_OWNER_REFERENCE = _Fields(
    "OwnerReference",
    {
        "apiVersion": _kept_text(),
        "kind": _kept_text(),
        "name": _kept_text(),
        "uid": _kept_text("types.UID"),
        "controller": _truth,
        "blockOwnerDeletion": _truth,
    },
    always={"apiVersion": "", "kind": "", "name": "", "uid": ""},
)
_MANAGED_FIELDS_ENTRY = _Fields(
    "ManagedFieldsEntry",
    {
        "manager": _text(),
        "operation": _text("v1.ManagedFieldsOperationType"),
        "apiVersion": _text(),
        "time": _time,
        "fieldsType": _text(),
        "fieldsV1": _any,
        "subresource": _text(),
    },
)
_OBJECT_META = _Fields(
    "ObjectMeta",
    {
        "name": _text(),
        "generateName": _text(),
        "namespace": _text(),
        "selfLink": _text(),
        "uid": _text("types.UID"),
        "resourceVersion": _text(),
        "generation": _number,
        "creationTimestamp": _time,
        "deletionTimestamp": _time,
        "deletionGracePeriodSeconds": _number_or_zero,
        "labels": _texts_by_name,
        "annotations": _texts_by_name,
        "ownerReferences": _structs(_OWNER_REFERENCE),
        "finalizers": _texts,
        "managedFields": _structs(_MANAGED_FIELDS_ENTRY),
    },
)


# -- on writes --------------------------------------------------------------------------------------------------------


def dedupe_owner_references(obj: dict[str, Any], *, after_admission: bool = False) -> str | None:
    """Remove duplicate owner references, in place (behaviour E17).

    Returns:
        The warning to send, or None if there were no duplicates. With ``after_admission`` it says that they came from
        mutating admission.
    """
    references = obj["metadata"].get("ownerReferences")
    if not references or len(references) == 1:
        return None
    kept: list[dict[str, Any]] = []
    duplicates = []
    seen: set[tuple[tuple[str, Any], ...]] = set()
    for reference in references:
        members = tuple(sorted(reference.items()))
        if members in seen:
            duplicates.append(reference.get("uid", ""))
            continue
        seen.add(members)
        kept.append(reference)
    if not duplicates:
        return None
    obj["metadata"]["ownerReferences"] = kept
    when = " after mutating admission happens" if after_admission else ""
    return (
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and "
        "may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
        + ", ".join(duplicates)
    )


def finalizer_errors(obj: Mapping[str, Any]) -> list[FieldError]:
    """The errors of finalizers that built-in kinds refuse.

    Source: ``kubernetes/pkg/apis/core/validation`` ValidateObjectMeta.
    """
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        FieldError.invalid(f"metadata.finalizers[{index}]", finalizer, why)
        for index, finalizer in enumerate(obj["metadata"].get("finalizers", ()))
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def finalizer_warnings(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[str]:
    """Warnings about finalizers that ``old`` (the stored object; None on create) does not have (behaviour J28)."""
    finalizers = set(obj["metadata"].get("finalizers", ()))
    if not finalizers:
        return []
    if old is not None:
        finalizers -= set(old["metadata"].get("finalizers", ()))
    warnings = []
    for finalizer in sorted(finalizers)[:MOST_ERRORS]:
        where = f"metadata.finalizers: {go_quote(finalizer)}:"
        warnings += [f"{where} {problem}" for problem in qualified_name(finalizer)]
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            what = "including a path (/) " if "." in finalizer else ""
            warnings.append(
                f"{where} prefer a domain-qualified finalizer name {what}to avoid accidental conflicts with other "
                "finalizer writers"
            )
    return warnings
