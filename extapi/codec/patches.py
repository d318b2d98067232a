"""JSON patches and merge patches.

Responsible for: applying a patch to an object without changing that object, and refusing patches with kube-apiserver's
codes and texts. Must not know schemas, nor which fields may change.
Source: RFC 6902, RFC 6901, RFC 7386; spec E57, E58, E60 and their corrections; ``gopkg.in/evanphx/json-patch.v4``, whose
leniency beyond the RFCs is kept, as clients have come to rely on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from extapi.codec import strictjson
from extapi.codec.body import UntypedError, json_type, strict_error, type_of
from extapi.codec.jsonpointer import Document, PatchFailedError
from extapi.codec.options import Validation
from extapi.errors import BadRequest, FieldError, Invalid, RequestTooLarge

__all__ = ["Patched", "json_patch", "merge_patch", "patched_error", "refuse_strict_patch"]

MAX_OPERATIONS = 10_000


@dataclass(frozen=True, slots=True)
class Patched:
    """The patched object, independent of the original. ``duplicates``: texts of strict errors in the patch itself."""

    value: dict[str, Any]
    duplicates: list[str] = field(default_factory=list)
    patch: dict[str, Any] | None = None
    """What is left of the patch, where refusals show it instead of the result."""


def json_patch(doc: dict[str, Any], patch: bytes, mode: Validation = "Warn") -> Patched:
    """``doc`` after the operations of an RFC 6902 patch, all of them or none.

    Raises :class:`BadRequest` for what is no patch, :class:`RequestTooLarge` for more than 10000 operations,
    :class:`Invalid` where an operation fails or the result is no object.
    """
    operations, duplicates = _operations(patch, mode)
    if len(operations) > MAX_OPERATIONS:
        raise RequestTooLarge(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    document = Document(strictjson.copy(doc))
    try:
        for operation in operations:
            document.apply(operation)
        document.check_depth()
    except (PatchFailedError, RecursionError):
        raise Invalid("the server rejected our request due to an error in our request", with_details=True) from None
    return Patched(_checked(document.root), duplicates)


_MEMBERS = {"op": "string", "path": "string", "from": "string"}


def _operations(patch: bytes, mode: Validation) -> tuple[list[dict[str, Any]], list[str]]:
    """The operations, and the texts of strict errors: unknown and duplicate members."""
    prefix = "" if mode == "Ignore" else "error decoding patch: "
    try:
        decoded = strictjson.decode(patch)
    except strictjson.NumberRangeError as error:
        if mode == "Ignore":
            raise _number_error(patch, error) from None
        raise BadRequest(f"{prefix}{error}".replace("Go value", "Go struct field jsonPatchOp.value")) from None
    except strictjson.JSONError as error:
        raise BadRequest(f"{prefix}{error}") from None
    value = [] if decoded.value is None else decoded.value  # a patch of null does nothing
    if not isinstance(value, list):
        raise BadRequest(f"{prefix}json: cannot unmarshal {json_type(value)} into a list of operations")
    unknown: dict[str, None] = {}
    for index, operation in enumerate(value):
        if not isinstance(operation, dict):
            raise BadRequest(f"{prefix}json: cannot unmarshal {json_type(operation)} into an operation")
        for name, wanted in _MEMBERS.items():
            found = operation.get(name)
            if found is not None and json_type(found) != wanted:
                raise BadRequest(f"{prefix}json: cannot unmarshal {json_type(found)} into {name} of type {wanted}")
        unknown.update(
            (f'json patch unknown field "[{index}].{name}"', None)
            for name in operation
            if name not in _MEMBERS and name != "value"
        )
    if mode == "Ignore":
        return value, []
    duplicates = [f'json patch duplicate field "{path}"' for path in decoded.duplicates]
    return value, [*duplicates, *list(unknown)[: strictjson.MAX_DUPLICATES]]


def merge_patch(doc: dict[str, Any], patch: bytes, mode: Validation = "Warn") -> Patched:
    """``doc`` after an RFC 7386 patch. Raises :class:`BadRequest`, or :class:`Invalid` where the result is no object."""
    try:
        decoded = strictjson.decode(patch)
    except strictjson.NumberRangeError as error:
        if mode == "Ignore":
            raise _number_error(patch, error) from None
        raise BadRequest(f"error decoding patch: {error}") from None
    except strictjson.JSONError as error:
        raise BadRequest("Invalid JSON Patch" if mode == "Ignore" else f"error decoding patch: {error}") from None
    value = decoded.value
    if isinstance(value, dict):
        merged = strictjson.copy(doc)
        _merge(merged, value)
        duplicates = [f'duplicate field "{path}"' for path in decoded.duplicates]
        return Patched(_checked(merged), [] if mode == "Ignore" else duplicates)
    if mode == "Ignore" and isinstance(value, list):
        return Patched(_checked(value))
    if mode == "Ignore" or value is None:
        raise BadRequest("Invalid JSON Patch")
    raise BadRequest(
        f"error decoding patch: json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"
    )


def _merge(into: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, value in patch.items():
        current = into.get(key)
        if value is None:
            into.pop(key, None)
        elif isinstance(current, dict):
            if isinstance(value, dict):
                _merge(current, value)
            else:
                into[key] = value
        else:
            into[key] = _without_nulls(value)


def _without_nulls(value: Any) -> Any:
    """What a patch says of a member that was no object: nulls in its objects mean "not there" (RFC 7386, section 2).

    In objects inside of lists too: there the RFC keeps nulls, but kube-apiserver's json-patch drops them.
    """
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _checked(result: Any) -> dict[str, Any]:
    """The result, if it still is an object with a kind (spec E60)."""
    try:
        type_of(result, lambda: strictjson.encode(result))
    except UntypedError as error:
        raise patched_error(result, str(error)) from None
    checked: dict[str, Any] = result
    return checked


def patched_error(patched: Any, why: str) -> Invalid:
    """The refusal of what a patch led to: 422, with an empty kind and name (spec E60). ``patched``: a text, or the result."""
    shown = patched if isinstance(patched, str) else strictjson.encode(patched).decode()
    return Invalid.of("", "", "", [FieldError.invalid("patch", shown, why)])


def _number_error(patch: bytes, error: ValueError) -> Invalid:
    """The refusal of a number under ``Ignore``: kube-apiserver finds it in the result only, and shows that; here it is the patch."""
    return patched_error(patch.decode(errors="replace"), str(error))


def refuse_strict_patch(patched: Any, unknown: list[str], duplicates: list[str]) -> None:
    """Under ``Strict``, after the schema: raises :class:`Invalid` if there is anything. See ``body.strict_error``."""
    why = strict_error(unknown, duplicates)
    if why:
        raise patched_error(patched, why)
