"""The API reference is what the generator makes of the code now, and the generator leaves nothing out."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest

import extapi
import extapi.testing
from tests.docs import apireference, definitions, docstrings, signatures
from tests.docs.samples import blocks


def names() -> Iterator[tuple[str, str]]:
    for module in ("extapi", "extapi.testing"):
        for name in importlib.import_module(module).__all__:
            yield module, name


def callables() -> Iterator[Any]:
    for module, name in names():
        value = getattr(importlib.import_module(module), name)
        protocol = getattr(value, "_is_protocol", False)
        made = inspect.isclass(value) or inspect.isfunction(value)
        if made and name not in definitions.GIVEN and not protocol and not _is_enum(value):
            yield pytest.param(module, name, id=name)


def _is_enum(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Enum)


def test_the_page_is_what_the_code_says() -> None:
    there = apireference.PAGE.read_text(encoding="utf-8")
    assert there == apireference.page(), f"{apireference.PAGE.name} is stale; write it anew: {apireference.COMMAND}"


@pytest.mark.parametrize(("module", "name"), list(names()))
def test_every_name_has_a_text(module: str, name: str) -> None:
    """And so has each method of it that is shown."""
    entry = apireference._entry(definitions.definition(module, name))
    head, *members = re.split(r"^#### ", entry, flags=re.MULTILINE)
    assert re.search(r"^```\n\n?[^\n#-]", head, re.MULTILINE), f"{name} has no docstring"
    for member in members:
        _, _, text = member.partition("\n")
        assert re.sub(r"```text\n.*?```", "", text, flags=re.DOTALL).strip(), f"{name}: {member}"


@pytest.mark.parametrize(("module", "name"), list(callables()))
def test_signatures_are_what_python_calls(module: str, name: str) -> None:
    """Of the source, they are held to what ``inspect`` finds at run time."""
    value = getattr(importlib.import_module(module), name)
    found = definitions.definition(module, name)
    shown = (
        signatures.constructor(found) if isinstance(found.node, ast.ClassDef) else signatures.signature(found.node)  # type: ignore[arg-type]  # callables are classes and functions
    )
    if shown.startswith("class "):
        return  # what has no parameters, or those of another class
    call = ast.parse("def " + re.sub(r"\) -> .*|\)$", "): ...", " ".join(shown.split()).replace(", )", ")"))).body[0]
    assert isinstance(call, ast.FunctionDef)
    told = {
        **{each.arg: True for each in call.args.args},
        **{each.arg: False for each in call.args.kwonlyargs},
        **{each.arg: None for each in (call.args.vararg, call.args.kwarg) if each is not None},
    }
    places: dict[Any, bool] = {
        inspect.Parameter.POSITIONAL_OR_KEYWORD: True,
        inspect.Parameter.POSITIONAL_ONLY: True,
        inspect.Parameter.KEYWORD_ONLY: False,
    }
    hidden = definitions.INTERNAL.get(name, set())
    parameters = inspect.signature(value).parameters.values()
    assert told == {each.name: places.get(each.kind) for each in parameters if each.name not in hidden}


def test_what_the_promise_does_not_group_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a new name is there before somebody finds its place."""
    monkeypatch.setattr(extapi, "__all__", [*extapi.__all__, "newcomer"])
    assert list(apireference.groups().items())[-1] == ("Further names", ["newcomer"])


def test_docstrings_become_markdown() -> None:
    text = """
    What it does, to ``this``: see :class:`~extapi.Kind` and :meth:`each`.

    More of it.

    Args:
        name: What is
            called so.
        *others: Likewise,
            and ``more``.

    Returns:
        The whole, which
        is long.

    Raises:
        ValueError: It is wrong.
        extapi.Conflict: Somebody was faster.

    Source: somewhere.

    Example::

        a = 1

        b = 2

    The end.
    """
    assert docstrings.paragraphs(inspect.cleandoc(text)) == (
        "What it does, to `this`: see [`Kind`](#kind) and `each`.\n"
        "\n"
        "More of it.\n"
        "\n"
        "- `name`: What is called so.\n"
        "- `*others`: Likewise, and `more`.\n"
        "- returns: The whole, which is long.\n"
        "- raises `ValueError`: It is wrong.\n"
        "- raises [`Conflict`](#conflict): Somebody was faster.\n"
        "\n"
        "Source: somewhere.\n"
        "\n"
        "```python\n"
        "a = 1\n"
        "\n"
        "b = 2\n"
        "```\n"
        "\n"
        "The end.\n"
    )


def test_the_types_of_the_samples_compile() -> None:
    """An example of a marker that the server refuses would be worse than none."""
    known: dict[str, Any] = {"__name__": "page"}
    for block in blocks(apireference.PAGE):
        if block.language == "python":
            exec(compile(block.text, "page", "exec", dont_inherit=True), known)  # noqa: S102 - our own page
    structs = [
        each
        for each in known.values()
        if isinstance(each, type) and issubclass(each, extapi.Struct) and each.__module__ == "page"
    ]
    assert len(structs) > 10
    for each in structs:
        made = type("Sample", (extapi.Object,), {"__annotations__": {"spec": each}})
        kind = extapi.Kind("Sample", storage="v1", versions={"v1": extapi.Version(made)})
        with extapi.testing.serve(extapi.Api(extapi.Group("samples.example.com", kind))):
            pass
