"""The types that decide how values merge: maps by key, lists by item, or all at once.

An :class:`Atom` says what a value may be (a scalar, a list, a map), and for lists and maps whether their parts have managers
of their own. Atoms are made of OpenAPI schemas, as kube-apiserver publishes them for CRDs and for its own types.

Source: ``structured-merge-diff/v6/schema`` and ``kube-openapi/pkg/schemaconv``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from extapi.managedfields.fieldset import key_label

UNTYPED: Final = "untyped"
"""A scalar of any type."""


class Atom:
    """One type. Each of ``scalar``, ``list`` and ``map`` that is set is a shape that the value may have.

    Types refer to themselves, so an atom is filled in after it is made; then it does not change.
    """

    __slots__ = ("_lists", "_maps", "_scalars", "list", "map", "named", "scalar")

    def __init__(
        self, *, scalar: str = "", list_: ListType | None = None, map_: MapType | None = None, named: bool = False
    ) -> None:
        self.scalar = scalar
        """``numeric``, ``string``, ``boolean`` or :data:`UNTYPED`; empty if it may not be a scalar."""
        self.list = list_
        self.map = map_
        self.named = named
        """Whether others refer to it by a name."""
        # Made when they are first asked for: an object with a field on each of many levels asks for thousands.
        self._maps: Atom | None = None
        self._lists: Atom | None = None
        self._scalars: Atom | None = None

    def shapes(self, value: Any) -> Atom:
        """The atom of the value's shape alone; the atom itself if the value is null, or of a shape that is not allowed."""
        if isinstance(value, dict):
            if self.map is None or (not self.scalar and self.list is None):
                return self
            if self._maps is None:
                self._maps = Atom(map_=self.map)
            return self._maps
        if isinstance(value, list):
            if self.list is None or (not self.scalar and self.map is None):
                return self
            if self._lists is None:
                self._lists = Atom(list_=self.list)
            return self._lists
        if value is None or not self.scalar or (self.map is None and self.list is None):
            return self
        if self._scalars is None:
            self._scalars = Atom(scalar=self.scalar)
        return self._scalars

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Atom):
            return NotImplemented
        return self.scalar == other.scalar and self.list is other.list and self.map is other.map

    __hash__ = None  # type: ignore[assignment]  # filled in after it is made


class ListType:
    """A list: atomic, a map by ``keys``, or a set if it is associative and has none."""

    __slots__ = ("associative", "element", "keys", "labels")

    def __init__(self, element: Atom, *, associative: bool = False, keys: tuple[str, ...] = ()) -> None:
        self.element = element
        self.associative = associative
        self.keys = keys
        self.labels = tuple((name, key_label(name)) for name in sorted(keys))
        """The keys in the order of a path element, each with the text before its value."""

    def default(self, key: str) -> Any:
        """The default of a key in the items; None if there is none."""
        return self.element.map.defaults.get(key) if self.element.map is not None else None


class MapType:
    """A map or an object.

    Args:
        fields: The named fields.
        element: The type of all others; None if there may not be others.
        atomic: It has one manager as a whole.
        defaults: Of the fields.
    """

    __slots__ = ("atomic", "defaults", "element", "fields")

    def __init__(
        self,
        fields: Mapping[str, Atom],
        element: Atom | None,
        *,
        atomic: bool = False,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self.fields = fields
        self.element = element
        self.atomic = atomic
        self.defaults = defaults or {}

    def at(self, name: str) -> Atom | None:
        """The type of a field; None if it is not declared."""
        return self.fields.get(name, self.element)

    @property
    def deduced(self) -> bool:
        """Whether it has no fields, and whatever is in it has no type: how it merges is not known to the schema."""
        element = self.element
        if self.fields or element is None or element.named:
            return element is DEDUCED and not self.fields
        return element.scalar == UNTYPED


UNTYPED_ATOMIC: Final = Atom(scalar=UNTYPED, named=True)
"""Anything, merged as a whole."""
DEDUCED: Final = Atom(scalar=UNTYPED, named=True)
"""Anything, merged by what it is: maps by key, lists as a whole."""

UNTYPED_ATOMIC.list = ListType(UNTYPED_ATOMIC)
UNTYPED_ATOMIC.map = MapType({}, UNTYPED_ATOMIC, atomic=True)
DEDUCED.list = ListType(UNTYPED_ATOMIC)
DEDUCED.map = MapType({}, DEDUCED)

_PRIMITIVES: Final = {"integer": "numeric", "number": "numeric", "boolean": "boolean"}
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_RAW_EXTENSION: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"


def atom_of(schema: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]] | None = None) -> Atom:
    """The type that an OpenAPI schema describes.

    Args:
        schema: An OpenAPI v3 schema; if it is a CRD's, a structural one.
        models: What its references point to, by name.

    Raises:
        ValueError: It is not structural, or a reference points nowhere.
    """
    compiler = _Compiler(models or {})
    atom = compiler.compile(schema, keeps=False)
    compiler.finish()
    return atom


class _Compiler:
    """Compiles schemas whose references may form circles."""

    def __init__(self, models: Mapping[str, Mapping[str, Any]]) -> None:
        self._models = models
        self._overridden: list[tuple[Atom, str, str]] = []
        self._named: dict[str, Atom] = {
            _QUANTITY: Atom(scalar=UNTYPED, named=True),
            _RAW_EXTENSION: UNTYPED_ATOMIC,
        }

    def compile(self, schema: Mapping[str, Any], *, keeps: bool) -> Atom:
        """``keeps``: a schema above says that unknown fields are preserved, which holds for all below it."""
        reference = _reference(schema)
        if reference:
            return self._referenced(reference, schema)
        keeps = keeps or schema.get("x-kubernetes-preserve-unknown-fields") is True
        kind = schema.get("type", "")
        if kind == "object":
            return Atom(map_=self._map(schema, keeps=keeps))
        if kind == "array":
            return Atom(list_=self._list(schema, keeps=keeps))
        if kind == "string":
            return Atom(scalar="string" if schema.get("format", "") in {"", "byte"} else UNTYPED)
        if kind in _PRIMITIVES:
            return Atom(scalar=_PRIMITIVES[kind])
        if kind:
            raise ValueError(f"unrecognized type: {kind!r}")
        return Atom(scalar=UNTYPED, list_=self._list(schema, keeps=keeps), map_=self._map(schema, keeps=keeps))

    def _referenced(self, name: str, schema: Mapping[str, Any]) -> Atom:
        atom = self._named.get(name)
        if atom is None:
            if name not in self._models:
                raise ValueError(f"no schema is named {name!r}")
            atom = self._named[name] = Atom(named=True)
            found = self.compile(self._models[name], keeps=False)
            atom.scalar, atom.list, atom.map = found.scalar, found.list, found.map
        map_type = schema.get("x-kubernetes-map-type")
        if not map_type:
            return atom
        own = Atom(named=True)
        self._overridden.append((own, name, map_type))
        return own

    def finish(self) -> None:
        """Give references with a map type of their own what they refer to: only now is it complete."""
        for own, name, map_type in self._overridden:
            of = self._named[name]
            if of.map is None:
                raise ValueError(f"{name!r} is no map, and cannot have the map type {map_type!r}")
            own.scalar, own.list = of.scalar, of.list
            own.map = MapType(of.map.fields, of.map.element, atomic=map_type == "atomic", defaults=of.map.defaults)

    def _map(self, schema: Mapping[str, Any], *, keeps: bool) -> MapType:
        properties = schema.get("properties") or {}
        additional = schema.get("additionalProperties")
        if isinstance(additional, Mapping):
            element: Atom | None = self.compile(additional, keeps=keeps)
        elif additional is None:
            element = DEDUCED if keeps or not properties else None
        else:
            element = DEDUCED if additional else None
        return MapType(
            {name: self.compile(each, keeps=keeps) for name, each in properties.items()},
            element,
            atomic=schema.get("x-kubernetes-map-type") == "atomic",
            defaults={name: each["default"] for name, each in properties.items() if each.get("default") is not None},
        )

    def _list(self, schema: Mapping[str, Any], *, keeps: bool) -> ListType:
        items = schema.get("items")
        element = UNTYPED_ATOMIC if items is None else self.compile(items, keeps=keeps)
        associative, keys = _relationship(schema)
        return ListType(element, associative=associative, keys=keys)


def _reference(schema: Mapping[str, Any]) -> str:
    """The name that the schema refers to, also through the only branch of its ``allOf``; or nothing."""
    reference = schema.get("$ref", "")
    if not reference:
        branches: Sequence[Any] = schema.get("allOf") or ()
        reference = branches[0].get("$ref", "") if len(branches) == 1 else ""
    return str(reference).rpartition("/")[2]


def _relationship(schema: Mapping[str, Any]) -> tuple[bool, tuple[str, ...]]:
    """Whether the items of a list have managers of their own, and the keys that tell them apart."""
    match schema.get("x-kubernetes-list-type"):
        case "map":
            return True, tuple(schema.get("x-kubernetes-list-map-keys") or ())
        case "set":
            return True, ()
        case "atomic":
            return False, ()
    if schema.get("x-kubernetes-patch-strategy") in {"merge", "merge,retainKeys"}:
        key = schema.get("x-kubernetes-patch-merge-key")
        return True, (key,) if key else ()
    return False, ()
