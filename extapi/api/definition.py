"""What an author declares: ``Api`` > ``Group`` > ``Kind`` > ``Version``. All are frozen; nothing is compiled here.

Mistakes that need no schema to be seen (a storage version that does not exist, two kinds with one name) are reported at
once and together: one :class:`~extapi.api.declaration.DeclarationError` with a line for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from extapi.api.arguments import (
    controllers as controller_problems,
    each,
    feed,
    function,
    instance,
    plugins,
    rest_storage,
    sequence,
    subclass,
    type_or_schema,
    values,
    watcher,
)
from extapi.api.behaviour import CUSTOM_RESOURCE, Behaviour
from extapi.api.column import AGE, Column
from extapi.api.declaration import refuse
from extapi.api.policyrule import PolicyRule
from extapi.api.protocols import Plugin, RESTStorage, Runner
from extapi.api.scale import Scale, path_problems
from extapi.api.strategy import Strategy
from extapi.api.subresource import Subresource, subresource_problems, subresource_type_problems
from extapi.api.types import Object
from extapi.api.versions import by_priority


class Scope(Enum):
    """Whether objects live in a namespace or in the cluster as a whole."""

    NAMESPACED = "Namespaced"
    CLUSTER = "Cluster"


NAMESPACED = Scope.NAMESPACED
"""The scope of a kind whose objects live in namespaces."""
CLUSTER = Scope.CLUSTER
"""The scope of a kind whose objects have no namespace."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a kind: its type, and the functions that convert it to the hub type and back.

    The functions are plain functions on whole objects. They need not care about ``metadata``: the server carries it
    over.
    """

    type: type[Object] | Mapping[str, Any]
    """An :class:`Object` subclass; or, for a kind without Python types, a structural schema (the ``openAPIV3Schema`` of
    a CRD)."""
    to_hub: Callable[[Any], Any] | None = None
    """Converts an object of ``type`` into one of ``Kind.hub``. Must not change its argument."""
    from_hub: Callable[[Any], Any] | None = None
    """Converts back. Must not change its argument."""
    deprecated: bool | str = False
    """True, or the text of the warning that clients of this version get (behaviour J43)."""
    columns: Sequence[Column] | None = None
    """Overrides the kind's columns."""
    served: bool = True
    """Whether clients may read and write this version. Objects stored in a version that is not served are still
    converted."""
    selectable: Sequence[str] | None = None
    """Overrides the kind's selectable fields."""
    status: bool | None = None
    """Overrides :attr:`Kind.status`. In a version without the subresource, writes of the object change status too."""
    scale: Scale | Literal[False] | None = None
    """Overrides :attr:`Kind.scale`; False: this version has none."""


_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_PATH = re.compile(r"(\.[A-Za-z0-9_-]+)+")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind and its resource. Names that are not given are derived the way Kubernetes derives them."""

    name: str = field(kw_only=False)
    """The kind, in CamelCase: ``Pizza``."""
    versions: Mapping[str, Version]
    """The versions by name: ``{"v1": Version(Pizza)}``."""
    storage: str
    """The version in which objects are stored."""
    scope: Scope = NAMESPACED
    """``NAMESPACED`` or ``CLUSTER``."""
    plural: str = ""
    """The resource's name in paths and RBAC rules; by default guessed from the kind, as Kubernetes does."""
    singular: str = ""
    """The name for one object, which kubectl understands; by default the kind in lower case."""
    list_kind: str = ""
    """The kind of lists; by default the kind followed by ``List``."""
    short_names: Sequence[str] = ()
    """More names for kubectl: ``pz``."""
    categories: Sequence[str] = ()
    """Groups of resources for kubectl: ``all``."""
    columns: Sequence[Column] = ()
    """What ``kubectl get`` prints after the name; by default the age."""
    hub: type[Object] | None = None
    """The internal type that all versions are converted through; None: all versions have the same fields."""
    status: bool = True
    """Whether to serve the ``status`` subresource. Then writes of the object never change status, and writes of status
    nothing else."""
    scale: Scale | None = None
    """Where the ``scale`` subresource finds the numbers of replicas; None: there is no such subresource."""
    strategy: Strategy = field(default_factory=Strategy)
    """The kind's rules in Python."""
    selectable: Sequence[str] = ()
    """JSON paths of fields that field selectors may use, such as ``.spec.color`` (``selectableFields`` of a CRD)."""
    rest: RESTStorage | None = None
    """An object that serves the kind in place of the store, with one method per verb that the kind has.

    The methods are ``async def create(request, obj)``, ``get(request)``, ``list(request)``, ``update(request, obj)``
    and ``delete(request)``. They take and return objects as a :class:`Strategy` sees them. Objects of such a kind are
    not stored. With an async generator ``changes(context)`` beside ``list`` the kind can be watched: see
    :class:`extapi.Feed`.
    """
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    """More paths below each object, by name."""
    behaviour: Behaviour = CUSTOM_RESOURCE
    """How the kind differs from a custom resource; for the development control plane's kinds."""

    def __post_init__(self) -> None:
        refuse(self._type_problems())
        refuse(self._part_type_problems())
        lower = self.name.lower()
        derived = {
            "singular": self.singular or lower,
            "plural": self.plural or _plural(lower),
            "list_kind": self.list_kind or f"{self.name}List",
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        if not self.behaviour.defined:
            refuse(self._problems())

    def _type_problems(self) -> Iterable[str]:
        """Values of other types than the annotations say; with them the other rules could not be checked."""
        where = f"kind {self.name}"
        for name in ("name", "storage", "plural", "singular", "list_kind"):
            yield from instance(getattr(self, name), str, f"{where}: {name}")
        for name in ("short_names", "categories", "selectable"):
            yield from each(getattr(self, name), str, f"{where}: {name}")
        yield from each(self.columns, Column, f"{where}: columns")
        yield from instance(self.scope, Scope, f"{where}: scope")
        yield from instance(self.strategy, Strategy, f"{where}: strategy")
        if self.scale is not None:
            yield from instance(self.scale, Scale, f"{where}: scale")
        if self.hub is not None:
            yield from subclass(self.hub, Object, f"{where}: hub")
        yield from values(self.versions, Version, f"{where}: versions")
        yield from values(self.subresources, Subresource, f"{where}: subresources")

    def _part_type_problems(self) -> Iterable[str]:
        """The same for versions and subresources."""
        for name, version in self.versions.items():
            where = f"kind {self.name}: version {name}"
            yield from type_or_schema(version.type, Object, f"{where}: the type")
            yield from each(version.columns or (), Column, f"{where}: columns")
            yield from each(version.selectable or (), str, f"{where}: selectable")
            yield from function(version.to_hub, f"{where}: to_hub")
            yield from function(version.from_hub, f"{where}: from_hub")
            if version.status is not None:
                yield from instance(version.status, bool, f"{where}: status")
            if version.scale is not None and version.scale is not False:
                yield from instance(version.scale, Scale, f"{where}: scale")
        for name, subresource in self.subresources.items():
            yield from subresource_type_problems(subresource, f"kind {self.name}: subresource {name}")

    def _problems(self) -> Iterable[str]:
        where = f"kind {self.name}"
        if not _KIND.fullmatch(self.name):
            yield f"{where}: the name must be in CamelCase and start with a capital letter"
        for what in (self.plural, self.singular, *self.short_names, *self.categories):
            if not _LABEL.fullmatch(what):
                yield f"{where}: {what!r} is not a lower-case DNS label"
        if self.list_kind == self.name:
            yield f"{where}: kind and list kind may not be the same"
        if not self.versions:
            yield f"{where}: has no versions"
        if self.storage not in self.versions:
            yield f"{where}: storage version {self.storage!r} is none of {', '.join(self.versions)}"
        if self.versions and not self.served_versions():
            yield f"{where}: none of its versions is served; remove the kind from its group instead"
        for name, version in self.versions.items():
            if not _LABEL.fullmatch(name):
                yield f"{where}: version {name!r} is not a lower-case DNS label"
            both = version.to_hub is not None and version.from_hub is not None
            either = version.to_hub is not None or version.from_hub is not None
            if self.hub is not None and not both and version.type is not self.hub:
                yield f"{where}: version {name} needs to_hub and from_hub, since the kind has a hub type"
            if self.hub is None and either:
                yield f"{where}: version {name} has to_hub or from_hub, but the kind has no hub type"
        columns = [*self.columns, *(c for v in self.versions.values() for c in v.columns or ())]
        for column in columns:
            if column.type not in {"boolean", "date", "integer", "number", "string"}:
                yield f"{where}: column {column.name}: type must be one of boolean,date,integer,number,string"
            if bool(column.json_path) == (column.cell is not None):
                yield f"{where}: column {column.name}: needs either json_path or cell"
        for path in dict.fromkeys(path for name in self.versions for path in self.selectable_of(name)):
            if not _PATH.fullmatch(path) or path.startswith(".metadata"):
                yield f"{where}: selectable {path!r} must be a path of names such as .spec.color, outside metadata"
        if self.rest is not None:
            yield from rest_storage(self.rest, f"{where}: rest")
            yield from feed(self.rest, f"{where}: rest")
            yield from watcher(self.rest, f"{where}: rest")
        yield from self._scale_problems()
        yield from self._subresource_problems()

    def _scale_problems(self) -> Iterable[str]:
        where = f"kind {self.name}"
        scales = {where: self.scale} | {f"{where}: version {name}": each.scale for name, each in self.versions.items()}
        for place, scale in scales.items():
            if scale:
                yield from (f"{place}: scale: {problem}" for problem in path_problems(scale))
        if self.rest is not None and any(scales.values()):
            yield f"{where}: scale is for stored objects; a kind with rest declares a subresource scale with rest="

    def _subresource_problems(self) -> Iterable[str]:
        where = f"kind {self.name}"
        for name, subresource in self.subresources.items():
            if self.rest is not None and subresource.rest is None and subresource.connects is None:
                yield f"{where}: subresource {name} is a part of a stored object, and a kind with rest has none; write rest="
            if not _LABEL.fullmatch(name):
                yield f"{where}: subresource {name!r} is not a lower-case DNS label"
            if name == "status" and any(map(self.status_of, self.versions)):
                yield f"{where}: subresource status occurs twice; a kind that declares its own needs status=False"
            if name == "scale" and any(map(self.scale_of, self.versions)):
                yield f"{where}: subresource scale occurs twice; declare either scale= or your own"
            yield from subresource_problems(subresource, f"{where}: subresource {name}")

    def columns_of(self, version: str) -> Sequence[Column]:
        """The columns of a version: its own, else the kind's, else the age, as for custom resources (behaviour J44)."""
        own = self.versions[version].columns
        columns = self.columns if own is None else own
        return columns or (AGE,)

    def selectable_of(self, version: str) -> Sequence[str]:
        """The selectable fields of a version: its own, else the kind's."""
        own = self.versions[version].selectable
        return self.selectable if own is None else own

    def status_of(self, version: str) -> bool:
        """Whether a version has the ``status`` subresource."""
        own = self.versions[version].status
        return self.status if own is None else own

    def scale_of(self, version: str) -> Scale | None:
        """The ``scale`` subresource of a version, if it has one."""
        own = self.versions[version].scale
        return self.scale if own is None else own or None

    def served_versions(self) -> list[str]:
        """The names of the versions that clients may use, in the order of their declaration."""
        return [name for name, version in self.versions.items() if version.served]


KUBERNETES_GROUPS = frozenset({"", "apps", "autoscaling", "batch", "policy"})
"""Kubernetes' own groups with names that have no dot; the core group's name is empty. Only a control plane serves
them."""


@dataclass(frozen=True)
class Group:
    """An API group and its kinds."""

    name: str
    """A DNS name with at least one dot, in your own domain: ``restaurant.example.com``."""
    kinds: Sequence[Kind]
    """Its kinds."""
    preferred: str
    """The version that clients use if they ask for none."""

    def __init__(self, name: str, *kinds: Kind, preferred: str = "") -> None:
        """``preferred`` is by default the version with the highest priority, in Kubernetes' order (behaviour C17)."""
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "kinds", tuple(kinds))
        refuse([*instance(name, str, "the name of a group"), *each(kinds, Kind, f"group {name}: kinds")])
        versions = by_priority({version for kind in kinds for version in kind.served_versions()})
        problems = []
        if name not in KUBERNETES_GROUPS and (not _SUBDOMAIN.fullmatch(name) or "." not in name):
            problems.append(f"group {name!r}: must be a DNS subdomain with at least one dot")
        if not kinds:
            problems.append(f"group {name}: has no kinds")
        names = [(what, n) for k in kinds for what, n in (("kind", k.name), ("resource", k.plural))]
        problems += [
            f"group {name}: {what} {n} occurs twice" for what, n in dict.fromkeys(names) if names.count((what, n)) > 1
        ]
        if preferred and preferred not in versions:
            problems.append(f"group {name}: preferred version {preferred!r} is none of {', '.join(versions)}")
        refuse(problems)
        object.__setattr__(self, "preferred", preferred or versions[0])

    def versions_by_priority(self) -> list[str]:
        """All served versions of the group: the preferred one first, the others by priority."""
        rest = by_priority({version for kind in self.kinds for version in kind.served_versions()} - {self.preferred})
        return [self.preferred, *rest]


@dataclass(frozen=True)
class Api:
    """Everything that one server serves: groups of kinds, admission plugins, and controllers in the same process.

    Raises:
        DeclarationError: The declaration cannot be served; it has one line per problem.
    """

    groups: Sequence[Group]
    """The API groups."""
    admission: Sequence[Plugin]
    """Mutators, validators and startables, called in this order."""
    controllers: Sequence[Runner]
    """Objects with ``async def run(self, context)``, started once the server is serving."""
    needs: Sequence[PolicyRule]
    """The rights that the author's code needs in the cluster; the server's account gets them."""

    def __init__(
        self,
        *groups: Group,
        admission: Sequence[Plugin] = (),
        controllers: Sequence[Runner] = (),
        needs: Sequence[PolicyRule] = (),
    ) -> None:
        wrong = [
            *each(groups, Group, "groups"),
            *sequence(admission, "admission"),
            *sequence(controllers, "controllers"),
            *each(needs, PolicyRule, "needs"),
        ]
        refuse(wrong)
        object.__setattr__(self, "groups", tuple(groups))
        object.__setattr__(self, "admission", tuple(admission))
        object.__setattr__(self, "controllers", tuple(controllers))
        object.__setattr__(self, "needs", tuple(needs))
        names = [group.name for group in groups]
        problems = [f"group {name} occurs twice" for name in dict.fromkeys(names) if names.count(name) > 1]
        problems += [*plugins(admission, "admission"), *controller_problems(controllers, "controllers")]
        refuse(problems)


def _plural(singular: str) -> str:
    """The plural as Kubernetes' tools guess it.

    Source: ``apimachinery/pkg/api/meta`` UnsafeGuessKindToResource.
    """
    if singular.endswith("s"):
        return singular + "es"
    if singular.endswith("y"):
        return singular[:-1] + "ies"
    return singular + "s"
