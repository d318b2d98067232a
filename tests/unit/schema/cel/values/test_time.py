"""Times, as Go 1.26 reads and prints them; errors as kube-apiserver's own code gave them for values of a schema."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from extapi.schema.cel.values.time import (
    civil,
    days_until,
    format_timestamp,
    parse_date,
    parse_date_time,
    parse_timestamp,
    show_timestamp,
)
from extapi.schema.cel.values.values import Timestamp


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", "1970-01-01T00:00:00Z"),
        ("2023-07-14T10:30:45Z", "2023-07-14T10:30:45Z"),
        ("2023-07-14T10:30:45.123456789Z", "2023-07-14T10:30:45.123456789Z"),
        ("2023-07-14T10:30:45.120Z", "2023-07-14T10:30:45.12Z"),
        ("2023-07-14T10:30:45+02:00", "2023-07-14T10:30:45+02:00"),
        ("2023-07-14T10:30:45", "2023-07-14T10:30:45Z"),
        ("2023-07-14T10:30:45.5", "2023-07-14T10:30:45.5Z"),
        ("2023-07-14T1:30:45Z", "2023-07-14T01:30:45Z"),
        ("2023-07-14T10:30:45,5Z", "2023-07-14T10:30:45.5Z"),
        ("2023-07-14T10:30:45.1234567891Z", "2023-07-14T10:30:45.123456789Z"),
        ("2023-07-14T10:30:45+24:60", "2023-07-14T10:30:45+25:00"),
        ("2023-07-14T10:30:45-00:00", "2023-07-14T10:30:45Z"),
        ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00Z"),
        ("0000-01-01T00:00:00+02:00", "0000-01-01T00:00:00+02:00"),
    ],
)
def test_date_times(text: str, printed: str) -> None:
    value = parse_date_time(text)
    assert type(value) is Timestamp
    assert format_timestamp(value) == printed


LOCAL = '" as "2006-01-02T15:04:05": cannot parse '


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("2023-07-14t10:30:45z", f'2023-07-14t10:30:45z{LOCAL}"t10:30:45z" as "T"'),
        ("2023-07-14", f'2023-07-14{LOCAL}"" as "T"'),
        ("2023-13-14T10:30:45Z", '2023-13-14T10:30:45Z": month out of range'),
        ("2023-02-29T10:30:45Z", '2023-02-29T10:30:45Z": extra text: "Z"'),
        ("2023-02-29T10:30:45", '2023-02-29T10:30:45": day out of range'),
        ("2023-07-14T24:30:45Z", '2023-07-14T24:30:45Z": hour out of range'),
        ("2023-07-14T10:60:45Z", '2023-07-14T10:60:45Z": minute out of range'),
        ("2023-07-14T10:30:60Z", '2023-07-14T10:30:60Z": second out of range'),
        ("2023-07-14T10:30:45+25:00", '2023-07-14T10:30:45+25:00": extra text: "+25:00"'),
        (
            '2023-07-14T10:30:45Z\u00e9"\\',
            r'2023-07-14T10:30:45Z\xc3\xa9\"\\": extra text: "Z\xc3\xa9\"\\"',
        ),
        ("2023-07-14 10:30:45Z", f'2023-07-14 10:30:45Z{LOCAL}" 10:30:45Z" as "T"'),
        ("202-07-14T10:30:45Z", f'202-07-14T10:30:45Z{LOCAL}"202-07-14T10:30:45Z" as "2006"'),
        ("2023-7-14T10:30:45Z", f'2023-7-14T10:30:45Z{LOCAL}"7-14T10:30:45Z" as "01"'),
        ("2023-07-14T10:30:45.Z", '2023-07-14T10:30:45.Z": extra text: ".Z"'),
    ],
)
def test_bad_date_times(text: str, error: str) -> None:
    with pytest.raises(ValueError, match="parsing time") as raised:
        parse_date_time(text)
    assert str(raised.value) == f'parsing time "{error}'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("2023-07-14T10:30:45+0200", 'cannot parse "+0200" as "Z07:00"'),
        ("2023-07-14T10:30:45", 'cannot parse "" as "Z07:00"'),
        ("2023-07-14T10:30:45*02:00", 'cannot parse "*02:00" as "Z07:00"'),
        ("2023-07-14T10:30:45+ab:00", 'cannot parse "+ab:00" as "Z07:00"'),
        ("2023-07-14T10:30:45+25:00", "time zone offset hour out of range"),
        ("2023-07-14T10:30:45*25:00", "time zone offset hour out of range"),
        ("2023-07-14T10:30:45+00:61", "time zone offset minute out of range"),
        ("2023-02-30T10:30:45Z", "day out of range"),
        ("\u0662\u0660\u0662\u0663-07-14T10:30:45Z", 'as "2006"'),
    ],
)
def test_bad_timestamps(text: str, error: str) -> None:
    with pytest.raises(ValueError, match="parsing time") as raised:
        parse_timestamp(text)
    assert str(raised.value).endswith(error)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("2023-07-14", "2023-07-14T00:00:00Z"),
        ("2024-02-29", "2024-02-29T00:00:00Z"),
        ("0000-01-01", "0000-01-01T00:00:00Z"),
    ],
)
def test_dates(text: str, printed: str) -> None:
    assert format_timestamp(parse_date(text)) == printed


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("2023-02-29", '2023-02-29": day out of range'),
        ("2100-02-29", '2100-02-29": day out of range'),
        ("2023-7-14", '2023-7-14" as "2006-01-02": cannot parse "7-14" as "01"'),
        ("2023-07-1", '2023-07-1" as "2006-01-02": cannot parse "1" as "02"'),
        ("2023-07-144", '2023-07-144": extra text: "4"'),
        ("x", 'x" as "2006-01-02": cannot parse "x" as "2006"'),
        ("2023-00-10", '2023-00-10": month out of range'),
        ("2023-07-00", '2023-07-00": day out of range'),
    ],
)
def test_bad_dates(text: str, error: str) -> None:
    with pytest.raises(ValueError, match="parsing time") as raised:
        parse_date(text)
    assert str(raised.value) == f'parsing time "{error}'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2023-07-14T10:30:45.5Z", "2023-07-14 10:30:45.5 +0000 UTC"),
        ("2000-02-29T23:59:59+02:00", "2000-02-29 23:59:59 +0200 +0200"),
        ("2000-02-29T23:59:59-08:30", "2000-02-29 23:59:59 -0830 -0830"),
    ],
)
def test_times_in_messages(text: str, shown: str) -> None:
    assert show_timestamp(parse_timestamp(text)) == shown


def test_an_offset_does_not_change_when_it_is() -> None:
    assert parse_timestamp("2023-07-14T12:00:00+02:00") == parse_timestamp("2023-07-14T10:00:00Z")


def test_days_are_those_of_the_calendar() -> None:
    for number in range(-719_162, 2_932_896, 331):
        day = dt.date(1970, 1, 1) + dt.timedelta(days=number)
        found = civil(number)
        assert found == (day.year, day.month, day.day, day.timetuple().tm_yday)
        assert days_until(day.year, day.month, day.day) == number


def test_the_year_zero_is_a_leap_year() -> None:
    assert civil(days_until(0, 2, 29)) == (0, 2, 29, 60)
    assert civil(days_until(0, 1, 1) - 1) == (-1, 12, 31, 365)


@pytest.mark.parametrize("text", ["\u00e9" * 500_000, "2023-07-14T10:30:45." + "1" * 1_000_000, "1" * 1_000_000])
def test_a_long_text_is_read_once(text: str) -> None:
    before = time.process_time()
    with pytest.raises(ValueError, match="parsing time"):
        parse_timestamp(text)
    assert time.process_time() - before < 2


def test_a_fraction_may_be_long() -> None:
    assert parse_timestamp("1970-01-01T00:00:00." + "1" * 1_000_000 + "Z") == 111_111_111
