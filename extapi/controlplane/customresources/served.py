"""The kinds of definitions, as the server serves them: made of definitions, offered together, closed while they are emptied.

Knows what is served, and not why: :mod:`extapi.controlplane.customresources.controller` decides that.

Source: ``apiextensions-apiserver/pkg/apiserver`` customresource_handler.go and customresource_discovery_controller.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from twisted.logger import Logger

from extapi import Context, Operation, Review
from extapi.api.behaviour import Routing
from extapi.api.declaration import DeclarationError
from extapi.api.definition import Kind
from extapi.api.types import Obj
from extapi.crd.conditions import ESTABLISHED, NAMES_ACCEPTED, TERMINATING, is_true
from extapi.crd.defaults import set_defaults
from extapi.crd.definition import Definition
from extapi.crd.kinds import Converters, kind_of, no_converter
from extapi.server.kindsources import OfferedKind, RefusedKind

DEFINITIONS: Final = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")
SOURCE: Final = "definitions"
"""The name of the source of these kinds."""
_CLOSED: Final = frozenset({"create", "patch", "update"})
"""The verbs that discovery does not list of a kind that is being emptied."""

Offer = Callable[[str, Sequence[OfferedKind]], Awaitable[list[RefusedKind]]]
""":meth:`extapi.server.kindsources.KindSources.offer`."""


class Emptying:
    """Whether the objects of one kind are being deleted, since its definition is."""

    __slots__ = ("yes",)

    def __init__(self) -> None:
        self.yes = False


@dataclass(frozen=True, kw_only=True)
class CustomResourceRouting(Routing):
    """While a kind is emptied, discovery lists fewer verbs. All are served: a finalizer may have to be removed."""

    emptying: Emptying

    def discovered(self, verbs: Collection[str]) -> list[str]:
        """See :class:`extapi.api.behaviour.Routing`."""
        found = super().discovered(verbs)
        return [verb for verb in found if verb not in _CLOSED] if self.emptying.yes else found


@dataclass(frozen=True, slots=True, eq=False)
class ServedDefinition:
    """A definition and its kind, which stays the same object until the definition says something else."""

    spec: Obj
    names: Obj
    offered: OfferedKind
    emptying: Emptying


class CustomResources:
    """All kinds of definitions. Put it among the server's ``builtin``: it serves what is established before the server is ready.

    Args:
        converters: Makes the converters of kinds whose objects webhooks convert.
    """

    _log = Logger()

    def __init__(self, converters: Converters = no_converter) -> None:
        self._converters = converters
        self._offer: Offer | None = None
        self._served: dict[str, ServedDefinition] = {}
        """By the definitions' uids."""
        self._revisions: dict[str, str] = {}
        """The resourceVersion of each definition when it was compared last: most stay as they are."""
        self._failed: dict[str, tuple[Obj, Obj, str]] = {}
        """Definitions of which no kind could be made: spec, names and the reason."""
        self._refused: dict[str, str] = {}
        """Why kinds were refused when they were offered last, by the names of their definitions. It may pass."""
        self._emptied: frozenset[tuple[str, str]] = frozenset()
        self._ready = False

    def serve_by(self, offer: Offer) -> None:
        """Offer kinds to this function. Call it before the server starts."""
        self._offer = offer

    async def start(self, context: Context) -> None:
        """Serve the kinds that were served when the server stopped."""
        await self.serve(await context.list(*DEFINITIONS))
        self._ready = True

    def check(self) -> str | None:
        """The readiness check."""
        return None if self._ready else "definitions are not known yet"

    async def mutate(self, review: Review) -> None:
        """Refuse new objects of a kind whose objects are being deleted.

        Raises:
            Forbidden: The object is one.
        """
        if review.operation == Operation.CREATE and (review.group, review.resource) in self._emptied:
            review.refuse("create not allowed while custom resource definition is terminating")

    async def serve(self, definitions: Iterable[Obj]) -> Mapping[str, str]:
        """Serve the kinds of those definitions whose names are accepted, and no other ones.

        Args:
            definitions: All definitions.

        Returns:
            Why the kinds of definitions are not served as they are defined, by the definitions' names.

        Raises:
            Unavailable: The store cannot be read, or the server stops.
        """
        wanted = {
            each["metadata"]["uid"]: each
            for each in definitions
            if is_true(each, NAMES_ACCEPTED) or is_true(each, ESTABLISHED)
        }
        served: dict[str, ServedDefinition] = {}
        reasons: dict[str, str] = {}
        failed: dict[str, tuple[Obj, Obj, str]] = {}
        for uid, obj in wanted.items():
            known = self._failed.get(uid)
            if known is not None and known[:2] == _content(obj):
                failed[uid] = known
            else:
                try:
                    served[uid] = self._kept(obj) or self._made(obj)
                    continue
                except DeclarationError as error:
                    failed[uid] = (*_content(obj), "; ".join(error.problems))
                    self._log.error("{name} is not served: {why}", name=_name(obj), why=failed[uid][2])
            reasons[_name(obj)] = failed[uid][2]
            if uid in self._served:
                served[uid] = self._served[uid]
        changed = self._close(wanted, served)
        if changed or self._refused or list(served.values()) != list(self._served.values()):
            self._refused = await self._offered(list(served.values()))
            self._served = served
        self._failed = failed
        self._revisions = {uid: obj["metadata"]["resourceVersion"] for uid, obj in wanted.items()}
        return {**self._refused, **reasons}

    def _close(self, wanted: Mapping[str, Obj], served: Mapping[str, ServedDefinition]) -> bool:
        """Note which kinds are being emptied; whether that has changed."""
        changed = False
        for uid, each in served.items():
            emptying = is_true(wanted[uid], TERMINATING)
            changed = changed or emptying != each.emptying.yes
            each.emptying.yes = emptying
        self._emptied = frozenset(
            (each.offered.group, each.offered.kind.plural) for each in served.values() if each.emptying.yes
        )
        return changed

    async def _offered(self, served: Sequence[ServedDefinition]) -> dict[str, str]:
        """Offer the kinds; why some are refused, by the names of their definitions."""
        if self._offer is None:
            raise RuntimeError("there is nothing that serves the kinds of definitions")
        own = {id(each.offered) for each in served}
        refused = await self._offer(SOURCE, [each.offered for each in served])
        found = {each.offered.origin: each.reason for each in refused if id(each.offered) in own}
        for name, why in found.items():
            if self._refused.get(name) != why:
                self._log.error("{name} is not served: {why}", name=name, why=why)
        return found

    def _kept(self, obj: Obj) -> ServedDefinition | None:
        uid, revision = obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]
        known = self._served.get(uid)
        if known is None or revision == self._revisions.get(uid):
            return known
        return known if (known.spec, known.names) == _content(obj) else None

    def _made(self, obj: Obj) -> ServedDefinition:
        """The kind of a definition, with its accepted names.

        Raises:
            DeclarationError: It cannot be served although it is valid.
        """
        spec, names = _content(obj)
        emptying = Emptying()
        named = {**obj, "spec": {**spec, "names": names}}
        set_defaults(named)
        kind = kind_of(Definition(named), self._converters)
        routing = CustomResourceRouting(emptying=emptying)
        kind = replace(kind, behaviour=replace(kind.behaviour, routing=routing))
        return ServedDefinition(spec, names, OfferedKind(spec["group"], kind, _name(obj)), emptying)

    def kind(self, obj: Obj) -> Kind | None:
        """The kind of a definition, if it is served."""
        found = self._served.get(obj["metadata"]["uid"])
        return None if found is None else found.offered.kind


def _content(obj: Obj) -> tuple[Obj, Obj]:
    """What a kind is made of."""
    return obj["spec"], obj["status"]["acceptedNames"]


def _name(obj: Obj) -> str:
    name: str = obj["metadata"]["name"]
    return name
