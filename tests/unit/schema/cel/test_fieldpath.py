"""Which field paths a schema knows, and how errors print them."""

from __future__ import annotations

import pytest

from extapi.schema.cel.fieldpath import normalize_field_path
from extapi.schema.structural import from_openapi

SCHEMA = from_openapi(
    {
        "type": "object",
        "properties": {
            "a.b": {"type": "string"},
            "it's": {"type": "string"},
            "m": {
                "type": "object",
                "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}},
            },
            "l": {"type": "array", "items": {"type": "object", "properties": {"y": {"type": "string"}}}},
            "open": {"type": "object", "additionalProperties": True},
        },
    }
)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (".m", "m"),
        (".m.a", "m[a]"),
        (".m['a.b'].x", "m[a.b].x"),
        ("['m']", "m"),
        ("['m'].k['x']", "m[k].x"),
        (".m['a\\'b']", "m[a'b]"),
        (".m['\\\\ \\t']", "m[\\ \t]"),
        ("['a.b']", "a.b"),
        ("['it\\'s']", "it's"),
        (".l", "l"),
        (".open.any", "open[any]"),
    ],
)
def test_fields(path: str, wanted: str) -> None:
    assert normalize_field_path(path, SCHEMA) == wanted


@pytest.mark.parametrize(
    "path",
    [
        "m",
        ".",
        " ",
        ".nope",
        ".m ",
        "..m",
        ".a.b",
        ".l[0]",
        ".l[0].y",
        ".l.y",
        ".m['a'].nope",
        ".m.a.b",
        ".m[a]",
        ".m['a",
        ".m['a'",
        ".m[",
        ".m[']",
        ".m['a\\qb']",
        ".m['a']]",
        ".open.any.more",
        ".m['a'].x.y",
    ],
)
def test_no_fields(path: str) -> None:
    assert normalize_field_path(path, SCHEMA) is None


def test_a_long_path_takes_linear_time() -> None:
    assert normalize_field_path(".m['" + "\\" * 1_000_000, SCHEMA) is None
    assert normalize_field_path(".m" * 500_000, SCHEMA) is None
