"""Conversion in advance: readers wait here until the objects that they are about to read are there in their version.

Responsible for asking once for each object, however many readers wait for it, for many objects at once, and for no longer than
somebody waits. A failure is told to those who waited and then forgotten, since the next attempt may succeed. Must not know
what readers do with the objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.codec.strictjson import Parts
from extapi.errors import ApiError, InternalError
from extapi.watch.cachedobject import CachedObject, CacheSource, copy_error
from extapi.watch.conversioncalls import ConversionCalls, ConversionLimits

_AHEAD = 4
"""Calls that one reader of many objects asks for at a time."""

Flight = tuple[str, bytes, int]
"""A version, and the key and revision of an object."""


class _Batch:
    """Objects that are converted in one call."""

    __slots__ = ("failures", "objects", "readers", "size", "version", "waiting", "work")

    def __init__(self, version: str) -> None:
        self.version = version
        self.objects: dict[Flight, list[CachedObject]] = {}
        """A reader of the past has an object of its own for the same revision."""
        self.size = 0
        self.readers = 0
        self.waiting: list[Deferred[None]] | None = []
        """Readers to be woken; None once the batch is over."""
        self.failures: dict[Flight, ApiError] = {}
        self.work: Deferred[None] | None = None


class Preparation:
    """The conversions that readers of one resource wait for."""

    _log = Logger()

    def __init__(self, source: CacheSource, calls: ConversionCalls, limits: ConversionLimits) -> None:
        self._source = source
        self._calls = calls
        self._limits = limits
        self._flights: dict[Flight, _Batch] = {}
        self._open: dict[str, _Batch] = {}
        """By version, the last batch that waits for its turn and takes more objects."""

    def __len__(self) -> int:
        return len(self._flights)

    def lacking(self, objects: Iterable[CachedObject], version: str) -> list[CachedObject]:
        """Those objects whose readers in ``version`` have to wait for a conversion."""
        projector = self._source.representation(version).projector
        return [
            cached
            for cached in objects
            if cached.find(version) is None and projector.needs_conversion(cached.value, version)
        ]

    async def require(self, objects: Sequence[CachedObject], version: str) -> None:
        """Wait until all objects can be read in ``version``.

        Raises:
            ApiError: One of them cannot be converted.
        """
        step = self._limits.objects * _AHEAD
        for start in range(0, len(objects), step):
            lacking = self.lacking(objects[start : start + step], version)
            failures = await self.prepare(lacking, version) if lacking else {}
            for error in failures.values():
                raise copy_error(error)

    async def prepare(self, lacking: Sequence[CachedObject], version: str) -> dict[int, ApiError]:
        """Wait until objects, which are :meth:`lacking`, have been converted, or have failed.

        Returns:
            The errors of those that failed, by revision.
        """
        batches = self._join(lacking, version)
        try:
            for batch in batches:
                if batch.waiting is not None:
                    waiting: Deferred[None] = Deferred()
                    batch.waiting.append(waiting)
                    await waiting
        finally:
            for batch in batches:
                self._leave(batch)
        flights = {(version, cached.key, cached.revision) for cached in lacking}
        return {flight[2]: error for batch in batches for flight, error in batch.failures.items() if flight in flights}

    def _join(self, lacking: Sequence[CachedObject], version: str) -> list[_Batch]:
        """The batches that the objects are in; new ones are started."""
        batches: dict[_Batch, None] = {}
        for cached in lacking:
            flight = (version, cached.key, cached.revision)
            batch = self._flights.get(flight)
            if batch is None:
                size = cached.size
                batch = self._flights[flight] = self._with_room(version, size)
                batch.objects[flight] = [cached]
                batch.size += size
            elif not any(each is cached for each in batch.objects[flight]):
                batch.objects[flight].append(cached)
            batches[batch] = None
        for batch in batches:
            batch.readers += 1
        for batch in batches:
            if batch.work is None and batch.waiting is not None:
                batch.work = Deferred.fromCoroutine(self._run(batch))
        return list(batches)

    def _with_room(self, version: str, size: int) -> _Batch:
        """A batch that an object of ``size`` bytes can be added to."""
        batch = self._open.get(version)
        limits = self._limits
        if batch is None or len(batch.objects) >= limits.objects or batch.size + size > limits.size:
            batch = self._open[version] = _Batch(version)
        return batch

    def _leave(self, batch: _Batch) -> None:
        """A reader no longer waits; what nobody waits for is given up."""
        batch.readers -= 1
        if not batch.readers and batch.waiting is not None and batch.work is not None:
            self._forget(batch)  # first, so that nobody joins what is being cancelled
            batch.work.cancel()

    async def _run(self, batch: _Batch) -> None:
        made: Sequence[Parts | ApiError]
        try:
            made = await self._calls.call(batch.version, partial(self._project, batch))
        except ApiError as error:
            made = [error] * len(batch.objects)
        except GeneratorExit:  # nobody waits for it any more
            raise
        except BaseException as error:  # noqa: BLE001 -- whatever a converter does, its readers are told
            if isinstance(error, CancelledError) and not batch.readers:  # by _leave(); any other is the converter's own
                self._finish(batch, ())
                return
            self._log.failure("objects could not be converted to {version}", version=batch.version)
            made = [InternalError.because("the stored object could not be converted")] * len(batch.objects)
        self._finish(batch, made)

    async def _project(self, batch: _Batch) -> Sequence[Parts | ApiError]:
        self._close(batch)
        projector = self._source.representation(batch.version).projector
        values = [alike[0].value for alike in batch.objects.values()]
        return await projector.project_many(values, batch.version)

    def _close(self, batch: _Batch) -> None:
        """Add no more objects."""
        if self._open.get(batch.version) is batch:
            del self._open[batch.version]

    def _forget(self, batch: _Batch) -> None:
        self._close(batch)
        for flight in batch.objects:
            if self._flights.get(flight) is batch:
                del self._flights[flight]

    def _finish(self, batch: _Batch, made: Sequence[Parts | ApiError]) -> None:
        """Keep what was made, and wake the readers. ``made`` is empty if nobody waits any more."""
        self._forget(batch)
        for (flight, alike), parts in zip(batch.objects.items(), made, strict=False):
            if isinstance(parts, ApiError):
                batch.failures[flight] = parts
                continue
            for cached in alike:
                if cached.find(batch.version) is None:
                    cached.add(self._source.serialize(cached.value, batch.version, cached.revision, parts))
        waiting, batch.waiting = batch.waiting or [], None
        for each in waiting:
            if not each.called:
                each.callback(None)
