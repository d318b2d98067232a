from __future__ import annotations

import pytest

from extapi.watch.cachedobject import CachedObject, CacheSource
from extapi.watch.events import CacheEvent, to_watch_event
from tests.unit.watch.store import LAYOUT, PREFIX, Pizzas, pizza, select

SOURCE = CacheSource(LAYOUT, Pizzas())


def cached(revision: int, hot: str | None) -> CachedObject | None:
    if hot is None:
        return None
    value = pizza("one", labels={"hot": hot})
    return CachedObject(PREFIX + b"a/one", revision, value, SOURCE.labels(value), SOURCE)


@pytest.mark.parametrize(
    ("before", "after", "all_see", "hot_see"),
    [
        (None, "yes", "ADDED", "ADDED"),
        (None, "no", "ADDED", None),
        ("no", "yes", "MODIFIED", "ADDED"),
        ("yes", "yes", "MODIFIED", "MODIFIED"),
        ("yes", "no", "MODIFIED", "DELETED"),
        ("no", "no", "MODIFIED", None),
        ("yes", None, "DELETED", "DELETED"),
        ("no", None, "DELETED", None),
        (None, None, None, None),
    ],
)
def test_what_watchers_receive_for_a_change(
    before: str | None, after: str | None, all_see: str | None, hot_see: str | None
) -> None:
    change = CacheEvent(8, cached(8, after), cached(7, before), 0)
    for predicate, kind in ((None, all_see), (select(labels="hot=yes").predicate(SOURCE), hot_see)):
        event = to_watch_event(predicate, change)
        if event is None:
            assert kind is None
        else:
            shown = change.previous if kind == "DELETED" else change.object
            assert event == (kind, shown, 8)
