"""Frames between the hub and a worker, however the stream is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from extapi.storage.base import KeyValue, LogEvent
from extapi.storage.hub import messages
from extapi.storage.hub.messages import (
    Changes,
    Commit,
    Compact,
    Frames,
    Hello,
    HubConflict,
    MalformedFrame,
    Message,
    Request,
    frame,
    parts,
)

CHANGES = [LogEvent(5, b"/a", b"x", None), LogEvent(6, b"/a", None, b"x"), LogEvent(9, b"/b", b"", b"y")]
FROM_HUB: list[Message] = [
    Hello(4),
    Changes(CHANGES, 9),
    HubConflict(1, KeyValue(b"/a", b"x", 5)),
    HubConflict(2, None),
]
FROM_WORKER: list[Request] = [Commit(1, b"/a", b"x", 0), Commit(2, b"/a", None, 5), Compact(3, 7, 1)]


@given(st.lists(st.integers(1, 40), min_size=1))
def test_a_stream_may_be_cut_anywhere(sizes: list[int]) -> None:
    stream = b"".join(map(frame, FROM_HUB))
    frames = Frames()
    found = []
    at = 0
    while at < len(stream):
        size = sizes[at % len(sizes)]
        found += [messages.read_message(body) for body in frames.feed(stream[at : at + size])]
        at += size
    assert found == FROM_HUB


def test_requests_are_read_as_they_were_written() -> None:
    bodies = Frames().feed(b"".join(map(frame, FROM_WORKER)))
    assert [messages.read_request(body) for body in bodies] == FROM_WORKER


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x91\xa5hello", b"\x92\xa6answer\x01"])
def test_what_nobody_sends_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedFrame):
        messages.read_message(body)
    with pytest.raises(MalformedFrame):
        messages.read_request(body)


def test_a_frame_is_not_collected_if_it_is_too_long() -> None:
    with pytest.raises(MalformedFrame):
        list(Frames().feed((messages.LARGEST_FRAME + 1).to_bytes(4, "big")))


def test_a_group_of_large_changes_is_told_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them can be read on from: its progress is that of its last change."""
    monkeypatch.setattr(messages, "PART_BYTES", 2)
    assert list(parts(CHANGES, 10)) == [Changes(CHANGES[:2], 6), Changes(CHANGES[2:], 10)]
    assert list(parts([], 10)) == [Changes([], 10)]
