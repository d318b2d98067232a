"""Graphs of stacks, merged as the Go runtime of ANTLR merges them."""

from __future__ import annotations

from extapi.schema.cel.syntax.mistakes.contexts import EMPTY, Contexts, ParserContext


def stacks(context: ParserContext) -> set[tuple[int, ...]]:
    """All stacks of a graph, tops first."""
    if not context.entries:
        return {()}
    return {(state, *rest) for state, below in context.entries for rest in stacks(below)}


def stack(contexts: Contexts, *states: int) -> ParserContext:
    """One stack, its bottom first."""
    made = EMPTY
    for state in states:
        made = contexts.push(made, state)
    return made


def test_equal_stacks_are_one_object() -> None:
    contexts = Contexts()
    assert stack(contexts, 1, 2) is stack(contexts, 1, 2)
    one, two = stack(contexts, 1, 3), stack(contexts, 2, 3)
    assert contexts.merge(one, two, full=True) is contexts.merge(two, one, full=True)


def test_merged_stacks_are_those_of_both() -> None:
    contexts = Contexts()
    merged = contexts.merge(stack(contexts, 1, 3), stack(contexts, 2, 3), full=True)
    merged = contexts.merge(merged, stack(contexts, 1, 4), full=True)
    assert stacks(merged) == {(3, 1), (3, 2), (4, 1)}
    assert [state for state, _ in merged.entries] == [3, 4]


def test_an_empty_stack_stands_for_any_unless_the_rules_around_are_known() -> None:
    contexts = Contexts()
    one = stack(contexts, 1)
    assert contexts.merge(EMPTY, one, full=False) is EMPTY
    assert contexts.merge(one, EMPTY, full=False) is EMPTY
    assert contexts.merge(EMPTY, one, full=True) is one
    assert contexts.merge(one, EMPTY, full=True) is one
    assert stacks(contexts.merge(stack(contexts, 7), stack(contexts, 1, 7), full=False)) == {(7,)}
