"""What an expression may use: variables and functions, by the version of Kubernetes.

A function that a new version brings may not be written into new rules before the version after it: an older server must be
able to read them. Stored rules may use it at once. So there are two sets, and both are data.

Source: ``k8s.io/apiserver/pkg/cel/environment`` base.go and environment.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from extapi.schema.cel.declarations import Overload, by_function
from extapi.schema.cel.declared import ROOT, Declared
from extapi.schema.cel.library import (
    authorization,
    cidr,
    comprehensions,
    formats,
    ip,
    jsonpatch,
    kubernetes_lists,
    lists,
    optionals,
    quantity,
    regex,
    semver,
    sets,
    standard,
    strings,
    urls,
)
from extapi.schema.cel.messages import MESSAGES, message_type
from extapi.schema.cel.patchtypes import patch_fields, patch_type
from extapi.schema.cel.syntax.macros import Macros
from extapi.schema.cel.types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    IP,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    opaque,
    optional_of,
    type_of,
)

Version = tuple[int, int]

CURRENT: Final[Version] = (1, 36)
"""The version of Kubernetes that we follow."""
COMPATIBLE: Final[Version] = (1, 35)
"""The oldest version that must be able to read what is written now."""


class Library(NamedTuple):
    """Functions that came, and perhaps went, together."""

    introduced: Version
    overloads: tuple[Overload, ...] = ()
    removed: Version | None = None
    names: tuple[str, ...] = ()
    """The names of the types that it brings."""


_ALWAYS: Final[Version] = (1, 0)

LIBRARIES: Final = (
    Library(_ALWAYS, standard.STANDARD, removed=(1, 28)),
    Library((1, 28), standard.STANDARD_WITH_CROSS_TYPES),
    Library(_ALWAYS, urls.URLS),
    Library(_ALWAYS, regex.REGEX),
    Library(_ALWAYS, kubernetes_lists.KUBERNETES_LISTS),
    Library((1, 27), authorization.AUTHORIZATION),
    Library((1, 28), optionals.OPTIONALS, names=("optional_type",)),
    Library((1, 28), quantity.QUANTITY_FUNCTIONS),
    Library(_ALWAYS, strings.STRINGS_V0, removed=(1, 29)),
    Library((1, 29), strings.STRINGS),
    Library((1, 29), sets.SETS),
    Library((1, 30), ip.IP_FUNCTIONS, names=("net.IP",)),
    Library((1, 30), cidr.CIDR_FUNCTIONS, names=("net.CIDR",)),
    Library((1, 31), formats.FORMAT_FUNCTIONS),
    Library((1, 31), authorization.AUTHORIZATION_SELECTORS),
    Library((1, 32), comprehensions.TWO_VARIABLE),
    Library((1, 33), semver.SEMVER_FUNCTIONS),
    Library((1, 34), lists.LISTS),
)
"""The libraries in the order in which Kubernetes' environment adds them."""

_OPTIONALS: Final[Version] = (1, 28)
_LITERAL_CHECKS: Final[Version] = (1, 29)
_KEYWORDS_AS_FIELDS: Final[Version] = (1, 31)
_TWO_VARIABLES: Final[Version] = (1, 32)
_SORT_BY: Final[Version] = (1, 34)

_TYPE_NAMES: Final[Mapping[str, Type]] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "int": INT,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "null_type": NULL,
    "string": STRING,
    "type": Type("type", "type"),
    "uint": UINT,
}
_LIBRARY_TYPES: Final[Mapping[str, Type]] = {
    "net.IP": IP,
    "net.CIDR": CIDR,
    "optional_type": opaque("optional_type"),
}

_SCHEMA_TYPES: Final[Mapping[str, Type]] = {
    "duration": type_of(DURATION),
    "timestamp": type_of(TIMESTAMP),
}
"""Names that the types of schemas add."""


class Variable(NamedTuple):
    """A variable of an environment."""

    name: str
    type: Type
    declared: Declared | None = None
    """The schema of its value, which is then given as JSON."""
    optional: bool = False
    """Whether the value may be missing: the expression gets an optional."""


class Language(NamedTuple):
    """What a version of Kubernetes has, whatever the variables."""

    functions: Mapping[str, tuple[Overload, ...]]
    """The overloads of each function."""
    macros: Macros
    types: Mapping[str, Type]
    """The types that can be named."""
    literal_checks: bool
    """Whether literals are checked when an expression is compiled."""
    keywords_as_fields: bool
    """Whether ``self.namespace`` may be written beside ``self.__namespace__``."""


class Environment:
    """What an expression may use. Immutable, but for what it finds out about types on demand.

    Attributes:
        language: Functions, macros, and the names of types.
        types: The types that can be named.
        variables: The variables, in the order in which their values are passed.
        objects: By type name, the fields of objects whose values are no JSON of a schema: dicts with values of CEL.
        makes_patches: Whether ``Object`` and ``JSONPatch`` are types, as in expressions of mutations.
    """

    __slots__ = ("_structs", "language", "makes_patches", "objects", "types", "variables")

    def __init__(
        self,
        language: Language,
        variables: Iterable[Variable] = (),
        objects: Mapping[str, Mapping[str, Type]] = MappingProxyType({}),
        *,
        makes_patches: bool = False,
    ) -> None:
        self.language = language
        self.makes_patches = makes_patches
        self.variables = tuple(variables)
        self.objects = objects
        schemas = any(each.declared is not None for each in self.variables)
        self.types = {**language.types, **_SCHEMA_TYPES} if schemas else language.types
        self._structs: dict[str, Declared] | None = None

    def with_variables(
        self, variables: Iterable[Variable], objects: Mapping[str, Mapping[str, Type]] = MappingProxyType({})
    ) -> Environment:
        """This environment with these variables, and these types of objects."""
        return Environment(self.language, variables, objects, makes_patches=self.makes_patches)

    def with_patches(self) -> Environment:
        """This environment with what expressions of mutations have, too.

        Source: ``k8s.io/apiserver/pkg/admission/plugin/cel`` hasPatchTypes.
        """
        functions = {**self.language.functions, **by_function(jsonpatch.JSON_PATCH)}
        language = self.language._replace(functions=functions)
        return Environment(language, self.variables, self.objects, makes_patches=True)

    def type_named(self, name: str) -> Type | None:
        """The type of the name of a type."""
        found = patch_type(name) if self.makes_patches else None
        return self.types.get(name) or MESSAGES.get(name) if found is None else type_of(found)

    def members(self, name: str) -> Mapping[str, Type] | None:
        """The fields of objects of a type whose values are no JSON of a schema; None for all other types."""
        found = self.objects.get(name)
        return patch_fields(name) if found is None and self.makes_patches else found

    def can_be_made(self, name: str) -> bool:
        """Whether an expression can make an object of the type with that name."""
        return name in MESSAGES or (self.makes_patches and patch_type(name) is not None)

    def field_to_fill(self, name: str, field: str) -> Type | None:
        """The type of a field of what is being made; None if it has no such field."""
        made = patch_fields(name) if self.makes_patches else None
        return message_type(name, field) if made is None else made.get(field)

    @property
    def root_name(self) -> str:
        """The name of the schema of the variables."""
        return next((each.declared.name for each in self.variables if each.declared is not None), ROOT)

    def struct(self, name: str) -> Declared | None:
        """The object of a variable's schema that has that type name."""
        if self._structs is None:
            self._structs = {}
            for variable in self.variables:
                if variable.declared is not None:
                    self._structs.update(_structs(variable.declared))
        return self._structs.get(name)


def _structs(declared: Declared) -> Iterator[tuple[str, Declared]]:
    if declared.type.kind == "struct":
        yield declared.type.name, declared
    for each in declared.properties.values():
        yield from _structs(each)
    if declared.element is not None:
        yield from _structs(declared.element)


@lru_cache(maxsize=16)
def base_environment(version: Version = COMPATIBLE) -> Environment:
    """The environment of a version of Kubernetes, without variables."""
    present = [
        each for each in LIBRARIES if each.introduced <= version and (each.removed is None or version < each.removed)
    ]
    names = {name: _LIBRARY_TYPES[name] for each in present for name in each.names}
    return Environment(
        Language(
            functions=by_function(overload for each in present for overload in each.overloads),
            macros=Macros(
                optional=version >= _OPTIONALS, two_variables=version >= _TWO_VARIABLES, sort_by=version >= _SORT_BY
            ),
            types={name: type_of(type_) for name, type_ in (*_TYPE_NAMES.items(), *names.items())},
            literal_checks=version >= _LITERAL_CHECKS,
            keywords_as_fields=version >= _KEYWORDS_AS_FIELDS,
        )
    )


STORED: Final[Version] = (99, 0)
"""The version of expressions that are stored already: they may use all that this server knows."""


def rule_environment(declared: Declared, *, optional_old_self: bool = False, stored: bool = False) -> Environment:
    """The environment of a rule on a schema.

    Args:
        declared: The schema of ``self`` and ``oldSelf``.
        optional_old_self: Whether ``oldSelf`` is an optional, as a rule with ``optionalOldSelf`` has it.
        stored: Whether the rule is stored already.
    """
    old = optional_of(declared.type) if optional_old_self else declared.type
    return base_environment(STORED if stored else COMPATIBLE).with_variables(
        (
            Variable("self", declared.type, declared),
            Variable("oldSelf", old, declared, optional=optional_old_self),
        )
    )
