"""The text of metrics, as the Python client of Prometheus reads it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from extapi.server.exposition import Buckets, Family, exposition, wants_openmetrics

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=20)


def read(families: list[Family], *, as_openmetrics: bool) -> list[Any]:
    parse: Any = openmetrics.text_string_to_metric_families if as_openmetrics else text_string_to_metric_families
    return list(parse(exposition(families, openmetrics=as_openmetrics).decode()))


@pytest.mark.parametrize("as_openmetrics", [False, True])
@given(text=TEXTS, value=st.one_of(st.integers(0, 2**53), st.floats(0, allow_infinity=False)))
def test_any_text_can_be_the_value_of_a_label(as_openmetrics: bool, text: str, value: float) -> None:
    [family] = read(
        [Family("a_total", "counter", "A.", ("b", "c"), [((text, "x"), value)])], as_openmetrics=as_openmetrics
    )
    [sample] = family.samples
    assert (sample.name, sample.labels, sample.value) == ("a_total", {"b": text, "c": "x"}, value)
    assert (family.name, family.type) == ("a", "counter")  # the parser takes the suffix away


@pytest.mark.parametrize("as_openmetrics", [False, True])
@pytest.mark.parametrize("labels", [(), ("b",)])
def test_buckets_are_cumulative(as_openmetrics: bool, labels: tuple[str, ...]) -> None:
    value = Buckets((0.005, 1.0, 1e9), [3, 0, 2, 1], 12.5)
    family = Family("a_seconds", "histogram", "A.", labels, [(("x",)[: len(labels)], value)])
    [found] = read([family], as_openmetrics=as_openmetrics)
    buckets = [(float(sample.labels["le"]), sample.value) for sample in found.samples if sample.name.endswith("bucket")]
    assert buckets == [(0.005, 3), (1, 3), (1e9, 5), (math.inf, 6)]
    rest = {sample.name: sample.value for sample in found.samples if not sample.name.endswith("bucket")}
    assert rest == {"a_seconds_sum": 12.5, "a_seconds_count": 6}


def test_old_counters_have_no_suffix_but_in_openmetrics() -> None:
    """As Go's expfmt writes them: a parser of OpenMetrics takes no other."""
    family = Family("a_count", "counter", "A.", (), [((), 1)])
    assert exposition([family]).decode() == "# HELP a_count A.\n# TYPE a_count counter\na_count 1\n"
    [found] = read([family], as_openmetrics=True)
    assert [(sample.name, sample.value) for sample in found.samples] == [("a_count_total", 1)]


def test_bounds_are_written_as_go_writes_them() -> None:
    """Prometheus tells ``1`` from ``1.0``: two texts are two series. Observed on 1.36.3."""
    text = exposition([Family("a", "histogram", "A.", (), [((), Buckets((0.005, 1.0, 60.0), [0, 0, 0, 0], 0.0))])])
    assert [line.partition("} ")[0] for line in text.decode().splitlines() if "bucket" in line] == [
        f'a_bucket{{le="{bound}"' for bound in ("0.005", "1", "60", "+Inf")
    ]


@pytest.mark.parametrize(
    ("value", "expected"), [(1, "1"), (0.5, "0.5"), (math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN")]
)
def test_values(value: float, expected: str) -> None:
    assert exposition([Family("a", "gauge", "A\nb\\", (), [((), value)])]).decode() == (
        f"# HELP a A\\nb\\\\\n# TYPE a gauge\na {expected}\n"
    )


def test_a_family_without_samples_is_left_out() -> None:
    assert exposition([Family("a", "gauge", "A.", ("b",), [])]) == b""


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", False),
        ("*/*", False),
        ("text/plain;version=0.0.4", False),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", True),
        # What Prometheus 2 sends, and Prometheus 3.
        (
            "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,*/*;q=0.1",
            True,
        ),
        ("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.3", True),
        ("application/openmetrics-text;version=2.0.0", False),
        ("application/openmetrics-text;q=0", False),
        ("application/openmetrics-text;q=0.0", False),
        (";;;=,=;q", False),
    ],
)
def test_openmetrics_if_it_is_asked_for(accept: str, expected: bool) -> None:
    assert wants_openmetrics(accept) is expected
