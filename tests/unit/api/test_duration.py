"""What is expected was said by ``time.ParseDuration`` of Go 1.26."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extapi.api.duration import BadDuration, parse_duration

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
