"""Conversion that may wait: by something that answers later, such as a webhook, and for many objects at once.

Responsible for what such an answer must keep (behaviour J48, J49). Must not know who answers, how long that may take, or how
many may ask; an author's functions, which answer at once, are called by :mod:`extapi.conversion.hub`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from extapi.api.metadata_rules import annotation_errors, label_errors
from extapi.api.types import Obj
from extapi.errors import ApiError, StorageError

_KEPT: Final = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
"""Metadata that conversion must not change, and how kube-apiserver's texts name it."""
_LONGEST: Final = 1024
"""Characters of a converter's text that are told."""
_CHANGEABLE: Final = {"labels": label_errors, "annotations": annotation_errors}
_PATHS: Final = {"annotations": "metadata.annotation"}
"""A path in kube-apiserver's texts that is no field's."""


class Converter(Protocol):
    """Converts the objects of one kind; may wait."""

    name: str
    """What it is in errors: ``conversion webhook``."""

    async def convert(self, objects: Sequence[Obj], api_version: str) -> Sequence[Obj | ApiError]:
        """Convert objects, which must not be changed.

        Args:
            objects: Objects of the kind, none of them in ``api_version``.
            api_version: The ``apiVersion`` to convert to.

        Returns:
            For each object, in the same order, what has become of it, or why it cannot be converted.

        Raises:
            ApiError: None of them can be converted.
        """
        ...


async def convert_objects(converter: Converter, objects: Sequence[Obj], api_version: str) -> list[Obj | ApiError]:
    """Convert objects that are in any version. Those in ``api_version`` are not converted; if all are, nobody is asked.

    Args:
        converter: Who is asked. What it answers is checked (behaviour J48).
        objects: The objects, each with apiVersion, kind and metadata. They stay as they are, but share metadata with the
            result.
        api_version: The ``apiVersion`` to convert to.

    Returns:
        For each object the result, or an error of its own.

    Raises:
        ApiError: None of them can be converted.
    """
    asked = [obj for obj in objects if obj["apiVersion"] != api_version]
    if not asked:
        return list(objects)
    answers = await converter.convert(asked, api_version)
    if len(answers) != len(asked):
        raise StorageError(
            f"{converter.name} for {_type(asked[0])} returned {len(answers)} objects, expected {len(asked)}"
        )
    following = iter(answers)
    return [
        obj if obj["apiVersion"] == api_version else _checked(converter.name, obj, next(following), api_version)
        for obj in objects
    ]


def _checked(name: str, original: Obj, answer: Any, api_version: str) -> Obj | ApiError:
    """The answer for one object with the metadata that it must have, or why it cannot be taken."""
    if isinstance(answer, ApiError):
        return answer
    try:
        _check_type(original, answer, api_version)
    except ValueError as error:
        return StorageError(f"{name} for {_type(original)} returned invalid object at index 0: {error}")
    try:
        _check_identity(original, answer)
    except ValueError as error:
        return StorageError(f"{name} for {_type(original)} returned invalid object: {error}")
    try:
        metadata = _metadata(original.get("metadata") or {}, answer)
    except ValueError as error:
        return StorageError(f"{name} for {_type(original)} returned invalid metadata: {error}")
    return {**answer, "metadata": metadata}


def _check_type(original: Obj, answer: Any, api_version: str) -> None:
    """Check that the answer is of the same kind, in the right version.

    kube-apiserver asks for each object by itself, whatever a client reads: so each has the index 0 in its texts.

    Raises:
        ValueError: It is not.
    """
    if not isinstance(answer, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 -- refused as the other mistakes are
    found = _text(answer.get("apiVersion"))
    if found != api_version:
        raise ValueError(f"invalid groupVersion (expected {api_version}, received {found})")
    kind = _text(answer.get("kind"))
    if kind != original["kind"]:
        raise ValueError(f"invalid kind (expected {original['kind']}, received {kind})")


def _check_identity(original: Obj, answer: Obj) -> None:
    """Check that the answer is the same object.

    Source: ``apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go`` validateConvertedObject.

    Raises:
        ValueError: It is not.
    """
    before, after = original.get("metadata") or {}, answer.get("metadata")
    for field, shown in _KEPT:
        was, now = before.get(field, ""), _text(after.get(field)) if isinstance(after, dict) else ""
        if was != now:
            raise ValueError(f"must have the same {shown}: {was} != {now}")


def _text(value: Any) -> str:
    """A member that is a text, and not longer than one that could be right; empty if it is anything else, as in Go."""
    return value[:_LONGEST] if isinstance(value, str) else ""


def _metadata(before: Obj, answer: Obj) -> Obj:
    """The original metadata, with the answer's labels and annotations (behaviour J49).

    Source: ``webhook_converter.go`` restoreObjectMeta.

    Raises:
        ValueError: Changed labels or annotations are invalid.
    """
    after = answer.get("metadata")
    if not isinstance(after, dict):
        raise ValueError("missing metadata in converted object")  # noqa: TRY004 -- refused as the other mistakes are
    metadata = dict(before)
    for field in _CHANGEABLE:
        metadata.pop(field, None)
        found = after.get(field)
        if found is not None:
            _check_map(field, before.get(field), found)
            metadata[field] = found
    return metadata


def _check_map(field: str, before: Any, after: Any) -> None:
    """Check labels or annotations, which are valid unless they have changed. ``field``: which of them.

    Raises:
        ValueError: They are invalid.
    """
    if not isinstance(after, Mapping):
        raise ValueError(f"invalid metadata.{field} of type {_go_type(after)} in converted object")  # noqa: TRY004
    for key, value in after.items():
        if not isinstance(value, str):
            raise ValueError(  # noqa: TRY004 -- refused as the other mistakes are
                f"metadata.{field}[{key[:_LONGEST]}] must be a string, but is {_go_type(value)} in converted object"
            )
    errors = (
        []
        if after == before
        else [replace(error, path=_PATHS.get(field, error.path)).text() for error in _CHANGEABLE[field](after)]
    )
    if errors:
        raise ValueError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


def _go_type(value: Any) -> str:
    """The type of a JSON value, as Go's ``%T`` prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, list):
        return "[]interface {}"
    if isinstance(value, Mapping):
        return "map[string]interface {}"
    return {bool: "bool", int: "int64", float: "float64"}.get(type(value), "string")


def _type(obj: Obj) -> str:
    """Group, version and kind, as Go's ``GroupVersionKind`` prints them."""
    return f"{obj['apiVersion']}, Kind={obj['kind']}"
