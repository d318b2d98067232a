"""The waits between attempts."""

from __future__ import annotations

from twisted.internet.task import Clock

from extapi.client.backoff import Backoff


def test_each_wait_is_longer_up_to_a_bound() -> None:
    """``k8s.io/client-go/tools/cache`` reflector.go: 800 ms, factor 2, cap 30 s."""
    waits = Backoff(Clock(), lambda: 0.0)
    assert [waits.wait() for _ in range(8)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_many_processes_wait_differently() -> None:
    """``wait.Jitter`` with a factor of 1: up to twice as long."""
    assert Backoff(Clock(), lambda: 0.5).wait() == 0.8 * 1.5


def test_it_begins_anew_after_two_minutes() -> None:
    clock = Clock()
    waits = Backoff(clock, lambda: 0.0)
    for _ in range(4):
        clock.advance(waits.wait())
    clock.advance(120)
    assert waits.wait() == 12.8
    clock.advance(12.8 + 120.1)
    assert waits.wait() == 0.8


def test_what_an_attempt_took_counts() -> None:
    waits = Backoff(Clock(), lambda: 0.0)
    assert waits.wait(took=30) == 0
    assert waits.wait(took=1) == 0.6000000000000001


def test_what_a_server_asks_for_is_heeded_within_bounds() -> None:
    waits = Backoff(Clock(), lambda: 0.0)
    assert waits.wait(asked=20) == 20
    assert waits.wait(took=5, asked=86400) == 60


def test_a_list_whose_connection_was_lost_is_sent_again_soon_but_not_for_ever() -> None:
    """``k8s.io/client-go/rest``: a second, ten times; then it is the reflector's turn."""
    waits = Backoff(Clock(), lambda: 0.0)
    assert [waits.retry(watch=False) for _ in range(11)] == [1.0] * 10 + [None]
    assert waits.wait() == 0.8
    assert waits.retry(watch=False) == 1.0


def test_a_watch_whose_connection_was_lost_is_sent_again_each_second() -> None:
    """``k8s.io/client-go/rest`` Request.Watch: NewEmptyWatch."""
    waits = Backoff(Clock(), lambda: 0.0)
    assert [waits.retry(watch=True) for _ in range(30)] == [1.0] * 30
