"""The lines of a function while it is written. Only Python can say whether they are right, so it is asked."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import pytest

from extapi.schema.cel.emit.writer import LONGEST, MOST_BLOCKS, MOST_LOOPS, FunctionWriter, NotWrittenError


def run(out: FunctionWriter, head: str = "def f(L=100, H=None):\n c = 0", **names: Any) -> Any:
    """What the function returns."""
    code = compile(out.source(head), "<test>", "exec")
    (function,) = (each for each in code.co_consts if hasattr(each, "co_code"))
    return FunctionType(out.bound(function), names, "f", (100, None))()


@pytest.mark.parametrize("value", ["text", b"bytes", 3, 2.5, "__import__('os')"])
def test_a_constant_stands_in_its_place(value: Any) -> None:
    out = FunctionWriter()
    out.line(f"return {out.constant(value)}")
    assert str(value) not in out.source("def f():")
    assert run(out) is value


def test_a_constant_with_methods_is_the_same_object() -> None:
    out = FunctionWriter()
    items: list[Any] = []
    out.line(f"{out.constant(items)}.append({out.constant('a')})")
    out.line(f"return {out.constant(len)}({out.constant('abc')})")
    assert run(out) == 3
    assert items == ["a"]


def test_constants_that_stand_side_by_side_are_found() -> None:
    out = FunctionWriter()
    one, other = out.constant("a"), out.constant("b")
    out.line(f"return ({one}, {other}, (1, {one}))")  # Python folds these into one
    assert run(out) == ("a", "b", (1, "a"))


def test_names_are_never_given_twice() -> None:
    out = FunctionWriter()
    assert len({out.name() for _ in range(50)}) == 50


def test_an_atom_is_evaluated_once() -> None:
    out = FunctionWriter()
    asked: list[int] = []
    found = out.atom("once()")
    assert out.atom(found) == found
    out.line(f"return {found}, {found}")

    def once() -> int:
        asked.append(1)
        return 7

    assert run(out, once=once) == (7, 7)
    assert asked == [1]


def test_a_long_expression_gets_a_line_of_its_own() -> None:
    out = FunctionWriter()
    assert out.short("1" * LONGEST) == "1" * LONGEST
    found = out.short("+".join(["1"] * LONGEST))
    assert len(found) < 10
    out.line(f"return {found}")
    assert run(out) == LONGEST


def test_costs_come_together() -> None:
    out = FunctionWriter()
    out.charge(2)
    out.charge(3)
    out.charge_text("4")
    out.flush()
    out.flush()
    out.line("return c")
    assert run(out) == 9
    assert out.source("").count("c += 5") == 1


@pytest.mark.parametrize(("taken", "cost"), [(True, 111), (False, 101)])
def test_a_cost_within_a_block_is_charged_if_it_is_run(taken: bool, cost: int) -> None:
    out = FunctionWriter()
    out.charge(1)
    with out.block(f"if {taken}:"):
        out.charge(10)
    out.charge(100)
    out.flush()
    out.line("return c")
    assert run(out) == cost


def test_the_limit_is_asked_for_with_all_that_has_been_charged() -> None:
    out = FunctionWriter()
    asked: list[int] = []

    def go_on(cost: int, _: object) -> int:
        asked.append(cost)
        return 1000

    out.charge(100)
    out.check_limit()  # not above it
    out.charge(1)
    out.check_limit()
    out.charge(1)
    out.check_limit()  # below the new limit
    out.charge(1)
    out.look_at_clock()
    out.line("return L")
    source = "def f(L=100, H=None):\n c = 0"
    assert run(out, source, go_on=go_on) == 1000
    assert asked == [101, 103]


def nest(out: FunctionWriter, head: str, depth: int, *, loop: bool) -> None:
    if depth == 0:
        out.line("return 7")
        return
    with out.block(head, loop=loop):
        nest(out, head, depth - 1, loop=loop)


@pytest.mark.parametrize(
    ("head", "loop", "most"), [("if True:", False, MOST_BLOCKS - 1), ("for x in (1,):", True, MOST_LOOPS)]
)
def test_blocks_nest_as_deeply_as_python_allows(head: str, loop: bool, most: int) -> None:
    out = FunctionWriter()
    nest(out, head, most, loop=loop)
    assert run(out) == 7
    with pytest.raises(NotWrittenError):
        nest(FunctionWriter(), head, most + 1, loop=loop)


def test_what_is_initialized_in_a_block_is_not_so_after_it() -> None:
    out = FunctionWriter()
    out.initialized = frozenset({"a"})
    with out.block("if True:"):
        out.initialized |= {"b"}
        out.line("pass")
    assert out.initialized == {"a"}
