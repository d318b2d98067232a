"""Ages as kubectl prints them; the cases are those of duration_test.go in k8s.io/apimachinery."""

import pytest

from extapi.codec.humanduration import human_duration

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 24 * 3600, 365 * 24 * 3600


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-0.5, "0s"),
        (0, "0s"),
        (1.999, "1s"),
        (70, "70s"),
        (119, "119s"),
        (2 * _MINUTE, "2m"),
        (3 * _MINUTE + 14, "3m14s"),
        (9 * _MINUTE + 59, "9m59s"),
        (10 * _MINUTE + 59, "10m"),
        (179 * _MINUTE, "179m"),
        (3 * _HOUR, "3h"),
        (3 * _HOUR + 4 * _MINUTE, "3h4m"),
        (8 * _HOUR + 4 * _MINUTE, "8h"),
        (47 * _HOUR, "47h"),
        (2 * _DAY, "2d"),
        (2 * _DAY + 3 * _HOUR, "2d3h"),
        (8 * _DAY + 3 * _HOUR, "8d"),
        (729 * _DAY, "729d"),
        (2 * _YEAR, "2y"),
        (2 * _YEAR + 20 * _DAY, "2y20d"),
        (8 * _YEAR + 20 * _DAY, "8y"),
        (100 * _YEAR, "100y"),
        (2000 * _YEAR, "292y"),
    ],
)
def test_human_duration(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text
