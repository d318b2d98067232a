"""Markers: what an author writes inside ``Annotated[...]`` to constrain or describe a field.

Each marker names the schema keyword that it becomes (API concept "CustomResourceDefinition validation");
:mod:`extapi.schema.marking` translates them. Here only the types of their values are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from extapi.api.declaration import DeclarationError

_WANTED: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "float": ("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    "int": (
        "a whole number that is not negative",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    ),
    "str": ("a string", lambda value: isinstance(value, str)),
    "bool": ("True or False", lambda value: isinstance(value, bool)),
    "tuple[Any, ...]": ("a tuple of the values, such as (1, 2)", lambda value: isinstance(value, tuple | list)),
    "tuple[str, ...]": (
        "names, at least one",
        lambda value: bool(value) and all(isinstance(name, str) and name for name in value),
    ),
}
"""What the fields of markers take, by their annotations: in words, and as a check."""


class Marker:
    """Base of all markers, so that the compiler can tell them from other annotations."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Check the types of values here, where the traceback still shows the author's line.

        Raises:
            DeclarationError: A value has the wrong type.
        """
        for field in fields(self):  # type: ignore[arg-type]  # each marker is a dataclass
            wanted, fits = _WANTED.get(str(field.type), ("", bool))
            value = getattr(self, field.name)
            if wanted and not fits(value):
                raise DeclarationError(f"{type(self).__name__}: {field.name} must be {wanted}, not {value!r}")
            if wanted and isinstance(value, list):
                object.__setattr__(self, field.name, tuple(value))


@dataclass(frozen=True, slots=True)
class Minimum(Marker):
    """``minimum``: the smallest allowed number; with ``exclusive`` the number itself is not allowed.

    Example::

        class Oven(Struct):
            degrees: Annotated[int, Minimum(0), Maximum(500)] = 200
            price: Annotated[float, Minimum(0, exclusive=True)]
    """

    value: float
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Maximum(Marker):
    """``maximum``: the largest allowed number; with ``exclusive`` the number itself is not allowed."""

    value: float
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class MultipleOf(Marker):
    """``multipleOf``: the number must be a multiple of this one."""

    value: float


@dataclass(frozen=True, slots=True)
class MinLength(Marker):
    """``minLength``: the least number of code points of a string."""

    value: int


@dataclass(frozen=True, slots=True)
class MaxLength(Marker):
    """``maxLength``: the greatest number of code points of a string."""

    value: int


@dataclass(frozen=True, slots=True)
class Pattern(Marker):
    """``pattern``: a regular expression in Go's syntax (RE2), which may match anywhere unless anchored.

    Example::

        class Car(Struct):
            plate: Annotated[str, Pattern("^[A-Z]{1,3}-[0-9]+$"), MaxLength(12)]
    """

    value: str


@dataclass(frozen=True, slots=True)
class Format(Marker):
    """``format``, such as ``date-time`` or ``int32``; ``Format("")`` means none. Unknown ones are not enforced.

    Example::

        class Host(Struct):
            address: Annotated[str, Format("ipv4")]
    """

    value: str


@dataclass(frozen=True, slots=True)
class OneOf(Marker):
    """``enum``: the allowed values.

    Example::

        class Shirt(Struct):
            size: Annotated[str, OneOf(("S", "M", "L"))] = "M"
            sleeves: Literal["long", "short"] = "long"  # the same, shorter
    """

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MinItems(Marker):
    """``minItems``: the least number of items of a list."""

    value: int


@dataclass(frozen=True, slots=True)
class MaxItems(Marker):
    """``maxItems``: the greatest number of items of a list.

    Example::

        class Shelf(Struct):
            # Markers inside the brackets are about the items, markers outside about the list.
            books: Annotated[list[Annotated[str, MinLength(1)]], MaxItems(100)] = []
    """

    value: int


@dataclass(frozen=True, slots=True)
class MinProperties(Marker):
    """``minProperties``: the least number of keys of an object."""

    value: int


@dataclass(frozen=True, slots=True)
class MaxProperties(Marker):
    """``maxProperties``: the greatest number of keys of an object."""

    value: int


@dataclass(frozen=True, slots=True)
class ListSet(Marker):
    """``x-kubernetes-list-type: set``: no value occurs twice.

    Example::

        class Door(Struct):
            colors: Annotated[list[str], ListSet()] = []
    """


@dataclass(frozen=True, slots=True, init=False)
class ListMap(Marker):
    """``x-kubernetes-list-type: map``: the items are objects that are identified by ``keys``; no two may have the same.

    Example::

        class Port(Struct):
            name: str
            number: int

        class Service(Struct):
            ports: Annotated[list[Port], ListMap("name")] = []
    """

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)
        self.__post_init__()


@dataclass(frozen=True, slots=True)
class Atomic(Marker):
    """``x-kubernetes-list-type: atomic`` or ``x-kubernetes-map-type: atomic``: the list or map is replaced as a whole.

    Example::

        class Route(Struct):
            hops: Annotated[list[str], Atomic()] = []
    """


@dataclass(frozen=True, slots=True, init=False)
class Required(Marker):
    """``required``: members that must be present, by their JSON names."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


@dataclass(frozen=True, slots=True, init=False)
class Property(Marker):
    """``properties``: rules for one member. Use it inside ``AnyOf`` and the like, and on ``metadata``."""

    name: str
    """The member's JSON name."""
    markers: tuple[Marker, ...]

    def __init__(self, name: str, *markers: Marker) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "markers", markers)


@dataclass(frozen=True, slots=True, init=False)
class Items(Marker):
    """``items``: rules for each item. Use it inside ``AnyOf`` and the like."""

    markers: tuple[Marker, ...]

    def __init__(self, *markers: Marker) -> None:
        object.__setattr__(self, "markers", markers)


Branch = Marker | Sequence[Marker]
"""One branch of ``AllOf``, ``AnyOf`` or ``ExactlyOneOf``: a marker, or several that must hold together."""


@dataclass(frozen=True, slots=True, init=False)
class AllOf(Marker):
    """``allOf``: all of these must hold. Each is a marker or a tuple of markers."""

    branches: tuple[Branch, ...]

    def __init__(self, *branches: Branch) -> None:
        object.__setattr__(self, "branches", branches)


@dataclass(frozen=True, slots=True, init=False)
class AnyOf(Marker):
    """``anyOf``: at least one of these must hold. Each is a marker, or a tuple of markers that must hold together.

    Example::

        class Spread(Struct):
            surge: Annotated[int | str, AnyOf(Maximum(100), Pattern("^[0-9]+%$"))] = 1
    """

    branches: tuple[Branch, ...]

    def __init__(self, *branches: Branch) -> None:
        object.__setattr__(self, "branches", branches)


@dataclass(frozen=True, slots=True, init=False)
class ExactlyOneOf(Marker):
    """``oneOf``: exactly one of these must hold. Each is a marker, or a tuple of markers that must hold together.

    Example::

        class Code(Struct):
            git: str | None = None
            image: str | None = None

        class Build(Struct):
            code: Annotated[Code, ExactlyOneOf(Required("git"), Required("image"))]
    """

    branches: tuple[Branch, ...]

    def __init__(self, *branches: Branch) -> None:
        object.__setattr__(self, "branches", branches)


@dataclass(frozen=True, slots=True, init=False)
class Not(Marker):
    """``not``: these must not all hold together."""

    markers: tuple[Marker, ...]

    def __init__(self, *markers: Marker) -> None:
        object.__setattr__(self, "markers", markers)


@dataclass(frozen=True, slots=True)
class Nullable(Marker):
    """``nullable``: an explicit null is kept. Without this marker, null is dropped or replaced by the default.

    Example::

        class Timer(Struct):
            until: Annotated[str | None, Nullable()] = None
    """


@dataclass(frozen=True, slots=True)
class PreserveUnknown(Marker):
    """``x-kubernetes-preserve-unknown-fields``: unknown fields are kept. Use it on ``dict[str, Any]``.

    Example::

        class Values(Struct):
            parameters: Annotated[dict[str, Any], PreserveUnknown()] = {}
    """


@dataclass(frozen=True, slots=True)
class IntOrString(Marker):
    """``x-kubernetes-int-or-string``: an integer or a string. Use it on ``int | str``.

    Example::

        class Rollout(Struct):
            surge: Annotated[int | str, IntOrString()] = "25%"
    """


@dataclass(frozen=True, slots=True)
class EmbeddedResource(Marker):
    """``x-kubernetes-embedded-resource``: a whole object with apiVersion, kind and metadata.

    Example::

        class Template(Struct):
            manifest: Annotated[dict[str, Any], EmbeddedResource(), PreserveUnknown()] = {}
    """


@dataclass(frozen=True, slots=True)
class Description(Marker):
    """``description``: the text that ``kubectl explain`` shows for this field.

    Example::

        class Lamp(Struct):
            '''A lamp.'''  # the description of the whole object

            watts: Annotated[int, Description("The power that it draws.")] = 10
    """

    text: str


@dataclass(frozen=True, slots=True)
class Default(Marker):
    """``default``: the value for a missing field. Use it where a Python default is not possible.

    Example::

        class Cache(Struct):
            megabytes: Annotated[int | str, IntOrString(), Default(64)]
    """

    value: Any


@dataclass(frozen=True, slots=True)
class MergeKey(Marker):
    """``x-kubernetes-patch-strategy: merge``, with the key by which a strategic merge patch finds items.

    Lists of plain values have no key; they are merged as sets. Only built-in kinds use it.
    """

    key: str = ""


@dataclass(frozen=True, slots=True)
class Repeatable(Marker):
    """Items of a set or map list may repeat: the list type is for appliers. Only built-in kinds use it.

    kube-apiserver looks for duplicates in custom resources alone; of its own kinds, strategies do where it matters.
    """
