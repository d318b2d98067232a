"""Stacks of the states to which rules return, many at once as a graph.

Equal stacks are the same object.
"""

from __future__ import annotations

from typing import Final


class ParserContext:
    """Stacks with different tops: for each its state, and the stacks below."""

    __slots__ = ("entries",)

    def __init__(self, entries: tuple[tuple[int, ParserContext], ...]) -> None:
        self.entries = entries


EMPTY: Final = ParserContext(())
"""The empty stack."""


class Contexts:
    """Makes stacks.

    Source: ``antlr4-go/antlr`` PredictionContext, merge.
    """

    __slots__ = ("_made", "_merged")

    def __init__(self) -> None:
        self._made: dict[tuple[tuple[int, int], ...], ParserContext] = {}
        self._merged: dict[tuple[int, int, bool], ParserContext] = {}

    def of(self, entries: tuple[tuple[int, ParserContext], ...]) -> ParserContext:
        """Stacks with these tops."""
        key = tuple((state, id(below)) for state, below in entries)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = ParserContext(entries)
        return found

    def push(self, below: ParserContext, state: int) -> ParserContext:
        """Stacks with one more state."""
        return self.of(((state, below),))

    def merge(self, left: ParserContext, right: ParserContext, *, full: bool) -> ParserContext:
        """The stacks of both.

        Args:
            left: Stacks.
            right: Stacks.
            full: Whether the rules around are known. If not, the empty stack stands for any other. If so, the Go runtime
                forgets it beside another.
        """
        if left is right:
            return left
        if left is EMPTY or right is EMPTY:
            return (right if left is EMPTY else left) if full else EMPTY
        key = (id(left), id(right), full)
        found = self._merged.get(key)
        if found is None:
            found = self._merged[key] = self._union(left, right, full=full)
        return found

    def _union(self, left: ParserContext, right: ParserContext, *, full: bool) -> ParserContext:
        entries = dict(left.entries)
        for state, below in right.entries:
            known = entries.get(state)
            entries[state] = below if known is None else self.merge(known, below, full=full)
        return self.of(tuple(sorted(entries.items(), key=lambda entry: entry[0])))
