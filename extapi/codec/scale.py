"""``autoscaling/v1`` Scale: decoded as Go decodes it, since kube-apiserver has a Go type for it and no schema.

Must not know the objects that are scaled. Source: ``k8s.io/api/autoscaling/v1`` types.go; ``sigs.k8s.io/json``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from extapi.api.metadata import coerce
from extapi.api.types import Obj
from extapi.codec.body import json_type
from extapi.errors import BadRequest

INT32: Final = range(-(2**31), 2**31)
GROUP: Final = "autoscaling"
VERSION: Final = "v1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "Scale"


def scale_object(metadata: Obj, replicas: int, status_replicas: int, selector: str) -> Obj:
    """A Scale, its members in the order and with the omissions of Go's encoder."""
    return {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": metadata,
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status_replicas, **({"selector": selector} if selector else {})},
    }


def coerce_scale(obj: Obj) -> list[str]:
    """Decode a client's Scale in place: unknown fields are dropped, null leaves a field as it is without one.

    Returns:
        The paths of unknown fields.

    Raises:
        BadRequest: A field has a wrong type. The text is the decoder's alone.
    """
    try:
        metadata, unknown = coerce(obj.get("metadata"))
    except BadRequest as error:
        # Here metadata is a part of the decoded value, and not all of it.
        before, field, after = error.message.partition("Go struct field ")
        struct, dot, name = after.partition(".")
        text = f"{before}{field}{struct}.metadata.{name}" if dot else error.message
        raise BadRequest(text.replace("Go value of type", f"Go struct field {KIND}.metadata of type")) from None
    spec = _struct(obj, "spec", {"replicas": _int32}, unknown)
    status = _struct(obj, "status", {"replicas": _int32, "selector": _string}, unknown)
    unknown += [name for name in obj if name not in {"apiVersion", "kind", "metadata", "spec", "status"}]
    made = scale_object(metadata, spec.get("replicas", 0), status.get("replicas", 0), status.get("selector", "")) | {
        name: obj[name] for name in ("kind", "apiVersion") if name in obj
    }
    obj.clear()
    obj.update(made)
    return unknown


def _struct(obj: Obj, name: str, readers: Mapping[str, Callable[[Any, str], Any]], unknown: list[str]) -> Obj:
    """The known fields of a member that is a Go struct; ``unknown`` gets the paths of the others."""
    value = obj.get(name)
    if value is None:
        return {}
    go_name = KIND + name.capitalize()
    if not isinstance(value, dict):
        raise _refusal(json_type(value), f"{KIND}.{name}", f"v1.{go_name}")
    unknown += [f"{name}.{key}" for key in value if key not in readers]
    return {
        key: readers[key](item, f"{go_name}.{name}.{key}")
        for key, item in value.items()
        if key in readers and item is not None
    }


def _int32(value: Any, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value in INT32:
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    raise _refusal(f"number {value}" if number else json_type(value), where, "int32")


def _string(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    raise _refusal(json_type(value), where, "string")


def _refusal(what: str, where: str, wanted: str) -> BadRequest:
    return BadRequest(f"json: cannot unmarshal {what} into Go struct field {where} of type {wanted}")
