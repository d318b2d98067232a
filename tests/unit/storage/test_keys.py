"""What holds for keys and writes in every backend."""

from __future__ import annotations

import pytest

from extapi.storage.keys import check_write, successor


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        # k8s.io/etcd client/v3 GetPrefixRangeEnd: the last byte that can grow grows, what follows it falls away.
        (b"/a", b"/b"),
        (b"/a/", b"/a0"),
        (b"a\xff", b"b"),
        (b"a\xff\xff", b"b"),
        (b"a\x00", b"a\x01"),
        (b"", None),
        (b"\xff", None),
        (b"\xff\xff", None),
    ],
)
def test_the_end_of_a_prefix(prefix: bytes, end: bytes | None) -> None:
    assert successor(prefix) == end


def test_writes_that_cannot_be_meant() -> None:
    check_write(b"/a", b"", 0)
    check_write(b"/a", None, 1)
    with pytest.raises(ValueError, match="at least one byte"):
        check_write(b"", b"x", 0)
    with pytest.raises(ValueError, match="needs the revision"):
        check_write(b"/a", None, 0)
