"""Faults that are planted into a correct history: the judge has to find each. Pure.

Each function changes one thing as a broken server would have made it look, at a place that it draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from tests.ha.judging import judge
from tests.ha.judging.history import Bookmark, Event, Get, Gone, History, Item, Listed, Opened, Version, Watch, Write
from tests.ha.judging.truth import Truth

T = TypeVar("T")
Plant = Callable[[History, Random], None]

PLANTS: dict[str, tuple[Plant, str]] = {}
"""Each fault by name, and the rule that has to be found broken."""


def planted(history: History, name: str, seed: int) -> History:
    """A copy with one fault."""
    copy = msgspec.json.decode(msgspec.json.encode(history), type=History)
    PLANTS[name][0](copy, Random(seed))  # noqa: S311 - a seed is what it is for
    return copy


def _plant(rule: str) -> Callable[[Plant], Plant]:
    def add(plant: Plant) -> Plant:
        PLANTS[plant.__name__] = (plant, rule)
        return plant

    return add


def _events(watch: Watch) -> list[int]:
    return [index for index, entry in enumerate(watch.entries) if isinstance(entry, Event)]


def _change(among: list[T], old: T, **fields: Any) -> None:
    among[among.index(old)] = replace(old, **fields)  # type: ignore[type-var]  # all of them are structs


def _choose(dice: Random, items: Iterable[T]) -> T:
    return dice.choice(list(items))


@_plant(judge.MISSED)
def an_event_is_lost(history: History, dice: Random) -> None:
    watch = dice.choice(history.watches)
    del watch.entries[dice.choice(_events(watch)[:-1])]


@_plant(judge.SHORT)
def a_watcher_falls_silent(history: History, dice: Random) -> None:
    watch = dice.choice(history.watches)
    del watch.entries[dice.choice(_events(watch)) :]


@_plant(judge.REPEATED)
def an_event_comes_twice(history: History, dice: Random) -> None:
    watch = dice.choice(history.watches)
    index = dice.choice(_events(watch))
    watch.entries.insert(index, watch.entries[index])


@_plant(judge.MISSED)
def two_events_are_swapped(history: History, dice: Random) -> None:
    watch = dice.choice(history.watches)
    events = _events(watch)
    pairs = [index for index in events if index + 1 in events]
    index = dice.choice(pairs)
    watch.entries[index : index + 2] = watch.entries[index : index + 2][::-1]


@_plant(judge.EVENT)
def an_event_has_the_object_before(history: History, dice: Random) -> None:
    truth = Truth(history.log)
    watch = dice.choice(history.watches)

    def stale(index: int) -> bool:
        entry = watch.entries[index]
        return isinstance(entry, Event) and entry.kind == "MODIFIED"

    index = _choose(dice, filter(stale, _events(watch)))
    event = watch.entries[index]
    assert isinstance(event, Event)
    before = truth.live(event.revision)
    assert before is not None
    watch.entries[index] = replace(event, content=before.content)


@_plant(judge.MISSED)
def a_watcher_skips_after_it_reconnects(history: History, dice: Random) -> None:
    def gaps() -> Iterator[tuple[Watch, int]]:
        for watch in history.watches:
            for index in range(1, len(watch.entries) - 2):
                opened, *following = watch.entries[index : index + 3]
                if isinstance(opened, Opened) and all(isinstance(each, Event) for each in following):
                    yield watch, index

    watch, index = _choose(dice, gaps())
    del watch.entries[index + 1]


@_plant(judge.MISSED)
def a_compaction_is_hidden(history: History, dice: Random) -> None:
    """Instead of 410 the watch goes on where the log begins now."""
    truth = Truth(history.log)

    def goes() -> Iterator[tuple[Watch, int]]:
        for watch in history.watches:
            at = 0
            for index, entry in enumerate(watch.entries[:-3]):
                if isinstance(entry, Opened):
                    at = entry.revision
                listed = watch.entries[index + 1]
                following = truth.next_event(at, watch.half)
                if not (isinstance(entry, Gone) and isinstance(listed, Listed) and following is not None):
                    continue
                later = any(isinstance(each, Event | Bookmark) for each in watch.entries[index + 2 :])
                if later and following.revision <= listed.revision:
                    yield watch, index

    found = list(goes())
    if not found:  # nobody was told: a stretch between two events disappears as if it had been compacted
        an_event_is_lost(history, dice)
        return
    watch, index = dice.choice(found)
    del watch.entries[index : index + 3]


@_plant(judge.MISSED)
def a_bookmark_is_ahead(history: History, dice: Random) -> None:
    watch = dice.choice(history.watches)
    index = dice.choice(_events(watch))
    event = watch.entries[index]
    assert isinstance(event, Event)
    watch.entries.insert(index, Bookmark(event.time, event.revision))


def _first_writes(history: History) -> Iterator[tuple[Write, Version]]:
    """Acknowledged writes that something followed, each with what was there before it."""
    truth = Truth(history.log)
    for write in history.writes:
        if write.result == "acknowledged" and write.revision in truth.at:
            before = truth.live(write.revision)
            if before is not None:
                yield write, before


@_plant(judge.STALE)
def a_get_comes_from_an_old_cache(history: History, dice: Random) -> None:
    write, before = _choose(dice, _first_writes(history))
    start = write.end + 0.001
    history.gets.append(Get(before.key, start, start + 0.1, True, before.revision, before.content))


@_plant(judge.STALE)
def a_list_comes_from_an_old_cache(history: History, dice: Random) -> None:
    write, _ = _choose(dice, _first_writes(history))
    revision = write.revision - 1
    items = tuple(
        Item(each.key, each.revision, each.content or {}) for each in Truth(history.log).state(revision).values()
    )
    start = write.end + 0.001
    history.lists.append(Listed(start, start + 0.1, True, (revision,), items))


@_plant(judge.MIXED)
def a_list_mixes_revisions(history: History, dice: Random) -> None:
    truth = Truth(history.log)

    def old(listed: Listed) -> list[tuple[int, Version]]:
        befores = [(index, truth.live(item.revision)) for index, item in enumerate(listed.items)]
        return [(index, before) for index, before in befores if before is not None]

    listed = _choose(dice, filter(old, history.lists))
    index, before = dice.choice(old(listed))
    items = list(listed.items)
    items[index] = Item(before.key, before.revision, before.content or {})
    _change(history.lists, listed, items=tuple(items))


@_plant(judge.MIXED)
def pages_are_of_two_revisions(history: History, dice: Random) -> None:
    listed = dice.choice(history.lists)
    _change(history.lists, listed, pages=(listed.revision, listed.revision + 1))


@_plant(judge.LOST)
def a_write_is_acknowledged_and_not_done(history: History, dice: Random) -> None:
    write = _choose(dice, (each for each in history.writes if each.result == "refused"))
    _change(history.writes, write, result="acknowledged", status=200)


@_plant(judge.LOST)
def an_acknowledged_write_is_lost(history: History, dice: Random) -> None:
    write, _ = _choose(dice, _first_writes(history))
    history.log[:] = [version for version in history.log if version.revision != write.revision]


@_plant(judge.DOUBLED)
def an_uncertain_write_is_repeated(history: History, dice: Random) -> None:
    """A write without an answer was done; the server does it again, on top of what came after."""
    write, _ = _choose(dice, _first_writes(history))
    _change(history.writes, write, result="uncertain", status=504, revision=0)
    history.ends += 1
    history.log.append(Version(history.ends, write.key, Truth(history.log).at[write.revision].content))


@_plant(judge.REFUSED)
def a_refused_write_is_done(history: History, dice: Random) -> None:
    write, _ = _choose(dice, _first_writes(history))
    _change(history.writes, write, result="refused", status=409, revision=0)


@_plant(judge.PREDECESSOR)
def an_update_is_lost(history: History, dice: Random) -> None:
    """Two updates of one revision both succeed: the later one has not seen the earlier one."""
    found = (write for write, _ in _first_writes(history) if write.verb == "update")
    write = _choose(dice, found)
    _change(history.writes, write, expected=write.expected - 1)


@_plant(judge.ORDER)
def a_write_happens_before_it_is_sent(history: History, dice: Random) -> None:
    """A server that numbers writes otherwise than they happen."""
    late = max(write.end for write in history.writes)
    write, _ = _choose(dice, _first_writes(history))
    _change(history.writes, write, start=late + 1, end=late + 2)


@_plant(judge.PHANTOM)
def a_read_shows_what_was_never_written(history: History, dice: Random) -> None:
    get = _choose(dice, (each for each in history.gets if each.revision))
    _change(history.gets, get, content={**(get.content or {}), "half": "?"})
