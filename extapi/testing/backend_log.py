"""The part of the storage suite about the log: tails and compaction. See :mod:`extapi.testing.backends`."""
# ruff: noqa: S101, S311 - assert is how a test tests, also in a suite that is shipped; its dice need no secrecy

from __future__ import annotations

import random

from extapi.storage.base import Backend, Compacted, Future, KeyValue, LogEvent
from extapi.testing.stories import FAR, Follower, Suite, read_until, refusal, start, story, together


class LogStories(Suite):
    """Every tail yields every change once and in order, until it is compacted."""

    # Tails

    @story
    async def test_a_tail_has_the_change_before_the_commit_returns(self, store: Backend) -> None:
        """So a cache that follows the log is up to date when the writer continues."""
        readers = [Follower(store.tail(await store.revision())) for _ in range(3)]

        async def write(number: int) -> None:
            revision = await store.commit(b"/%d" % number, b"x", expected=0)
            for reader in readers:
                assert any(change.revision == revision for change in reader.changes)
                assert reader.batches[-1].progress >= revision

        await together([write(number) for number in range(40)])

    @story
    async def test_what_a_tail_has_told_can_be_read(self, store: Backend) -> None:
        """When a tail yields a change, the store already has it."""
        tail = store.tail(await store.revision())

        async def look() -> list[tuple[int, KeyValue | None]]:
            batch = await tail.__anext__()
            return [(await store.revision(), await store.get(change.key)) for change in batch.changes]

        async def looked() -> list[tuple[int, KeyValue | None]]:
            while not (found := await look()):  # a mark may come before
                pass
            return found

        looking = start(looked())
        revision = await store.commit(b"/a", b"1", expected=0)
        ((current, entry),) = await looking
        assert current >= revision
        assert entry == KeyValue(b"/a", b"1", revision)

    @story
    async def test_a_change_has_the_value_before(self, store: Backend) -> None:
        """For live and for past changes."""
        begin = await store.revision()
        reader = Follower(store.tail(begin))
        made = await store.commit(b"/a", b"1", expected=0)
        changed = await store.commit(b"/a", b"", expected=made)
        gone = await store.commit(b"/a", None, expected=changed)
        again = await store.commit(b"/a", b"3", expected=0)
        expected = [
            LogEvent(made, b"/a", b"1", None),
            LogEvent(changed, b"/a", b"", b"1"),
            LogEvent(gone, b"/a", None, b""),
            LogEvent(again, b"/a", b"3", None),
        ]
        assert reader.changes == expected
        assert await read_until(store.tail(begin), again) == expected
        assert await read_until(store.tail(changed), again) == expected[2:]

    @story
    async def test_a_tail_goes_from_the_past_to_live_without_gap_or_repeat(self, store: Backend) -> None:
        """From every revision, in any number of batches, and while the log grows."""
        begin = await store.revision()
        written = [await store.commit(b"/%d" % number, b"x", expected=0) for number in range(1203)]
        for after in (begin, written[0], written[499], written[500], written[-2]):
            tail = store.tail(after)
            first = await tail.__anext__()  # perhaps only a mark
            last = await store.commit(b"/more", b"x", expected=0)
            changes = [*first.changes, *await read_until(tail, last)]
            expected = [revision for revision in written if revision > after]
            assert [change.revision for change in changes] == [*expected, last]
            tail.close()
            written += [last, await store.commit(b"/more", None, expected=last)]

    @story
    async def test_tails_that_start_at_any_moment_miss_nothing(self, store: Backend) -> None:
        """Writers and short-lived readers run concurrently.

        A reader that began before a commit has the commit when that returns. One that began later, after all commits maybe,
        has the past as soon as the store sends it.
        """
        dice = random.Random(7)
        begin = await store.revision()
        acknowledged: dict[int, bytes] = {}
        readers: list[tuple[int, Follower]] = []

        async def write(name: int) -> None:
            revision = 0
            for number in range(40):
                key = b"/%d" % name
                begun = list(readers)
                revision = await store.commit(key, b"%d" % number, expected=revision)
                acknowledged[revision] = key
                assert all(after >= revision or reader.progress >= revision for after, reader in begun)
                if dice.random() < 0.06:
                    after = dice.choice([begin, await store.revision(), dice.choice(list(acknowledged))])
                    readers.append((after, Follower(store.tail(after))))

        await together([write(name) for name in range(12)])
        assert len(acknowledged) == 480
        assert len(readers) > 10
        for after, reader in readers:
            if after < max(acknowledged):
                await reader.reached(max(acknowledged))
            assert [(change.revision, change.key) for change in reader.changes] == [
                (revision, key) for revision, key in sorted(acknowledged.items()) if revision > after
            ]

    @story
    async def test_a_reader_that_commits_does_not_disturb_the_order(self, store: Backend) -> None:
        """A reader commits in response to a change before other readers have seen that change."""
        begin = await store.revision()
        before = Follower(store.tail(begin))

        async def echo() -> int:
            async for batch in store.tail(begin):
                for change in batch.changes:
                    if change.key == b"/echo":
                        return change.revision
                    await store.commit(b"/echo", change.value, expected=0)
            raise AssertionError("the tail ended")

        echoing = start(echo())
        after = Follower(store.tail(begin))
        called = await store.commit(b"/call", b"x", expected=0)
        echoed = await echoing
        await store.progress()
        for reader in (before, after):
            await reader.reached(echoed)
            assert [(change.revision, change.key) for change in reader.changes] == [
                (called, b"/call"),
                (echoed, b"/echo"),
            ]

    @story
    async def test_progress_marks_reach_an_idle_tail(self, store: Backend) -> None:
        """No change at or below a mark follows the mark."""
        reader = Follower(store.tail(await store.revision()))
        revision = await store.commit(b"/a", b"1", expected=0)
        before = len(reader.batches)
        compacted = await store.compact(revision, expected=await store.oldest())
        assert compacted == revision
        current = await store.revision()
        await store.progress()
        await reader.reached(current)
        assert [change for batch in reader.batches[before:] for change in batch.changes] == []

    @story
    async def test_marks_do_not_hide_what_a_reader_has_not_had(self, store: Backend) -> None:
        """A slow reader gets changes and marks in order."""
        tail = store.tail(await store.revision())
        first = await store.commit(b"/a", b"1", expected=0)
        assert [change.revision for change in await read_until(tail, first)] == [first]
        written = [first]
        for number in range(3):
            written.append(await store.commit(b"/%d" % number, b"1", expected=0))
            await store.progress()
            await store.progress()
        assert [change.revision for change in await read_until(tail, written[-1])] == written[1:]

    @story
    async def test_closing_a_tail_lets_its_reader_go(self, store: Backend) -> None:
        """A waiting reader ends normally; other tails continue."""
        begin = await store.revision()
        closed, other = Follower(store.tail(begin)), Follower(store.tail(begin))
        closed.tail.close()
        await closed.done
        revision = await store.commit(b"/a", b"1", expected=0)
        assert closed.changes == []
        assert [change.revision for change in other.changes] == [revision]
        closed.tail.close()
        unread = store.tail(begin)
        unread.close()
        await refusal(unread.__anext__(), StopAsyncIteration)

    # Compaction

    @story
    async def test_compaction_forgets_the_past_and_keeps_what_lives(self, store: Backend) -> None:
        """The revision compacted to can be read and followed; older ones cannot."""
        begin = await store.oldest()
        kept = await store.commit(b"/kept", b"1", expected=0)
        old = await store.commit(b"/a", b"1", expected=0)
        doomed = await store.commit(b"/doomed", b"1", expected=0)
        gone = await store.commit(b"/doomed", None, expected=doomed)
        new = await store.commit(b"/a", b"2", expected=old)
        last = await store.commit(b"/a", b"3", expected=new)
        assert await store.compact(gone, expected=begin) == gone
        assert await store.oldest() == gone
        for revision in (begin, old, doomed, 0, -1):
            assert (await refusal(store.page(b"", at=revision, after=b"", limit=0), Compacted)).oldest == gone
            assert (await refusal(store.tail(revision).__anext__(), Compacted)).oldest == gone
        page = await store.page(b"", at=gone, after=b"", limit=0)
        assert page.entries == [KeyValue(b"/a", b"1", old), KeyValue(b"/kept", b"1", kept)]
        assert await read_until(store.tail(gone), last) == [
            LogEvent(new, b"/a", b"2", b"1"),
            LogEvent(last, b"/a", b"3", b"2"),
        ]
        assert await store.get(b"/kept") == KeyValue(b"/kept", b"1", kept)
        assert await store.get(b"/doomed") is None
        assert await store.commit(b"/doomed", b"2", expected=0) > last

    @story
    async def test_of_many_compactions_one_wins(self, store: Backend) -> None:
        """Compaction is compare-and-set, so that processes with one store take turns. It never goes back."""
        begin = await store.oldest()
        written = [await store.commit(b"/%d" % number, b"x", expected=0) for number in range(10)]
        results = await together([store.compact(revision, expected=begin) for revision in written[:5]])
        won = await store.oldest()
        assert won in written[:5]
        assert results[written.index(won)] == won
        assert set(results) <= {won, begin}
        assert await store.compact(written[8], expected=begin) == won
        assert await store.compact(written[8], expected=won) == written[8]
        assert await store.compact(written[7], expected=written[8]) == written[8]
        future = (await store.revision()) + FAR
        assert written[9] <= (await refusal(store.compact(future, expected=written[8]), Future)).current < future
        assert await store.oldest() == written[8]

    @story
    async def test_compaction_up_to_now_does_not_set_the_revision_back(self, store: Backend) -> None:
        """Also after a delete as the last commit, which compaction removes completely."""
        made = await store.commit(b"/a", b"1", expected=0)
        gone = await store.commit(b"/a", None, expected=made)
        assert await store.compact(gone, expected=await store.oldest()) == gone
        assert await store.revision() >= gone
        assert (await store.page(b"", at=gone, after=b"", limit=0)).entries == []
        assert await store.commit(b"/a", b"2", expected=0) > gone

    @story
    async def test_writes_and_live_tails_go_on_during_compaction(self, store: Backend) -> None:
        """No change that a reader still has to get may be lost."""
        begin = await store.oldest()
        reader = Follower(store.tail(begin))
        revision = 0
        for number in range(600):
            revision = await store.commit(b"/a", b"%d" % number, expected=revision)
        compacting = start(store.compact(revision, expected=begin))
        for number in range(600, 700):
            revision = await store.commit(b"/a", b"%d" % number, expected=revision)
        await compacting
        assert [change.value for change in reader.changes] == [b"%d" % number for number in range(700)]
        assert [change.previous for change in reader.changes][1:] == [b"%d" % number for number in range(699)]
