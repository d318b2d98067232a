"""A path below each object of a kind: as an author declares it, and the mistakes that can be seen without the kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from extapi.api.arguments import connecter, each, no_feed, rest_storage, type_or_schema
from extapi.api.connect import METHODS, Connecter
from extapi.api.protocols import RESTStorage
from extapi.api.types import Object


@dataclass(frozen=True, kw_only=True)
class Subresource:
    """A path below each object of a kind, besides ``status``. Give one of ``field``, ``rest`` and ``connects``."""

    field: str = ""
    """A write through the path changes this field of the stored object and nothing else, as ``status`` does with
    status."""
    rest: RESTStorage | None = None
    """An object that serves the subresource, with one method per verb, as in :attr:`Kind.rest`."""
    connects: Connecter | None = None
    """A coroutine that answers the subresource and all paths below it, and may take the connection over."""
    methods: Sequence[str] = ("GET", "POST")
    """The HTTP methods that ``connects`` answers."""
    group: str = ""
    """The API group of requests and responses, if they are not of the kind itself: ``authentication.k8s.io``."""
    version: str = ""
    """Their version: ``v1``."""
    kind: str = ""
    """Their kind: ``TokenRequest``."""
    type: type[Object] | Mapping[str, Any] | None = None
    """Their type."""
    without: frozenset[str] = frozenset()
    """Verbs to leave out, such as get of namespaces/finalize."""


def subresource_type_problems(subresource: Subresource, where: str) -> Iterator[str]:
    """Values of other types than the annotations say; with them the other rules could not be checked."""
    yield from each(subresource.methods, str, f"{where}: methods")
    yield from type_or_schema(subresource.type or {}, Object, f"{where}: the type")


def subresource_problems(subresource: Subresource, where: str) -> Iterator[str]:
    """What is wrong with a subresource whatever its kind is."""
    if subresource.rest is not None:
        yield from rest_storage(subresource.rest, f"{where}: rest")
        yield from no_feed(subresource.rest, f"{where}: rest")
    elif subresource.connects is not None:
        yield from connecter(subresource.connects, f"{where}: connects")
    given = (bool(subresource.field), subresource.rest is not None, subresource.connects is not None)
    if sum(given) != 1:
        yield f"{where} needs either field, rest or connects"
    if not subresource.methods or not set(METHODS).issuperset(subresource.methods):
        yield f"{where}: methods must be some of {', '.join(METHODS)}"
    if subresource.field in {"apiVersion", "kind", "metadata"}:
        yield f"{where} cannot be for {subresource.field}, which belongs to the server"
    if subresource.kind and subresource.type is None:
        yield f"{where} needs the type of {subresource.kind}"
