from __future__ import annotations

import pytest

from extapi.listener.call import PIECE
from extapi.watch.entry import Entry, Source
from extapi.watch.group import pieces, seen
from extapi.watch.history import Event
from tests.unit.watch.store import PREFIX, Pizzas, pizza, select

SOURCE = Source(PREFIX, True, Pizzas())


def entry(revision: int, hot: str | None) -> Entry | None:
    if hot is None:
        return None
    value = pizza("one", labels={"hot": hot})
    return Entry(PREFIX + b"a/one", revision, value, SOURCE.labels(value), SOURCE)


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
def test_what_is_seen_of_a_change(
    before: str | None, after: str | None, all_see: str | None, hot_see: str | None
) -> None:
    event = Event(8, entry(8, after), entry(7, before), 0)
    for test, kind in ((None, all_see), (select(labels="hot=yes").test(SOURCE), hot_see)):
        occurrence = seen(test, event)
        if occurrence is None:
            assert kind is None
        else:
            shown = event.previous if kind == "DELETED" else event.entry
            assert occurrence == (kind, shown, 8)


def test_events_are_joined_to_pieces_but_never_cut() -> None:
    small, large = b"s" * 1000, b"l" * (PIECE + 1)
    chunks = list(pieces([small] * 70 + [large, small]))
    assert [len(chunk.data) for chunk in chunks] == [65_000, 5_000, PIECE + 1, 1000]
    assert list(pieces([])) == []
    assert chunks[0].framed == b"fde8\r\n" + small * 65 + b"\r\n"
