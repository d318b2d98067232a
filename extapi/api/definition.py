"""What an author declares: ``Api`` > ``Group`` > ``Kind`` > ``Version``. Frozen once built; nothing is compiled here.

Mistakes that can be seen without a schema (a storage version that does not exist, two kinds of one name) are found at
once and all together, as :class:`~extapi.api.declaration.DeclarationError` with one line each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from extapi.api.author import Asked, Plugin, Runner, Serves
from extapi.api.authored import each, form, function, instance, listed, plugins, running, serving, subclass, values
from extapi.api.declaration import refuse
from extapi.api.native import Native
from extapi.api.policyrule import PolicyRule
from extapi.api.strategy import Strategy
from extapi.api.types import Obj, Object
from extapi.api.versions import by_priority


class Scope(Enum):
    """Whether objects live in a namespace or in the cluster."""

    NAMESPACED = "Namespaced"
    CLUSTER = "Cluster"


NAMESPACED = Scope.NAMESPACED
"""The scope of a kind whose objects live in namespaces."""
CLUSTER = Scope.CLUSTER
"""The scope of a kind whose objects live in no namespace."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``: a JSON path into the object (API concept "additionalPrinterColumns"), or ``cell``.

    The object's name comes first, unless one of the columns is called ``Name``.

    Example::

        columns = [
            Column("Color", ".spec.color"),
            Column("Age", ".metadata.creationTimestamp", "date"),
            Column("Doors", type="integer", cell=lambda car: len(car["spec"].get("doors", []))),
        ]
    """

    name: str
    json_path: str = ""
    """Where the value is, such as ``.spec.color``. Either this or ``cell``."""
    type: str = "string"
    """``string``, ``integer``, ``number``, ``boolean`` or ``date``, which is printed as an age."""
    format: str = ""
    description: str = ""
    priority: int = 0
    """Above 0: only with ``-o wide``."""
    cell: Callable[[Obj], Any] | None = None
    """Makes the value of a whole object, where no path can say it. Must not change the object; of a date it gives the timestamp."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a kind: its type, and how it gets to the hub type and back.

    ``type`` is an :class:`Object` subclass; or a ready structural schema (an ``openAPIV3Schema`` as in a CRD), for kinds
    that have no Python types. Converters are plain functions on whole objects; what they do with ``metadata`` does not
    matter: it is carried over by the server. ``deprecated``: True, or the text of the warning (spec J43).
    """

    type: type[Object] | Mapping[str, Any]
    to_hub: Callable[[Any], Any] | None = None
    from_hub: Callable[[Any], Any] | None = None
    deprecated: bool | str = False
    columns: Sequence[Column] | None = None
    """Overrides the kind's columns."""
    served: bool = True
    """Whether clients may read and write this version. One that is not served still converts what is stored in it."""
    selectable: Sequence[str] | None = None
    """Overrides the kind's selectable fields."""


@dataclass(frozen=True, kw_only=True)
class Subresource:
    """A path below each object of a kind, besides ``status``. Exactly one of ``field`` and ``serves`` is given."""

    field: str = ""
    """A write through the path changes this part of the stored object and nothing else, as ``status`` does with status."""
    serves: Serves | None = None
    """Answers itself: an object with methods named as verbs, as :attr:`Kind.serves` has them."""
    group: str = ""
    version: str = ""
    kind: str = ""
    """What is sent and answered, where that is not the kind itself: ``authentication.k8s.io``, ``v1``, ``TokenRequest``."""
    type: type[Object] | Mapping[str, Any] | None = None
    """The type of that."""
    without: frozenset[str] = frozenset()
    """Verbs that it does not have though it could, such as get of namespaces/finalize."""


_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_PATH = re.compile(r"(\.[A-Za-z0-9_-]+)+")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


AGE = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to "
    "be set in happens-before order across separate operations. Clients may not set this value. It is represented in "
    "RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
"""The description of the column that stands where an author names none (``metav1.ObjectMeta`` SwaggerDoc)."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind and its resource. Names that are not given are derived as Kubernetes does."""

    name: str = field(kw_only=False)
    versions: Mapping[str, Version]
    storage: str
    """The version in which objects are stored."""
    scope: Scope = NAMESPACED
    """``NAMESPACED`` or ``CLUSTER``."""
    plural: str = ""
    """The resource's name, in paths and in RBAC rules; by default guessed from the kind's, as Kubernetes does."""
    singular: str = ""
    list_kind: str = ""
    short_names: Sequence[str] = ()
    """Further names for kubectl: ``pz``."""
    categories: Sequence[str] = ()
    """Groups of resources for kubectl: ``all``."""
    columns: Sequence[Column] = ()
    """What ``kubectl get`` prints after the name; without any the age."""
    hub: type[Object] | None = None
    """The internal type that all versions convert through; None: all versions share one form."""
    status: bool = True
    """Serve the ``status`` subresource: then the main resource never changes status, and status nothing else."""
    strategy: Strategy = field(default_factory=Strategy)
    selectable: Sequence[str] = ()
    """JSON paths of fields that field selectors may ask for, such as ``.spec.color`` (``selectableFields`` of a CRD)."""
    serves: Serves | None = None
    """Answers for the kind instead of the store: an object with a method for each verb that the kind has.

    ``async def create(asked, obj)``, ``get(asked)``, ``list(asked)``, ``update(asked, obj)``, ``delete(asked)``: objects go in and out
    in the form that a strategy sees. Nothing of such a kind is stored, and nothing can be watched.
    """
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    """Further paths below each object, by name."""
    native: Native | None = None

    def __post_init__(self) -> None:
        refuse(self._shapes())
        refuse(self._parts())
        lower = self.name.lower()
        derived = {
            "singular": self.singular or lower,
            "plural": self.plural or _plural(lower),
            "list_kind": self.list_kind or f"{self.name}List",
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        refuse(self._problems())

    def _shapes(self) -> Iterable[str]:
        """What is of another type than the annotations say: the other rules could not be asked."""
        where = f"kind {self.name}"
        for name in ("name", "storage", "plural", "singular", "list_kind"):
            yield from instance(getattr(self, name), str, f"{where}: {name}")
        for name in ("short_names", "categories", "selectable"):
            yield from each(getattr(self, name), str, f"{where}: {name}")
        yield from each(self.columns, Column, f"{where}: columns")
        yield from instance(self.scope, Scope, f"{where}: scope")
        yield from instance(self.strategy, Strategy, f"{where}: strategy")
        if self.hub is not None:
            yield from subclass(self.hub, Object, f"{where}: hub")
        yield from values(self.versions, Version, f"{where}: versions")
        yield from values(self.subresources, Subresource, f"{where}: subresources")

    def _parts(self) -> Iterable[str]:
        """The same of versions and subresources."""
        for name, version in self.versions.items():
            where = f"kind {self.name}: version {name}"
            yield from form(version.type, Object, f"{where}: the type")
            yield from each(version.columns or (), Column, f"{where}: columns")
            yield from each(version.selectable or (), str, f"{where}: selectable")
            yield from function(version.to_hub, f"{where}: to_hub")
            yield from function(version.from_hub, f"{where}: from_hub")
        for name, subresource in self.subresources.items():
            yield from form(subresource.type or {}, Object, f"kind {self.name}: subresource {name}: the type")

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
            yield f"{where}: none of its versions is served; take the kind out of its group instead"
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
                yield f"{where}: selectable {path!r} must be a path of names such as .spec.color, and not of metadata"
        if self.serves is not None:
            yield from serving(self.serves, f"{where}: what serves it")
        for name, subresource in self.subresources.items():
            if subresource.serves is not None:
                yield from serving(subresource.serves, f"{where}: subresource {name}: what serves it")
            elif self.serves is not None:
                yield f"{where}: subresource {name} is part of a stored object, and what serves the kind stores none; write serves="
            if not _LABEL.fullmatch(name):
                yield f"{where}: subresource {name!r} is not a lower-case DNS label"
            if name == "status" and self.status:
                yield f"{where}: subresource status occurs twice; a kind with one of its own needs status=False"
            if bool(subresource.field) == (subresource.serves is not None):
                yield f"{where}: subresource {name} needs either a field or what serves it"
            if subresource.field in {"apiVersion", "kind", "metadata"}:
                yield f"{where}: subresource {name} cannot be for {subresource.field}, which is the server's"
            if subresource.kind and subresource.type is None:
                yield f"{where}: subresource {name} needs the type of {subresource.kind}"

    def columns_of(self, version: str) -> Sequence[Column]:
        """The columns of a version: its own, else the kind's, else an age as custom resources have (spec J44)."""
        own = self.versions[version].columns
        columns = self.columns if own is None else own
        return columns or (Column("Age", ".metadata.creationTimestamp", "date", description=AGE),)

    def selectable_of(self, version: str) -> Sequence[str]:
        """The selectable fields of a version: its own, else the kind's."""
        own = self.versions[version].selectable
        return self.selectable if own is None else own

    def served_versions(self) -> list[str]:
        """The names of the versions that clients may use, in the order in which they were declared."""
        return [name for name, version in self.versions.items() if version.served]


KUBERNETES_GROUPS = frozenset({"", "apps", "autoscaling", "batch", "policy"})
"""Groups of Kubernetes itself whose names have no dot; the core group has no name at all. For a cluster that is played."""


@dataclass(frozen=True)
class Group:
    """An API group and its kinds."""

    name: str
    kinds: Sequence[Kind]
    preferred: str

    def __init__(self, name: str, *kinds: Kind, preferred: str = "") -> None:
        """``preferred``: the version that clients use when they do not ask for one; by default the best in kube order."""
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
        """All served versions of the group: the preferred one first, the others in kube order."""
        rest = by_priority({version for kind in self.kinds for version in kind.served_versions()} - {self.preferred})
        return [self.preferred, *rest]


@dataclass(frozen=True)
class Api:
    """Everything one server serves: groups of kinds, admission plugins in order, and controllers that run beside."""

    groups: Sequence[Group]
    admission: Sequence[Plugin]
    """Mutators and Validators (``extapi.admission.base``), asked in this order."""
    controllers: Sequence[Runner]
    """Objects with ``async def run(self, context)`` (``extapi.server.controllers``), started once the server serves."""
    needs: Sequence[PolicyRule]
    """What the author's code does in the cluster: the server's account is given these rights."""

    def __init__(
        self,
        *groups: Group,
        admission: Sequence[Plugin] = (),
        controllers: Sequence[Runner] = (),
        needs: Sequence[PolicyRule] = (),
    ) -> None:
        wrong = [
            *each(groups, Group, "groups"),
            *listed(admission, "admission"),
            *listed(controllers, "controllers"),
            *each(needs, PolicyRule, "needs"),
        ]
        refuse(wrong)
        object.__setattr__(self, "groups", tuple(groups))
        object.__setattr__(self, "admission", tuple(admission))
        object.__setattr__(self, "controllers", tuple(controllers))
        object.__setattr__(self, "needs", tuple(needs))
        names = [group.name for group in groups]
        problems = [f"group {name} occurs twice" for name in dict.fromkeys(names) if names.count(name) > 1]
        if not groups:
            problems.append("an Api needs at least one Group")
        problems += [*plugins(admission, "admission"), *running(controllers, "controllers")]
        refuse(problems)


def _plural(singular: str) -> str:
    """The plural as Kubernetes' own tools guess it (``apimachinery/pkg/api/meta`` UnsafeGuessKindToResource)."""
    if singular.endswith("s"):
        return singular + "es"
    if singular.endswith("y"):
        return singular[:-1] + "ies"
    return singular + "s"


__all__ = [
    "CLUSTER",
    "NAMESPACED",
    "Api",
    "Asked",
    "Column",
    "Group",
    "Kind",
    "Obj",
    "Scope",
    "Subresource",
    "Version",
]
