"""What is expected was said by ``time.ParseDuration`` of Go 1.26."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extapi.api.duration import BadDuration, parse_duration, parse_seconds

RECORDED: dict[str, str] = json.loads((Path(__file__).parent / "go_cases.json").read_text())["durations"]


@pytest.mark.parametrize(("text", "said"), RECORDED.items())
def test_go_says_the_same(text: str, said: str) -> None:
    try:
        found = str(parse_duration(text))
    except BadDuration as error:
        found = str(error)
    assert found == said


def test_2_to_the_63rd_exists_only_below_zero() -> None:
    assert parse_duration("-9223372036854775808ns") == -(2**63)
    with pytest.raises(BadDuration, match=r'^time: invalid duration "9223372036854775808ns"$'):
        parse_duration("9223372036854775808ns")


def test_digits_that_do_not_count_are_dropped() -> None:
    """Go reads a fraction as far as it fits into 63 bits."""
    assert parse_duration(f"0.{'12345' * 1000}h") == 444_424_444_244
    assert parse_duration(f"0.{'0' * 5000}9h") == 0


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
def test_seconds(text: str, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


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
def test_a_text_that_is_no_duration(text: str, error: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared below
        parse_seconds(text)
    assert str(caught.value) == error
