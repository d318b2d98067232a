"""What is wrong with what an author has declared: the one error of types, kinds, groups and APIs that cannot be served."""

from __future__ import annotations

from collections.abc import Iterable


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
