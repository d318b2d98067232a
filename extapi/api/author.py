"""The shapes of the objects that an author hands to an Api: what answers for a kind, admission plugins, controllers.

Protocols, so that a type checker says in the author's editor what would be missing at run time. Reviews and contexts are
defined in upper layers: here they are Any, and ``extapi.Mutator``, ``Validator`` and ``Controller`` name them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from extapi.api.user import User


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as an author's methods see it (:attr:`Kind.serves`, :attr:`Subresource.serves`)."""

    user: User
    version: str
    """The version that the request speaks."""
    namespace: str = ""
    name: str = ""
    """Of the object in the path; empty for collections."""
    dry_run: bool = False


class Getter(Protocol):
    """Answers GET of one object."""

    async def get(self, asked: Asked, /) -> Any:
        """The object called ``asked.name``, or None for 404."""
        ...


class Lister(Protocol):
    """Answers GET of the collection."""

    async def list(self, asked: Asked, /) -> Iterable[Any]:
        """All objects in ``asked.namespace``, or everywhere; selectors are applied to them."""
        ...


class Creater(Protocol):
    """Answers POST."""

    async def create(self, asked: Asked, obj: Any, /) -> Any:
        """What the client shall get; ``obj`` is what it sent."""
        ...


class Updater(Protocol):
    """Answers PUT and PATCH. Needs ``get`` as well."""

    async def update(self, asked: Asked, obj: Any, /) -> Any:
        """What the client shall get; ``obj`` is the object as it shall be."""
        ...


class Deleter(Protocol):
    """Answers DELETE."""

    async def delete(self, asked: Asked, /) -> Any:
        """None if the object is gone, else the object, which is still there."""
        ...


Serves: TypeAlias = Getter | Lister | Creater | Updater | Deleter
"""What answers for a kind or subresource in place of the store: its verbs are the methods that it has."""


class MutatingPlugin(Protocol):
    """An admission plugin that may change objects (``extapi.Mutator``)."""

    async def mutate(self, review: Any, /) -> None:
        """Look at ``review``, an ``extapi.Review``."""
        ...


class ValidatingPlugin(Protocol):
    """An admission plugin that may refuse objects (``extapi.Validator``)."""

    async def validate(self, review: Any, /) -> None:
        """Look at ``review``, an ``extapi.Review``."""
        ...


@runtime_checkable
class Startable(Protocol):
    """What needs more than a review or a request: it is started once before the server is ready."""

    async def start(self, context: Any, /) -> None:
        """``context``: an ``extapi.Context``."""
        ...


Plugin: TypeAlias = MutatingPlugin | ValidatingPlugin | Startable


class Runner(Protocol):
    """A controller (``extapi.Controller``)."""

    async def run(self, context: Any, /) -> None:
        """Work until cancelled. ``context``: an ``extapi.Context``."""
        ...
