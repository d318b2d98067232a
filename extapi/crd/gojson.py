"""JSON of Go's types: what ``encoding/json`` makes of a text, and what it writes again.

A table says what the types are; reading by it refuses values of a wrong type with Go's words, finds unknown fields, drops what
``omitempty`` drops, and adds the zeros of other fields. For parts of objects that no schema describes, such as types that refer
to themselves. Must not know kinds.

Source: ``sigs.k8s.io/json``, Go's ``encoding/json``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from extapi.api.timestamp import canonical_timestamp
from extapi.codec.body import json_type
from extapi.codec.gobytes import canonical_bytes

MOST: Final = 100
"""Unknown fields that are told of an object."""


class GoTypeError(ValueError):
    """A value has a wrong type; the text is Go's."""


@dataclass(slots=True)
class GoReading:
    """What is known while one object is read."""

    unknown: list[str] = field(default_factory=list)
    """The paths of unknown fields; at most :data:`MOST`."""
    struct: str = ""
    """The innermost Go struct, and the JSON names that lead to the value from the outermost one: errors name both."""
    fields: tuple[str, ...] = ()
    loose: int = 0
    """Whether unknown fields are dropped without a word, as in values with an unmarshaller of their own."""

    def refuse(self, value: str, kind: str) -> GoTypeError:
        """The error of a JSON value where Go wants a ``kind``."""
        where = (
            f"struct field {self.struct}.{'.'.join(self.fields)} of type {kind}"
            if self.struct
            else f"value of type {kind}"
        )
        return GoTypeError(f"json: cannot unmarshal {value} into Go {where}")

    def report(self, path: str) -> None:
        """Note an unknown field."""
        if not self.loose and len(self.unknown) < MOST:
            self.unknown.append(path)


Reader = Callable[[Any, str, GoReading], Any]
"""Reads a value at a path that is not null. Returns what Go would write."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    read: Reader
    zero: Callable[[], Any]
    always: bool
    pointer: bool


class GoTypes:
    """The types of a table: one line each, such as ``Column: name! string; priority int32; path? string; rows []Row``.

    A field has its JSON name, a mark and a type. ``?`` marks a pointer: what was sent is kept; ``!`` a field without
    ``omitempty``, which is always written. Types are ``string``, ``bool``, ``int32``, ``int64``, ``float64``, ``bytes``
    (base64), ``Time``, ``JSON`` (anything), other names of the table, and ``[]T`` and ``map[T]`` of these. A line such as
    ``Scope = string`` gives a type another name in errors. A line that begins with a space continues the one before; ``#``
    begins a comment.

    Args:
        table: The types.
        package: Go's package, for errors.
        special: Readers of types with an unmarshaller of their own, by name; they are given these types.

    Raises:
        ValueError: The table cannot be read.
    """

    def __init__(
        self, table: str, *, package: str = "v1", special: Mapping[str, Callable[[GoTypes], Reader]] | None = None
    ) -> None:
        self._package = package
        self._special = {name: make(self) for name, make in (special or {}).items()}
        self._aliases: dict[str, str] = {}
        self._structs: dict[str, list[_Field]] = {}
        lines = [line for line in re.sub(r"\n[ \t]+", " ", re.sub(r"#.*", "", table)).splitlines() if line.strip()]
        for line in lines:
            if "=" in line:
                name, _, of = line.partition("=")
                self._aliases[name.strip()] = of.strip()
            else:
                self._structs[line.partition(":")[0].strip()] = []
        for line in lines:
            if "=" not in line:
                name, _, listed = line.partition(":")
                self._structs[name.strip()] += map(self._field, filter(str.strip, listed.split(";")))
        self._known = {
            name: (
                {each.name: each for each in fields},
                frozenset(each.name for each in fields if each.always),
                {each.name: position for position, each in enumerate(fields)},
            )
            for name, fields in self._structs.items()
        }

    def read(self, name: str, value: Any) -> tuple[dict[str, Any], list[str]]:
        """An object of the struct ``name``, as Go writes it after reading ``value``, and the paths of its unknown fields.

        Raises:
            GoTypeError: A value has a wrong type.
        """
        reading = GoReading()
        return self._struct(name, {} if value is None else value, "", reading), reading.unknown

    def reader(self, name: str) -> Reader:
        """The reader of a type, for those of :attr:`special` types."""
        return self._reader(name)

    def _field(self, written: str) -> _Field:
        match = re.fullmatch(r"\s*([$\w-]+)([?!]?) (\S+)\s*", written)
        if match is None:
            raise ValueError(f"no field of a Go type: {written.strip()}")
        name, mark, kind = match.groups()
        return _Field(name, self._reader(kind), self._zero(kind), mark == "!", mark == "?")

    def _zero(self, kind: str) -> Callable[[], Any]:
        kind = self._aliases.get(kind, kind)
        if kind in _ZEROS:
            return lambda: _ZEROS[kind]
        if kind in self._structs:
            return lambda: self._struct(kind, {}, "", GoReading())
        return lambda: None

    def _reader(self, kind: str) -> Reader:
        plain = self._aliases.get(kind, kind)
        shown = f"{self._package}.{kind}" if plain != kind else ""
        if plain in self._special:
            return self._special[plain]
        if plain in _SCALARS:
            return _scalar(plain, shown or _GO_NAMES.get(plain, plain))
        if plain == "JSON":
            return lambda value, _path, _reading: value
        if plain.startswith("[]"):
            return _list(self._reader(plain[2:]), self._zero(plain[2:]), shown or f"[]{self._shown(plain[2:])}")
        if plain.startswith("map["):
            inner = plain[4:-1]
            return _map(self._reader(inner), self._zero(inner), shown or f"map[string]{self._shown(inner)}")
        if plain not in self._structs:
            raise ValueError(f"no Go type: {kind}")
        return lambda value, path, reading: self._struct(plain, value, path, reading)

    def _shown(self, kind: str) -> str:
        return kind if kind in _SCALARS else f"{self._package}.{kind}"

    def _struct(self, name: str, value: Any, path: str, reading: GoReading) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise reading.refuse(json_type(value), f"{self._package}.{name}")
        known, always, order = self._known[name]
        prefix = f"{path}." if path else ""
        made: dict[str, Any] = {}
        outer, above = reading.struct, reading.fields
        # Go tells of unknown fields, and of the first wrong type, in the order in which they were sent.
        for key, found in value.items():
            each = known.get(key)
            if each is None:
                reading.report(prefix + key)
            elif found is not None:
                reading.struct, reading.fields = name, (*above, key)
                read = each.read(found, prefix + key, reading)
                if each.always or each.pointer or read:
                    made[key] = read
        reading.struct, reading.fields = outer, above
        for key in always - made.keys():
            if (zero := known[key].zero()) is not None:
                made[key] = zero
        return {key: made[key] for key in sorted(made, key=order.__getitem__)}


def _list(item: Reader, zero: Callable[[], Any], shown: str) -> Reader:
    def read(value: Any, path: str, reading: GoReading) -> list[Any]:
        if not isinstance(value, list):
            raise reading.refuse(json_type(value), shown)
        return [zero() if each is None else item(each, f"{path}[{index}]", reading) for index, each in enumerate(value)]

    return read


def _map(item: Reader, zero: Callable[[], Any], shown: str) -> Reader:
    def read(value: Any, path: str, reading: GoReading) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise reading.refuse(json_type(value), shown)
        return {key: zero() if each is None else item(each, f"{path}.{key}", reading) for key, each in value.items()}

    return read


def _scalar(kind: str, shown: str) -> Reader:
    convert = _SCALARS[kind]

    def read(value: Any, path: str, reading: GoReading) -> Any:
        del path
        return convert(value, shown, reading)

    return read


def _string(value: Any, shown: str, reading: GoReading) -> str:
    if not isinstance(value, str):
        raise reading.refuse(json_type(value), shown)
    return value


def _bool(value: Any, shown: str, reading: GoReading) -> bool:
    if not isinstance(value, bool):
        raise reading.refuse(json_type(value), shown)
    return value


def _integer(bits: int) -> Callable[[Any, str, GoReading], int]:
    bound = 1 << (bits - 1)

    def read(value: Any, shown: str, reading: GoReading) -> int:
        if not _is_number(value):
            raise reading.refuse(json_type(value), shown)
        if not isinstance(value, int) or not -bound <= value < bound:
            raise reading.refuse(f"number {value}", shown)
        return value

    return read


def _float(value: Any, shown: str, reading: GoReading) -> int | float:
    if not _is_number(value):
        raise reading.refuse(json_type(value), shown)
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e21
    return int(value) if whole else value  # as Go writes it


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bytes(value: Any, shown: str, reading: GoReading) -> str:
    if not isinstance(value, str):
        raise reading.refuse(json_type(value), shown)
    try:
        return canonical_bytes(value)
    except ValueError as error:
        raise GoTypeError(str(error)) from None


def _time(value: Any, shown: str, reading: GoReading) -> str:
    del shown, reading
    if not isinstance(value, str):
        raise GoTypeError(f"json: cannot unmarshal {json_type(value)} into Go value of type string")
    try:
        return canonical_timestamp(value)
    except ValueError as error:
        raise GoTypeError(str(error)) from None


_SCALARS: Final[Mapping[str, Callable[[Any, str, GoReading], Any]]] = {
    "string": _string,
    "bool": _bool,
    "int32": _integer(32),
    "int64": _integer(64),
    "float64": _float,
    "bytes": _bytes,
    "Time": _time,
}
_GO_NAMES: Final = {"bytes": "[]uint8", "Time": "v1.Time"}
_ZEROS: Final[Mapping[str, Any]] = {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0}
