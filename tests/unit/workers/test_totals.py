"""The metrics of several processes as those of one server."""

from __future__ import annotations

from extapi.server.exposition import Buckets, Family, exposition
from extapi.workers import totals


def families(requests: int, *, passes: int = 1, started: float = 5.0, objects: int = 7) -> list[Family]:
    buckets = Buckets((0.1, 1), (requests, 1, 0), 0.5 * requests)
    return [
        Family("apiserver_request_total", "counter", "Requests.", ("code",), [(("200",), requests)]),
        Family("apiserver_request_duration_seconds", "histogram", "Time.", ("verb",), [(("GET",), buckets)]),
        Family("apiserver_current_inflight_requests", "gauge", "Now.", ("kind",), [(("readOnly",), requests)]),
        Family("apiserver_storage_objects", "gauge", "Objects.", ("resource",), [(("pizzas",), objects)]),
        Family("kubernetes_healthcheck", "gauge", "Check.", ("name",), [(("ping",), passes)]),
        Family("process_start_time_seconds", "gauge", "Start.", (), [((), started)]),
    ]


def test_counts_are_sums_and_what_is_the_same_everywhere_is_said_once() -> None:
    text = exposition(totals.total([families(3), families(4, passes=0, started=9.0, objects=8)])).decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines == [
        'apiserver_request_total{code="200"} 7',
        'apiserver_request_duration_seconds_bucket{verb="GET",le="0.1"} 7',
        'apiserver_request_duration_seconds_bucket{verb="GET",le="1"} 9',
        'apiserver_request_duration_seconds_bucket{verb="GET",le="+Inf"} 9',
        'apiserver_request_duration_seconds_sum{verb="GET"} 3.5',
        'apiserver_request_duration_seconds_count{verb="GET"} 9',
        'apiserver_current_inflight_requests{kind="readOnly"} 7',
        'apiserver_storage_objects{resource="pizzas"} 8',
        'kubernetes_healthcheck{name="ping"} 0',
        "process_start_time_seconds 5.0",
    ]


def test_series_that_one_process_alone_has_are_there() -> None:
    alone = Family("apiserver_request_total", "counter", "Requests.", ("code",), [(("404",), 1)])
    other = Family("extra_total", "counter", "More.", (), [((), 2)])
    found = totals.total([families(3)[:1], [alone, other]])
    assert [(family.name, family.samples) for family in found] == [
        ("apiserver_request_total", [(("200",), 3), (("404",), 1)]),
        ("extra_total", [((), 2)]),
    ]


def test_they_pass_between_processes_as_they_are() -> None:
    """Whole numbers stay whole: they are written as such."""
    assert exposition(totals.read(totals.write(families(3)))) == exposition(families(3))
