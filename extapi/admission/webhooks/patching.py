"""The JSON patch of a mutating webhook: bounded, all or nothing.

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go`` callAttrMutatingHook.
"""

from __future__ import annotations

from typing import Any

from extapi.admission.decoding import patched_object
from extapi.api.jsonvalue import json_copy
from extapi.api.types import Obj
from extapi.client.webhookreply import WebhookError
from extapi.codec import strictjson
from extapi.codec.body import json_type
from extapi.codec.jsonpatch import PatchedDocument, PatchFailedError
from extapi.codec.patches import MAX_OPERATIONS
from extapi.errors import InternalError

_UNDECODABLE = "received undecodable patch in webhook response"


def operations(patch: bytes) -> list[dict[str, Any]]:
    """The operations of a patch.

    Raises:
        WebhookError: It is none, or has too many.
    """
    try:
        found = strictjson.decode(patch).value
    except ValueError as error:
        raise WebhookError(f"{_UNDECODABLE}: {error}") from None
    found = [] if found is None else found
    if not isinstance(found, list):
        raise WebhookError(
            f"{_UNDECODABLE}: json: cannot unmarshal {json_type(found)} into Go value of type jsonpatch.Patch"
        )
    for each in found:
        if not isinstance(each, dict):
            raise WebhookError(
                f"{_UNDECODABLE}: json: cannot unmarshal {json_type(each)} into Go value of type jsonpatch.Operation"
            )
    if len(found) > MAX_OPERATIONS:
        raise WebhookError(f"{_UNDECODABLE}: it has {len(found)} operations, the limit is {MAX_OPERATIONS}")
    return found


def patched(obj: Obj, patch: list[dict[str, Any]]) -> Obj:
    """A copy of an object with a patch applied.

    Raises:
        InternalError: An operation does not apply, or what is left is no object.
    """
    document = PatchedDocument(json_copy(obj))
    try:
        for operation in patch:
            document.apply(operation)
        document.check_depth()
    except (PatchFailedError, RecursionError) as error:
        raise InternalError.because(str(error)) from None
    return patched_object(document.root)
