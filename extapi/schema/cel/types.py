"""The types of CEL, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Type(NamedTuple):
    """A type. Types are compared by value.

    Source: ``github.com/google/cel-go/common/types`` Type.
    """

    kind: str
    """One of bool, bytes, double, duration, dyn, error, int, list, map, null, opaque, parameter, string, struct,
    timestamp, type, uint."""
    name: str
    """The name of an opaque type, struct or type parameter; "wrapper" for a scalar of protobuf's that may be null, "any"
    for its Any; otherwise that of the type at run time."""
    parameters: tuple[Type, ...] = ()
    """Of a list its elements' type, of a map its keys' and values', of a type the type that it names."""


BOOL: Final = Type("bool", "bool")
BYTES: Final = Type("bytes", "bytes")
DOUBLE: Final = Type("double", "double")
DURATION: Final = Type("duration", "google.protobuf.Duration")
DYN: Final = Type("dyn", "dyn")
ERROR: Final = Type("error", "error")
INT: Final = Type("int", "int")
NULL: Final = Type("null", "null_type")
STRING: Final = Type("string", "string")
TIMESTAMP: Final = Type("timestamp", "google.protobuf.Timestamp")
UINT: Final = Type("uint", "uint")


def list_of(element: Type) -> Type:
    """A list with elements of that type."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """A map."""
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    """A value that may be absent."""
    return Type("opaque", "optional_type", (value,))


def type_of(named: Type) -> Type:
    """The type of a type's name, such as ``int`` in ``type(x) == int``."""
    return Type("type", "type", (named,))


def struct(name: str) -> Type:
    """An object with declared fields, or a value of Kubernetes' own, such as a quantity."""
    return Type("struct", name)


def opaque(name: str) -> Type:
    """A value that has functions and no fields."""
    return Type("opaque", name)


def parameter(name: str) -> Type:
    """A type that is yet to be found."""
    return Type("parameter", name)


QUANTITY: Final = struct("kubernetes.Quantity")
URL: Final = struct("kubernetes.URL")
SEMVER: Final = struct("kubernetes.Semver")
NAMED_FORMAT: Final = struct("kubernetes.NamedFormat")
IP: Final = opaque("net.IP")
CIDR: Final = opaque("net.CIDR")
AUTHORIZER: Final = struct("kubernetes.authorization.Authorizer")
PATH_CHECK: Final = struct("kubernetes.authorization.PathCheck")
GROUP_CHECK: Final = struct("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK: Final = struct("kubernetes.authorization.ResourceCheck")
DECISION: Final = struct("kubernetes.authorization.Decision")

NAMES: Final[Mapping[str, Type]] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "duration": DURATION,
    "dyn": DYN,
    "int": INT,
    "null": NULL,
    "string": STRING,
    "timestamp": TIMESTAMP,
    "uint": UINT,
    "quantity": QUANTITY,
    "url": URL,
    "semver": SEMVER,
    "format": NAMED_FORMAT,
    "ip": IP,
    "cidr": CIDR,
    "authorizer": AUTHORIZER,
    "path_check": PATH_CHECK,
    "group_check": GROUP_CHECK,
    "resource_check": RESOURCE_CHECK,
    "decision": DECISION,
}
"""How the types without parameters are written in :mod:`extapi.schema.cel.declarations`."""


_NAMED: Final = frozenset({"opaque", "parameter", "struct", "unspecified"})
"""Kinds whose types are told by their names; one that is not specified has none."""


def format_type(type_: Type) -> str:
    """The type as errors print it: ``list(string)``, ``map(string, int)``, ``optional_type(int)``.

    Source: ``cel-go/checker`` FormatCELType.
    """
    kind, name, parameters = type_
    if kind == "error":
        return "!error!"
    if name == "wrapper":
        return f"wrapper({kind})"
    shown = name if kind in _NAMED or name == "any" else kind
    return f"{shown}({', '.join(map(format_type, parameters))})" if parameters else shown


def is_optional(type_: Type) -> bool:
    """Whether values of the type may be absent."""
    return type_.kind == "opaque" and type_.name == "optional_type"


def alike(first: Type, second: Type) -> bool:
    """Whether two types are the same, where a scalar that may be null counts as that scalar.

    Source: ``cel-go/common/types`` Type.IsExactType.
    """
    if first == second:
        return True
    if first.kind != second.kind or len(first.parameters) != len(second.parameters):
        return False
    if first.name != second.name and "wrapper" not in {first.name, second.name}:
        return False
    return all(map(alike, first.parameters, second.parameters))
