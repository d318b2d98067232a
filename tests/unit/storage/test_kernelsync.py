"""The kernel writes a file to the disk, and says when."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred

from extapi.privatereactor import drive, private_reactor
from extapi.storage.kernelsync import KernelSync


def test_the_reactor_is_told_when_a_file_is_on_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100_000)

    async def story() -> None:
        for _ in range(3):
            done: Deferred[Exception | None] = Deferred()
            sync.run(done.callback)
            with pytest.raises(RuntimeError, match="being synced"):
                sync.run(done.callback)
            assert not done.called
            assert await done is None

    with private_reactor() as reactor:
        sync = KernelSync(reactor, str(path))
        assert sync in reactor.getReaders()
        assert sync.logPrefix() == "storage"
        assert not os.get_inheritable(sync.fileno())
        drive(reactor, story())
        sync.stop()
        assert sync not in reactor.getReaders()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(sync.file)


def test_a_file_that_cannot_be_synced_is_an_error_each_time() -> None:
    with private_reactor() as reactor:
        sync = KernelSync(reactor, os.devnull)
        told: list[Exception | None] = []
        sync.run(told.append)
        sync.run(told.append)
        assert [type(error) for error in told] == [ValueError, ValueError]
        sync.stop()


def test_an_error_that_the_kernel_tells_later_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()

    async def story() -> None:
        done: Deferred[Exception | None] = Deferred()
        sync.run(done.callback)
        waiting = sync._waiting
        assert waiting is not None
        sync._waiting = (Failed(), waiting[1])  # no disk here fails late
        error = await done
        assert isinstance(error, OSError)
        assert error.errno == errno.EIO

    with private_reactor() as reactor:
        sync = KernelSync(reactor, str(path))
        drive(reactor, story())
        sync.stop()


class Failed:
    """As caio's operation is when the kernel has refused it."""

    def get_value(self) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_file_that_is_not_there_and_a_kernel_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with private_reactor() as reactor:
        before = reactor.getReaders()
        with pytest.raises(OSError, match="No such file"):
            KernelSync(reactor, str(tmp_path / "missing"))
        monkeypatch.setitem(sys.modules, "caio.linux_aio", None)
        with pytest.raises(OSError, match="no asynchronous I/O"):
            KernelSync(reactor, str(tmp_path))
        assert reactor.getReaders() == before
