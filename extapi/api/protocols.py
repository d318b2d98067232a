"""Protocols of the objects that an author passes to an Api: REST storage, admission plugins, controllers.

With them a type checker reports in the author's editor what would be missing at run time. Reviews and contexts are
defined in upper layers and are Any here; ``extapi.Mutator``, ``Validator`` and ``Controller`` name their types.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from extapi.api.user import User


@dataclass(frozen=True, slots=True)
class RESTRequest:
    """A request as the methods of :attr:`Kind.rest` and :attr:`Subresource.rest` see it."""

    user: User
    """Who sent it. It has been authorized."""
    version: str
    """The version in the path."""
    namespace: str = ""
    """The namespace in the path; empty for cluster-scoped kinds and lists of all namespaces."""
    name: str = ""
    """The object's name in the path; empty for collections."""
    dry_run: bool = False
    """Whether nothing may change: answer as usual, without side effects."""
    old_object: Any = None
    """In an update, the object that the change was made of. If others write too, write only if it is still the same."""


class Getter(Protocol):
    """Serves GET of one object."""

    async def get(self, request: RESTRequest, /) -> Any:
        """Return the object called ``request.name``, or None for 404."""
        ...


class Lister(Protocol):
    """Serves GET of the collection."""

    async def list(self, request: RESTRequest, /) -> Iterable[Any]:
        """Return all objects in ``request.namespace``, or in all namespaces; the server applies selectors."""
        ...


class Creater(Protocol):
    """Serves POST."""

    async def create(self, request: RESTRequest, obj: Any, /) -> Any:
        """Return the object for the response; ``obj`` is what the client sent, pruned, defaulted and validated."""
        ...


class Updater(Protocol):
    """Serves PUT and PATCH. Needs ``get`` as well, to read the current object."""

    async def update(self, request: RESTRequest, obj: Any, /) -> Any:
        """Return the object for the response; ``obj`` is the whole new object, also for a PATCH."""
        ...


class Deleter(Protocol):
    """Serves DELETE."""

    async def delete(self, request: RESTRequest, /) -> Any:
        """Return None if the object is gone, or the object if it is still there (for example with finalizers)."""
        ...


class Feed(Lister, Protocol):
    """Makes a kind watched: the server keeps a watch cache of what ``list`` and ``changes`` say, and reads from that.

    ``list`` is called without a namespace, as ``system:apiserver``, at start, for each read that must be consistent, and
    whenever ``changes`` yields ``RELIST``. It always returns all objects.
    """

    def changes(self, context: Any, /) -> AsyncIterator[Any]:
        """Yield what changes, for as long as the server runs: an async generator.

        Begin to listen before the first ``await``: ``list`` is called after that. Yield ``RELIST`` if listening begins later,
        or if something may have been missed.

        Args:
            context: An ``extapi.Context``.

        Yields:
            An object that was added or modified, a ``Deleted``, or ``RELIST``.
        """
        ...


class Watcher(Lister, Protocol):
    """Serves each watch by itself, for objects that are not the same for all users. A :class:`Feed` is better in all other cases."""

    def watch(self, request: RESTRequest, /) -> AsyncIterator[Any]:
        """Yield ``ObjectEvent``: ADDED for each object that there is, then what changes. An async generator.

        It is closed when the watch ends. The server applies selectors.
        """
        ...


RESTStorage: TypeAlias = Getter | Lister | Creater | Updater | Deleter
"""Serves a kind or subresource in place of the store. The verbs are the methods that the object has."""


class MutatingPlugin(Protocol):
    """An admission plugin that may change objects (``extapi.Mutator``)."""

    async def mutate(self, review: Any, /) -> None:
        """Change ``review.object`` as needed, or refuse the request; ``review`` is an ``extapi.Review``."""
        ...


class ValidatingPlugin(Protocol):
    """An admission plugin that may refuse objects (``extapi.Validator``)."""

    async def validate(self, review: Any, /) -> None:
        """Refuse the request, or return; ``review`` is an ``extapi.Review``."""
        ...


@runtime_checkable
class Startable(Protocol):
    """An object in ``Api(admission=[...])`` that needs the context: it is started once, before the server is ready."""

    async def start(self, context: Any, /) -> None:
        """Called once with an ``extapi.Context``; the server becomes ready after all such methods have returned."""
        ...


Plugin: TypeAlias = MutatingPlugin | ValidatingPlugin | Startable


class Runner(Protocol):
    """A controller (``extapi.Controller``)."""

    async def run(self, context: Any, /) -> None:
        """Work until cancelled; ``context`` is an ``extapi.Context``."""
        ...
