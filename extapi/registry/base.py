"""The seam between verbs and resources: the protocols of a :class:`Resource`, and the data that goes in and out.

``registry/`` implements them for stored and for virtual kinds. Discovery announces the verbs whose methods exist; patch
needs get and update, deletecollection needs list and delete. Source: ``k8s.io/apiserver/pkg/registry/rest/rest.go``.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import msgspec

from extapi.admission.chain import AdmissionChain
from extapi.api.behaviour import Behaviour
from extapi.api.selectors import FieldSelectorQuery, LabelSelectorQuery
from extapi.api.types import Obj
from extapi.api.user import User
from extapi.codec.negotiation import Transform
from extapi.codec.options import IncludeObject
from extapi.codec.tables import Columns, RawCells
from extapi.http.response import Streaming
from extapi.managedfields.fieldmanager import FieldManager
from extapi.registry.ruling import Expired, RuleRunner, never
from extapi.schema.structural import Structural


class RequestScope(msgspec.Struct, frozen=True):
    """The version of a request, and its namespace (empty: cluster scope, or all namespaces)."""

    version: str
    namespace: str = ""
    user: User | None = None
    """The user of the request. Nothing that is stored depends on it."""


class ObjectResult(Protocol):
    """One object for an answer. Its encodings are made on first use."""

    revision: int
    """0 for an object that was not stored, as in a dry run."""

    def encoded(self) -> bytes:
        """The object as compact JSON, without a newline.

        Raises:
            ApiError: The object cannot be converted to the version.
        """
        ...

    def decoded(self) -> Obj:
        """The object as data; the caller must not change it."""
        ...

    def cells(self) -> RawCells:
        """The raw cells of a table's row."""
        ...


@dataclass(frozen=True, slots=True)
class Query:
    """What to list or watch, with its selectors parsed."""

    labels: LabelSelectorQuery
    fields: FieldSelectorQuery
    limit: int = 0
    continue_: str = ""
    resource_version: str = ""
    resource_version_match: str = ""


@dataclass(frozen=True, slots=True)
class WatchQuery:
    """What to watch, and how (behaviour F4, F15)."""

    query: Query
    send_initial_events: bool | None = None
    bookmarks: bool = False
    seconds: float | None = None
    """Seconds after which the stream ends cleanly; None: the server chooses."""
    asks_for_initial_end: bool = False
    """Whether the client itself says ``sendInitialEvents``, and so waits for the bookmark that ends the initial events."""


class ObjectResults(Protocol):
    """The objects of a list, for an answer."""

    def __len__(self) -> int:
        """The number of objects."""
        ...

    def __iter__(self) -> Iterator[ObjectResult]:
        """The objects in order."""
        ...

    def encoded(self) -> list[bytes]:
        """All objects as compact JSON, so that nothing has left when one of them fails.

        Raises:
            ApiError: An object cannot be converted to the version.
        """
        ...


@dataclass(frozen=True, slots=True)
class ListResult:
    """A list, or a page of one, at one revision."""

    items: ObjectResults
    revision: int
    continue_: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class WatchEncoding:
    """How the events of a watch show objects."""

    transform: Transform | None = None
    """As tables or as metadata; None: as they are."""
    include: IncludeObject = "Metadata"
    """What the row of a table shows of its object."""
    protobuf: bool = False
    """Written in protobuf, not JSON; there are no tables in it."""
    websocket: bool = False
    """Each event in a WebSocket message of its own: text for JSON, binary for protobuf."""


@dataclass(frozen=True, slots=True)
class Preconditions:
    """Conditions of a delete (``DeleteOptions.preconditions``); None: there is none. An empty string is one."""

    uid: str | None = None
    resource_version: str | None = None


class Admission(msgspec.Struct, frozen=True):
    """What admission plugins need to know of a write; they run inside the retry on conflict."""

    chain: AdmissionChain
    user: User
    dry_run: bool = False
    options: Obj = {}
    """The options of the request as an object, such as a CreateOptions."""
    warn: Callable[[str], None] = lambda _: None
    subresource: str = ""
    annotate: Callable[[str, str], None] = lambda _, __: None
    """Keeps an audit annotation for the request."""
    rules: RuleRunner = RuleRunner()
    """Runs the rules of schemas."""
    expired: Expired = never
    """Whether the request's time is up."""
    deadline: float = math.inf
    """When it is, on the reactor's clock."""
    name_is_generated: bool = False
    """Whether the server has made up the name of a new object."""
    of_collection: bool = False
    """Whether the request deletes a collection, and so names no object."""


@dataclass(frozen=True, slots=True)
class DeleteRules:
    """The options of a delete that concern the registry (``DeleteOptions``)."""

    preconditions: Preconditions = Preconditions()
    propagation: str | None = None
    """Foreground, Background or Orphan; None: the object's finalizers decide."""


@dataclass(frozen=True, slots=True)
class Creation:
    """What an update does if there is no object, as an apply does."""

    make: Callable[[], Awaitable[Obj]]
    """Makes the object."""
    admit: Admission


UpdateFunction = Callable[[Obj], Awaitable[Obj]]
"""Makes the new object from the live one, which is in the request's version and has its resourceVersion.

It is called again after each conflict. It returns a new dict with the client's resourceVersion, which is compared with the
live one.
"""


class Resource(Protocol):
    """What is served at one path. Each verb is a further protocol below; all methods can raise an :class:`ApiError`."""

    group: str
    plural: str
    kind: str
    list_kind: str
    namespaced: bool
    subresource: str
    behaviour: Behaviour
    """How the kind differs from a custom resource."""

    def api_version(self, scope: RequestScope) -> str:
        """The apiVersion of bodies and answers."""
        ...

    def selectable(self, scope: RequestScope) -> tuple[str, ...]:
        """The fields that field selectors can name."""
        ...

    def field_manager(self, scope: RequestScope) -> FieldManager | None:
        """Tracks who manages which fields, in the version of the request; None: nobody does (behaviour E69)."""
        ...

    def coerce_and_default(self, scope: RequestScope, obj: Obj) -> list[str]:
        """Coerce metadata, prune unknown fields and fill in defaults, in place.

        Returns:
            The paths of the pruned fields.

        Raises:
            BadRequest: Metadata has a wrong type.
        """
        ...

    def columns(self, scope: RequestScope) -> Columns:
        """The columns of the version's tables."""
        ...


@runtime_checkable
class ResourceGetter(Resource, Protocol):
    """Serves ``get``."""

    async def get(self, scope: RequestScope, name: str, resource_version: str = "") -> ObjectResult:
        """The object, not older than ``resource_version`` (behaviour E24, E25)."""
        ...


@runtime_checkable
class ResourceLister(Resource, Protocol):
    """Serves ``list``."""

    async def list(self, scope: RequestScope, query: Query) -> ListResult:
        """The objects (behaviour E26-E31)."""
        ...


@runtime_checkable
class ResourceWatcher(Resource, Protocol):
    """Serves ``watch``."""

    async def watch(self, scope: RequestScope, query: WatchQuery, encoding: WatchEncoding) -> Streaming:
        """A stream of events (behaviour F). All refusals come before it begins."""
        ...


@runtime_checkable
class ResourceCreater(Resource, Protocol):
    """Serves ``create``."""

    async def create(self, scope: RequestScope, obj: Obj, *, admit: Admission) -> ObjectResult:
        """Create a decoded object (behaviour E9-E19)."""
        ...


@runtime_checkable
class NamedResourceCreater(ResourceCreater, Protocol):
    """Serves ``create`` of a subresource, such as the token of a service account."""

    async def create_named(self, scope: RequestScope, name: str, obj: Obj, *, admit: Admission) -> ObjectResult:
        """As :meth:`ResourceCreater.create`, below the object called ``name``."""
        ...


@runtime_checkable
class ResourceUpdater(Resource, Protocol):
    """Serves ``update``, and with :class:`ResourceGetter` also ``patch``."""

    async def update(self, scope: RequestScope, name: str, change: UpdateFunction, *, admit: Admission) -> ObjectResult:
        """Replace the object by what ``change`` makes of it, again after each conflict (behaviour E37-E44, K2, K3)."""
        ...


@runtime_checkable
class Applied(Protocol):
    """Its objects can be applied, since it tracks who manages which fields (behaviour E64-E72)."""

    def complete_applied(self, scope: RequestScope, obj: Obj) -> None:
        """Complete an object with a configuration that was applied, in place.

        Raises:
            BadRequest: Metadata has a wrong type.
        """
        ...

    async def apply(
        self, scope: RequestScope, name: str, change: UpdateFunction, *, admit: Admission, creation: Creation
    ) -> ObjectResult:
        """As :meth:`ResourceUpdater.update`, but an object that is missing is created; a subresource never creates."""
        ...


@runtime_checkable
class Structured(Protocol):
    """Has a schema, which some types of patches need."""

    def structural(self, scope: RequestScope) -> Structural:
        """The structural schema of the version."""
        ...


@runtime_checkable
class ResourceDeleter(Resource, Protocol):
    """Serves ``delete``, and with :class:`ResourceLister` also ``deletecollection``."""

    async def delete(
        self, scope: RequestScope, name: str, rules: DeleteRules, *, admit: Admission
    ) -> tuple[ObjectResult, bool]:
        """The object as it was left, and whether it is gone; if not, it waits for its finalizers (behaviour E45-E52)."""
        ...
