"""The part of the storage suite about entries: commits, reads and pages. See :mod:`extapi.testing.backends`."""
# ruff: noqa: S101, S311 - assert is how a test tests, also in a suite that is shipped; its dice need no secrecy

from __future__ import annotations

import random

from extapi.storage.base import Backend, Future, KeyValue, RevisionConflict
from extapi.testing.stories import Suite, refusal, story, together


class EntryStories(Suite):
    """Commits are compare-and-set, and all pages of a list show one revision."""

    # Entries

    @story
    async def test_a_new_store_is_empty(self, store: Backend) -> None:
        """Revision 0 means "any" in the API, so a store starts above it."""
        assert isinstance(store, Backend)
        assert await store.revision() >= 1
        assert await store.oldest() == await store.revision()
        assert await store.get(b"/a") is None
        assert await store.page(b"", at=None, after=b"", limit=0) == ([], await store.revision(), False, 0)

    @story
    async def test_each_commit_has_the_next_revision(self, store: Backend) -> None:
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
        assert await store.revision() == seen[-1]
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
        assert await store.revision() == live
        assert await store.get(b"/b") is None

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
        await refusal(store.commit(b"", b"1", expected=0), ValueError)
        await refusal(store.commit(b"/a", None, expected=0), ValueError)
        assert await store.oldest() == await store.revision()

    @story
    async def test_any_bytes_are_kept(self, store: Backend) -> None:
        """An empty value is a value. etcd allows requests of 1.5 MiB; a body here may have 3."""
        for key, value in ((b"/empty", b""), (b"\xff\x00\xfe", b"\x00\xff'\n"), (b"/large", bytes(range(256)) * 12288)):
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
        for name in random.Random(1).sample(names, len(names)):
            await store.commit(name, b"x", expected=0)
        for prefix in (b"", b"/a", b"/a/", b"/a/\xff", b"\xff", b"\xff\xff", b"/c"):
            page = await store.page(prefix, at=None, after=b"", limit=0)
            assert [entry.key for entry in page.entries] == [name for name in names if name.startswith(prefix)]
            assert (page.revision, page.more, page.remaining) == (await store.revision(), False, 0)

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
        assert {first.revision, second.revision, third.revision} == {made[-1]}
        assert [page.remaining for page in (first, second, third)] == [4, 2, 0]
        assert (await store.page(b"/", at=made[1], after=b"", limit=0)).entries == first.entries
        assert len((await store.page(b"/", at=None, after=b"", limit=0)).entries) == 6

    @story
    async def test_the_future_cannot_be_read(self, store: Backend) -> None:
        """Not even at a revision that no store will ever reach."""
        await store.commit(b"/a", b"1", expected=0)
        current = await store.revision()
        for revision in (current + 1, 2**63, 2**80):
            assert (await refusal(store.page(b"", at=revision, after=b"", limit=0), Future)).current == current
            assert (await refusal(store.tail(revision).__anext__(), Future)).current == current

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
        assert (live.value, live.revision) == (b"160", await store.revision())
        assert len(set(revisions)) == 160
