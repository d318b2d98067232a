"""Markers: what an author writes inside ``Annotated[...]`` to constrain a field.

Each names the keyword of a structural schema that it becomes (API concept "CustomResourceDefinition validation"); the
schema stage compiles them. Only the types of their values are checked here, where they are written.
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
"""What a marker's field takes, by its annotation."""


class Marker:
    """Base of all markers, so that the compiler can tell them from foreign annotations."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Raises :class:`DeclarationError` for a value of a wrong type: here the traceback still shows the author's line."""
        for field in fields(self):  # type: ignore[arg-type]  # each marker is a dataclass
            wanted, fits = _WANTED.get(str(field.type), ("", bool))
            value = getattr(self, field.name)
            if wanted and not fits(value):
                raise DeclarationError(f"{type(self).__name__}: {field.name} must be {wanted}, not {value!r}")
            if wanted and isinstance(value, list):
                object.__setattr__(self, field.name, tuple(value))


@dataclass(frozen=True, slots=True)
class Minimum(Marker):
    """``minimum``: the least allowed number; with ``exclusive`` the number itself is not allowed.

    Example::

        class Oven(Struct):
            degrees: Annotated[int, Minimum(0), Maximum(500)] = 200
            price: Annotated[float, Minimum(0, exclusive=True)]
    """

    value: float
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Maximum(Marker):
    """``maximum``: the greatest allowed number; with ``exclusive`` the number itself is not allowed."""

    value: float
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class MultipleOf(Marker):
    """``multipleOf``."""

    value: float


@dataclass(frozen=True, slots=True)
class MinLength(Marker):
    """``minLength``, in code points."""

    value: int


@dataclass(frozen=True, slots=True)
class MaxLength(Marker):
    """``maxLength``, in code points."""

    value: int


@dataclass(frozen=True, slots=True)
class Pattern(Marker):
    """``pattern``: a regular expression in Go's syntax (RE2), matched anywhere unless anchored.

    Example::

        class Car(Struct):
            plate: Annotated[str, Pattern("^[A-Z]{1,3}-[0-9]+$"), MaxLength(12)]
    """

    value: str


@dataclass(frozen=True, slots=True)
class Format(Marker):
    """``format``, such as ``date-time``, ``ipv4``, ``int32``; unknown ones are published and not enforced. ``Format("")``: none.

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
    """``minItems``."""

    value: int


@dataclass(frozen=True, slots=True)
class MaxItems(Marker):
    """``maxItems``.

    Example::

        class Shelf(Struct):
            # The items are marked inside of the list, the list itself outside.
            books: Annotated[list[Annotated[str, MinLength(1)]], MaxItems(100)] = []
    """

    value: int


@dataclass(frozen=True, slots=True)
class MinProperties(Marker):
    """``minProperties``."""

    value: int


@dataclass(frozen=True, slots=True)
class MaxProperties(Marker):
    """``maxProperties``."""

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
    """``x-kubernetes-list-type: map``: items are objects, told apart by ``keys``.

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
    """``x-kubernetes-list-type`` or ``-map-type: atomic``: the list or map has one owner and is replaced whole.

    Example::

        class Route(Struct):
            hops: Annotated[list[str], Atomic()] = []
    """


@dataclass(frozen=True, slots=True, init=False)
class Required(Marker):
    """``required``: members that have to be there, by their names on the wire."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


@dataclass(frozen=True, slots=True, init=False)
class Property(Marker):
    """``properties``: what holds for one member. Use inside ``AnyOf`` and its like, and on ``metadata``."""

    name: str
    """On the wire."""
    markers: tuple[Marker, ...]

    def __init__(self, name: str, *markers: Marker) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "markers", markers)


@dataclass(frozen=True, slots=True, init=False)
class Items(Marker):
    """``items``: what holds for each item. Use inside ``AnyOf`` and its like."""

    markers: tuple[Marker, ...]

    def __init__(self, *markers: Marker) -> None:
        object.__setattr__(self, "markers", markers)


Branch = Marker | Sequence[Marker]
"""One alternative of a junctor: a marker, or several that hold together."""


@dataclass(frozen=True, slots=True, init=False)
class AllOf(Marker):
    """``allOf``: all of these hold. Each is a marker, or a tuple of markers."""

    branches: tuple[Branch, ...]

    def __init__(self, *branches: Branch) -> None:
        object.__setattr__(self, "branches", branches)


@dataclass(frozen=True, slots=True, init=False)
class AnyOf(Marker):
    """``anyOf``: at least one of these holds. Each is a marker, or a tuple of markers that hold together.

    Example::

        class Spread(Struct):
            surge: Annotated[int | str, AnyOf(Maximum(100), Pattern("^[0-9]+%$"))] = 1
    """

    branches: tuple[Branch, ...]

    def __init__(self, *branches: Branch) -> None:
        object.__setattr__(self, "branches", branches)


@dataclass(frozen=True, slots=True, init=False)
class ExactlyOneOf(Marker):
    """``oneOf``: one of these holds and no other. Each is a marker, or a tuple of markers that hold together.

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
    """``not``: these do not hold together."""

    markers: tuple[Marker, ...]

    def __init__(self, *markers: Marker) -> None:
        object.__setattr__(self, "markers", markers)


@dataclass(frozen=True, slots=True)
class Nullable(Marker):
    """``nullable``: an explicit null is kept. Without it null is dropped, or replaced by the default.

    Example::

        class Timer(Struct):
            until: Annotated[str | None, Nullable()] = None
    """


@dataclass(frozen=True, slots=True)
class PreserveUnknown(Marker):
    """``x-kubernetes-preserve-unknown-fields``: keep what the schema does not name. Use on ``dict[str, Any]``.

    Example::

        class Values(Struct):
            parameters: Annotated[dict[str, Any], PreserveUnknown()] = {}
    """


@dataclass(frozen=True, slots=True)
class IntOrString(Marker):
    """``x-kubernetes-int-or-string``: use on ``int | str``.

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
            '''A lamp.'''  # the text of the whole

            watts: Annotated[int, Description("How much it takes.")] = 10
    """

    text: str


@dataclass(frozen=True, slots=True)
class Default(Marker):
    """``default``: what the server fills in where the field is missing; for types where a Python default would not do.

    Example::

        class Cache(Struct):
            megabytes: Annotated[int | str, IntOrString(), Default(64)]
    """

    value: Any


@dataclass(frozen=True, slots=True)
class Rule(Marker):
    """``x-kubernetes-validations``: a CEL rule. Not enforced yet, so a server with such a rule refuses to start."""

    rule: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class MergeKey(Marker):
    """``x-kubernetes-patch-strategy: merge``, with the key by which a strategic merge patch finds items.

    Without a key for lists of plain values, which are merged as sets. For the control plane's own kinds.
    """

    key: str = ""
