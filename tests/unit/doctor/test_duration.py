"""Durations in words."""

from __future__ import annotations

import datetime as dt

import pytest

from extapi.doctor.duration import spell


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (119, "119 seconds"),
        (-120, "2 minutes"),
        (7300, "2 hours"),
        (200000, "2 days"),
    ],
)
def test_durations(seconds: int, words: str) -> None:
    assert spell(dt.timedelta(seconds=seconds)) == words
