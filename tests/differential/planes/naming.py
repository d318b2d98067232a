"""Conversations are named by topic and subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.differential.cases import Case
from tests.differential.side import Step

Steps = Step | Sequence[Step]
"""What is said in a conversation."""


def named(topics: Mapping[str, Mapping[str, Steps]]) -> dict[str, Case]:
    """Conversations by their names, each with its topic in front."""
    return {
        f"{topic}: {name}": Case((steps,) if isinstance(steps, Step) else tuple(steps))
        for topic, conversations in topics.items()
        for name, steps in conversations.items()
    }
