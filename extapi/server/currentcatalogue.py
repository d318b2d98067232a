"""The catalogue that is served now, and how another one takes its place while requests go on.

Knows caches and the store, not requests. Those that began before end on the catalogue with which they began; watches of what
goes or changes end, and clients connect again, as with kube-apiserver.

Source: ``apiextensions-apiserver/pkg/apiserver/customresource_handler.go``, which does so when a CRD changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any
from weakref import WeakKeyDictionary

from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.api.definition import Api, Group
from extapi.errors import qualified
from extapi.registry.collecting import uncollected
from extapi.registry.feed import KindFeed
from extapi.registry.kinds import serve_kinds
from extapi.registry.served import ServedKind
from extapi.registry.shared import SharedKind
from extapi.registry.storedversions import UnknownStoredVersion, check_all_stored_versions
from extapi.server.catalogue import Caches, Catalogue, Feeds, build_catalogue, end_author_watches, stored_together
from extapi.server.replicas import Replicas
from extapi.storage.base import Backend, Unavailable
from extapi.watch.cache import ResourceCache
from extapi.watch.cacher import Cacher

SECONDS = 60.0
"""How long the store may take until a new catalogue can be served."""


class CurrentCatalogue:
    """The one reference to what is served.

    Args:
        api: What is served first.
        backend: The store.
        cacher: Makes the caches of kinds, and lets them go.
        clock: The reactor.
        random: For generated names.
        further: Paths that something else serves, for the list of paths.
        replicas: This server among others on its store; None: there are none.

    Raises:
        DeclarationError: The API cannot be served.
    """

    _log = Logger()

    def __init__(
        self,
        api: Api,
        backend: Backend,
        cacher: Cacher,
        *,
        clock: Any,
        random: Random,
        further: Sequence[str] = (),
        replicas: Replicas | None = None,
    ) -> None:
        self._backend = backend
        self._cacher = cacher
        self._clock = clock
        self._random = random
        self._further = further
        self._replicas = replicas
        self._lock = DeferredLock()
        self._replacing: Deferred[None] | None = None
        self._started = self._stopped = False
        self._leaving: WeakKeyDictionary[ResourceCache, ServedKind] = WeakKeyDictionary()
        """Kinds that are not served any more, by the caches that requests which began before hold."""
        self.observers: list[Callable[[], None]] = []
        """Called after each replacement."""
        self._context: Any = None
        with uncollected():
            kinds = serve_kinds(api)
            self.catalogue = self._build(
                api.groups, kinds, self._open_caches(kinds, None), self._open_feeds(kinds, None), None
            )
        """Read it once per request."""

    async def start(self) -> None:
        """Fill the caches.

        Raises:
            UnknownStoredVersion: The store has objects in a version that is not declared.
            Exception: What the store raises.
        """
        await self._check_stored()
        await self._cacher.start()
        if self._replicas is not None:
            await self._replicas.admit()
            # Again: while this server was waiting, others may have found that nothing is stored in our versions.
            await self._check_stored()
        self._started = True

    async def _check_stored(self) -> None:
        together = stored_together(self.catalogue.kinds)
        await check_all_stored_versions(self._backend, [kind for kind, *_ in together.values()])

    def storing(self) -> list[ServedKind]:
        """All kinds with which requests read and store objects now."""
        return [*self.catalogue.kinds, *self._leaving.values()]

    def feeding(self) -> list[Any]:
        """The authors' objects whose feeds are followed. They have to be started before their feeds."""
        return [kind.kind.rest for kind in self.catalogue.feeds]

    async def start_feeds(self, context: Any) -> None:
        """Begin to follow all feeds; ``context``: for their authors' code."""
        self._context = context
        await self._follow(self.catalogue.feeds.values())

    async def _follow(self, feeds: Iterable[KindFeed]) -> None:
        """Follow feeds, and wait for the first list of each; all begin at once."""
        for starting in [Deferred.fromCoroutine(feed.start(self._context)) for feed in feeds]:
            await starting

    def stop(self) -> None:
        """Replace nothing any more; a replacement that is under way fails."""
        self._stopped = True
        if self._replacing is not None:
            self._replacing.cancel()

    async def stop_feeds(self) -> None:
        """End all watches of kinds with a feed, and follow the feeds no more."""
        end_author_watches(self.catalogue, None)
        for feed in self.catalogue.feeds.values():
            await feed.stop()

    async def replace(self, groups: Sequence[Group], switched: Callable[[], None] = lambda: None) -> None:
        """Serve other groups from now on. If it raises, what was served before is served still.

        A kind stays if the same :class:`~extapi.api.definition.Kind` is in a group of the same name: its watches go on. All
        others come, go or change. The objects of a kind that goes stay in the store. Kinds of one storage stay together or
        not at all.

        Replacements happen one after the other, in the order of the calls.

        Args:
            groups: All groups, also those that stay.
            switched: Is called at the moment from which requests find the new catalogue, for what has to change with it.

        Raises:
            DeclarationError: They cannot be served.
            RuntimeError: The server has not been started.
            UnknownStoredVersion: Objects are stored in a version that a kind does not have, or may be until it is served.
            Unavailable: The store cannot be read, or is too slow, or the server stops.
        """
        if not self._started:
            raise RuntimeError("only a server that has been started can serve other groups")
        api = Api(*groups)
        await self._lock.acquire()
        try:
            if self._stopped:
                raise Unavailable("the server stops")
            self._replacing = Deferred.fromCoroutine(self._replace(api, switched))
            self._replacing.addTimeout(SECONDS, self._clock, _too_slow)
            await self._replacing
        except CancelledError:
            if self._stopped:
                raise Unavailable("the server stops") from None
            raise
        finally:
            self._replacing = None
            self._lock.release()

    async def _replace(self, api: Api, switched: Callable[[], None]) -> None:
        before = self.catalogue
        with uncollected():
            kinds = serve_kinds(api, before.kinds)
        await self._check_versions(kinds)
        if self._replicas is None:
            await self._fill_and_switch(api, kinds, before, switched)
            return
        await self._replicas.allow(kinds)
        try:
            await self._fill_and_switch(api, kinds, before, switched)
        finally:
            self._replicas.settle()

    async def _fill_and_switch(
        self, api: Api, kinds: Sequence[ServedKind], before: Catalogue, switched: Callable[[], None]
    ) -> None:
        caches = self._open_caches(kinds, before)
        kept = set(before.caches.values())
        new = [cache for cache in caches.values() if cache not in kept]
        feeds = self._open_feeds(kinds, before)
        followed = [feed for kind, feed in feeds.items() if kind not in before.feeds]
        try:
            for cache in new:
                await self._cacher.fill(cache)
            if self._context is not None:
                await self._follow(followed)
            with uncollected():
                catalogue = self._build(api.groups, kinds, caches, feeds, before)
        except BaseException:
            for cache in new:
                self._cacher.remove(cache)
            self._leave(followed)
            raise
        self._switch(before, catalogue, switched)

    def _switch(self, before: Catalogue, after: Catalogue, switched: Callable[[], None]) -> None:
        self.catalogue = after
        switched()
        for prefix, (kind, *_) in stored_together(before.kinds).items():
            cache = before.caches[prefix]
            if after.caches.get(prefix) is not cache:
                self._leaving[cache] = kind
                self._cacher.remove(cache)
        end_author_watches(before, after)
        self._leave([feed for kind, feed in before.feeds.items() if kind not in after.feeds])
        for observer in self.observers:
            try:
                observer()
            except Exception:  # noqa: BLE001 - the catalogue has been replaced, whoever fails to notice
                self._log.failure("what follows the catalogue failed")

    def _leave(self, feeds: Iterable[KindFeed]) -> None:
        """Follow these feeds no more. Nothing is waited for."""
        for feed in feeds:
            Deferred.fromCoroutine(feed.stop()).addErrback(
                lambda failure: self._log.failure("a feed could not be stopped", failure=failure)
            )

    def _open_feeds(self, kinds: Sequence[ServedKind], before: Catalogue | None) -> Feeds:
        """The feeds of virtual kinds: those that ``before`` has of the same kinds, or new ones, which are not followed yet."""
        kept = before.feeds if before is not None else {}
        return {kind: kept.get(kind) or KindFeed(kind, self._clock, self._random) for kind in kinds if kind.fed}

    async def _check_versions(self, kinds: Sequence[ServedKind]) -> None:
        """Check that the kinds that come or change can read what is stored, and what is being stored until they are served.

        Raises:
            UnknownStoredVersion: One of them cannot.
        """
        storing: dict[bytes, list[ServedKind]] = {}
        for before in self.storing():
            storing.setdefault(before.layout.prefix, []).append(before)
        new = []
        for prefix, (kind, *_) in stored_together(kinds).items():
            if kind in self.catalogue.installed.endpoints:
                continue
            for before in storing.get(prefix, ()):
                if not isinstance(before, SharedKind) and before.kind.storage not in kind.versions:
                    raise UnknownStoredVersion(
                        kind,
                        f"objects of {qualified(kind.kind.name, kind.group)} are still being stored in {before.kind.storage}, which "
                        "is none of its new versions; store them in another version first, then drop this one",
                    )
            new.append(kind)
        await check_all_stored_versions(self._backend, new)

    def _open_caches(self, kinds: Sequence[ServedKind], before: Catalogue | None) -> Caches:
        """The caches of stored kinds: those that ``before`` has of the same kinds, or new ones, which are empty."""
        kept = stored_together(before.kinds) if before is not None else {}
        caches = {}
        for prefix, together in stored_together(kinds).items():
            if before is not None and kept.get(prefix) == together:
                caches[prefix] = before.caches[prefix]
                continue
            kind, *others = together
            caches[prefix] = cache = self._cacher.add(kind.layout, kind)
            for other in others:
                cache.share([version.representation for version in other.versions.values()], other)
        return caches

    def _build(
        self,
        groups: Sequence[Group],
        kinds: Sequence[ServedKind],
        caches: Caches,
        feeds: Feeds,
        before: Catalogue | None,
    ) -> Catalogue:
        return build_catalogue(
            groups,
            kinds,
            caches,
            clock=self._clock,
            random=self._random,
            feeds=feeds,
            further=self._further,
            before=before,
        )


def _too_slow(result: Any, seconds: float) -> Any:
    """What comes of a replacement whose time is up."""
    if isinstance(result, Failure) and isinstance(result.value, CancelledError):
        raise Unavailable(f"the store did not answer within {seconds:g} s")
    return result
