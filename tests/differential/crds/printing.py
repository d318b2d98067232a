"""Tables: every type of column with every type of value, and paths of every sort."""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, Step, told
from tests.differential.side import get

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
TYPES = Resource("tabled", "Tabled")
PATHS, NAMED, BARE = (TYPES.through(version) for version in ("v2", "v3", "v4"))

VALUES: tuple[Any, ...] = (
    0, 1, -7, 1.5, 2.0, 1e21, 1e-9, 123456789012, 2147483648, 9007199254740993, True, False, None, "", "a", "1", "1.5", "true",
    "2026-01-02T03:04:05Z", "2020-01-02", "3000-01-01T00:00:00Z", "x" * 300, "a\nb\tc", "\u00e4\U0001f600", "\u001b[31m",
    [], [1], [1, "a", None], ["a", "b"], {}, {"a": 1}, {"b": [True], "a": {"c": "<&>"}}, [[1, 2], [3]], [{"a": "b"}], "YWJj",
)  # fmt: skip

FEW: tuple[Any, ...] = ("a", 1, None, [1])
ROWS: tuple[Any, ...] = (1, "a", None, {}, 2.5)

OBJECTS: dict[str, dict[str, Any]] = {
    "everything": {
        "list": ["a", "b", "c", "d"],
        "items": [{"type": "Ready", "status": "True", "n": 1}, {"type": "Other", "status": "False", "n": 2}, {"type": "Last"}],
        "map": {"a.b": "dotted", "deepest": "d"},
        "single": {"only": "s"},
    },
    "numbers": {"list": [1, 2.5, True], "items": [{"type": 1, "n": 1.5}, {"n": 3}], "map": {"a.b": 1}},
    "other types": {"list": {"a": 1}, "items": "text", "map": ["x", "y"]},
    "empty": {"list": [], "items": [], "map": {}},
    "nulls": {"list": [None, None], "items": [None, {"type": None, "n": None}], "map": {"a.b": None}},
    "one": {"list": ["only"], "items": [{"type": "Ready"}], "map": {"x": {"deepest": {"deepest": 1}}}},
    "deep": {"list": [["a"], {"b": "c"}], "items": [{"type": "Ready", "status": {"x": [1]}}], "map": {"y": [{"deepest": 1}, {"deepest": 2}]}},
    "texts of numbers": {"items": [{"type": "Ready", "n": "2"}, {"type": "B", "n": "10"}, {"type": "C", "n": True}]},
}  # fmt: skip


def tabled(resource: Resource, spec: Any, **meta: Any) -> tuple[Step, ...]:
    """An object, as a table in every way."""
    return (
        TYPES.make(spec=spec, meta=meta),
        resource.see(accept=TABLE),
        resource.all(accept=TABLE),
    )


TALKS: dict[str, Any] = {
    **{f"value {position}": tabled(TYPES, {"v": value}) for position, value in enumerate(VALUES)},
    **{
        f"paths of {name}": tabled(PATHS, spec, labels={"app": "a"}, annotations={"manifests.test/a": "b"})
        for name, spec in OBJECTS.items()
    },
    **{f"named {position}": tabled(NAMED, {"v": value}) for position, value in enumerate(FEW)},
    "nothing there": tabled(TYPES, {}),
    "spec of another type": (TYPES.make(), TYPES.all(accept=TABLE), PATHS.all(accept=TABLE), NAMED.all(accept=TABLE)),
    "no columns": tabled(BARE, {"v": 1}),
    "writes as tables": (
        TYPES.make(spec={"v": 1}),
        TYPES.change({"spec": {"v": "a"}}),
        get(TYPES.at("one", "?includeObject=Object"), TABLE),
        get(TYPES.at("one", "?includeObject=None"), TABLE),
        get(f"{PATHS.path}?includeObject=None", TABLE),
        get(f"{PATHS.path}?limit=1", TABLE),
    ),
    "watched": (
        TYPES.make(spec={"v": 1}),
        get(f"{TYPES.path}?watch=1&timeoutSeconds=1", TABLE),
        get(f"{PATHS.path}?watch=1&timeoutSeconds=1&includeObject=None", TABLE),
    ),
    "several rows": (
        *(TYPES.make(f"n{number}", spec={"v": value}) for number, value in enumerate(ROWS)),
        TYPES.all(accept=TABLE),
        NAMED.all(accept=TABLE),
        PATHS.all("&limit=2", accept=TABLE),
    ),
}

CASES = told(TYPES, TALKS)
