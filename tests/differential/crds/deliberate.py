"""What differs on purpose between what is served from a manifest here and by kube-apiserver, or is known to be missing.

An entry allows differences at its paths in its cases only, and has to be needed in each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.differential.deliberate import Deliberate, remaining

DELIBERATE: tuple[Deliberate, ...] = ()
BUILTIN: tuple[Deliberate, ...] = ()
"""What differs in the built-in control plane beside that."""


def allowed(case: str, among: Sequence[Deliberate] = DELIBERATE) -> tuple[Deliberate, ...]:
    """The entries of a case."""
    return tuple(entry for entry in among if case in entry.cases)


def needed(
    entry: Deliberate, case: str, among: Sequence[Deliberate], ours: Sequence[Any], theirs: Sequence[Any]
) -> bool:
    """Whether a conversation shows the difference that an entry allows."""
    others = [each for each in allowed(case, among) if each is not entry]
    left = [remaining(*answers, others) for answers in zip(ours, theirs, strict=True)]
    return any(one != other for one, other in left)
