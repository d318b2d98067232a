"""What is wrong with what an author has declared: the one error of types, kinds, groups and APIs that cannot be served."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self, TypeVar

T = TypeVar("T")


class Problem(str):
    """One line of a :class:`DeclarationError`. Where it is about a field of a class, it knows both, for file and line."""

    __slots__ = ("field", "owner")
    owner: type | None
    field: str

    def __new__(cls, text: str, owner: type | None = None, field: str = "") -> Self:
        """``text`` names class and field already."""
        made = super().__new__(cls, text)
        made.owner, made.field = owner, field
        return made


class DeclarationError(ValueError):
    """An author's declaration cannot be served. The text has one line per problem, each with what to write instead.

    A mistake of the author's, told without a traceback. Any other ``ValueError`` at start is a bug, theirs or ours.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems

    @classmethod
    def of(cls, problems: Iterable[str]) -> DeclarationError:
        """One error of many problems."""
        return cls(*problems)


def refuse(problems: Iterable[str]) -> None:
    """Raises a :class:`DeclarationError` of the problems, if there are any."""
    if found := tuple(problems):
        raise DeclarationError(*found)


class Declarations:
    """Collects what is wrong while one part after the other is made, so that an author reads all of it at once."""

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}

    def add(self, *problems: str) -> None:
        """Keep problems; the same one (of a class that two kinds share) is told once."""
        for problem in problems:
            self._problems.setdefault(problem, problem)

    def make(self, make: Callable[[], T]) -> T | None:
        """What ``make`` returns; None if it raises a :class:`DeclarationError`, whose problems are kept."""
        try:
            return make()
        except DeclarationError as error:
            self.add(*error.problems)
            return None

    def check(self) -> None:
        """Raises all that was collected, as one :class:`DeclarationError`."""
        refuse(self._problems.values())
