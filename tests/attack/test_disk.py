"""The short form of :mod:`tests.attack.disk`: every fault once under writers, some with a sudden end, some at the start."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.cluster import Cluster
from tests.attack.disk import AT_START, BESIDE, REFUSING, Disk
from tests.attack.faultydisk import Fault, Operation, compiler

pytestmark = pytest.mark.skipif(
    compiler() is None, reason="faults of a disk need a C compiler: install gcc, or the Python package ziglang"
)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    cluster = Cluster()
    made = Disk(tmp_path, cluster, random.SystemRandom().randrange(10**6))
    yield made
    made.close()
    cluster.stop()


def test_writes_are_refused_cleanly_and_heal(disk: Disk) -> None:
    for fault in (*REFUSING, *BESIDE):
        disk.round(fault, refusing=fault in REFUSING)
        assert not disk.violations(), fault
    for operation in (Operation.READ, Operation.WRITE, Operation.SYNC):
        assert disk.disk.count(operation), f"no {operation.name} has failed: the library is not in the way"


@pytest.mark.parametrize("operation", [Operation.WRITE, Operation.SYNC])
def test_nothing_is_lost_with_a_sudden_end(disk: Disk, operation: Operation) -> None:
    fault = next(each for each in REFUSING if each.operation is operation)
    disk.kill_under(fault, refusing=True)
    assert not disk.violations()


def test_a_start_without_a_disk_is_one_line(disk: Disk) -> None:
    for fault in AT_START[::2]:
        disk.starts_cleanly(fault)
        assert not disk.violations(), fault


def test_readiness_follows(disk: Disk) -> None:
    fault = Fault(Operation.WRITE, REFUSING[1].error)
    disk.disk.set(fault)
    disk.write()
    disk.fail(5)
    disk.rest()
    disk.ready(500, fault, seconds=15)
    disk.disk.clear()
    disk.ready(200, fault)  # nobody writes any more
    assert not disk.violations()
