"""Texts of errors.

mistakes.json has cel-go 0.26.0's in the environment of k8s.io/apiserver 0.36.3, plain.json those of its parser with
``cel.StandardMacros`` and without optional types.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extapi.schema.cel.errors import CompileError
from extapi.schema.cel.syntax.macros import ALL, Macros
from extapi.schema.cel.syntax.mistakes.report import mistakes_in
from extapi.schema.cel.syntax.parser import parse
from extapi.schema.cel.syntax.source import failure

NONE = Macros(optional=False, two_variables=False, sort_by=False)


def cases(name: str) -> list[tuple[str, str]]:
    """The expressions of a file with their errors."""
    found: list[tuple[str, str]] = json.loads(Path(__file__).with_name(name).read_text())
    return found


@pytest.mark.parametrize(("text", "error"), cases("mistakes.json"))
def test_an_expression_is_refused_in_cel_gos_words(text: str, error: str) -> None:
    with pytest.raises(CompileError) as refused:
        parse(text)
    assert str(refused.value) == error


@pytest.mark.parametrize(("text", "error"), cases("plain.json"))
def test_an_expression_is_refused_in_cel_gos_words_without_optional_types(text: str, error: str) -> None:
    with pytest.raises(CompileError) as refused:
        parse(text, NONE)
    assert str(refused.value) == error


@pytest.mark.parametrize(
    "text", ["a.b(c)[d] + -1", "a ? [b] : {c: d}", "T{x: 1}.all(x, has(x.y))", "a.?b.optMap(x, x)"]
)
def test_nothing_is_wrong_with_an_expression(text: str) -> None:
    assert mistakes_in(text, ALL) == []


def test_the_automaton_finds_by_itself_what_is_too_deep() -> None:
    for text, message in {
        "(" * 250: "expression recursion limit exceeded: 250",
        "a" + ".b" * 251: "max recursion depth exceeded",
    }.items():
        assert mistakes_in(text, ALL) == [(-1, message)]


@pytest.mark.parametrize(
    ("text", "count", "last"),
    [
        ("#" * 99, 100, "Syntax error: mismatched input '<EOF>' expecting"),
        ("#" * 100, 101, "Syntax error: More than 100 syntax errors"),
        ("#" * 150, 101, "Syntax error: More than 100 syntax errors"),
        ("f(1 2) && " * 30 + "x", 30, "Syntax error: extraneous input '2' expecting ')'"),
        ("f(1 2) && " * 31 + "x", 31, "Syntax error: error recovery attempt limit exceeded: 30"),
        ("a " * 257, 1, "Syntax error: mismatched input 'a' expecting <EOF>"),
        ("a " * 258, 2, "error recovery token lookahead limit exceeded: 256"),
    ],
    ids=lambda each: None if isinstance(each, int) else each[:12],
)
def test_cel_gos_limits(text: str, count: int, last: str) -> None:
    found = mistakes_in(text, ALL)
    assert len(found) == count
    assert found[-1].message.startswith(last)


def test_mistakes_beyond_the_hundredth_are_counted() -> None:
    text = str(failure("if && " * 110 + "a", mistakes_in("if && " * 110 + "a", ALL)))
    assert text.count("reserved identifier: if") == 100
    assert text.endswith("\n10 more errors were truncated")


def test_a_text_that_is_too_long_is_left_to_the_parser() -> None:
    assert mistakes_in("!" * 50_000, ALL) == []
