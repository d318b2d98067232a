"""Files that are followed: when something is done about their state."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.server.settled import SettledFiles


class Following:
    """Files whose state is a word, and what is done about it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.state = "old"
        self.done: list[str] = []
        self.failures: list[BaseException] = []
        self.waiting: Deferred[None] | None = None
        self.settled: SettledFiles[str] = SettledFiles(lambda: self.state, self._do, self._failed, self.clock)
        self.settled.known = "old"
        self.settled.start(1)

    async def _do(self, state: str) -> None:
        self.done.append(state)
        if self.waiting is not None:
            await self.waiting
        self.settled.known = state

    def _failed(self, failure: Any) -> None:
        self.failures.append(failure.value)

    def looks(self, *states: str) -> None:
        """One look at each of some states."""
        for self.state in states:
            self.clock.advance(1)


@pytest.fixture
def following() -> Following:
    return Following()


def test_nothing_is_done_about_what_is_known(following: Following) -> None:
    following.looks("old", "old", "old")
    assert following.done == []


def test_a_state_counts_once_it_has_stayed(following: Following) -> None:
    following.looks("half", "whole")
    assert following.done == []
    following.looks("whole", "whole", "whole")
    assert following.done == ["whole"]


def test_a_state_that_comes_back_must_stay_again(following: Following) -> None:
    following.looks("new", "old", "new")
    assert following.done == []


def test_nobody_looks_while_something_is_done(following: Following) -> None:
    following.waiting = Deferred()
    following.looks("new", "new", "newer", "newer", "newer")
    assert following.done == ["new"]
    following.waiting.callback(None)
    following.waiting = None
    following.looks("newer", "newer")
    assert following.done == ["new", "newer"]


def test_what_fails_is_told_and_tried_again_while_it_is_not_known(following: Following) -> None:
    error = ValueError("no")
    following.waiting = Deferred()
    following.looks("new", "new")
    following.waiting.errback(error)
    following.waiting = None
    assert following.failures == [error]
    following.looks("new")
    assert following.done == ["new", "new"]


def test_the_end_cancels_what_is_being_done_and_is_no_failure(following: Following) -> None:
    following.waiting = Deferred()
    following.looks("new", "new")
    following.settled.stop()
    following.looks("newer", "newer")
    assert (following.done, following.failures) == (["new"], [])
