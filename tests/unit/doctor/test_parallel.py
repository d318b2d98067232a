from __future__ import annotations

import threading

import pytest

from extapi.doctor.parallel import in_parallel


def test_side_by_side_in_the_order_asked() -> None:
    together = threading.Barrier(2)

    def ask(number: int) -> int:
        together.wait(30)  # breaks unless two are at it
        return number * 2

    assert list(in_parallel({"b": 2, "a": 1}, ask, workers=8).items()) == [("b", 4), ("a", 2)]
    assert in_parallel({}, ask, workers=8) == {}


def test_not_more_than_so_many() -> None:
    lock, busy, most = threading.Lock(), [0], [0]

    def ask(_: int) -> None:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        with lock:
            busy[0] -= 1

    assert len(in_parallel({number: number for number in range(200)}, ask, workers=3)) == 200
    assert most[0] <= 3


def test_what_is_raised_reaches_who_waits() -> None:
    with pytest.raises(ZeroDivisionError):
        in_parallel({"a": 0, "b": 1}, lambda each: 1 / each, workers=1)


def test_who_hangs_keeps_nobody() -> None:
    """No thread that the interpreter waits for at its end."""
    seen: list[bool] = []
    in_parallel({"a": 1}, lambda _: seen.append(threading.current_thread().daemon), workers=1)
    assert seen == [True]
