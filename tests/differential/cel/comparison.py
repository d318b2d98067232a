"""What is the same on both sides and what is not, counted per aspect; and the list of what may differ."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

LISTED: Final = Path(__file__).parent / "disagreements.toml"
TOLERATED: Final = {"syntax error text": 0.15}
"""The share of each aspect that may differ unlisted: the original's parser recovers from mistakes in ways of its own."""
_SELF_TYPE: Final = re.compile(r"selfType\d+")


def blanked(text: str) -> str:
    """A text without the number in the names that kube-apiserver generates for types."""
    return _SELF_TYPE.sub("selfType", text)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same."""

    corpus: str
    name: str
    aspect: str
    shown: str
    """What was asked."""
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.corpus}, {self.name}: {self.aspect}\n    {self.shown}\n    theirs {self.theirs!r}\n    ours   {self.ours!r}"


@dataclass
class Comparison:
    """Of one corpus."""

    corpus: str
    same: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    agreed: set[tuple[str, str]] = field(default_factory=set)
    """What is the same, by name and aspect."""

    def note(
        self,
        aspect: str,
        name: str,
        shown: str,
        theirs: Any,
        ours: Any,
        again: Callable[[], Iterable[Any]] | None = None,
    ) -> bool:
        """Count whether an aspect is the same.

        Args:
            again: What else they answer at times, since Go walks through maps in random order. Asked of a difference only.
        """
        if theirs == ours or (again is not None and any(each == ours for each in again())):
            self.same[aspect] = self.same.get(aspect, 0) + 1
            self.agreed.add((name, aspect))
            return True
        self.differences.append(Difference(self.corpus, name, aspect, shown, theirs, ours))
        return False

    def rows(self) -> Iterator[tuple[str, int, int]]:
        """Aspect, same, different."""
        aspects = dict.fromkeys((*self.same, *(each.aspect for each in self.differences)))
        for aspect in aspects:
            yield aspect, self.same.get(aspect, 0), sum(each.aspect == aspect for each in self.differences)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One that is known, with its reason."""

    corpus: str
    name: str
    aspect: str
    reason: str


def disagreements(path: Path = LISTED) -> list[Disagreement]:
    """Those that are listed."""
    return [Disagreement(**each) for each in tomllib.loads(path.read_text(encoding="utf-8")).get("disagreement", ())]


def unlisted(comparison: Comparison, listed: Iterable[Disagreement]) -> list[str]:
    """The differences that are not listed, and what is listed of this corpus and is none."""
    expected = {(each.corpus, each.name, each.aspect) for each in listed if each.corpus == comparison.corpus}
    tolerated = {
        aspect
        for aspect, same, different in comparison.rows()
        if different <= TOLERATED.get(aspect, 0) * (same + different)
    }
    found = {
        (each.corpus, each.name, each.aspect): each for each in comparison.differences if each.aspect not in tolerated
    }
    return [
        *(str(each) for key, each in found.items() if key not in expected),
        *(
            f"{', '.join(key)}: is the same, and yet listed"
            for key in sorted(expected - found.keys())
            if key[1:] in comparison.agreed
        ),
    ]
