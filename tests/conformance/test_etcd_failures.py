"""What fails in an etcd of three members, and what a store on it does then: no acknowledged write is lost, tails go on.

Each is a row of the table of what fails in ``docs/howto/high-availability.md``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi.clock import sleep
from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import LogEvent, RevisionConflict, Unavailable
from extapi.storage.etcd.backend import EtcdBackend
from extapi.storage.etcd.times import EtcdTimes
from extapi.testing.stories import read_until
from tests.etcdcluster import EtcdCluster, etcd_cluster
from tests.etcds import Etcd

pytestmark = pytest.mark.kubernetes
TIMES = EtcdTimes(call=2, dial=2, ping=1)
_SECONDS = 120.0
Fail = Callable[[EtcdCluster, Etcd], None]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd")) as running:
        yield running


@pytest.fixture(autouse=True)
def _healed(cluster: EtcdCluster) -> Iterator[None]:
    yield
    cluster.heal()


class Following:
    """A reader that begins anew where its tail broke off, as the watch cache does."""

    def __init__(self, reactor: Any, store: EtcdBackend, begin: int) -> None:
        self._reactor = reactor
        self._store = store
        self.progress = begin
        self.changes: list[LogEvent] = []
        self.breaks = 0
        self.running = Deferred.fromCoroutine(self._run())

    async def _run(self) -> None:
        while True:
            try:
                async for batch in self._store.tail(self.progress):
                    self.changes += batch.changes
                    self.progress = batch.progress
            except Unavailable:
                self.breaks += 1
                await sleep(self._reactor, 0.05)
            else:
                return  # the store is closed


class Client:
    """Writes one key again and again, as a client that reads after each failure."""

    def __init__(self, store: EtcdBackend) -> None:
        self._store = store
        self._revision = 0
        self.number = 0
        self.acknowledged: list[int] = []

    async def write(self) -> None:
        """Write until it is acknowledged."""
        while True:
            self.number += 1
            try:
                self._revision = await self._store.commit(b"/a", b"%d" % self.number, expected=self._revision)
            except RevisionConflict as conflict:  # what was uncertain has been written
                self._revision = conflict.live.revision if conflict.live else 0
            except Unavailable:
                continue
            else:
                self.acknowledged.append(self._revision)
                return


async def until(reactor: Any, true: Callable[[], bool]) -> None:
    while not true():
        await sleep(reactor, 0.02)


def kill(_: EtcdCluster, member: Etcd) -> None:
    member.kill()


def pause(_: EtcdCluster, member: Etcd) -> None:
    member.pause()


def cut_off(cluster: EtcdCluster, member: Etcd) -> None:
    cluster.cut_off(member)


@pytest.mark.parametrize("leading", [True, False], ids=["leader", "follower"])
@pytest.mark.parametrize("fail", [kill, pause, cut_off])
def test_a_member_fails(cluster: EtcdCluster, fail: Fail, leading: bool) -> None:
    """The one that the store uses, for calls and for its tail: both go on with another one."""

    async def tale(reactor: Any) -> None:
        leader = await cluster.leader(reactor)
        victim = leader if leading else next(member for member in cluster.members if member is not leader)
        prefix = f"/test/{uuid.uuid4().hex}"
        store = EtcdBackend(reactor, cluster.options(prefix, first=victim, times=TIMES))
        begin = await store.revision()
        following = Following(reactor, store, begin)
        client = Client(store)
        for _ in range(5):
            await client.write()
        assert following.progress >= client.acknowledged[-1]
        fail(cluster, victim)
        for _ in range(5):
            await client.write()
        entry = await answered(lambda: store.get(b"/a"))
        assert entry is not None
        assert (entry.value, entry.revision) == (b"%d" % client.number, client.acknowledged[-1])
        await until(reactor, lambda: following.progress >= client.acknowledged[-1])
        assert following.breaks
        cluster.heal()
        await client.write()
        await until(reactor, lambda: following.progress >= client.acknowledged[-1])
        await store.close()
        await following.running
        # What was acknowledged is in the log, once, and every reader has the log.
        judge = EtcdBackend(reactor, cluster.options(prefix))
        log = await read_until(judge.tail(begin), client.acknowledged[-1])
        await judge.close()
        assert following.changes == log
        assert set(client.acknowledged) <= {change.revision for change in log}
        assert [change.previous for change in log] == [None, *(change.value for change in log[:-1])]

    with private_reactor() as reactor:
        drive(reactor, tale(reactor), timeout=_SECONDS)


async def answered(call: Callable[[], Any]) -> Any:
    """The answer, as soon as there is one."""
    while True:
        try:
            return await call()
        except Unavailable:
            continue


def test_without_a_quorum(cluster: EtcdCluster) -> None:
    """Nothing can be read nor written, the tail is ended and not left silent, and the check says so; then all goes on."""

    async def tale(reactor: Any) -> None:
        leader = await cluster.leader(reactor)
        options = cluster.options(f"/test/{uuid.uuid4().hex}", first=leader, times=TIMES, healthcheck_timeout=0.5)
        store = EtcdBackend(reactor, options)
        await store.open()
        begin = await store.revision()
        following = Following(reactor, store, begin)
        client = Client(store)
        await client.write()
        await until(reactor, lambda: store.check() is None)
        for member in cluster.members:
            if member is not leader:
                member.pause()
        with pytest.raises(Unavailable):  # uncertain, if the leader took it before it knew
            await store.commit(b"/b", b"1", expected=0)
        await until(reactor, lambda: store.check() == "etcd failed")
        await until(reactor, lambda: following.breaks > 0)
        for call in (store.revision(), store.get(b"/a"), store.page(b"", at=None, after=b"", limit=0)):
            with pytest.raises(Unavailable):
                await call
        cluster.heal()
        await client.write()
        await until(reactor, lambda: following.progress >= client.acknowledged[-1])
        await until(reactor, lambda: store.check() is None)
        revisions = [change.revision for change in following.changes if change.key == b"/a"]
        assert revisions == sorted(set(revisions))
        assert set(client.acknowledged) <= set(revisions)  # a write that was uncertain may be there, too
        await store.close()
        await following.running

    with private_reactor() as reactor:
        drive(reactor, tale(reactor), timeout=_SECONDS)
