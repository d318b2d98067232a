from __future__ import annotations

from twisted.internet.task import Clock

from extapi.storage.base import Page
from extapi.storage.memory import MemoryBackend
from extapi.watch.cachedobject import CachedObject, CacheSource
from extapi.watch.snapshot import read_page
from tests.unit.watch.store import LAYOUT, PREFIX, Pizzas, now, pizza


class Counted(MemoryBackend):
    """Remembers how much was asked for."""

    limits: list[int]

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        self.limits.append(limit)
        return await super().page(prefix, at=at, after=after, limit=limit)


def rare(cached: CachedObject) -> bool:
    return cached.name in {"p0999", "p1000", "p2999"}


def test_pages_double_until_enough_is_found() -> None:
    backend = Counted(Clock())
    backend.limits = []
    for number in range(3000):
        now(backend.commit(PREFIX + b"a/p%04d" % number, pizza("x"), expected=0))
    source = CacheSource(LAYOUT, Pizzas())
    at = now(backend.revision())
    page = now(read_page(backend, source, PREFIX, at=at, after=b"", limit=2, predicate=rare))
    assert [cached.name for cached in page.objects] == ["p0999", "p1000"]
    assert page.more
    assert backend.limits == [2 * 2**power for power in range(9)]
    last = now(read_page(backend, source, PREFIX, at=at, after=page.objects[-1].key, limit=2, predicate=rare))
    assert [cached.name for cached in last.objects] == ["p2999"]
    assert not last.more


def test_what_follows_on_the_last_page_is_told() -> None:
    backend = MemoryBackend(Clock())
    for name in ("a", "b", "c"):
        now(backend.commit(PREFIX + b"a/" + name.encode(), pizza(name), expected=0))
    source = CacheSource(LAYOUT, Pizzas())
    at = now(backend.revision())

    def found(name: str) -> tuple[list[str], bool]:
        page = read_page(
            backend, source, PREFIX, at=at, after=b"", limit=1, predicate=lambda cached: cached.name == name
        )
        objects, more, _ = now(page)
        return [cached.name for cached in objects], more

    assert found("b") == (["b"], True)  # it was read together with c
    assert found("c") == (["c"], False)
