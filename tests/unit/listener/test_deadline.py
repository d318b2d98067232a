"""Expected values: Go's time package and its tests."""

from __future__ import annotations

import pytest

from extapi.listener.deadline import parse_duration, time_allowed


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("5s", 5.0),
        ("1478s", 1478.0),
        ("-5s", -5.0),
        ("+5s", 5.0),
        ("-0", 0.0),
        ("5.s", 5.0),
        (".5s", 0.5),
        ("1.004s", 1.004),
        ("12us", 12e-6),
        ("12\u00b5s", 12e-6),
        ("12\u03bcs", 12e-6),
        ("14ms", 14e-3),
        ("10ns", 10e-9),
        ("3h30m", 12600.0),
        ("1m1.5s", 61.5),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'time: invalid duration ""'),
        ("3", 'time: missing unit in duration "3"'),
        ("-", 'time: invalid duration "-"'),
        ("s", 'time: invalid duration "s"'),
        (".", 'time: invalid duration "."'),
        (".s", 'time: invalid duration ".s"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1.1.1s", 'time: missing unit in duration "1.1.1s"'),
        ("\x85\x85", r'time: invalid duration "\xc2\x85\xc2\x85"'),
        ('1"', r'time: unknown unit "\"" in duration "1\""'),
        ("9223372036854775810ns", 'time: invalid duration "9223372036854775810ns"'),
        ("1" * 300 + "s", f'time: invalid duration "{"1" * 300}s"'),
    ],
)
def test_bad_durations(text: str, error: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared below
        parse_duration(text)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("timeout", "allowed"), [("", 60), ("0s", 60), ("-1s", 60), ("60s", 60), ("2m", 60), ("1s", 1), ("59.5s", 59.5)]
)
def test_time_allowed(timeout: str, allowed: float) -> None:
    assert time_allowed(timeout, 60) == allowed


def test_bad_timeout() -> None:
    with pytest.raises(
        ValueError, match=r'^invalid timeout specified in the request URL - time: invalid duration "x"$'
    ):
        time_allowed("x", 60)
