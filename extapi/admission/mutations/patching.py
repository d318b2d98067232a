"""JSONPatch: operations that an expression has made are applied to the object of a write.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/json_patch.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extapi.admission.decoding import patched_object
from extapi.admission.expressions.evaluating import Expired
from extapi.admission.mutations.made import Allowance, MutationError, check_type_names, value_of
from extapi.api.jsonvalue import json_copy
from extapi.api.types import Obj
from extapi.codec.jsonpatch import PatchedDocument, PatchFailedError, TestFailedError
from extapi.codec.patches import MAX_OPERATIONS
from extapi.schema.cel.values.made import UNSET, MadeObject, MadeOperation


def operations(made: Sequence[MadeOperation], expired: Expired | None = None) -> list[dict[str, Any]]:
    """The operations of RFC 6902 that an expression says.

    Args:
        made: The value of the expression.
        expired: Says that time is up.

    Raises:
        MutationError: A value has no JSON, or there are too many or too large ones.
    """
    if len(made) > MAX_OPERATIONS:
        raise MutationError(f"the allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(made)}")
    allowance, names = Allowance(expired), Allowance(expired)
    return [_operation(each, allowance, names) for each in made]


def _operation(made: MadeOperation, allowance: Allowance, names: Allowance) -> dict[str, Any]:
    allowance.take(len(made.op) + len(made.path) + len(made.source) + 24)
    found: dict[str, Any] = {"op": made.op, "path": made.path}
    if made.source:
        found["from"] = made.source
    if made.value is not UNSET:
        if isinstance(made.value, MadeObject):
            check_type_names(made.value, names)
        found["value"] = value_of(made.value, allowance)
    return found


def patched(obj: Obj, patch: Sequence[dict[str, Any]]) -> Obj:
    """A copy of an object with operations applied; the object itself if the test of one fails.

    Args:
        obj: The object.
        patch: The operations. They must not be used afterwards.

    Raises:
        MutationError: An operation does not apply.
        InternalError: What is left is no object.
    """
    document = PatchedDocument(json_copy(obj))
    try:
        for operation in patch:
            document.apply(operation)
        document.check_depth()
    except TestFailedError:
        return obj
    except (PatchFailedError, RecursionError) as error:
        raise MutationError(f"JSON Patch: {error}") from None
    return patched_object(document.root)
