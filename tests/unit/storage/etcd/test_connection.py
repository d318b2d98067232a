"""A connection against a peer that sends what a test wants: calls, windows, pings, and peers that break the rules."""

from __future__ import annotations

import struct

import pytest

from extapi.storage.etcd import call as calls, frames
from extapi.storage.etcd.call import Lost, NotBegun, RpcError
from extapi.storage.etcd.frames import Data, Headers, Ping, Reset, WindowUpdate, frame
from extapi.storage.etcd.times import PING_SECONDS, PONG_SECONDS
from tests.unit.storage.etcd.peer import Peer, begun, body, message, trailers


def test_a_connection_is_ready_once_the_peer_speaks() -> None:
    peer = Peer(ready=False)
    assert peer.ready == []
    peer.send(frames.settings({}))
    assert peer.ready == [peer.connection]
    assert frame(frames.SETTINGS, frames.ACK, 0) in peer.transport.value()


def test_a_call() -> None:
    peer = Peer()
    call = peer.call(b"question")
    assert peer.seen() == [
        Headers(1, {":path": "/x"}, last=False),
        Data(1, message(b"question"), 13, last=True),
    ]
    peer.send(begun(1), body(1, message(b"answer")))
    assert peer.running(call)
    peer.send(trailers(1))
    assert peer.outcome(call) is None
    assert peer.messages[1] == [b"answer"]
    assert peer.call().stream == 3


def test_messages_come_in_any_pieces() -> None:
    data = message(b"") + message(b"a" * 10) + message(b"b")
    for cut in range(len(data) + 1):
        peer = Peer()
        call = peer.call()
        peer.send(begun(1), body(1, data[:cut]), body(1, data[cut:]), trailers(1))
        assert peer.outcome(call) is None
        assert peer.messages[1] == [b"", b"a" * 10, b"b"]


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (trailers(1, 14, "etcdserver: no leader"), RpcError, "etcdserver: no leader"),
        (trailers(1, 3, "caf%C3%A9"), RpcError, "café"),
        (trailers(1, 2), RpcError, "gRPC status 2"),
        (begun(1) + body(1, message(b"abc")[:6]) + trailers(1), Lost, "cut off"),
        (begun(1) + body(1, b"", frames.END_STREAM), Lost, "no trailers"),
        (frame(frames.HEADERS, 5, 1, b"\x8d"), Lost, "HTTP status is 404"),
        (frame(frames.HEADERS, 5, 1, frames.header_block([(b"grpc-status", b"1e9")])), Lost, "no gRPC status"),
        (frames.reset(1, frames.REFUSED_STREAM), NotBegun, "refused"),
        (frames.reset(1, frames.CANCEL), Lost, "code 8"),
        (frame(frames.GOAWAY, 0, 0, struct.pack(">LL", 0, 0)), NotBegun, "goes away"),
    ],
)
def test_how_a_call_can_end(answer: bytes, error: type[Exception], text: str) -> None:
    peer = Peer()
    call = peer.call()
    peer.send(answer)
    outcome = peer.outcome(call)
    assert isinstance(outcome, error)
    assert text in str(outcome)


def test_goaway_in_the_middle() -> None:
    """Calls that the peer has seen go on, later ones are refused and may be made elsewhere."""
    peer = Peer()
    seen, unseen = peer.call(), peer.call()
    peer.send(begun(1), frame(frames.GOAWAY, 0, 0, struct.pack(">LL", 1, 11) + b"too_many_pings"))
    assert peer.gone == ["the peer goes away: too_many_pings"]
    assert isinstance(peer.outcome(unseen), NotBegun)
    assert peer.running(seen)
    with pytest.raises(NotBegun, match="too_many_pings"):
        peer.call()
    peer.send(body(1, message(b"late")), trailers(1))
    assert peer.outcome(seen) is None
    assert peer.messages[1] == [b"late"]


def test_a_lost_connection_ends_all_calls() -> None:
    peer = Peer()
    running = [peer.call(), peer.call()]
    peer.connection.connectionLost()
    assert [type(peer.outcome(call)) for call in running] == [Lost, Lost]
    assert len(peer.gone) == 1
    assert peer.clock.getDelayedCalls() == []
    with pytest.raises(NotBegun):
        peer.call()


def test_a_cancelled_call_is_reset_and_heard_of_no_more() -> None:
    peer = Peer()
    call = peer.call()
    peer.seen()
    call.cancel()
    call.cancel()
    call.send(b"too late")
    assert peer.seen() == [Reset(1, frames.CANCEL)]
    peer.send(begun(1), body(1, message(b"x")), trailers(1))
    assert peer.running(call)
    assert peer.messages[1] == []
    assert not peer.transport.aborted


def test_tiny_windows() -> None:
    """One byte at a time, whichever of the two windows is the smaller one."""
    peer = Peer({frames.INITIAL_WINDOW_SIZE: 1})
    call = peer.call(b"abc", last=False)
    whole = message(b"abc")
    got = b"".join(peer.sent_data())
    while got != whole:
        assert len(got) < len(whole)
        peer.send(frames.window_update(1, 1))
        (more,) = peer.sent_data()
        assert len(more) == 1
        got += more
    call.send(b"d", last=True)
    assert peer.sent_data() == []
    peer.send(frames.settings({frames.INITIAL_WINDOW_SIZE: 100}))
    assert [event for event in peer.seen() if isinstance(event, Data)] == [Data(1, message(b"d"), 6, last=True)]


def test_the_window_of_the_connection_is_shared() -> None:
    """What waits goes on in turn, and a large message is sent in frames that the peer accepts."""
    peer = Peer({frames.INITIAL_WINDOW_SIZE: 1 << 20})
    peer.call(bytes(100_000))
    first = peer.sent_data()
    assert [len(part) for part in first] == [16384, 16384, 16384, 16383]
    peer.call(b"small")
    assert peer.sent_data() == []
    peer.send(frames.window_update(0, 1 << 20))
    assert sum(len(part) for part in peer.sent_data()) == 100_005 - 65_535 + 10


def test_a_shrunken_window_is_kept_to() -> None:
    """A setting may make the window of a stream negative (RFC 9113, section 6.9.2)."""
    peer = Peer({frames.INITIAL_WINDOW_SIZE: 10})
    peer.call(b"123456789", last=False)
    assert sum(len(part) for part in peer.sent_data()) == 10
    peer.send(frames.settings({frames.INITIAL_WINDOW_SIZE: 2}))
    peer.send(frames.window_update(1, 8))
    assert peer.sent_data() == []
    peer.send(frames.window_update(1, 1))
    assert [len(part) for part in peer.sent_data()] == [1]


def test_windows_are_given_back() -> None:
    """A watch lives for weeks; its stream's window has to be opened again, too."""
    peer = Peer()
    peer.call(last=False)
    peer.send(begun(1))
    peer.seen()
    part = message(bytes(1 << 19))
    for _ in range(32):
        peer.send(body(1, part))
    updates = [event for event in peer.seen() if isinstance(event, WindowUpdate)]
    assert [event.stream for event in updates] == [0, 1]
    assert {event.more for event in updates} == {32 * len(part)}


def test_no_more_calls_than_the_peer_allows() -> None:
    peer = Peer({frames.MAX_CONCURRENT_STREAMS: 1})
    call = peer.call()
    assert peer.connection.full
    with pytest.raises(NotBegun, match="too many calls"):
        peer.call()
    peer.send(trailers(1))
    assert peer.outcome(call) is None
    assert not peer.connection.full


def test_pings_only_while_a_call_runs() -> None:
    """Etcd ends connections that ask too often, or while nothing runs."""
    peer = Peer()
    peer.clock.advance(1000)
    assert peer.seen() == []
    call = peer.call()
    peer.seen()
    for _ in range(3):
        peer.clock.advance(PING_SECONDS)
        (ping,) = peer.seen()
        assert isinstance(ping, Ping)
        peer.send(frame(frames.PING, frames.ACK, 0, ping.data))
    peer.send(trailers(1))
    assert peer.outcome(call) is None
    peer.clock.advance(PING_SECONDS)
    assert peer.seen() == []
    assert peer.clock.getDelayedCalls() == []


def test_a_silent_peer_is_given_up() -> None:
    peer = Peer()
    call = peer.call()
    peer.clock.advance(PING_SECONDS)
    assert peer.running(call)
    peer.clock.advance(PING_SECONDS)
    assert isinstance(peer.outcome(call), Lost)
    assert "no sign of life" in str(peer.outcome(call))
    assert peer.transport.aborted


def test_pings_are_answered() -> None:
    """Soon, so that the peer does not measure the bandwidth with each call; several, and all when something is blocked, at once."""
    peer = Peer({frames.INITIAL_WINDOW_SIZE: 8})
    ping, other = (frame(frames.PING, 0, 0, data) for data in (b"12345678", b"87654321"))
    peer.send(ping)
    assert peer.seen() == []
    peer.clock.advance(PONG_SECONDS)
    assert peer.seen() == [frames.Pong(b"12345678")]
    peer.send(ping, other)
    assert peer.seen() == [frames.Pong(b"12345678"), frames.Pong(b"87654321")]
    peer.call(b"more than the window takes")
    peer.seen()
    peer.send(ping)
    assert peer.seen() == [frames.Pong(b"12345678")]
    peer.clock.advance(PONG_SECONDS)
    assert peer.seen() == []
    peer.connection.close()
    assert peer.clock.getDelayedCalls() == []


def test_a_connection_that_ends_answers_no_ping() -> None:
    peer = Peer()
    peer.send(frame(frames.PING, 0, 0, b"12345678"))
    peer.connection.connectionLost()
    assert peer.clock.getDelayedCalls() == []
    assert peer.seen() == []


def test_a_retired_connection_ends_after_its_calls() -> None:
    peer = Peer()
    call = peer.call()
    peer.connection.retire()
    with pytest.raises(NotBegun):
        peer.call()
    assert not peer.transport.aborted
    peer.send(begun(1), body(1, message(b"x")), trailers(1))
    assert peer.outcome(call) is None
    assert peer.transport.aborted


HOSTILE = {
    "nonsense": b"HTTP/1.1 500 no\r\n" + bytes(64),
    "a stream that was not opened": begun(5),
    "a body of a stream that was not opened": body(7, b"x"),
    "a body without headers": body(1, message(b"x")),
    "trailers that do not end": begun(1) + begun(1),
    "a compressed message": begun(1) + body(1, b"\x01" + message(b"x")[1:]),
    "a message that is too large": begun(1) + body(1, struct.pack(">BL", 0, calls.MESSAGE + 1)),
    "a window that overflows": frames.window_update(0, frames.MOST_WINDOW),
    "settings that overflow": frames.window_update(1, 1 << 30) + frames.settings({4: frames.MOST_WINDOW}),
    "pings without end": frame(frames.PING, 0, 0, bytes(8)) * 10_001,
    "settings without end": frames.settings({}) * 10_001,
    "a push": frame(frames.PUSH_PROMISE, 4, 1, bytes(4)),
    "an interrupted block": frame(frames.HEADERS, 0, 1, b"\x88") + begun(1),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_peer_is_given_up_and_calls_end(data: bytes) -> None:
    peer = Peer()
    call = peer.call()
    peer.seen()
    peer.send(data)
    peer.send(data)
    assert peer.transport.aborted
    assert isinstance(peer.outcome(call), Lost)
    assert len(peer.gone) == 1


def test_a_stream_whose_window_overflows_is_given_up_alone() -> None:
    peer = Peer()
    call, other = peer.call(), peer.call()
    peer.seen()
    peer.send(frames.window_update(1, frames.MOST_WINDOW))
    assert isinstance(peer.outcome(call), Lost)
    assert peer.seen() == [Reset(1, frames.CANCEL)]
    assert peer.running(other)
    assert not peer.transport.aborted


def test_a_message_in_many_frames_is_collected_once() -> None:
    """10 MB in frames of 16 KiB: joined by copying for each of them it would take seconds."""
    peer = Peer()
    peer.call()
    large = message(bytes(10_000_000))
    peer.send(begun(1))
    for at in range(0, len(large), 16384):
        peer.send(body(1, large[at : at + 16384]))
    assert [len(each) for each in peer.messages[1]] == [10_000_000]
