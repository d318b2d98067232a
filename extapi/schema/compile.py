"""Compiles an author's types to a structural schema: the same tree that a CRD manifest is read into.

Reads msgspec Structs with markers in ``Annotated``. What a structural schema cannot express is refused, with class and
field and what to write instead; all mistakes are reported at once, and none is dropped silently. Which marker goes on
which type is decided in :mod:`extapi.schema.marking`.
"""

from __future__ import annotations

import ast
import dataclasses
import datetime as dt
import decimal
import enum
import inspect
import sys
import types
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin

import msgspec

from extapi.api.declaration import DeclarationError, Problem, ProblemCollector
from extapi.api.markers import IntOrString, Marker
from extapi.api.rule import rules_of
from extapi.api.types import Object, ObjectMeta
from extapi.errors import FieldError
from extapi.schema.check import check
from extapi.schema.marking import mark, mark_metadata, written_rule
from extapi.schema.structural import MISSING, Structural, join

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
    ObjectMeta: "metadata is possible only at the root; write Annotated[dict[str, Any], EmbeddedResource(), PreserveUnknown()]",
    msgspec.Raw: "write Any, or dict[str, Any]",
    type(None): "a field that is always null has no use; leave it out",
}
_OTHERWISE = "write str, int, float, bool, list[...], dict[str, ...], Literal[...] or a Struct"


def compile_type(cls: type[Object]) -> Structural:
    """The structural schema of a kind's type. apiVersion, kind and metadata are left out, except rules on names.

    A field without a default is required. A Python default becomes the schema's ``default``; None, empty containers and
    a default for ``status`` at the root only make the field optional. The default of a Struct becomes an object of the
    fields that differ from their own defaults, mostly ``{}``, so that nested defaults are filled in.

    Raises:
        DeclarationError: It has one line per field without a schema, per marker or default that does not fit, and per
            error of :func:`extapi.schema.check.check`.
    """
    given: object = cls
    if not (isinstance(given, type) and issubclass(given, Object)):
        raise DeclarationError(f"{_name(cls)}: the type of a version must be a subclass of extapi.Object")
    compiler = _Compiler()
    compiled = compiler.struct(cls, root=True)
    compiler.problems.add(*(compiler.located(error, cls) for error in check(compiled, every_default=True)))
    compiler.problems.check()
    return compiled


def compile_part(cls: type[msgspec.Struct]) -> Structural:
    """The structural schema of a single Struct.

    Raises:
        DeclarationError: A field has no schema, or a marker or default does not fit.
    """
    compiler = _Compiler()
    compiled = compiler.struct(cls)
    compiler.problems.check()
    return compiled


class _Compiler:
    """One compilation. It knows which Structs are being read, because schemas cannot refer to themselves."""

    def __init__(self) -> None:
        self._open: list[type] = []
        self._places: dict[str, tuple[type, str]] = {}
        """The class and field of each part of the schema, by path."""
        self.problems = ProblemCollector()

    def struct(self, cls: type[msgspec.Struct], path: str = "", *, root: bool = False) -> Structural:
        """The schema of a Struct at ``path``. Fields without a schema are reported, and may be anything in it."""
        if cls in self._open:
            chain = " > ".join(item.__name__ for item in [*self._open[self._open.index(cls) :], cls])
            raise DeclarationError(f"{chain}: schemas cannot refer to themselves; write dict[str, Any] at some level")
        self._open.append(cls)
        properties: dict[str, Structural] = {}
        required: list[str] = []
        for info in self.problems.make(lambda: _fields(cls)) or ():
            at = f"{join(path, 'properties')}[{info.encode_name}]"
            self._places[at] = cls, info.name
            if root and info.name in _META:
                rules = self._metadata(cls, info) if info.name == "metadata" else None
                if rules is not None:
                    properties["metadata"] = rules
                continue
            node = self._field(cls, info, at, root=root)
            if info.required and node.default is MISSING:
                required.append(info.encode_name)
            properties[info.encode_name] = node
        self._open.pop()
        return Structural(
            type="object",
            description=_docstring(cls),
            properties=properties,
            required=tuple(required),
            validations=tuple(map(written_rule, rules_of(cls))),
        )

    def _metadata(self, cls: type, info: msgspec.structs.FieldInfo) -> Structural | None:
        """The rules on names in the annotation of ``metadata``; None if there are none, or they are wrong."""
        where = f"{cls.__name__}.{info.name}"
        try:
            return _metadata(info.type, where)
        except DeclarationError as error:
            self.problems.add(*(Problem(problem, cls, info.name) for problem in error.problems))
            return None

    def _field(self, cls: type, info: msgspec.structs.FieldInfo, path: str, *, root: bool) -> Structural:
        """The schema of a field, with its default.

        A field that has none is reported, so that the rest is still read.
        """
        where = f"{cls.__name__}.{info.name}"
        try:
            node = self.annotation(info.type, where, path)
            default = _default(info, node, where)
        except DeclarationError as error:
            self.problems.add(*(Problem(problem, cls, info.name) for problem in error.problems))
            return _SCALARS[Any]
        if root and info.name == "status" and isinstance(default, dict):
            default = MISSING
        return node if default is MISSING else dataclasses.replace(node, default=default)

    def located(self, error: FieldError, root: type) -> Problem:
        """An error about a part of the schema, as a problem of the class and field that the part comes from."""
        at = max((path for path in self._places if _is_below(error.path, path)), key=len, default="")
        if not at:
            return Problem(f"{root.__name__}: {error.text()}", root)
        cls, field = self._places[at]
        where = f"{cls.__name__}.{field}"
        below = error.path.removeprefix(at).removeprefix(".")
        text = dataclasses.replace(error, path=below, detail=error.detail.replace(f"{error.path} in body ", "")).text()
        return Problem(f"{where}: {text.replace(at, where)}", cls, field)

    def annotation(self, hint: Any, where: str, path: str) -> Structural:
        """The schema of one annotation, its markers applied from the inside out."""
        if get_origin(hint) is Annotated:
            inner, *extras = get_args(hint)
            markers = [_marker(extra, where) for extra in extras]
            node = self._annotated(inner, [marker for marker in markers if marker is not None], where, path)
        else:
            node = self._plain(hint, where, path)
        return node

    def _annotated(self, inner: Any, markers: Sequence[Marker], where: str, path: str) -> Structural:
        if any(isinstance(marker, IntOrString) for marker in markers):
            node = Structural(int_or_string=True)
        else:
            node = self.annotation(inner, where, path)
        for marker in markers:
            node = mark(node, marker, where)
        return node

    def _plain(self, hint: Any, where: str, path: str) -> Structural:
        if isinstance(hint, NewType):
            return self.annotation(hint.__supertype__, where, path)
        origin, args = get_origin(hint), get_args(hint)
        if origin is None and isinstance(hint, Hashable) and hint in _SCALARS:
            return _SCALARS[hint]
        if origin in {Union, types.UnionType}:
            return self._union(args, where, path)
        if origin is Literal:
            return _choice(args, where)
        if origin in {list, Sequence} and args:
            return Structural(type="array", items=self.annotation(args[0], f"{where}[]", join(path, "items")))
        if origin in {dict, Mapping} and args:
            return self._mapping(args, where, path)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return dataclasses.replace(_choice([member.value for member in hint], where), description=_docstring(hint))
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct) and hint is not ObjectMeta:
            return self.struct(hint, path)
        if isinstance(hint, types.MemberDescriptorType):
            raise DeclarationError(f"{where}: {_hiding(hint.__name__)}")
        raise DeclarationError(
            f"{where}: {_name(hint)} has no structural schema; {_INSTEAD.get(origin or hint, _OTHERWISE)}"
        )

    def _union(self, args: tuple[Any, ...], where: str, path: str) -> Structural:
        rest = [arg for arg in args if arg is not type(None)]
        if set(rest) == {int, str}:
            return Structural(int_or_string=True)
        if len(rest) == 1:
            return self.annotation(rest[0], where, path)
        raise DeclarationError(
            f"{where}: a union of {', '.join(map(_name, rest))} has no structural schema; "
            "write one type, `X | None`, `int | str`, or a Struct with a field for each"
        )

    def _mapping(self, args: tuple[Any, ...], where: str, path: str) -> Structural:
        key, value = args
        if key is not str:
            raise DeclarationError(f"{where}: keys of JSON objects are strings; write dict[str, ...]")
        if value in {Any, object}:
            return _SCALARS[dict]
        inner = self.annotation(value, f"{where}[]", join(path, "additionalProperties"))
        return Structural(type="object", additional_properties=inner)


def _metadata(hint: Any, where: str) -> Structural | None:
    """The rules on names in the annotation of ``metadata``; None if there are none.

    All else in metadata is the server's.
    """
    if get_origin(hint) is not Annotated:
        return None
    markers = [marker for extra in get_args(hint)[1:] if (marker := _marker(extra, where)) is not None]
    return mark_metadata(markers, where) if markers else None


def _marker(extra: Any, where: str) -> Marker | None:
    if isinstance(extra, msgspec.Meta):
        raise DeclarationError(f"{where}: msgspec.Meta is not supported; write markers of extapi, such as Minimum(1)")
    if isinstance(extra, type) and issubclass(extra, Marker):
        raise DeclarationError(f"{where}: {extra.__name__} needs parentheses; write {extra.__name__}(...)")
    return extra if isinstance(extra, Marker) else None


def _choice(values: Sequence[Any], where: str) -> Structural:
    """The schema of an ``enum`` of constants."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) == 1 and (kind := kinds.pop()) in {str, int}:
        node = _SCALARS[kind]
        return dataclasses.replace(node, enum=tuple(value for value in values if value is not None))
    raise DeclarationError(f"{where}: the allowed values must be all strings or all integers")


def _default(info: msgspec.structs.FieldInfo, node: Structural, where: str) -> Any:
    """A field's default as JSON, or MISSING."""
    try:
        made = _own(info)
    except Exception as error:  # an author's function
        raise DeclarationError(f"{where}: its default cannot be made: {type(error).__name__}: {error}") from error
    if made is msgspec.NODEFAULT or made is None:
        return MISSING
    if isinstance(made, (list, dict, tuple, set, frozenset)) and not made:
        return MISSING
    if node.default is not MISSING:
        raise DeclarationError(f"{where}: has a Default marker and a Python default; write one of them")
    try:
        return _wire(made) if isinstance(made, msgspec.Struct) else msgspec.to_builtins(made)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DeclarationError(f"{where}: its default has no JSON: {error}") from error


def _fields(cls: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields with their annotations as types. Those that cannot be evaluated are reported one by one."""
    try:
        return msgspec.structs.fields(cls)
    except Exception as error:
        problems = list(_unreadable(cls)) or [Problem(f"{cls.__name__}: {type(error).__name__}: {error}", cls)]
        raise DeclarationError.of(problems) from error


def _unreadable(cls: type) -> Iterator[Problem]:
    """The annotations that cannot be evaluated: msgspec says what is wrong, but not where."""
    for base in cls.__mro__:
        annotations = inspect.get_annotations(base)
        module = getattr(sys.modules.get(base.__module__), "__dict__", {})
        for field, text in annotations.items():
            where = f"{base.__name__}.{field}"
            try:
                read = eval(text, dict(vars(base)), module) if isinstance(text, str) else None  # noqa: S307 - as typing does
                if isinstance(read, types.MemberDescriptorType):
                    yield Problem(f"{where}: {_hiding(read.__name__)}", base, field)
            except NameError as error:
                why = f"{error}; define the types that annotations name at the top of a module"
                yield Problem(f"{where}: {why}", base, field)
            except DeclarationError as error:
                yield from (Problem(f"{where}: {problem}", base, field) for problem in error.problems)
            except Exception as error:  # noqa: BLE001 - an author's annotation
                names = [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
                hiding = [name for name in names if isinstance(vars(base).get(name), types.MemberDescriptorType)]
                why = _hiding(hiding[0]) if hiding else f"{type(error).__name__}: {error}"
                yield Problem(f"{where}: {why}", base, field)


def _hiding(name: str) -> str:
    return (
        f"{name} is a field here, not a type; define the type {name} at the top of the module, or call the field {name}_ and "
        f'write msgspec.field(name="{name}")'
    )


def _own(info: msgspec.structs.FieldInfo) -> Any:
    """The Python default of a field, or NODEFAULT."""
    if info.default_factory is msgspec.NODEFAULT:
        return info.default
    factory: Callable[[], Any] = info.default_factory
    return factory()


def _is_below(path: str, above: str) -> bool:
    return path == above or (path.startswith(above) and path[len(above)] in ".[")


def _wire(made: msgspec.Struct) -> dict[str, Any]:
    """A Struct as JSON, without the fields that defaults fill in anyway."""
    plain = msgspec.to_builtins(made)
    return {
        info.encode_name: plain[info.encode_name]
        for info in msgspec.structs.fields(made)
        if getattr(made, info.name) != _own(info) and info.encode_name in plain
    }


def _docstring(cls: type) -> str:
    """The class's own docstring; those that Enum and msgspec generate do not count."""
    text = cls.__dict__.get("__doc__") or ""
    return inspect.cleandoc(text)


def _name(hint: Any) -> str:
    return str(getattr(hint, "__name__", hint)) if not get_args(hint) else str(hint)
