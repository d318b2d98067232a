"""Plays conversations on all sides at once; those that wait for clocks are all played together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from tests.differential.cases import Case
from tests.differential.side import Side

Answers = tuple[list[Any], ...]
"""Of each side, one for each step; theirs come last."""


@contextmanager
def conversing(
    cases: Mapping[str, Case], connect: Callable[[], tuple[Side, ...]]
) -> Iterator[Callable[[str], Answers]]:
    """Play the case of a name, once; ``connect`` opens connections to our sides and to theirs."""
    numbers = {name: f"case-{number}" for number, name in enumerate(cases)}
    fast = connect()
    slow: dict[str, Future[Answers]] = {}
    answers: dict[str, Answers] = {}
    with ThreadPoolExecutor(len(fast)) as together, ThreadPoolExecutor(16) as many:

        def alone(name: str) -> Answers:
            sides = connect()
            found = tuple(side.play(numbers[name], cases[name].steps) for side in sides)
            for side in sides:
                side.close()
            return found

        def play(name: str) -> Answers:
            if name in answers:
                return answers[name]
            if cases[name].slow:
                if not slow:
                    slow.update({each: many.submit(alone, each) for each, case in cases.items() if case.slow})
                answers[name] = slow[name].result()
            else:
                futures = [together.submit(side.play, numbers[name], cases[name].steps) for side in fast]
                answers[name] = tuple(future.result() for future in futures)
            return answers[name]

        yield play
    for side in fast:
        side.close()
