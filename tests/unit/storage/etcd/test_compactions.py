"""What a watch from the first revision tells of compactions, with a log that is played by hand."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from extapi.storage.etcd import wire
from extapi.storage.etcd.compactions import compacted_to
from tests.unit.storage.etcd.test_watch import PlayedLog
from tests.unit.storage.etcd.test_wire import field, header


def asked(log: PlayedLog) -> list[int]:
    """Where the answer will be, once there is one."""
    found: list[int] = []
    Deferred.fromCoroutine(compacted_to(log, log.clock)).addCallback(found.append)
    return found


def test_the_oldest_revision_is_told() -> None:
    log = PlayedLog()
    found = asked(log)
    assert log.start == 1
    log.message(header(40) + field(3, 1))
    log.message(header(40) + field(4, 1) + field(5, 30))
    assert found == [30]


def test_an_etcd_that_was_never_compacted_is_asked_for_a_sign() -> None:
    """There may be nothing that the watch would bring by itself."""
    log = PlayedLog()
    found = asked(log)
    log.message(header(40) + field(3, 1))
    assert (found, log.stream.sent) == ([], [wire.WATCH_PROGRESS])
    log.mark(40)
    assert (found, log.stream.cancelled) == ([0], True)
    assert log.clock.getDelayedCalls() == []
    assert log.highest == 0  # what it saw is no revision of the store
