"""Token buckets, on a clock that is moved by hand."""

from __future__ import annotations

from typing import Any

from extapi.client.ratelimit import TokenBucket, TokenBuckets
from tests.unit.client.building import now


def taken(bucket: TokenBucket, tries: int) -> int:
    return sum(bucket.take() for _ in range(tries))


def test_a_burst_then_the_rate() -> None:
    clock: Any = now()
    bucket = TokenBucket(clock, rate=2, burst=5)
    assert taken(bucket, 10) == 5
    assert bucket.wait() == 0.5
    clock.advance(0.5)
    assert taken(bucket, 10) == 1
    clock.advance(2)
    assert taken(bucket, 10) == 4
    clock.advance(1000)
    assert taken(bucket, 10) == 5  # never more than the burst


def test_what_is_given_back_can_be_taken_again() -> None:
    bucket = TokenBucket(now(), rate=1, burst=2)
    assert taken(bucket, 5) == 2
    bucket.give_back()
    assert taken(bucket, 5) == 1
    for _ in range(5):
        bucket.give_back()
    assert taken(bucket, 5) == 2


def test_a_clock_that_is_set_back_changes_nothing() -> None:
    clock: Any = now()
    bucket = TokenBucket(clock, rate=1, burst=3)
    assert taken(bucket, 2) == 2
    clock.rightNow -= 3600
    assert taken(bucket, 5) == 1
    clock.advance(1)
    assert taken(bucket, 5) == 1


def test_each_key_has_its_own_and_the_oldest_is_forgotten() -> None:
    clock = now()
    buckets = TokenBuckets(clock, rate=1, burst=1, size=2)
    assert [buckets.take("a"), buckets.take("a"), buckets.take("b")] == [True, False, True]
    assert not buckets.take("a")  # used again: now "b" is the oldest
    assert buckets.take("c")
    assert len(buckets) == 2
    buckets.give_back("b")  # forgotten: nothing to give back to
    assert [buckets.take("a"), buckets.take("b")] == [False, True]
    assert buckets.wait("b") == 1
