"""What a JSON patch has left of an object: an object again, or an error in kube-apiserver's words."""

from __future__ import annotations

from typing import Any

from extapi.api.types import Obj
from extapi.client.webhookreply import shortened
from extapi.client.webhookreview import ENVELOPE
from extapi.codec import strictjson
from extapi.codec.body import UntypedError, json_type, type_of
from extapi.errors import InternalError


def patched_object(root: Any) -> Obj:
    """The object that a document is.

    Raises:
        InternalError: It is none: no JSON object, or one without apiVersion or kind.
    """
    if not isinstance(root, dict):
        why = f"json: cannot unmarshal {json_type(root)} into Go value of type {ENVELOPE}"
        raise InternalError.because(f"couldn't get version/kind; json parse error: {why}")
    try:
        type_of(root, lambda: strictjson.encode(root))
    except UntypedError as error:
        raise InternalError.because(shortened(str(error))) from None
    return root
