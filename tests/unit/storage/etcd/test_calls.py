"""The mark of a store, read by several calls at a time from a scripted member."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from extapi.storage.etcd.calls import StoreCalls
from extapi.storage.etcd.mark import EMPTY, Mark
from extapi.storage.etcd.numbering import Numbering
from tests.unit.storage.etcd.test_channel import Member, answered, channel, run
from tests.unit.storage.etcd.test_wire import field, header

KEY = b"/x/mark"
ENTRY = field(1, KEY) + field(3, 5) + field(5, EMPTY)


def test_a_mark_that_another_call_made_meanwhile_is_not_lost() -> None:
    """The first call was told that there is none; its answer comes after that of the second one, which made the mark."""

    async def test(reactor: Any) -> None:
        ranges: list[int] = []
        swaps: list[int] = []

        def answer(stream: int, method: str) -> bytes:
            if method == "Range":
                ranges.append(stream)
                return b"" if len(ranges) == 1 else answered(stream, header(4))
            swaps.append(stream)
            if len(swaps) == 1:
                return answered(stream, header(5) + field(2, 1)) + answered(ranges[0], header(4))
            return answered(stream, header(5) + field(3, field(1, header(5) + field(2, ENTRY))))

        member = Member(reactor, answer)
        calls = StoreCalls(
            channel(reactor, member.url),
            Numbering(),
            KEY,
            create=True,
            answered=lambda: None,
            renumbered=lambda: None,
        )
        both = [Deferred.fromCoroutine(calls.read_mark()) for _ in range(2)]
        assert await gatherResults(both) == [(Mark(5, 5), 5)] * 2
        assert len(swaps) == 2
        calls.close()

    run(test)
