"""The part of the storage suite about entries: commits, reads and pages. See :mod:`extapi.testing.backends`."""
# ruff: noqa: S101, S311 - assert is how a test tests, also in a suite that is shipped; its dice need no secrecy

from __future__ import annotations

import random

from extapi.storage.base import Backend, Future, KeyValue, LogEvent, RevisionConflict, TooLarge
from extapi.testing.stories import FAR, Suite, read_until, refusal, story, together


class EntryStories(Suite):
    """Commits are compare-and-set, and all pages of a list show one revision."""

    # Entries

    @story
    async def test_a_new_store_is_empty(self, store: Backend) -> None:
        """Revision 0 means "any" in the API, so a store starts above it."""
        assert isinstance(store, Backend)
        assert await store.revision() >= 1
        assert 1 <= await store.oldest() <= await store.revision()
        assert await store.get(b"/a") is None
        page = await store.page(b"", at=None, after=b"", limit=0)
        assert (page.entries, page.more, page.remaining) == ([], False, 0)
        assert 1 <= page.revision <= await store.revision()

    @story
    async def test_each_commit_has_a_greater_revision(self, store: Backend) -> None:
        """Creates, updates and deletes share one sequence, and a read sees every finished commit."""
        seen = [await store.revision()]
        seen.append(await store.commit(b"/a", b"1", expected=0))
        assert await store.get(b"/a") == KeyValue(b"/a", b"1", seen[-1])
        seen.append(await store.commit(b"/b", b"1", expected=0))
        assert await store.get(b"/a") == KeyValue(b"/a", b"1", seen[-2])
        seen.append(await store.commit(b"/a", b"2", expected=seen[-2]))
        assert await store.get(b"/a") == KeyValue(b"/a", b"2", seen[-1])
        seen.append(await store.commit(b"/a", None, expected=seen[-1]))
        assert await store.get(b"/a") is None
        assert await store.revision() >= seen[-1]
        assert seen == sorted(set(seen))

    @story
    async def test_a_commit_that_expects_another_revision_is_refused(self, store: Backend) -> None:
        """The error has the live entry, and nothing was written."""
        made = await store.commit(b"/a", b"1", expected=0)
        live = await store.commit(b"/a", b"2", expected=made)
        for expected, value in ((0, b"x"), (made, b"x"), (made, None), (live + 1, b"x")):
            conflict = await refusal(store.commit(b"/a", value, expected=expected), RevisionConflict)
            assert conflict.live == KeyValue(b"/a", b"2", live)
        for value in (b"x", None):
            assert (await refusal(store.commit(b"/b", value, expected=live), RevisionConflict)).live is None
        assert await store.get(b"/b") is None
        await self._nothing_since(store, live)

    @story
    async def test_a_deleted_key_can_be_made_again(self, store: Backend) -> None:
        """The key does not exist, so 0 is expected; its former revisions are not."""
        made = await store.commit(b"/a", b"1", expected=0)
        gone = await store.commit(b"/a", None, expected=made)
        for expected in (made, gone):
            assert (await refusal(store.commit(b"/a", b"2", expected=expected), RevisionConflict)).live is None
        again = await store.commit(b"/a", b"2", expected=0)
        assert await store.get(b"/a") == KeyValue(b"/a", b"2", again)

    @story
    async def test_a_write_that_cannot_be_meant_is_refused(self, store: Backend) -> None:
        """An empty key could not be listed; a delete must have something to delete."""
        begin = await store.revision()
        await refusal(store.commit(b"", b"1", expected=0), ValueError)
        await refusal(store.commit(b"/a", None, expected=0), ValueError)
        await self._nothing_since(store, begin)

    async def _nothing_since(self, store: Backend, begin: int) -> None:
        """The log has no commit after a revision but the one that is made now."""
        last = await store.commit(b"/last", b"1", expected=0)
        assert await read_until(store.tail(begin), last) == [LogEvent(last, b"/last", b"1", None)]

    @story
    async def test_what_is_too_large_is_refused(self, store: Backend) -> None:
        """With an error that says so, since it helps nobody to try again; the store goes on."""
        if self.too_large is not None:
            begin = await store.revision()
            made = await store.commit(b"/a", b"1", expected=0)
            for key, expected in ((b"/a", made), (b"/b", 0)):
                await refusal(store.commit(key, bytes(self.too_large), expected=expected), TooLarge)
            assert await store.get(b"/a") == KeyValue(b"/a", b"1", made)
            last = await store.commit(b"/b", b"1", expected=0)
            assert [change.revision for change in await read_until(store.tail(begin), last)] == [made, last]

    @story
    async def test_any_bytes_are_kept(self, store: Backend) -> None:
        """An empty value is a value. A body may have 3 MiB; a store may allow less, as etcd does."""
        large = (bytes(range(256)) * (self.largest // 256 + 1))[: self.largest]
        for key, value in ((b"/empty", b""), (b"\xff\x00\xfe", b"\x00\xff'\n"), (b"/large", large)):
            revision = await store.commit(key, value, expected=0)
            assert await store.get(key) == KeyValue(key, value, revision)
            assert (await store.page(key, at=None, after=b"", limit=0)).entries == [(key, value, revision)]

    # Pages

    @story
    async def test_a_page_has_the_keys_under_the_prefix_in_order(self, store: Backend) -> None:
        """Neighbours of the prefix do not belong to it, also if its last byte has no successor."""
        names = [
            b"/a",
            b"/a/",
            b"/a/1",
            b"/a/10",
            b"/a/2",
            b"/a/\xff",
            b"/a/\xff\xff",
            b"/a0",
            b"/b",
            b"\xff",
            b"\xff\xff1",
        ]
        last = max([await store.commit(name, b"x", expected=0) for name in random.Random(1).sample(names, len(names))])
        for prefix in (b"", b"/a", b"/a/", b"/a/\xff", b"\xff", b"\xff\xff", b"/c"):
            page = await store.page(prefix, at=None, after=b"", limit=0)
            assert [entry.key for entry in page.entries] == [name for name in names if name.startswith(prefix)]
            assert (page.more, page.remaining) == (False, 0)
            assert last <= page.revision <= await store.revision()

    @story
    async def test_pages_follow_each_other(self, store: Backend) -> None:
        """``after`` is exclusive, need not exist, and may come before the prefix; the remaining count is exact."""
        for number in range(10):
            await store.commit(b"/a/%d" % number, b"x", expected=0)
        await store.commit(b"/b", b"x", expected=0)
        for limit in (1, 3, 5, 9, 10, 11):
            left = list(range(10))
            after = b""
            while True:
                page = await store.page(b"/a/", at=None, after=after, limit=limit)
                assert [entry.key for entry in page.entries] == [b"/a/%d" % number for number in left[:limit]]
                left = left[limit:]
                assert (page.more, page.remaining) == (bool(left), len(left))
                if not left:
                    break
                after = page.entries[-1].key
        page = await store.page(b"/a/", at=None, after=b"/a/44", limit=2)
        assert [entry.key for entry in page.entries] == [b"/a/5", b"/a/6"]
        assert page.remaining == 3
        assert (await store.page(b"/a/", at=None, after=b"/0", limit=2)).entries[0].key == b"/a/0"
        assert (await store.page(b"/a/", at=None, after=b"/a/9", limit=2)).entries == []

    @story
    async def test_the_past_can_be_read(self, store: Backend) -> None:
        """All pages of a list show the revision of the first, whatever is written meanwhile (behaviour K13, K16)."""
        made = [await store.commit(b"/%d" % number, b"old", expected=0) for number in range(6)]
        first = await store.page(b"/", at=None, after=b"", limit=2)
        await store.commit(b"/3", b"new", expected=made[3])
        await store.commit(b"/4", None, expected=made[4])
        await store.commit(b"/35", b"new", expected=0)
        second = await store.page(b"/", at=first.revision, after=first.entries[-1].key, limit=2)
        third = await store.page(b"/", at=first.revision, after=second.entries[-1].key, limit=2)
        assert [*first.entries, *second.entries, *third.entries] == [
            KeyValue(b"/%d" % number, b"old", made[number]) for number in range(6)
        ]
        assert {second.revision, third.revision} == {first.revision}
        assert first.revision >= made[-1]
        assert [page.remaining for page in (first, second, third)] == [4, 2, 0]
        assert (await store.page(b"/", at=made[1], after=b"", limit=0)).entries == first.entries
        assert len((await store.page(b"/", at=None, after=b"", limit=0)).entries) == 6

    @story
    async def test_the_future_cannot_be_read(self, store: Backend) -> None:
        """Not even at a revision that no store will ever reach."""
        await store.commit(b"/a", b"1", expected=0)
        current = await store.revision()
        for revision in (current + FAR, 2**63, 2**80):
            for call in (store.page(b"", at=revision, after=b"", limit=0), store.tail(revision).__anext__()):
                assert current <= (await refusal(call, Future)).current <= await store.revision()

    # Many writers

    @story
    async def test_of_many_writers_that_expect_the_same_one_wins(self, store: Backend) -> None:
        """The others get the live entry."""

        async def attempt(value: bytes) -> int:
            try:
                return await store.commit(b"/a", value, expected=0)
            except RevisionConflict as conflict:
                losers.append(conflict.live)
                return 0

        losers: list[KeyValue | None] = []
        results = await together([attempt(b"%d" % number) for number in range(50)])
        live = await store.get(b"/a")
        assert live is not None
        assert losers == [live] * 49
        assert [result for result in results if result] == [live.revision]
        assert live.value == b"%d" % results.index(live.revision)

    @story
    async def test_a_counter_loses_no_increment(self, store: Backend) -> None:
        """Read, commit, retry: 16 writers increment a counter ten times each."""
        revisions: list[int] = []

        async def add() -> None:
            for _ in range(10):
                live = await store.get(b"/count")
                while True:
                    value = b"%d" % (int(live.value if live else 0) + 1)
                    try:
                        revisions.append(await store.commit(b"/count", value, expected=live.revision if live else 0))
                        break
                    except RevisionConflict as conflict:
                        live = conflict.live

        await together([add() for _ in range(16)])
        live = await store.get(b"/count")
        assert live is not None
        assert (live.value, live.revision) == (b"160", max(revisions))
        assert len(set(revisions)) == 160
