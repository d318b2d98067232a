"""Time zones, as cel-go 0.26.0 looks them up."""

from __future__ import annotations

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values import zones
from extapi.schema.cel.values.arithmetic import TIMESTAMP_MAX, TIMESTAMP_MIN
from extapi.schema.cel.values.time import parse_timestamp

SUMMER = parse_timestamp("2023-07-14T10:30:45.123Z")
WINTER = parse_timestamp("2023-01-14T10:30:45.123Z")


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        ("", 0),
        ("UTC", 0),
        ("Local", 0),
        ("America/Los_Angeles", -7 * 3600),
        ("Europe/Berlin", 2 * 3600),
        ("Asia/Kolkata", 19_800),
        ("+02:00", 7200),
        ("02:00", 7200),
        ("-08:30", -30_600),
        ("-00:30", -1800),
        ("+1:5", 3900),
    ],
)
def test_offsets(zone: str, offset: int) -> None:
    assert zones.offset_at(SUMMER, zone) == offset


def test_a_large_offset_overflows_as_in_go() -> None:
    epoch = parse_timestamp("1970-01-01T00:00:00Z")
    assert zones.year(epoch, "2562047:00") == 2262
    assert zones.year(epoch, "2562048:00") == 1677
    assert zones.hours(epoch, "2562048:00") == 0


def test_summer_time() -> None:
    assert zones.offset_at(WINTER, "Europe/Berlin") == 3600


@pytest.mark.parametrize(
    ("zone", "error"),
    [
        ("Nowhere", "unknown time zone Nowhere"),
        ("europe/berlin", "unknown time zone europe/berlin"),
        ("../etc/passwd", "time: invalid location name"),
        ("/etc/passwd", "time: invalid location name"),
        ("\\x", "time: invalid location name"),
        ("America", "is a directory"),
        ("zone.tab", "malformed time zone information"),
        ("x:1", 'strconv.Atoi: parsing "x": invalid syntax'),
        ("1:", 'strconv.Atoi: parsing "": invalid syntax'),
        (":30", 'strconv.Atoi: parsing "": invalid syntax'),
        ("+99999999999999999999:00", 'strconv.Atoi: parsing "+99999999999999999999": value out of range'),
    ],
)
def test_unknown_zones(zone: str, error: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        zones.hours(SUMMER, zone)
    assert str(raised.value) == error


def test_parts_of_a_time() -> None:
    assert [
        zones.year(SUMMER),
        zones.month(SUMMER),
        zones.day_of_year(SUMMER),
        zones.day_of_month(SUMMER),
        zones.date(SUMMER),
        zones.day_of_week(SUMMER),
        zones.hours(SUMMER),
        zones.minutes(SUMMER),
        zones.seconds(SUMMER),
        zones.milliseconds(SUMMER),
    ] == [2023, 6, 194, 13, 14, 5, 10, 30, 45, 123]


def test_parts_elsewhere() -> None:
    start = parse_timestamp("2023-01-01T05:30:00Z")
    zone = "America/Los_Angeles"
    assert zones.year(start, zone) == 2022
    assert zones.month(start, zone) == 11
    assert zones.day_of_year(start, zone) == 364
    assert zones.date(start, zone) == 31
    assert zones.day_of_week(start, zone) == 6
    assert zones.hours(start, zone) == 21


def test_the_ends_of_the_calendar() -> None:
    assert zones.year(TIMESTAMP_MIN, "America/Los_Angeles") == 0
    assert zones.year(TIMESTAMP_MAX, "Asia/Kolkata") == 10_000
    assert zones.milliseconds(TIMESTAMP_MAX) == 999


def test_the_zone_is_looked_up_even_if_it_does_not_matter() -> None:
    with pytest.raises(EvaluationError, match=r"^unknown time zone Nowhere$"):
        zones.milliseconds(SUMMER, "Nowhere")
