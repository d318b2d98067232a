"""An author's types become a structural schema: the same tree that a CRD manifest becomes.

Reads msgspec Structs with markers in ``Annotated``. What has no place in a structural schema is refused here, by the
name of class and field, with what to write instead; never silently left out. Which marker goes on which type stands in
:mod:`extapi.schema.marking`.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import inspect
import types
import uuid
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin

import msgspec

from extapi.api.markers import IntOrString, Marker, Rule
from extapi.api.types import Object, ObjectMeta
from extapi.schema.check import check
from extapi.schema.marking import mark, mark_metadata
from extapi.schema.structural import MISSING, Structural

_META = frozenset({"api_version", "kind", "metadata"})
_SCALARS: Mapping[Any, Structural] = {
    str: Structural(type="string"),
    bool: Structural(type="boolean"),
    int: Structural(type="integer", format="int64"),
    float: Structural(type="number", format="double"),
    bytes: Structural(type="string", format="byte"),
    dt.datetime: Structural(type="string", format="date-time"),
    dt.date: Structural(type="string", format="date"),
    uuid.UUID: Structural(type="string", format="uuid"),
    Any: Structural(preserve_unknown=True),
    object: Structural(preserve_unknown=True),
    dict: Structural(type="object", preserve_unknown=True),
}
_INSTEAD: Mapping[Any, str] = {
    decimal.Decimal: "write Annotated[str, Pattern(...)], since JSON numbers lose digits",
    dt.timedelta: 'write Annotated[str, Format("duration")]',
    dt.time: "write Annotated[str, Pattern(...)]",
    list: "write list[...] with the type of its items",
    set: "write Annotated[list[...], ListSet()]",
    frozenset: "write Annotated[list[...], ListSet()]",
    tuple: "write list[...]",
    ObjectMeta: "metadata stands only at the root; write Annotated[dict[str, Any], EmbeddedResource(), PreserveUnknown()]",
    msgspec.Raw: "write Any, or dict[str, Any]",
    type(None): "a field that is always null says nothing; leave it out",
}
_OTHERWISE = "write str, int, float, bool, list[...], dict[str, ...], Literal[...] or a Struct"


def compile_type(cls: type[Object]) -> Structural:
    """The structural schema of a kind's type. apiVersion, kind and metadata are implicit and stay out, but for rules on names.

    A field without a default is required. A Python default becomes the schema's ``default``, except None, empty
    containers, and a default for ``status`` at the root: those make the field optional. The default of a Struct becomes
    an object of what differs from its own defaults, mostly ``{}``, so that nested defaults are filled in.

    Raises ``TypeError`` for annotations that have no schema, ``ValueError`` for CEL rules and for what
    :func:`extapi.schema.check.check` finds, one line each.
    """
    given: object = cls
    if not (isinstance(given, type) and issubclass(given, Object)):
        raise TypeError(f"{_name(cls)}: the type of a version must be a subclass of extapi.Object")
    compiled = _Compiler().struct(cls, root=True)
    problems = [f"{cls.__name__}: {error.text()}" for error in check(compiled)]
    if problems:
        raise ValueError("\n".join(problems))
    return compiled


class _Compiler:
    """One compilation: knows which Structs are being read, since schemas cannot refer to themselves."""

    def __init__(self) -> None:
        self._open: list[type] = []

    def struct(self, cls: type[msgspec.Struct], *, root: bool = False) -> Structural:
        """The object schema of a Struct."""
        if cls in self._open:
            chain = " > ".join(item.__name__ for item in [*self._open[self._open.index(cls) :], cls])
            raise TypeError(f"{chain}: schemas cannot refer to themselves; write dict[str, Any] at some level")
        self._open.append(cls)
        properties: dict[str, Structural] = {}
        required: list[str] = []
        for info in _fields(cls):
            where = f"{cls.__name__}.{info.name}"
            if root and info.name in _META:
                if info.name == "metadata" and (rules := _metadata(info.type, where)) is not None:
                    properties["metadata"] = rules
                continue
            node = self.annotation(info.type, where)
            default = _default(info, node, where)
            if root and info.name == "status" and isinstance(default, dict):
                default = MISSING
            if default is not MISSING:
                node = dataclasses.replace(node, default=default)
            elif info.required and node.default is MISSING:
                required.append(info.encode_name)
            properties[info.encode_name] = node
        self._open.pop()
        return Structural(type="object", description=_docstring(cls), properties=properties, required=tuple(required))

    def annotation(self, hint: Any, where: str) -> Structural:
        """The schema of one annotation, its markers applied from the inside out."""
        if get_origin(hint) is Annotated:
            inner, *extras = get_args(hint)
            markers = [_marker(extra, where) for extra in extras]
            node = self._annotated(inner, [marker for marker in markers if marker is not None], where)
        else:
            node = self._plain(hint, where)
        return node

    def _annotated(self, inner: Any, markers: Sequence[Marker], where: str) -> Structural:
        if any(isinstance(marker, IntOrString) for marker in markers):
            node = Structural(int_or_string=True)
        else:
            node = self.annotation(inner, where)
        for marker in markers:
            node = mark(node, marker, where)
        return node

    def _plain(self, hint: Any, where: str) -> Structural:
        if isinstance(hint, NewType):
            return self.annotation(hint.__supertype__, where)
        origin, args = get_origin(hint), get_args(hint)
        if origin is None and isinstance(hint, Hashable) and hint in _SCALARS:
            return _SCALARS[hint]
        if origin in {Union, types.UnionType}:
            return self._union(args, where)
        if origin is Literal:
            return _choice(args, where)
        if origin in {list, Sequence}:
            return Structural(type="array", items=self.annotation(args[0], f"{where}[]"))
        if origin in {dict, Mapping}:
            return self._mapping(args, where)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return dataclasses.replace(_choice([member.value for member in hint], where), description=_docstring(hint))
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct) and hint is not ObjectMeta:
            return self.struct(hint)
        raise TypeError(f"{where}: {_name(hint)} has no structural schema; {_INSTEAD.get(origin or hint, _OTHERWISE)}")

    def _union(self, args: tuple[Any, ...], where: str) -> Structural:
        rest = [arg for arg in args if arg is not type(None)]
        if set(rest) == {int, str}:
            return Structural(int_or_string=True)
        if len(rest) == 1:
            return self.annotation(rest[0], where)
        raise TypeError(
            f"{where}: a union of {', '.join(map(_name, rest))} has no structural schema; "
            "write one type, `X | None`, `int | str`, or a Struct with a field for each"
        )

    def _mapping(self, args: tuple[Any, ...], where: str) -> Structural:
        key, value = args
        if key is not str:
            raise TypeError(f"{where}: keys of JSON objects are strings; write dict[str, ...]")
        if value in {Any, object}:
            return _SCALARS[dict]
        return Structural(type="object", additional_properties=self.annotation(value, f"{where}[]"))


def _metadata(hint: Any, where: str) -> Structural | None:
    """What an author's annotation says of names; None: nothing. All other metadata is the server's."""
    if get_origin(hint) is not Annotated:
        return None
    markers = [marker for extra in get_args(hint)[1:] if (marker := _marker(extra, where)) is not None]
    return mark_metadata(markers, where) if markers else None


def _marker(extra: Any, where: str) -> Marker | None:
    if isinstance(extra, Rule):
        raise ValueError(f"{where}: CEL rules are not supported yet; write the check in Strategy.validate")  # noqa: TRY004  the rule is well typed
    if isinstance(extra, msgspec.Meta):
        raise TypeError(f"{where}: msgspec.Meta is not read; write the markers of extapi, such as Minimum(1)")
    if isinstance(extra, type) and issubclass(extra, Marker):
        raise TypeError(f"{where}: {extra.__name__} stands without parentheses; write {extra.__name__}(...)")
    return extra if isinstance(extra, Marker) else None


def _choice(values: Sequence[Any], where: str) -> Structural:
    """``enum`` of constants of one type."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) == 1 and (kind := kinds.pop()) in {str, int}:
        node = _SCALARS[kind]
        return dataclasses.replace(node, enum=tuple(value for value in values if value is not None))
    raise TypeError(f"{where}: the allowed values must be all strings or all integers")


def _default(info: msgspec.structs.FieldInfo, node: Structural, where: str) -> Any:
    """The wire form of a field's default, or MISSING."""
    made = _own(info)
    if made is msgspec.NODEFAULT or made is None:
        return MISSING
    if isinstance(made, (list, dict, tuple, set, frozenset)) and not made:
        return MISSING
    if node.default is not MISSING:
        raise TypeError(f"{where}: has a Default marker and a Python default; write one of them")
    return _wire(made) if isinstance(made, msgspec.Struct) else msgspec.to_builtins(made)


def _fields(cls: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    try:
        return msgspec.structs.fields(cls)
    except NameError as error:
        raise TypeError(
            f"{cls.__name__}: {error}; define the types that annotations name at the top of a module"
        ) from None


def _own(info: msgspec.structs.FieldInfo) -> Any:
    """The Python default of a field, or NODEFAULT."""
    if info.default_factory is msgspec.NODEFAULT:
        return info.default
    factory: Callable[[], Any] = info.default_factory
    return factory()


def _wire(made: msgspec.Struct) -> dict[str, Any]:
    """A Struct as JSON data without what its fields' own defaults fill in anyway."""
    plain = msgspec.to_builtins(made)
    return {
        info.encode_name: plain[info.encode_name]
        for info in msgspec.structs.fields(made)
        if getattr(made, info.name) != _own(info) and info.encode_name in plain
    }


def _docstring(cls: type) -> str:
    """The class's own docstring. Those that Enum and msgspec make up do not count."""
    text = cls.__dict__.get("__doc__") or ""
    return inspect.cleandoc(text)


def _name(hint: Any) -> str:
    return str(getattr(hint, "__name__", hint)) if not get_args(hint) else str(hint)
