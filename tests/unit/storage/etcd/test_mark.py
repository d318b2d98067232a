from __future__ import annotations

import pytest

from extapi.storage.base import UnusableStore
from extapi.storage.etcd.mark import EMPTY, LARGEST, Mark, read_mark, write_mark


def test_a_new_mark_is_the_beginning() -> None:
    assert read_mark(EMPTY, 7) == Mark(7, 7)


def test_a_compaction_is_written_and_read() -> None:
    assert read_mark(write_mark(5, 70), 9) == Mark(5, 9, 70)


def test_a_mark_from_before_offsets_has_none() -> None:
    assert read_mark(b'{"compacted":5}', 9) == Mark(5, 9, 0)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"7",
        b"{}",
        b'{"compacted":-1}',
        b'{"compacted":10}',
        b'{"compacted":"1"}',
        b'{"compacted":1,"offset":-5}',
        b'{"compacted":1,"offset":%d}' % LARGEST,
        b'{"compacted":1,"offset":1.5}',
        b'{"compacted":1,"offset":5,"more":1}',
        b"[1]",
    ],
)
def test_what_is_not_understood_is_refused(value: bytes) -> None:
    with pytest.raises(UnusableStore, match="this version of extapi"):
        read_mark(value, 9)
