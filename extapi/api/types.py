"""The base types of an author's kinds: :class:`Struct` for parts, :class:`Object` for whole objects with metadata.

Field names are snake_case in Python and camelCase in JSON. Objects travel through the server as dicts; a Struct is made
only where an author's code needs one.
"""

from __future__ import annotations

import builtins
import keyword
import sys
import types
from collections.abc import Mapping
from functools import partial
from typing import Any, dataclass_transform

import msgspec


def wire_name(field: str) -> str | None:
    """The JSON name of a field: ``minReadySeconds`` for ``min_ready_seconds``, ``from`` for ``from_``."""
    if field.endswith("_") and keyword.iskeyword(field[:-1]):
        field = field[:-1]
    head, *rest = field.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def _is_plain(default: Any) -> bool:
    """Whether a default is a Struct that its class makes without arguments, which is the quickest copy."""
    if not isinstance(default, msgspec.Struct):
        return False
    try:
        return bool(type(default)() == default)
    except Exception:  # noqa: BLE001 - it has required fields, or an author's __post_init__ refuses
        return False


_Field: type[Any] = type(msgspec.field())


def _copied(value: Any) -> Any:
    """A default of its own for each object, Structs included.

    ``copy.deepcopy`` costs ten times as much per conversion.
    """
    if isinstance(value, msgspec.Struct):
        return type(value)(**{name: _copied(getattr(value, name)) for name in value.__struct_fields__})
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return value


def _unhidden(annotations: Mapping[str, Any], namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Annotations in which no field hides the builtin with its name: ``float: float`` beside ``rate: float | None``.

    With ``from __future__ import annotations`` they are strings, which msgspec evaluates in the class, where fields
    come before builtins. Those that may mean such a builtin are evaluated here, without the fields. One that cannot be
    evaluated yet stays a string.
    """
    fields = {name for name, value in namespace.items() if isinstance(value, types.FunctionType)} | annotations.keys()
    hidden = [name for name in fields if hasattr(builtins, name)]
    module: dict[str, Any] = getattr(sys.modules.get(namespace.get("__module__", "")), "__dict__", {})
    rest = {name: value for name, value in namespace.items() if name not in fields}
    read = dict(annotations)
    for name, text in annotations.items():
        if isinstance(text, str) and any(other in text for other in hidden):
            try:
                read[name] = eval(text, dict(rest), module)  # noqa: S307 - the author's own annotation, as typing evaluates it
            except Exception:  # noqa: BLE001, S112 - the schema compiler reports it
                continue
    return read


class KeywordOnly(msgspec.StructMeta):
    """Lets an author put required fields after optional ones, and use plain lists, dicts and Structs as defaults.

    msgspec applies ``kw_only`` only to the class that sets it, not to subclasses, and it refuses mutable defaults; here
    each object gets its own copy.
    """

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> KeywordOnly:
        """Make a class, keyword-only unless it says otherwise."""
        config.setdefault("kw_only", True)
        annotations = namespace.get("__annotations__", {})
        if any(isinstance(text, str) for text in annotations.values()):
            annotations = namespace["__annotations__"] = _unhidden(annotations, namespace)
        for field in annotations:
            given = namespace.get(field)
            default, wire = (given.default, given.name) if isinstance(given, _Field) else (given, None)
            if isinstance(default, msgspec.Struct) or (isinstance(default, list | dict) and default):
                factory = type(default) if _is_plain(default) else partial(_copied, default)
                namespace[field] = msgspec.field(default_factory=factory, name=wire)
        made: KeywordOnly = super().__new__(mcls, name, bases, namespace, **config)
        return made


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Struct(msgspec.Struct, metaclass=KeywordOnly, rename=wire_name, omit_defaults=True):
    """A part of an object. A field without a default is required; otherwise the server fills in the default.

    ``kubectl explain`` shows the class docstring and the :class:`~extapi.api.markers.Description` markers.
    """


class OwnerReference(Struct):
    """An owner of an object. The garbage collector deletes the object when all of its owners are gone."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Struct):
    """Standard object metadata (``meta/v1`` ObjectMeta). Its schema is fixed and the server's own."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []
    managed_fields: list[dict[str, Any]] = []


class Object(Struct):
    """A whole object. The server fills in apiVersion and kind."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


Obj = dict[str, Any]
"""An object as it travels through the server: JSON as Python data."""
