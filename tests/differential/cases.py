"""All cases: each a conversation of a few steps that both sides have to answer alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.differential.side import Step, get, post, probe

Conversation = Step | Sequence[Step]


@dataclass(frozen=True)
class Case:
    """Steps that are sent after the objects ``one`` and ``two`` were made, and are followed by a look at what is there."""

    steps: Sequence[Step]

    @property
    def slow(self) -> bool:
        """Whether it waits: for a watch's end, for a revision that does not come, or for controllers."""
        return any("timeoutSeconds=" in step.path or "99999999999" in step.path or step.awaits for step in self.steps)


GIVEN = (
    post(probe("one", meta={"labels": {"app": "a", "which": "one"}}, parts=[{"name": "x"}], tags=["p"])),
    post(probe("two", meta={"labels": {"app": "a", "which": "two"}}, size=2)),
)


def cases(steps: Mapping[str, Conversation]) -> dict[str, Case]:
    """Cases by their names; what they may have written is read at the end."""
    return {name: _case([found] if isinstance(found, Step) else found) for name, found in steps.items()}


def _case(steps: Sequence[Step]) -> Case:
    after = () if all(step.method == "GET" for step in steps) else (get(),)
    return Case((*GIVEN, *steps, *after))
