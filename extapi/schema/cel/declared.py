"""What a structural schema is to CEL: a type for each node, and how large its values can be.

Objects stay as they are, as JSON; :class:`Declared` says how a value in it is to be read. A value that is already a CEL
value is *plain*; a date is a string in JSON and a timestamp in CEL.

Source: ``k8s.io/apiserver/pkg/cel/common`` SchemaDeclType, ``k8s.io/apiserver/pkg/cel`` DeclType.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from extapi.schema.cel.escaping import RESERVED, escape
from extapi.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    struct,
)
from extapi.schema.structural import MISSING, Structural, replace

MAX_REQUEST: Final = 3 * 1024 * 1024
"""How many bytes a request has at most: no value is larger, whatever its schema says."""
_UNKNOWN_STRING: Final = MAX_REQUEST - 2
ROOT: Final = "selfType1"
"""The name of the type of a whole schema. kube-apiserver ends it with the nanoseconds at which it compiles; here errors, and
conditions that hold them, stay the same."""

_TEXT: Final = Structural(type="string")


class Declared:
    """A node of a schema as CEL sees it. Immutable.

    Attributes:
        type: Its type.
        max_elements: How many elements, entries or characters a value has at most; 0 for values without a size.
        min_serialized_size: How many bytes its shortest value has in JSON.
        element: The values of a list or map.
        name: Where it is in the schema; the name of its type, if it is an object.
        fields: Of an object: by identifier, the name of each property and its declaration.
        properties: Of an object: by name, all properties with a declaration, also those that have no identifier.
        conversion: How a scalar is read: "double", "timestamp", "date", "duration", "bytes"; empty if it is plain.
        plain: Whether JSON and CEL value are the same, with all that is inside.
        nullable: Whether null is a value.
        list_type: "atomic", "set" or "map".
        list_map_keys: The keys of a map list.
        required: The properties that are always there.
    """

    __slots__ = (
        "conversion",
        "element",
        "fields",
        "list_map_keys",
        "list_type",
        "max_elements",
        "min_serialized_size",
        "name",
        "nullable",
        "plain",
        "properties",
        "required",
        "type",
    )

    def __init__(self, type_: Type, *, min_serialized_size: int, max_elements: int = 0, conversion: str = "") -> None:
        self.type = type_
        self.max_elements = max_elements
        self.min_serialized_size = min_serialized_size
        self.conversion = conversion
        self.element: Declared | None = None
        self.fields: Mapping[str, tuple[str, Declared]] = {}
        self.properties: Mapping[str, Declared] = {}
        self.plain = not conversion
        self.name = ROOT
        self.nullable = False
        self.list_type = "atomic"
        self.list_map_keys: tuple[str, ...] = ()
        self.required: frozenset[str] = frozenset()

    def field(self, identifier: str) -> tuple[str, Declared] | None:
        """The property with that identifier. Reserved words are found as they are, too, as since Kubernetes 1.33."""
        found = self.fields.get(identifier)
        if found is None and identifier in RESERVED:
            return self.fields.get(f"__{identifier}__")
        return found


def declare(structural: Structural, *, root: bool = False, name: str = ROOT) -> Declared | None:
    """The declaration of a schema.

    Args:
        structural: The schema.
        root: Whether it is that of a whole object, which always has apiVersion, kind, and names.
        name: The name of its type.

    Returns:
        None if no value of the schema can be seen by CEL: its structure is not known.
    """
    found = _declare(structural, name, root=root)
    if found is not None:
        found.nullable = structural.nullable
        found.name = name
    return found


def _declare(node: Structural, name: str, *, root: bool) -> Declared | None:
    if node.int_or_string:
        limit = _UNKNOWN_STRING if node.max_length is None else max(node.max_length, 0) * 4
        return Declared(DYN, min_serialized_size=1, max_elements=limit)
    if root:
        node = with_object_meta(node)
    match node.type:
        case "array":
            return _list(node, name)
        case "object":
            return _map(node, node.additional, name) if node.additional is not None else _object(node, name)
        case "string":
            return _string(node)
        case "boolean":
            return Declared(BOOL, min_serialized_size=4)
        case "number":
            return Declared(DOUBLE, min_serialized_size=1, conversion="double")
        case "integer":
            return Declared(INT, min_serialized_size=1)
    return None


def _inner(node: Structural, name: str) -> Declared | None:
    return declare(node, root=node.embedded_resource, name=name)


def _list(node: Structural, name: str) -> Declared | None:
    element = None if node.items is None else _inner(node.items, f"{name}.@idx")
    if element is None:
        return None
    limit = (MAX_REQUEST - 2) // (element.min_serialized_size + 1) if node.max_items is None else max(node.max_items, 0)
    made = Declared(list_of(element.type), min_serialized_size=2, max_elements=limit)
    made.element = element
    made.list_type = node.list_type or "atomic"
    made.list_map_keys = node.list_map_keys
    made.plain = element.plain and made.list_type == "atomic"
    return made


def _map(node: Structural, values: Structural, name: str) -> Declared | None:
    element = _inner(values, f"{name}.@elem")
    if element is None:
        return None
    # Two bytes for a key, its quotes, colon and comma, and the shortest value.
    most = (MAX_REQUEST - 2) // (element.min_serialized_size + 6)
    limit = most if node.max_properties is None else max(node.max_properties, 0)
    made = Declared(map_of(STRING, element.type), min_serialized_size=2, max_elements=limit)
    made.element = element
    made.plain = element.plain
    return made


def _object(node: Structural, name: str) -> Declared:
    size = 2
    required = frozenset(node.required)
    fields: dict[str, tuple[str, Declared]] = {}
    properties: dict[str, Declared] = {}
    # A member that is null counts as absent, and one without a declaration is hidden.
    plain = not node.preserve_unknown
    for key, sub in node.properties.items():
        identifier = escape(key)
        declared = _inner(sub, f"{name}.{identifier or key}")
        if declared is None:
            plain = False
            continue
        properties[key] = declared
        plain = plain and declared.plain and not declared.nullable and identifier == key
        if identifier is not None:
            fields[identifier] = (key, declared)
        if key in required and (sub.default is MISSING or sub.default is None):
            size += len(key.encode()) + declared.min_serialized_size + 4
    made = Declared(struct(name), min_serialized_size=size)
    made.fields = fields
    made.properties = properties
    made.plain = plain
    made.required = required
    return made


_FORMATS: Final[Mapping[str, tuple[Type, int, int]]] = {
    "duration": (DURATION, 3, 32),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 21, 32),
}
"""Formats that are types of their own in CEL: type, shortest and longest in JSON."""


def _string(node: Structural) -> Declared:
    if node.format == "byte":
        limit = _UNKNOWN_STRING if node.max_length is None else max(node.max_length, 0)
        return Declared(BYTES, min_serialized_size=2, max_elements=limit, conversion="bytes")
    if node.format in _FORMATS:
        type_, shortest, longest = _FORMATS[node.format]
        conversion = "timestamp" if node.format == "date-time" else node.format
        return Declared(type_, min_serialized_size=shortest, max_elements=longest, conversion=conversion)
    if node.max_length is not None:
        limit = max(node.max_length, 0) * 4
    elif node.enum:
        limit = max((len(_bytes(word)) for word in node.enum if isinstance(word, str)), default=0)
    else:
        limit = _UNKNOWN_STRING
    return Declared(STRING, min_serialized_size=2, max_elements=limit)


def _bytes(word: Any) -> bytes:
    return str(word).encode(errors="surrogatepass")


def with_object_meta(node: Structural) -> Structural:
    """The schema of a whole object with what every object has: apiVersion, kind, metadata's name and generateName.

    Source: ``apiextensions-apiserver/pkg/apiserver/schema/cel/model`` WithTypeAndObjectMeta.
    """
    has = node.properties
    metadata = has.get("metadata", Structural())
    if (
        all(name in has and has[name].type == "string" for name in ("apiVersion", "kind"))
        and metadata.type == "object"
        and all(
            name in metadata.properties and metadata.properties[name].type == "string"
            for name in ("name", "generateName")
        )
    ):
        return node
    names = Structural(type="object", properties={"name": _TEXT, "generateName": _TEXT})
    return replace(node, properties={**has, "apiVersion": _TEXT, "kind": _TEXT, "metadata": names})
