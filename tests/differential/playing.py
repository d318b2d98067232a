"""Plays conversations on both sides at once; those that wait for clocks are all played together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from tests.differential.cases import Case
from tests.differential.side import Side

Answers = tuple[list[Any], list[Any]]
"""Ours and theirs, one for each step."""


@contextmanager
def conversing(cases: Mapping[str, Case], pair: Callable[[], tuple[Side, Side]]) -> Iterator[Callable[[str], Answers]]:
    """Play the case of a name, once; ``pair`` opens connections to our side and to theirs."""
    numbers = {name: f"case-{number}" for number, name in enumerate(cases)}
    fast = pair()
    slow: dict[str, Future[Answers]] = {}
    answers: dict[str, Answers] = {}
    with ThreadPoolExecutor(2) as both, ThreadPoolExecutor(16) as many:

        def alone(name: str) -> Answers:
            sides = pair()
            ours, theirs = (side.play(numbers[name], cases[name].steps) for side in sides)
            for side in sides:
                side.close()
            return ours, theirs

        def play(name: str) -> Answers:
            if name in answers:
                return answers[name]
            if cases[name].slow:
                if not slow:
                    slow.update({each: many.submit(alone, each) for each, case in cases.items() if case.slow})
                answers[name] = slow[name].result()
            else:
                ours, theirs = (both.submit(side.play, numbers[name], cases[name].steps) for side in fast)
                answers[name] = ours.result(), theirs.result()
            return answers[name]

        yield play
    for side in fast:
        side.close()
