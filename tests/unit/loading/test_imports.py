"""What a module imports, and what depends on it: an edge too many costs a watch, one too few serves old code."""

from __future__ import annotations

from types import ModuleType

import pytest

from extapi.loading.imports import dependents, imports_of


def modules() -> dict[str, ModuleType]:
    made = {name: ModuleType(name) for name in ("a", "a.b", "a.b.c", "a.d", "e")}
    made["a"].b, made["a"].d = made["a.b"], made["a.d"]  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize(
    ("source", "bound", "expected"),
    [
        ("import e", {}, {"e"}),
        ("import a.d", {}, {"a", "a.b", "a.b.c", "a.d"}),  # all of them are attributes of a
        ("import a.b as x", {}, {"a.b", "a.b.c"}),
        ("from a import d", {"d": "a.d"}, {"a.d"}),
        ("from a import d", {"d": None}, {"a", "a.d"}),  # an attribute of that name hides the module
        ("from a import d as x", {"x": "a.d"}, {"a.d"}),
        ("from a import thing", {}, {"a"}),
        ("from a import *", {}, {"a"}),
        ("from a.b.c import thing", {}, {"a.b.c"}),
        ("def late():\n    from e import thing", {}, {"e"}),
        ("import json, os.path", {}, set()),
        ("import importlib\nimportlib.import_module('e')", {}, {"a", "a.b", "a.b.c", "a.d", "e"}),
        ("x = (", {}, {"a", "a.b", "a.b.c", "a.d", "e"}),
    ],
)
def test_imports_are_what_a_module_may_have_got_something_from(
    source: str, bound: dict[str, str | None], expected: set[str]
) -> None:
    found = modules()
    module = ModuleType("z")
    for name, target in bound.items():
        setattr(module, name, found[target] if target else object())
    assert imports_of(module, source, found) == expected


@pytest.mark.parametrize(
    ("package", "source", "expected"),
    [
        ("a", "from . import d", {"a", "a.d"}),
        ("a", "from .d import thing", {"a.d"}),
        ("a.b", "from ..d import thing", {"a.d"}),
        ("a.b", "from .c import thing", {"a.b.c"}),
    ],
)
def test_relative_imports_begin_at_the_package(package: str, source: str, expected: set[str]) -> None:
    module = ModuleType("z")
    module.__package__ = package
    assert imports_of(module, source, modules()) == expected


def test_dependents_are_found_through_others_and_in_circles() -> None:
    imports = {"api": {"kinds"}, "kinds": {"types"}, "types": {"kinds"}, "other": set[str](), "base": set[str]()}
    assert dependents({"types"}, imports) == {"types", "kinds", "api"}
    assert dependents({"base"}, imports) == {"base"}
