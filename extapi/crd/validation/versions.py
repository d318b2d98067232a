"""One version of a definition: its schema, subresources, printer columns and selectable fields.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` validateCustomResourceDefinitionVersion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from extapi.crd.validation.internal import VersionSpec
from extapi.crd.validation.options import MOST_SELECTABLE, Options
from extapi.crd.validation.schemas import schema_errors
from extapi.fielderrors import MOST_ERRORS, FieldError, RawValue, go_string
from extapi.schema.cel.fieldpath import find_field
from extapi.schema.structural import Structural
from extapi.schema.unreadable import unreadable

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")
_LONGEST_WARNING: Final = 256


def version_errors(version: VersionSpec, path: str, *, status: bool, options: Options) -> Iterator[FieldError]:
    """The errors of what a version does not share with all others.

    Args:
        version: The version.
        path: Where it is.
        status: Whether it has the subresource status.
        options: What is asked.
    """
    yield from _deprecation(version.own, f"{path}.deprecationWarning")
    yield from schema_errors(version, f"{path}.schema", name=version.name, status=status, options=options)
    yield from part_errors(version, path)
    if not version.selectable:
        return
    if version.structure is None:
        text = "may only be set when `version.schema.openAPIV3Schema` is not included"
        yield FieldError.invalid(f"{path}.selectableFields", "", text)
    else:
        yield from selectable_errors(version, path, f"{path}.schema.openAPIV3Schema", options)


def part_errors(version: VersionSpec, path: str) -> Iterator[FieldError]:
    """The errors of subresources and printer columns."""
    scale = (version.subresources or {}).get("scale")
    if scale is not None:
        yield from _scale(scale, f"{path}.subresources.scale")
    for index, column in enumerate(version.columns):
        yield from _column(column, f"{path}.additionalPrinterColumns[{index}]")


def _deprecation(version: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    shown = RawValue(go_string(warning))  # a pointer, which Go prints as JSON
    if not version.get("deprecated"):
        yield FieldError.invalid(path, shown, "can only be set for deprecated versions")
        return
    if len(warning.encode(errors="replace")) > _LONGEST_WARNING:
        yield FieldError.invalid(path, shown, "must be <= 256 characters long")
    if not warning:
        yield FieldError.invalid(path, shown, "must not be an empty string")
    at = 0
    for char in warning:
        if not char.isprintable():
            text = f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
            yield FieldError.invalid(path, shown, text)
            break
        at += len(char.encode(errors="replace"))


def _column(column: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    type_, format_, json_path = (column.get(key) or "" for key in ("type", "format", "jsonPath"))
    types, formats = ",".join(_COLUMN_TYPES), ",".join(_COLUMN_FORMATS)
    if not column.get("name"):
        yield FieldError.required(f"{path}.name")
    if not type_:
        yield FieldError.required(f"{path}.type", f"must be one of {types}")
    elif type_ not in _COLUMN_TYPES:
        yield FieldError.invalid(f"{path}.type", type_, f"must be one of {types}")
    if format_ and format_ not in _COLUMN_FORMATS:
        yield FieldError.invalid(f"{path}.format", format_, f"must be one of {formats}")
    if not json_path:
        yield FieldError.required(f"{path}.JSONPath")
    else:
        yield from _json_path(json_path, f"{path}.JSONPath")


def _json_path(written: str, path: str) -> Iterator[FieldError]:
    if not written.startswith("."):
        yield FieldError.invalid(path, written, "must be a simple json path starting with .")


def _scale(scale: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    for member, roots, why in (
        ("specReplicasPath", (".spec.",), "should be a json path under .spec"),
        ("statusReplicasPath", (".status.",), "should be a json path under .status"),
        ("labelSelectorPath", (".spec.", ".status."), "should be a json path under either .spec or .status"),
    ):
        written, at = scale.get(member) or "", f"{path}.{member}"
        if not written:
            if member != "labelSelectorPath":
                yield FieldError.required(at)
        elif not written.startswith("."):
            yield from _json_path(written, at)
        elif not written.startswith(roots):
            yield FieldError.invalid(at, RawValue(go_string(written)), why)


def selectable_errors(version: VersionSpec, path: str, schema_path: str, options: Options) -> Iterator[FieldError]:
    """The errors of selectable fields (behaviour J7).

    Args:
        version: What has them, and their schema.
        path: Where it is.
        schema_path: Where its schema is said to be, if it cannot be read.
        options: What is asked.
    """
    structural = version.read.structural
    if structural is None:  # said of the schema
        return
    if why := unreadable(structural):
        yield FieldError.invalid(schema_path, "", why)
        return
    unique: set[str] = set()
    yield from islice(_selectable(version.selectable, structural, f"{path}.selectableFields", unique), MOST_ERRORS)
    if len(unique) > MOST_SELECTABLE and version.name not in options.many_selectable:
        yield FieldError.too_many(f"{path}.selectableFields", len(unique), MOST_SELECTABLE)


def _selectable(
    fields: Sequence[Mapping[str, Any]], structural: Structural, path: str, unique: set[str]
) -> Iterator[FieldError]:
    for index, each in enumerate(fields):
        written, at = each.get("jsonPath") or "", f"{path}[{index}].jsonPath"
        if not written:
            yield FieldError.required(at)
            continue
        try:
            field = find_field(written, structural, brackets=False)
        except ValueError as error:
            yield FieldError.invalid(at, written, f"is an invalid path: {error}")
            continue
        if field.names[0] == "metadata":
            yield FieldError.invalid(at, written, "must not point to fields in metadata")
        if field.schema is None or field.schema.type not in _SELECTABLE_TYPES:
            text = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are "
                "allowed."
            )
            yield FieldError.invalid(at, written, text)
        if field.written in unique:
            yield FieldError.duplicate(at, written)
        unique.add(field.written)
