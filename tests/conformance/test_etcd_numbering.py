"""Revisions with an offset on a real etcd: the contract holds, every process notices a greater one, and none goes back."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Backend, Compacted, Future, RevisionConflict, Uncertain
from extapi.storage.etcd import wire
from extapi.storage.etcd.backend import EtcdBackend
from extapi.storage.etcd.channel import Channel
from extapi.storage.etcd.endpoints import EtcdAccess
from extapi.storage.etcd.numbering import WentBack
from extapi.testing.backend_log import LogStories
from extapi.testing.backends import BackendConformance
from extapi.testing.stories import Follower, Suite, read_until, refusal
from tests.etcds import Etcd, etcd

pytestmark = pytest.mark.kubernetes

OFFSET = 10**12


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with etcd(tmp_path_factory.mktemp("etcd")) as member:
        yield member


def raised(member: Etcd, prefix: str) -> None:
    """Let the store go on far above etcd's revisions."""

    async def tale(reactor: Any) -> None:
        store = EtcdBackend(reactor, member.options(prefix))
        assert await store.skip(OFFSET) == await store.revision() == await store.oldest() > OFFSET
        await store.close()

    with private_reactor() as reactor:
        drive(reactor, tale(reactor))


class TestAboveEtcd(Suite):
    """The stories in which most revisions go in and out; the others run without an offset."""

    durable = True
    _compare = BackendConformance._compare
    test_simplest = BackendConformance.test_it_does_what_the_simplest_store_does
    test_tails = LogStories.test_tails_that_start_at_any_moment_miss_nothing
    test_idle = LogStories.test_progress_marks_reach_an_idle_tail

    @pytest.fixture(autouse=True)
    def _place(self, plain: Etcd) -> None:
        self.member, self.prefix = plain, f"/test/{uuid.uuid4().hex}"
        raised(plain, self.prefix)

    def store(self, reactor: Any) -> Backend:
        return EtcdBackend(reactor, self.member.options(self.prefix))


def test_every_process_notices_a_greater_offset(plain: Etcd) -> None:
    """Whoever has a tail is told in the order of the log; whoever has none, by the next answer."""

    async def tale(reactor: Any) -> None:
        options = plain.options(f"/test/{uuid.uuid4().hex}")
        follows, writes, raises = (EtcdBackend(reactor, options) for _ in range(3))
        begin = await follows.revision()
        made = await writes.commit(b"/a", b"1", expected=0)
        live = Follower(follows.tail(begin))
        await live.reached(made)
        page = await follows.page(b"", at=None, after=b"", limit=1)

        oldest = await raises.skip(OFFSET)
        assert oldest > OFFSET
        # It was written after the offset was raised, so it has the new number, although the writer has not asked before.
        other = await writes.commit(b"/b", b"1", expected=0)
        assert other > oldest
        assert (await refusal(live.done, Compacted)).oldest == oldest
        assert [change.revision for change in live.changes] == [made]
        # What was known before is of the past.
        assert (await refusal(follows.page(b"", at=page.revision, after=b"/a", limit=1), Compacted)).oldest == oldest
        assert (await refusal(follows.tail(made).__anext__(), Compacted)).oldest == oldest
        assert (await refusal(follows.tail(OFFSET * 2).__anext__(), Future)).current == other
        entry = await follows.get(b"/a")
        assert entry is not None
        assert made < OFFSET < entry.revision < oldest
        assert (await refusal(follows.commit(b"/a", b"2", expected=made), RevisionConflict)).live == entry
        changed = await follows.commit(b"/a", b"2", expected=entry.revision)
        assert changed > other
        assert await raises.compact(changed, expected=oldest) == await writes.oldest() == changed
        # Again, to a number that they are above already: the past is forgotten, and numbers stay.
        again = await writes.skip(5)
        assert changed < again == await raises.oldest() < changed + 10
        for each in (follows, writes, raises):
            await each.close()

    with private_reactor() as reactor:
        drive(reactor, tale(reactor))


def test_revisions_stay_below_what_clients_can_read(plain: Etcd) -> None:
    async def tale(reactor: Any) -> None:
        store = EtcdBackend(reactor, plain.options(f"/test/{uuid.uuid4().hex}"))
        before = await store.revision()
        await refusal(store.skip(2**53 - 1), ValueError)
        assert await store.revision() == before
        await store.close()

    with private_reactor() as reactor:
        drive(reactor, tale(reactor))


def test_an_etcd_that_was_restored_from_an_older_state_is_refused_until_the_offset_is_raised(tmp_path: Path) -> None:
    """As a restored snapshot does it: revisions that clients know come again, for other changes."""

    async def begin(store: EtcdBackend) -> int:
        return await store.commit(b"/a", b"1", expected=0)

    async def go_on(store: EtcdBackend, made: int) -> int:
        await store.revision()  # a write on a connection that is lost would be uncertain
        for number in range(10):
            made = await store.commit(b"/a", b"%d" % number, expected=made)
        return made

    async def after(reactor: Any, store: EtcdBackend, first: int, last: int) -> None:
        why = str(await refusal(store.revision(), WentBack))
        assert (
            f"and was at {last}: an older state was restored; raise the offset with 'extapi storage bump etcd:'" in why
        )
        assert store.check() == "etcd has an older state than before; the log says what to do"
        await refusal(store.get(b"/a"), WentBack)
        await refusal(store.commit(b"/b", b"1", expected=0), WentBack)
        await refusal(store.tail(last).__anext__(), WentBack)
        # Others that know nothing write on, until the numbers are above again: that heals nothing.
        other = EtcdBackend(reactor, store_options)
        made = first
        while made <= last:
            made = await other.commit(b"/a", b"other", expected=made)
        await refusal(store.revision(), WentBack)
        oldest = await other.skip(await other.revision() + 1_000_000)
        assert await store.revision() == oldest > last + 1_000_000
        assert store.check() is None
        entry = await store.get(b"/a")
        assert entry is not None
        assert entry.revision > last + 1_000_000
        assert (await refusal(store.tail(last).__anext__(), Compacted)).oldest == oldest
        assert await store.commit(b"/a", b"new", expected=entry.revision) > oldest
        await store.close()
        await other.close()

    with etcd(tmp_path) as member, private_reactor() as reactor:
        store_options = member.options("/test")
        store = EtcdBackend(reactor, store_options)
        drive(reactor, store.open())
        first = drive(reactor, begin(store))
        member.kill()
        shutil.copytree(tmp_path / "data", tmp_path / "copy")
        member.start()
        last = drive(reactor, go_on(store, first))
        member.kill()
        shutil.rmtree(tmp_path / "data")
        (tmp_path / "copy").rename(tmp_path / "data")
        member.start()
        drive(reactor, after(reactor, store, first, last))


async def _put_back(store: EtcdBackend) -> None:
    """A value that the snapshot has otherwise."""
    entry = await store.get(b"/a")
    assert entry is not None
    await store.commit(b"/a", b"lost", expected=entry.revision)


async def _delete(store: EtcdBackend) -> None:
    """A key that comes back with the snapshot."""
    entry = await store.get(b"/a")
    assert entry is not None
    await store.commit(b"/a", None, expected=entry.revision)


async def _create(store: EtcdBackend) -> None:
    """A key that the snapshot does not have."""
    await store.commit(b"/ghost", b"1", expected=0)


async def _compact(store: EtcdBackend) -> None:
    """Nothing but the store's own mark."""
    await store.compact(await store.revision(), expected=await store.oldest())


@pytest.mark.parametrize("lose", [_put_back, _delete, _create, _compact])
def test_an_older_state_that_others_have_written_past_what_was_seen_is_refused(
    tmp_path: Path, lose: Callable[[EtcdBackend], Awaitable[None]]
) -> None:
    """While the server was cut off, say. Its revision tells nothing; what etcd had at one that was seen does."""

    async def until_lost(store: EtcdBackend) -> None:
        live = Follower(store.tail(await store.revision()))
        await store.commit(b"/b", b"1", expected=0)
        await lose(store)
        await store.progress()
        await live.reached(await store.revision())

    async def write(reactor: Any) -> None:
        other = EtcdBackend(reactor, member.options("/other"))
        for number in range(20):
            await other.commit(b"/%d" % number, b"1", expected=0)
        await other.close()

    async def after(reactor: Any, store: EtcdBackend) -> None:
        assert "had something else" in str(await refusal(store.revision(), WentBack))
        assert store.check() == "etcd has an older state than before; the log says what to do"
        await refusal(store.get(b"/a"), WentBack)
        raiser = EtcdBackend(reactor, member.options("/test"))
        oldest = await raiser.skip(await raiser.revision() + 1_000_000)
        assert await store.revision() == oldest
        # What was seen before means nothing now, on the new connection of watches either.
        made = await store.commit(b"/c", b"1", expected=0)
        assert [change.key for change in await read_until(store.tail(oldest), made)] == [b"/c"]
        assert store.check() is None
        for each in (store, raiser):
            await each.close()

    with etcd(tmp_path) as member, private_reactor() as reactor:
        store = EtcdBackend(reactor, member.options("/test"))
        drive(reactor, store.open())
        drive(reactor, store.commit(b"/a", b"1", expected=0))
        member.kill()
        shutil.copytree(tmp_path / "data", tmp_path / "copy")
        member.start()
        drive(reactor, until_lost(store))
        member.kill()
        shutil.rmtree(tmp_path / "data")
        (tmp_path / "copy").rename(tmp_path / "data")
        member.start()
        with private_reactor() as elsewhere:
            drive(elsewhere, write(elsewhere))
        drive(reactor, after(reactor, store))


def test_a_restart_and_a_compaction_are_no_other_history(tmp_path: Path) -> None:
    async def before(store: EtcdBackend) -> None:
        live = Follower(store.tail(await store.skip(1000)))  # so that its revisions are not etcd's
        made = await store.commit(b"/a", b"1", expected=0)
        gone = await store.commit(b"/b", b"1", expected=0)
        await live.reached(await store.commit(b"/b", None, expected=gone))
        assert made < gone
        live.tail.close()

    async def compact(reactor: Any) -> None:
        other = EtcdBackend(reactor, member.options("/other"))
        made = await other.commit(b"/a", b"1", expected=0)
        await other.compact(made, expected=await other.oldest())
        await other.close()

    async def after(store: EtcdBackend) -> None:
        assert await store.get(b"/a") is not None
        assert store.check() is None

    with etcd(tmp_path) as member, private_reactor() as reactor:
        store = EtcdBackend(reactor, member.options("/test"))
        drive(reactor, store.open())
        drive(reactor, before(store))
        member.kill()
        member.start()
        drive(reactor, after(store))
        member.kill()
        member.start()
        with private_reactor() as elsewhere:
            drive(elsewhere, compact(elsewhere))
        drive(reactor, after(store))
        drive(reactor, store.close())


def test_a_write_to_an_older_state_is_uncertain_and_a_mark_that_is_gone_is_told(plain: Etcd) -> None:
    """The number that it got is one that came before, so it cannot be told."""

    async def tale(reactor: Any) -> None:
        options = plain.options(f"/test/{uuid.uuid4().hex}")
        store = EtcdBackend(reactor, options)
        current = await store.revision()
        store.seen(current + 100)  # as it is when etcd is restored between two calls
        error = await refusal(store.commit(b"/a", b"1", expected=0), Uncertain)
        assert "an older state was restored" in str(error)
        await store.close()

        store = EtcdBackend(reactor, options)
        live = Follower(store.tail(await store.revision()))
        await store.progress()
        channel = Channel(reactor, EtcdAccess(options))
        prefix = options.prefix.encode()
        await channel.call(
            wire.TXN, wire.txn_request(prefix + b"/none", 0, wire.delete(prefix + b"/mark")), repeatable=False
        )
        assert "no longer has the store's mark" in str(await refusal(live.done, WentBack))
        await refusal(store.revision(), WentBack)
        channel.close()
        await store.close()

    with private_reactor() as reactor:
        drive(reactor, tale(reactor))
