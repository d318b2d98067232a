"""Texts are those of Go's time.Parse with the layout RFC3339."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from extapi.api.timestamp import canonical_timestamp, format_timestamp, parse_timestamp

RECORDED: dict[str, str | None] = json.loads((Path(__file__).parent / "go_cases.json").read_text())["times"]
"""Times as ``time.Parse`` of Go 1.26 reads them; None: it does not."""


@pytest.mark.parametrize(("text", "canonical"), RECORDED.items())
def test_go_reads_the_same(text: str, canonical: str | None) -> None:
    if canonical is None:
        with pytest.raises(ValueError, match=r"^parsing time"):
            canonical_timestamp(text)
    else:
        assert canonical_timestamp(text) == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2020-02-10T23:00:00Z", "2020-02-10T23:00:00Z"),
        ("2020-02-29T23:00:00.999999Z", "2020-02-29T23:00:00Z"),
        ("2020-02-10T23:00:00,9Z", "2020-02-10T23:00:00Z"),
        ("2020-02-10T3:00:00Z", "2020-02-10T03:00:00Z"),
        ("2020-02-10T23:00:00+02:00", "2020-02-10T21:00:00Z"),
        ("2020-02-10T23:30:00-01:30", "2020-02-11T01:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_times_are_written_in_utc_and_whole_seconds(text: str, canonical: str) -> None:
    assert canonical_timestamp(text) == canonical


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", ' as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        ("", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("2020-01-01", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2020-02-10t23:00:00z", ' as "2006-01-02T15:04:05Z07:00": cannot parse "t23:00:00z" as "T"'),
        ("2020-02-10T23:00:00+0200", ' as "2006-01-02T15:04:05Z07:00": cannot parse "+0200" as "Z07:00"'),
        ("2020-02-10T23:00:00Zx", ': extra text: "x"'),
        ("2020-13-01T00:00:00Z", ": month out of range"),
        ("2020-02-30T00:00:00Z", ": day out of range"),
        ("2020-02-10T24:00:00Z", ": hour out of range"),
        ("2020-02-10T23:60:00Z", ": minute out of range"),
        ("2020-02-10T23:00:60Z", ": second out of range"),
        ("2020-02-10T23:00:00+25:00", ": time zone offset hour out of range"),
        ("2020-02-10T23:00:00+23:61", ": time zone offset minute out of range"),
        ("0000-01-01T00:00:00Z", ": year out of range"),
        ("9999-12-31T23:59:59-01:00", ": year out of range"),
    ],
)
def test_what_is_no_time_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_timestamp(text)
    assert str(caught.value) == f'parsing time "{text}"{why}'


def test_clocks_are_written_as_times() -> None:
    assert format_timestamp(0) == "1970-01-01T00:00:00Z"
    assert format_timestamp(1_600_000_000.9) == "2020-09-13T12:26:40Z"
    assert parse_timestamp("1970-01-01T00:00:00Z") == datetime(1970, 1, 1, tzinfo=UTC)
