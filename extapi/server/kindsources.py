"""Where kinds come from: an author's module, manifests, definitions in the store. Merged into what the server serves.

A source offers all its kinds each time something of it has changed. Of two kinds that want the same name the first stays, and
the second is refused; sources come in the order in which they offered first. One kind that cannot be served keeps no other
from being served. Knows no requests, and not what a source reads.

Source: the rules of names are those of ``apiextensions-apiserver/pkg/controller/status/naming_controller.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from twisted.internet.defer import DeferredLock

from extapi.api.declaration import DeclarationError
from extapi.api.definition import Api, Group, Kind
from extapi.api.versions import by_priority
from extapi.clock import Clock
from extapi.registry.kinds import serve_kinds
from extapi.registry.storedversions import UnknownStoredVersion
from extapi.server.server import Replace, Switched

API: Final = "api"
"""The source that is there from the start: the author's API, or the control plane's own kinds."""
LINGER: Final = 60.0
"""Seconds for which requests that began before may still use a converter whose kind has gone."""


@dataclass(frozen=True, slots=True, eq=False)
class OfferedKind:
    """A kind that a source offers. It goes on without a gap as long as :attr:`kind` is the same object."""

    group: str
    kind: Kind
    origin: str = ""
    """Where it is written, for people: ``crds/crontabs.yaml:1``."""

    @property
    def resource(self) -> str:
        """The resource and its group: ``crontabs.stable.example.com``."""
        return f"{self.kind.plural}.{self.group}"


@dataclass(frozen=True, slots=True, eq=False)
class RefusedKind:
    """A kind that is not served as it was offered. What was served of it before is served still."""

    offered: OfferedKind
    reason: str

    def text(self) -> str:
        """One line for an operator."""
        where = f"{self.offered.origin}: " if self.offered.origin else ""
        return f"{where}{self.offered.resource}: {self.reason}"


@dataclass(slots=True)
class _Source:
    kinds: Sequence[OfferedKind]
    preferred: Mapping[str, str] = field(default_factory=dict)
    served: dict[tuple[str, str], OfferedKind] = field(default_factory=dict)
    """What is served of it now, by group and resource."""


class KindSources:
    """All sources of one server.

    Args:
        groups: What the server serves already, from the first source, ``api``.
        replace: Serves other groups: :meth:`extapi.server.server.Server.replace`.
        clock: The reactor.
    """

    def __init__(self, groups: Sequence[Group], replace: Replace, clock: Clock) -> None:
        self._replace = replace
        self._clock = clock
        self._lock = DeferredLock()
        kinds, preferred = from_groups(groups)
        self._sources = {API: _Source(kinds, preferred, {_key(each): each for each in kinds})}

    def counts(self) -> dict[str, int]:
        """The number of kinds that are served now, by source."""
        return {name: len(source.served) for name, source in self._sources.items()}

    async def offer(
        self, source: str, kinds: Sequence[OfferedKind], preferred: Mapping[str, str] | None = None
    ) -> list[RefusedKind]:
        """Serve these kinds of a source from now on, and none that it has offered before.

        Offers are taken one after the other. If it raises, everything is served as before.

        Args:
            source: The name of the source.
            kinds: All its kinds.
            preferred: The preferred version of groups whose order is not Kubernetes' own, by group.

        Returns:
            The kinds that are not served, of this source or of a later one that lost a name to it.

        Raises:
            RuntimeError: The server has not been started.
            Unavailable: The store cannot be read, or is too slow, or the server stops.
        """
        return await self._offer(source, _Source(list(kinds), preferred or {}), _ignored, strict=False)

    async def replace(self, groups: Sequence[Group], switched: Switched) -> list[RefusedKind]:
        """Serve other groups of the first source, all or none of them.

        Args:
            groups: All its groups.
            switched: Is called at the moment from which requests find the new kinds.

        Returns:
            The kinds of other sources that lost a name to one of these.

        Raises:
            DeclarationError: They cannot be served.
            UnknownStoredVersion: Objects are stored in a version that a kind does not have.
            RuntimeError: The server has not been started.
            Unavailable: The store cannot be read, or is too slow, or the server stops.
        """
        kinds, preferred = from_groups(groups)
        return await self._offer(API, _Source(kinds, preferred), switched, strict=True)

    async def _offer(self, name: str, source: _Source, switched: Switched, *, strict: bool) -> list[RefusedKind]:
        await self._lock.acquire()
        try:
            if name in self._sources:
                source.served = self._sources[name].served
            return await self._serve({**self._sources, name: source}, switched, strict=strict)
        finally:
            self._lock.release()

    async def _serve(self, sources: dict[str, _Source], switched: Switched, *, strict: bool) -> list[RefusedKind]:
        refused: list[RefusedKind] = []
        wanted = {name: list(source.kinds) for name, source in sources.items()}
        while True:
            accepted, conflicts = _without_conflicts(wanted)
            try:
                await self._replace(_groups(accepted, sources), switched)
            except (DeclarationError, UnknownStoredVersion) as error:
                culprits = _culprits(error, accepted)
                if not culprits or (strict and any(each.offered in accepted[API] for each in culprits)):
                    raise
                refused += culprits
                for culprit in culprits:
                    _fall_back(culprit.offered, wanted, sources)
                continue
            self._settle(sources, accepted)
            return [*refused, *conflicts]

    def _settle(self, sources: dict[str, _Source], accepted: Mapping[str, Sequence[OfferedKind]]) -> None:
        """Note what is served now, and let converters go that no kind has any more."""
        before = [each.kind for source in self._sources.values() for each in source.served.values()]
        for name, source in sources.items():
            source.served = {_key(each): each for each in accepted[name]}
        self._sources = sources
        for kind in before:
            converter = kind.behaviour.converter
            if hasattr(converter, "close") and not self._uses(converter):
                self._clock.callLater(LINGER, self._let_go, converter)

    def _uses(self, converter: Any) -> bool:
        served = (each for source in self._sources.values() for each in source.served.values())
        return any(each.kind.behaviour.converter is converter for each in served)

    def _let_go(self, converter: Any) -> None:
        """Close a converter, unless a kind that has come back has it again."""
        if not self._uses(converter):
            converter.close()


def _ignored() -> None:
    pass


def from_groups(groups: Iterable[Group]) -> tuple[list[OfferedKind], dict[str, str]]:
    """What groups offer: their kinds, and the preferred versions that their author has chosen."""
    kinds = [OfferedKind(group.name, kind) for group in groups for kind in group.kinds]
    chosen = {group.name: group.preferred for group in groups if Group(group.name, *group.kinds) != group}
    return kinds, chosen


def _key(offered: OfferedKind) -> tuple[str, str]:
    return offered.group, offered.kind.plural


def _without_conflicts(
    wanted: Mapping[str, Sequence[OfferedKind]],
) -> tuple[dict[str, list[OfferedKind]], list[RefusedKind]]:
    """The kinds of each source that take no name of an earlier one, and those that do."""
    taken: dict[tuple[str, str, str], OfferedKind] = {}
    accepted: dict[str, list[OfferedKind]] = {}
    refused: list[RefusedKind] = []
    for source, kinds in wanted.items():
        accepted[source] = []
        for offered in kinds:
            names = list(_names(offered))
            lost = (
                [] if source == API else [(what, name) for what, name in names if (offered.group, what, name) in taken]
            )
            if lost:
                what, name = lost[0]
                winner = taken[offered.group, what, name]
                where = f" by {winner.origin}" if winner.origin else ""
                refused.append(RefusedKind(offered, f'the {what} "{name}" is already in use{where}'))
                continue
            taken.update({(offered.group, what, name): offered for what, name in names})
            accepted[source].append(offered)
    return accepted, refused


def _names(offered: OfferedKind) -> Iterable[tuple[str, str]]:
    """The names that no two kinds of a group share: of resources, and of kinds."""
    kind = offered.kind
    for name in dict.fromkeys((kind.plural, kind.singular, *kind.short_names)):
        yield "resource name", name
    for name in dict.fromkeys((kind.name, kind.list_kind)):
        yield "kind", name


def _groups(accepted: Mapping[str, Sequence[OfferedKind]], sources: Mapping[str, _Source]) -> list[Group]:
    """The groups of all kinds. One without a served version cannot be reached by anybody, and is left out."""
    kinds: dict[str, list[Kind]] = {}
    for offered in (each for several in accepted.values() for each in several if each.kind.served_versions()):
        kinds.setdefault(offered.group, []).append(offered.kind)
    preferred: dict[str, str] = {}
    for source in sources.values():
        preferred = {**source.preferred, **preferred}
    groups = []
    for name, together in kinds.items():
        versions = by_priority({version for kind in together for version in kind.served_versions()})
        chosen = preferred.get(name, "")
        groups.append(Group(name, *together, preferred=chosen if chosen in versions else ""))
    return groups


def _culprits(
    error: DeclarationError | UnknownStoredVersion, accepted: Mapping[str, Sequence[OfferedKind]]
) -> list[RefusedKind]:
    """The kinds because of which nothing can be served, each with its reason."""
    every = [each for several in accepted.values() for each in several]
    if isinstance(error, UnknownStoredVersion):
        return [RefusedKind(each, str(error)) for each in every if each.kind is error.kind.kind]
    found = []
    for offered in every:
        if offered.kind.behaviour.storing.stored_as is not None or not offered.kind.served_versions():
            continue
        try:
            serve_kinds(Api(Group(offered.group, offered.kind)))
        except DeclarationError as alone:
            found.append(RefusedKind(offered, "; ".join(alone.problems)))
    return found


def _fall_back(culprit: OfferedKind, wanted: dict[str, list[OfferedKind]], sources: Mapping[str, _Source]) -> None:
    """Put what is served now in the place of a kind that cannot be served, or nothing."""
    for name, kinds in wanted.items():
        for index, offered in enumerate(kinds):
            if offered is culprit:
                before = sources[name].served.get(_key(culprit))
                kinds[index : index + 1] = [] if before is None or before is culprit else [before]
                return
