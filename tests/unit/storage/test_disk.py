"""The thread that waits for the disk."""

from __future__ import annotations

import threading

import pytest
from twisted.internet.defer import Deferred

from extapi.privatereactor import drive, private_reactor
from extapi.storage.disk import DiskThread


def test_work_runs_in_another_thread_and_the_result_comes_back_to_this_one() -> None:
    threads: list[int] = []

    def work() -> None:
        threads.append(threading.get_ident())

    def broken() -> None:
        raise OSError("no space left")

    async def story() -> None:
        for number, task in enumerate([work, broken, work]):
            done: Deferred[Exception | None] = Deferred()
            disk.run(task, done.callback)
            with pytest.raises(RuntimeError, match="busy"):
                disk.run(work, done.callback)
            error = await done
            assert threading.get_ident() == here
            assert (str(error) if error else "") == ("no space left" if number == 1 else "")

    with private_reactor() as reactor:
        here = threading.get_ident()
        disk = DiskThread(reactor)
        assert disk.logPrefix() == "storage"
        assert disk in reactor.getReaders()
        drive(reactor, story())
        disk.stop()
        assert disk not in reactor.getReaders()
    assert len(threads) == 2
    assert len(set(threads)) == 1
    assert here not in threads
    assert not disk._thread.is_alive()
