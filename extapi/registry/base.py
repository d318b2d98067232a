"""The seam between the verbs and what is served: a :class:`Resource` and the data that goes in and out.

``registry/`` has the implementation for stored kinds; an author may bring one without storage. Discovery announces the
verbs whose methods exist; patch is get and update, deletecollection is list and delete.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from extapi.admission.chain import AdmissionChain
from extapi.api.native import Native
from extapi.api.selectors import FieldSelector, LabelSelector
from extapi.api.types import Obj
from extapi.api.user import User
from extapi.codec.tables import Columns, RawCells
from extapi.listener.call import Streaming
from extapi.schema.structural import Structural


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request points: the version it speaks, and a namespace (empty: cluster scope, or all namespaces)."""

    version: str
    namespace: str = ""
    user: User | None = None
    """Who asks. Nothing that is stored depends on it."""


class Rendering(Protocol):
    """One object, ready to leave: its parts are made when first asked for."""

    revision: int
    """0: the object was not stored (dry run)."""

    def encoded(self) -> bytes:
        """The object as compact JSON, without a newline. Raises the API error of a failed conversion."""
        ...

    def decoded(self) -> Obj:
        """The object as data; the caller must not change it."""
        ...

    def cells(self) -> RawCells:
        """The raw cells of a table's row."""
        ...


@dataclass(frozen=True, slots=True)
class Query:
    """What to list or watch. Selectors are parsed; ``name`` comes from a field selector on metadata.name or from the path."""

    labels: LabelSelector
    fields: FieldSelector
    limit: int = 0
    continue_: str = ""
    resource_version: str = ""
    resource_version_match: str = ""


@dataclass(frozen=True, slots=True)
class WatchQuery:
    """How to watch: what :class:`Query` selects, and the rules of spec F."""

    query: Query
    send_initial_events: bool | None = None
    bookmarks: bool = False
    seconds: float = 1800.0
    """How long, before the stream ends cleanly."""


class Renderings(Protocol):
    """Many objects, ready to leave."""

    def __len__(self) -> int:
        """How many."""
        ...

    def __iter__(self) -> Iterator[Rendering]:
        """One by one."""
        ...

    def encoded(self) -> list[bytes]:
        """All of them as :meth:`Rendering.encoded` would; raises its errors before anything of the list has left."""
        ...


@dataclass(frozen=True, slots=True)
class Listing:
    """A list at one revision."""

    items: Renderings
    revision: int
    continue_: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class WatchForm:
    """The form in which a watch shows objects: as they are, as table rows, or as their metadata.

    ``include_object`` is the ``includeObject`` of tables: None, Metadata or Object.
    """

    kind: str = "object"
    """object, table or metadata."""
    group_version: str = ""
    """Of the Table or PartialObjectMetadata: ``meta.k8s.io/v1`` or ``meta.k8s.io/v1beta1``."""
    include_object: str = "Metadata"
    protobuf: bool = False
    """Written in protobuf, not JSON; there are no tables of it."""


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must hold for a delete (``DeleteOptions.preconditions``); None: anything. An empty string counts as set."""

    uid: str | None = None
    resource_version: str | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """Who writes and how, for the admission plugins inside the retry on conflict."""

    chain: AdmissionChain
    user: User
    dry_run: bool = False
    options: Obj = field(default_factory=dict)
    """The request's options as an object, as plugins and webhooks see them."""
    warn: Callable[[str], None] = lambda _: None
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class DeleteRules:
    """How to delete (``DeleteOptions``)."""

    preconditions: Preconditions = Preconditions()
    propagation: str | None = None
    """Foreground, Background, Orphan, or None: what the object's finalizers say."""


Change = Callable[[Obj], Awaitable[Obj]]
"""Makes the new object from the live one (in the request's version, with resourceVersion). It may run several times and
must return a new dict, with resourceVersion as the client gave it: that is compared with the live one."""


class Resource(Protocol):
    """What is served under one path. Everything a resource can do is one more protocol below; all raise API errors."""

    group: str
    plural: str
    kind: str
    list_kind: str
    namespaced: bool
    subresource: str
    native: Native | None
    """What the kind has of Kubernetes' own kinds; None: it behaves as a custom resource."""

    def api_version(self, at: Place) -> str:
        """What a body must say for apiVersion, and an answer says."""
        ...

    def selectable(self, at: Place) -> tuple[str, ...]:
        """The fields that field selectors may name."""
        ...

    def accept(self, at: Place, obj: Obj) -> list[str]:
        """Bring a decoded object into shape in place: metadata coerced, unknown fields pruned, defaults filled in.

        Returns the paths of what was pruned. Raises :class:`extapi.errors.BadRequest` for metadata of a wrong type.
        """
        ...

    def columns(self, at: Place) -> Columns:
        """The columns of tables."""
        ...


@runtime_checkable
class Getter(Resource, Protocol):
    """Answers ``get``."""

    async def get(self, at: Place, name: str, resource_version: str = "") -> Rendering:
        """The object; see spec E24 and E25 for ``resource_version``."""
        ...


@runtime_checkable
class Lister(Resource, Protocol):
    """Answers ``list``."""

    async def list(self, at: Place, query: Query) -> Listing:
        """The objects (spec E26-E31)."""
        ...


@runtime_checkable
class Watcher(Resource, Protocol):
    """Answers ``watch``."""

    async def watch(self, at: Place, query: WatchQuery, form: WatchForm) -> Streaming:
        """A stream of events (spec F). What can be refused is refused before the stream begins."""
        ...


@runtime_checkable
class Creater(Resource, Protocol):
    """Answers ``create``."""

    async def create(self, at: Place, obj: Obj, *, admit: Admission) -> Rendering:
        """Store a new, accepted object (spec E9-E19)."""
        ...


@runtime_checkable
class NamedCreater(Creater, Protocol):
    """Answers ``create`` below an object: a subresource, such as the token of a service account."""

    async def create_named(self, at: Place, name: str, obj: Obj, *, admit: Admission) -> Rendering:
        """As :meth:`Creater.create`; ``name``: of the object in the path."""
        ...


@runtime_checkable
class Updater(Resource, Protocol):
    """Answers ``update``, and with :class:`Getter` also ``patch``."""

    async def update(self, at: Place, name: str, change: Change, *, admit: Admission) -> Rendering:
        """Replace the object by what ``change`` makes of it, again if it changed meanwhile (spec E37-E44, K2, K3)."""
        ...


@runtime_checkable
class Structured(Protocol):
    """Has a schema by which strategic merge patches are applied."""

    def structural(self, at: Place) -> Structural:
        """The structural schema of the version."""
        ...


@runtime_checkable
class Deleter(Resource, Protocol):
    """Answers ``delete``, and with :class:`Lister` also ``deletecollection``."""

    async def delete(self, at: Place, name: str, rules: DeleteRules, *, admit: Admission) -> tuple[Rendering, bool]:
        """The object as it was left, and whether it is gone (else it waits for its finalizers; spec E45-E52)."""
        ...
