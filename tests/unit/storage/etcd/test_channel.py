"""Calls over real sockets to scripted endpoints: which are repeated, what is uncertain, failover, tokens and versions."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.protocol import Factory, Protocol

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Overloaded, StoreRefused, TooLarge, Unavailable, Uncertain
from extapi.storage.etcd import frames, wire
from extapi.storage.etcd.call import RpcError
from extapi.storage.etcd.channel import Channel
from extapi.storage.etcd.dialling import TooOld, supported
from extapi.storage.etcd.endpoints import EtcdAccess, EtcdOptions
from extapi.storage.etcd.frames import Data, FrameReader, Headers
from tests.unit.client.names import Names
from tests.unit.storage.etcd.peer import begun, body, message, trailers
from tests.unit.storage.etcd.test_wire import field, header

Answer = bytes | None
"""The frames of an answer; None: the connection is cut."""
VERSION = field(2, b"3.6.8")


def answered(stream: int, data: bytes) -> bytes:
    return begun(stream) + body(stream, message(data)) + trailers(stream)


class Member:
    """An endpoint on a loopback address. ``answer`` gets stream and method of each call; ``version``: None: only root is told."""

    def __init__(
        self,
        reactor: Any,
        answer: Callable[[int, str], Answer],
        *,
        version: bytes | None = VERSION,
        settings: dict[int, int] | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.calls: list[str] = []
        self.tokens: list[str] = []
        self.accepted = 0
        self.answer = answer
        self.version = version
        member = self

        class Serving(Protocol):
            transport: Any

            def connectionMade(self) -> None:  # noqa: N802
                member.accepted += 1
                self.reader, self.rest = FrameReader(), len(frames.PREFACE)
                self.method: dict[int, str] = {}
                self.transport.write(frames.settings(settings or {}))

            def dataReceived(self, data: bytes) -> None:  # noqa: N802
                cut = min(self.rest, len(data))
                self.rest -= cut
                for event in self.reader.feed(data[cut:]):
                    if isinstance(event, Headers):
                        self.method[event.stream] = event.headers[":path"].rpartition("/")[2]
                        member.tokens.append(event.headers.get("token", ""))
                        assert event.headers["hasleader"] == "true"
                    elif isinstance(event, Data) and event.last:
                        self._answer(event.stream, self.method[event.stream])

            def _answer(self, stream: int, method: str) -> None:
                transport = self.transport
                if method == "Status":
                    version = member.version
                    denied = trailers(stream, 7, "etcdserver: permission denied")
                    transport.write(denied if version is None else answered(stream, version))
                    return
                member.calls.append(method)
                found = member.answer(stream, method)
                if found is None:
                    transport.loseConnection()
                else:
                    transport.write(found)

        self.port = reactor.listenTCP(0, Factory.forProtocol(Serving), interface=address)
        self.url = f"http://127.0.0.1:{self.port.getHost().port}"


def right(stream: int, method: str) -> Answer:
    return answered(stream, header(7))


def failing(code: int, text: str, times: int = 10**6) -> Callable[[int, str], Answer]:
    """Fail so often, then answer."""
    left = [times]

    def answer(stream: int, method: str) -> Answer:
        left[0] -= 1
        return trailers(stream, code, text) if left[0] >= 0 else right(stream, method)

    return answer


def run(test: Callable[[Any], Coroutine[Any, Any, Any]]) -> None:
    with private_reactor() as reactor:
        drive(reactor, test(reactor))


def channel(reactor: Any, *urls: str, **options: Any) -> Channel:
    return Channel(reactor, EtcdAccess(EtcdOptions(servers=urls, prefix="/x", **options)))


async def raised(channel: Channel, kind: type[Exception], *, repeatable: bool, seconds: float = 0.5) -> str:
    with pytest.raises(kind) as error:
        await channel.call(wire.RANGE, b"", repeatable=repeatable, seconds=seconds)
    channel.close()
    assert error.type is kind
    return str(error.value)


def test_a_call_and_its_answer() -> None:
    async def test(reactor: Any) -> None:
        member = Member(reactor, right)
        calls = channel(reactor, member.url)
        assert await calls.call(wire.RANGE, b"", repeatable=False) == header(7)
        assert await calls.call(wire.TXN, b"", repeatable=False) == header(7)
        assert member.calls == ["Range", "Txn"]
        calls.close()

    run(test)


@pytest.mark.parametrize("host", ["etcd", "[::1]"])
def test_etcd_is_reached_where_there_is_no_ipv4(host: str) -> None:
    """Names of Services have AAAA records alone in a cluster of IPv6."""

    async def test(reactor: Any) -> None:
        Names(reactor, etcd=["::1"])
        member = Member(reactor, right, address="::1")
        calls = channel(reactor, f"http://{host}:{member.port.getHost().port}")
        assert await calls.call(wire.RANGE, b"", repeatable=False) == header(7)
        calls.close()

    run(test)


@pytest.mark.parametrize("repeatable", [True, False])
def test_a_connection_that_is_cut_leaves_a_write_uncertain(repeatable: bool) -> None:
    async def test(reactor: Any) -> None:
        first, second = Member(reactor, lambda *_: None), Member(reactor, right)
        calls = channel(reactor, first.url, second.url)
        if repeatable:
            assert await calls.call(wire.RANGE, b"", repeatable=True) == header(7)
            assert (first.calls, second.calls) == (["Range"], ["Range"])
            calls.close()
        else:
            await raised(calls, Uncertain, repeatable=False)
            assert (first.calls, second.calls) == (["Range"], [])

    run(test)


@pytest.mark.parametrize(
    "answer",
    [
        lambda stream, _: frames.reset(stream, frames.REFUSED_STREAM),
        failing(14, "etcdserver: no leader"),
        failing(9, "etcdserver: rpc not supported for learner"),
        failing(2, "raft proposal dropped"),
    ],
)
def test_what_was_not_begun_is_made_elsewhere(answer: Callable[[int, str], Answer]) -> None:
    async def test(reactor: Any) -> None:
        first, second = Member(reactor, answer), Member(reactor, right)
        calls = channel(reactor, first.url, second.url)
        await calls.call(wire.TXN, b"", repeatable=False)
        assert second.calls == ["Txn"]
        calls.close()

    run(test)


@pytest.mark.parametrize(
    ("code", "text", "repeatable", "kind"),
    [
        (14, "etcdserver: request timed out", False, Uncertain),
        (14, "etcdserver: request timed out", True, Unavailable),
        (4, "context deadline exceeded", False, Uncertain),
        (14, "etcdserver: no leader", False, Unavailable),
        (9, "etcdserver: rpc not supported for learner", False, Unavailable),
        (2, "raft proposal dropped", False, Unavailable),
        (2, "raft: stopped", False, Uncertain),
        (2, "raft: stopped", True, Unavailable),
        (2, "something else", False, Uncertain),
        (2, "something else", True, RpcError),
        (14, "etcdserver: server stopped", False, Uncertain),
        (14, "etcdserver: server stopped", True, Unavailable),
        (8, "etcdserver: too many requests", False, Overloaded),
        (8, "etcdserver: mvcc: database space exceeded", False, StoreRefused),
        (15, "etcdserver: corrupt cluster", True, StoreRefused),
        (8, "grpc: received message larger than max (9 vs. 8)", False, TooLarge),
        (3, "etcdserver: request is too large", False, TooLarge),
        (16, "etcdserver: invalid auth token", False, Unavailable),
        (11, "etcdserver: mvcc: required revision has been compacted", True, RpcError),
        (7, "etcdserver: permission denied", False, RpcError),
    ],
)
def test_what_errors_of_etcd_mean(code: int, text: str, repeatable: bool, kind: type[Exception]) -> None:
    async def test(reactor: Any) -> None:
        member = Member(reactor, failing(code, text))
        assert text in await raised(channel(reactor, member.url), kind, repeatable=repeatable) or kind is TooLarge

    run(test)


@pytest.mark.parametrize("answer", [message(b"a") * 3, b""], ids=["several", "none"])
def test_other_than_one_answer(answer: bytes) -> None:
    async def test(reactor: Any) -> None:
        member = Member(reactor, lambda stream, _: begun(stream) + body(stream, answer) + trailers(stream))
        await raised(channel(reactor, member.url), Uncertain, repeatable=False)

    run(test)


@pytest.mark.parametrize(("repeatable", "kind"), [(True, Unavailable), (False, Uncertain)])
def test_no_answer_in_time(repeatable: bool, kind: type[Exception]) -> None:
    async def test(reactor: Any) -> None:
        member = Member(reactor, lambda *_: b"")
        await raised(channel(reactor, member.url), kind, repeatable=repeatable, seconds=0.1)

    run(test)


def test_nobody_there() -> None:
    async def test(reactor: Any) -> None:
        gone = Member(reactor, right)
        await gone.port.stopListening()
        text = await raised(channel(reactor, gone.url), Unavailable, repeatable=False, seconds=0.2)
        assert "etcd cannot be reached" in text
        assert gone.url in text

    run(test)


def test_an_endpoint_that_is_away_is_passed_over_at_once() -> None:
    async def test(reactor: Any) -> None:
        gone, there = Member(reactor, right), Member(reactor, right)
        await gone.port.stopListening()
        calls = channel(reactor, gone.url, there.url)
        await calls.call(wire.TXN, b"", repeatable=False)
        assert calls.endpoint.url == there.url
        calls.close()

    run(test)


def test_a_learner_is_passed_over_before_it_is_asked() -> None:
    """It is one as long as it says so: field 10 of etcd's StatusResponse."""

    async def test(reactor: Any) -> None:
        learner, voter = Member(reactor, right, version=VERSION + field(10, 1)), Member(reactor, right)
        calls = channel(reactor, learner.url, voter.url)
        await calls.call(wire.TXN, b"", repeatable=False)
        assert (learner.calls, voter.calls) == ([], ["Txn"])
        calls.close()

    run(test)


@pytest.mark.parametrize(
    ("version", "good"),
    [
        ("3.4.30", False),
        ("3.4.31", True),
        ("3.4.40", True),
        ("3.5.0", False),
        ("3.5.12", False),
        ("3.5.13", True),
        ("3.6.0-rc.1", True),
        ("3.7.2", True),
        ("4.0.0", True),
        ("2.3.8", False),
        ("", False),
        ("not provided", False),
    ],
)
def test_versions(version: str, good: bool) -> None:
    assert supported(version) is good


def test_an_etcd_that_is_too_old_is_named() -> None:
    async def test(reactor: Any) -> None:
        old, new = Member(reactor, right, version=field(2, b"3.5.12")), Member(reactor, right)
        calls = channel(reactor, new.url, old.url)
        with pytest.raises(TooOld, match=r"runs etcd '3\.5\.12'.*3\.5\.13 or newer") as raised:
            await calls.versions()
        assert old.url in str(raised.value)
        calls.close()
        late = channel(reactor, old.url, new.url)  # one that is only used later is passed over
        await late.call(wire.RANGE, b"", repeatable=True)
        assert old.calls == []
        late.close()

    run(test)


def test_a_version_that_only_root_is_told_is_new_enough() -> None:
    """Nobody else is told by etcd 3.5.28 and 3.6.0, and some after them (etcd issues 21466 and 21663)."""

    async def test(reactor: Any) -> None:
        member = Member(reactor, right, version=None)
        calls = channel(reactor, member.url)
        await calls.versions()
        assert await calls.call(wire.RANGE, b"", repeatable=False) == header(7)
        calls.close()

    run(test)


def test_a_lost_token_is_asked_for_again(tmp_path: Path) -> None:
    """A simple token is lost when the member restarts that gave it."""
    (tmp_path / "password").write_text("secret")
    given = [0]
    member: Member

    def answer(stream: int, method: str) -> Answer:
        if method == "Authenticate":
            given[0] += 1
            return answered(stream, header(1) + field(2, b"token%d" % given[0]))
        if member.tokens[-1] == "token1":
            return trailers(stream, 16, "etcdserver: invalid auth token")
        return right(stream, method)

    async def test(reactor: Any) -> None:
        nonlocal member
        member = Member(reactor, answer)
        calls = channel(reactor, member.url, username="root", password_file=tmp_path / "password")
        assert await calls.call(wire.TXN, b"", repeatable=False) == header(7)
        assert member.calls == ["Authenticate", "Txn", "Authenticate", "Txn"]
        assert member.tokens == ["", "token1", "token1", "", "token2", "token2"]
        calls.close()

    run(test)


def test_tokens_that_end_again_and_again(tmp_path: Path) -> None:
    """As clientv3 does: a write is asked for with each new one, within its time."""
    (tmp_path / "password").write_text("secret")
    member: Member

    def answer(stream: int, method: str) -> Answer:
        given = member.calls.count("Authenticate")
        if method == "Authenticate":
            return answered(stream, header(1) + field(2, b"token%d" % given))
        return right(stream, method) if given == 3 else trailers(stream, 16, "etcdserver: invalid auth token")

    async def test(reactor: Any) -> None:
        nonlocal member
        member = Member(reactor, answer)
        calls = channel(reactor, member.url, username="root", password_file=tmp_path / "password")
        assert await calls.call(wire.TXN, b"", repeatable=False) == header(7)
        assert member.calls == ["Authenticate", "Txn"] * 3
        calls.close()

    run(test)


def test_who_has_a_certificate_asks_again_when_users_have_changed() -> None:
    """On the same connection: there is no token to be renewed."""

    async def test(reactor: Any) -> None:
        member = Member(reactor, failing(3, "etcdserver: revision of auth store is old", times=2))
        calls = channel(reactor, member.url)
        assert await calls.call(wire.TXN, b"", repeatable=False) == header(7)
        assert member.calls == ["Txn"] * 3
        assert member.accepted == 1
        calls.close()

    run(test)


def test_a_connection_is_left_for_what_was_refused_on_it_and_no_other() -> None:
    """A refusal may come late, when another connection is used for long."""

    async def test(reactor: Any) -> None:
        first, second = Member(reactor, right), Member(reactor, right)
        calls = channel(reactor, first.url, second.url)
        watch = await calls.stream(wire.WATCH, b"", lambda _: None, lambda _: None)
        for _ in range(3):
            calls.leave(watch, "etcdserver: invalid auth token")
            await calls.call(wire.RANGE, b"", repeatable=True)
        assert (first.accepted, second.accepted) == (1, 1)
        assert second.calls == ["Range"] * 3
        calls.close()

    run(test)


def test_a_member_that_takes_few_calls_gets_another_connection() -> None:
    """And the one before ends with its last call."""

    async def test(reactor: Any) -> None:
        member = Member(reactor, right, settings={frames.MAX_CONCURRENT_STREAMS: 1})
        calls = channel(reactor, member.url)
        await calls.stream(wire.WATCH, b"", lambda _: None, lambda _: None)
        watched = calls._connection
        assert await calls.call(wire.RANGE, b"", repeatable=True) == header(7)
        assert calls._connection is not watched
        assert watched is not None
        assert not watched.usable
        calls.close()
        watched.close()

    run(test)


def test_closing_fails_who_waits() -> None:
    async def test(reactor: Any) -> None:
        gone = Member(reactor, right)
        await gone.port.stopListening()
        calls = channel(reactor, gone.url)
        reactor.callLater(0.05, calls.close)
        assert await raised(calls, Unavailable, repeatable=False, seconds=5) == "the store is closed"
        await raised(calls, Unavailable, repeatable=False)

    run(test)
