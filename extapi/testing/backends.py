"""The conformance suite of stores: tests for any :class:`~extapi.storage.base.Backend`.

Define a subclass with a ``store`` method in a test module; its name must start with ``Test``::

    class TestMine(BackendConformance):
        durable = True

        @pytest.fixture(autouse=True)
        def _place(self, tmp_path):
            self.path = tmp_path / "store"

        def store(self, reactor):
            return MyBackend(reactor, self.path)

The tests use only the protocol. Source: the docstrings of ``extapi.storage.base`` (behaviour K5, K13, K15).
"""
# ruff: noqa: S101, S311 - assert is how a test tests, also in a suite that is shipped; its dice need no secrecy

from __future__ import annotations

import random
from typing import Any

from twisted.internet.defer import gatherResults

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Backend, Compacted, RevisionConflict, Unavailable
from extapi.testing.backend_entries import EntryStories
from extapi.testing.backend_log import LogStories
from extapi.testing.stories import Follower, Model, read_until, refusal, start, story, together


class BackendConformance(EntryStories, LogStories):
    """The suite. A subclass defines ``store``, and ``durable`` if the store keeps its content."""

    # Everything together

    @story
    async def test_it_does_what_the_simplest_store_does(self, store: Backend) -> None:
        """Random commits, compactions and reads of any revision, compared with a list of changes."""
        dice = random.Random(20)
        model = Model(await store.revision())
        oldest = begin = model.revision
        keys = [b"/%s/%d" % (kind, number) for kind in (b"a", b"ab", b"b") for number in range(4)]
        for step in range(400):
            key = dice.choice(keys)
            live = model.live(key)
            expected = live.revision if live and dice.random() < 0.8 else dice.choice([0, 0, model.revision])
            value = b"%d" % step if not expected or dice.random() < 0.7 else None
            if expected == (live.revision if live else 0):
                model.add(await store.commit(key, value, expected=expected), key, value)
            else:
                conflict = await refusal(store.commit(key, value, expected=expected), RevisionConflict)
                assert conflict.live == live
            if dice.random() < 0.02:
                to = dice.choice([change.revision for change in model.changes])
                oldest = max(oldest, to)
                assert await store.compact(to, expected=await store.oldest()) == oldest
                await model.rise(store)
            if dice.random() < 0.3:
                await self._compare(store, model, oldest, dice)
        assert oldest > begin
        tail = store.tail(oldest)
        assert await read_until(tail, model.revision) == [
            change for change in model.changes if change.revision > oldest
        ]

    async def _compare(self, store: Backend, model: Model, oldest: int, dice: random.Random) -> None:
        at = dice.choice([model.revision, oldest, dice.randint(oldest, model.revision)])
        prefix = dice.choice([b"", b"/", b"/a", b"/a/", b"/ab/", b"/b/1", b"/c"])
        after = dice.choice([b"", b"/a/1", b"/a/15", b"/ab", b"/b/9"])
        limit = dice.choice([0, 1, 2, 5])
        expected = [entry for entry in model.at(at, prefix) if entry.key > after]
        taken = expected[:limit] if limit else expected
        page = await store.page(prefix, at=at, after=after, limit=limit)
        left = len(expected) - len(taken)
        assert (list(page.entries), page.revision, page.more, page.remaining) == (taken, at, left > 0, left)
        key = dice.choice(model.changes).key if model.changes else b"/a/0"
        assert await store.get(key) == model.live(key)
        assert await store.revision() >= model.revision

    # The end

    @story
    async def test_a_closed_store_refuses_everything(self, store: Backend) -> None:
        """Accepted commits are finished first, and readers receive them before their iteration ends."""
        begin = await store.revision()
        reader = Follower(store.tail(begin))
        late = store.tail(begin)
        writing = [start(store.commit(b"/%d" % number, b"x", expected=0)) for number in range(20)]
        await store.close()
        revisions = list(await gatherResults(writing))
        await reader.done
        assert sorted(change.revision for change in reader.changes) == sorted(revisions)
        for call in (
            store.get(b"/0"),
            store.revision(),
            store.page(b"", at=None, after=b"", limit=0),
            store.commit(b"/0", b"y", expected=revisions[0]),
            store.progress(),
            store.compact(revisions[0], expected=begin),
            store.oldest(),
            late.__anext__(),
            store.tail(begin).__anext__(),
        ):
            await refusal(call, Unavailable)
        await store.close()

    def test_revisions_do_not_go_back_when_it_is_opened_again(self) -> None:
        """A client that resumes from an earlier revision is served if the store is durable, and refused if not."""
        with private_reactor() as reactor:
            drive(reactor, self._reopen(reactor), timeout=self.timeout)

    async def _reopen(self, reactor: Any) -> None:
        store = await self.opened(reactor)
        begin = await store.oldest()
        await together([store.commit(b"/%d" % number, b"x", expected=0) for number in range(100)])
        entries = list((await store.page(b"", at=None, after=b"", limit=0)).entries)
        last = await store.revision()
        await store.close()
        again = await self.opened(reactor)
        try:
            assert await again.revision() >= last
            if self.durable:
                assert (await again.page(b"", at=last, after=b"", limit=0)).entries == entries
                assert len(await read_until(again.tail(begin), last)) == 100
            else:
                await refusal(again.tail(begin).__anext__(), Compacted)
            assert await again.commit(b"/new", b"x", expected=0) > last
        finally:
            await again.close()
