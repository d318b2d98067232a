from __future__ import annotations

from itertools import islice

from hypothesis import given, strategies as st

from extapi.watch.cachedobject import CachedObject, CacheSource
from extapi.watch.orderedobjects import RUN, OrderedObjects
from tests.unit.watch.store import LAYOUT, Pizzas

SOURCE = CacheSource(LAYOUT, Pizzas())
KEYS = st.integers(0, 15).map(lambda number: b"%02d" % number)


def cached(key: bytes, revision: int = 1) -> CachedObject:
    return CachedObject(key, revision, b"", {}, SOURCE)


CHANGES = st.lists(st.tuples(st.sampled_from(["put", "pop", "read"]), KEYS), max_size=60)


@given(first=st.sets(KEYS), changes=CHANGES, start=KEYS, end=st.none() | KEYS)
def test_it_is_a_dict_read_in_order(
    first: set[bytes], changes: list[tuple[str, bytes]], start: bytes, end: bytes | None
) -> None:
    """Whatever is added, replaced and removed, and whenever it is read."""
    model = {key: cached(key) for key in first}
    objects = OrderedObjects(model.values(), size=2)
    for revision, (change, key) in enumerate(changes, 2):
        if change == "put":
            objects[key] = model[key] = cached(key, revision)
        elif change == "pop":
            assert objects.pop(key) is model.pop(key, None)
        else:
            assert [*objects.between(key, None)] == [model[each] for each in sorted(model) if each >= key]
    wanted = [model[key] for key in sorted(model) if start <= key and (end is None or key < end)]
    assert [*objects.between(start, end)] == wanted
    assert objects.count(start, end) == len(wanted)
    assert len(objects) == len(model)
    assert all(objects.get(key) is model.get(key) for key in (start, *first))


def test_runs_stay_short() -> None:
    """However many objects there are, one is inserted into a short list."""
    objects = OrderedObjects()
    for number in range(10 * RUN):
        key = b"%05d" % (number * 7919 % (10 * RUN))
        objects[key] = cached(key)
    assert max(map(len, objects._runs)) <= 2 * RUN
    assert [each.key for each in islice(objects.between(b"", None), 3)] == [b"00000", b"00001", b"00002"]
