"""The error of a declaration that cannot be served: types, kinds, groups and APIs raise it, with all problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self, TypeVar

T = TypeVar("T")


class Problem(str):
    """One line of a :class:`DeclarationError`.

    If it is about a field of a class it knows both, to find file and line.
    """

    __slots__ = ("field", "owner")
    owner: type | None
    field: str

    def __new__(cls, text: str, owner: type | None = None, field: str = "") -> Self:
        """A problem with a text, which names class and field already."""
        made = super().__new__(cls, text)
        made.owner, made.field = owner, field
        return made


class DeclarationError(ValueError):
    """An author's declaration cannot be served. The text has one line per problem, each with what to write instead.

    It is reported without a traceback. Any other ``ValueError`` at start is a bug, the author's or ours.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems

    @classmethod
    def of(cls, problems: Iterable[str]) -> DeclarationError:
        """One error for many problems."""
        return cls(*problems)


def refuse(problems: Iterable[str]) -> None:
    """Refuse a declaration that has problems.

    Raises:
        DeclarationError: There are problems.
    """
    if found := tuple(problems):
        raise DeclarationError(*found)


class ProblemCollector:
    """Collects the problems of several parts, so that an author reads all of them at once."""

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}

    def add(self, *problems: str) -> None:
        """Add problems. The same text (of a class that two kinds share) counts once."""
        for problem in problems:
            self._problems.setdefault(problem, problem)

    def make(self, make: Callable[[], T]) -> T | None:
        """The result of ``make``; None if it raises :class:`DeclarationError`, whose problems are added."""
        try:
            return make()
        except DeclarationError as error:
            self.add(*error.problems)
            return None

    def check(self) -> None:
        """End the collection.

        Raises:
            DeclarationError: Problems were added; it has all of them.
        """
        refuse(self._problems.values())
