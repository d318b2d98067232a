"""JSON patches (RFC 6902) and merge patches (RFC 7386) of objects (behaviour E57, E58, E60).

Responsible for: applying a patch without changing the original object, and refusing patches with kube-apiserver's codes
and texts. Where kube-apiserver's library is more lenient than the RFCs, so is this: clients rely on it. Must not know
schemas, or which fields may change.

Source: ``gopkg.in/evanphx/json-patch.v4``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from extapi.api.jsonvalue import json_copy
from extapi.codec import strictjson
from extapi.codec.body import UntypedError, json_type, strict_error, type_of
from extapi.codec.jsonpatch import PatchedDocument, PatchFailedError
from extapi.codec.options import Validation
from extapi.errors import BadRequest, FieldError, Invalid, RequestTooLarge

__all__ = ["Patched", "json_patch", "merge_patch", "patched_error", "refuse_strict_patch"]

MAX_OPERATIONS = 10_000


@dataclass(frozen=True, slots=True)
class Patched:
    """The patched object, which shares nothing with the original.

    ``duplicates`` has the texts of strict errors in the patch.
    """

    value: dict[str, Any]
    duplicates: list[str] = field(default_factory=list)

    def shown(self) -> dict[str, Any] | str:
        """What a refusal of the result shows."""
        return self.value


def json_patch(doc: dict[str, Any], patch: bytes, mode: Validation = "Warn") -> Patched:
    """Apply the operations of an RFC 6902 patch to a copy of ``doc``, all of them or none.

    Raises:
        BadRequest: The text is not a patch.
        RequestTooLarge: It has more than 10000 operations.
        Invalid: An operation fails, or the result is not an object.
    """
    operations, duplicates = _operations(patch, mode)
    if len(operations) > MAX_OPERATIONS:
        raise RequestTooLarge(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    document = PatchedDocument(json_copy(doc))
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
    value = [] if decoded.value is None else decoded.value  # null is an empty patch
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
    """Apply an RFC 7386 patch to a copy of ``doc``.

    Raises:
        BadRequest: The text is not a patch.
        Invalid: The result is not an object.
    """
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
        merged = json_copy(doc)
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
    """The value of a patch for a member that was not an object, without nulls (RFC 7386, section 2).

    The RFC keeps nulls in objects inside of lists, but kube-apiserver's library drops those too.
    """
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _checked(result: Any) -> dict[str, Any]:
    """The result, if it is still an object with a kind (behaviour E60).

    Raises:
        Invalid: It is not.
    """
    try:
        type_of(result, lambda: strictjson.encode(result))
    except UntypedError as error:
        raise patched_error(result, str(error)) from None
    checked: dict[str, Any] = result
    return checked


def patched_error(patched: Any, why: str) -> Invalid:
    """The error about the result of a patch, with an empty kind and name (behaviour E60).

    ``patched`` is a text or the result.
    """
    shown = patched if isinstance(patched, str) else strictjson.encode(patched).decode()
    return Invalid.of("", "", "", [FieldError.invalid("patch", shown, why)])


def _number_error(patch: bytes, error: ValueError) -> Invalid:
    """The error of a number under ``Ignore``.

    kube-apiserver notices it in the result and shows that; here it shows the patch.
    """
    return patched_error(patch.decode(errors="replace"), str(error))


def refuse_strict_patch(patched: Any, unknown: list[str], duplicates: list[str]) -> None:
    """Refuse unknown and duplicate fields under ``Strict``, once the schema has found them.

    Raises:
        Invalid: There are such fields.
    """
    why = strict_error(unknown, duplicates)
    if why:
        raise patched_error(patched, why)
