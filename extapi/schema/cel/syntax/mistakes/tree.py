"""What the automaton makes of a text, right or wrong: its rules with the tokens and rules inside."""

from __future__ import annotations

from typing import Any

from extapi.schema.cel.syntax.mistakes.scanner import Token


class Tree:
    """A rule that was read, or as much of it as there was.

    Attributes:
        rule: Its name.
        label: That of its alternative; the rule's, if it has none or it was not found out.
        first: The token at which it began.
        parts: Tokens and trees by their labels; lists of those of which there may be several.
    """

    __slots__ = ("first", "label", "parts", "rule")

    def __init__(self, rule: str, first: Token) -> None:
        self.rule = rule
        self.label = rule
        self.first = first
        self.parts: dict[str, Any] = {}

    def token(self, label: str) -> Token | None:
        """The token of that label."""
        found: Token | None = self.parts.get(label)
        return found

    def tree(self, label: str) -> Tree | None:
        """The tree of that label."""
        found: Tree | None = self.parts.get(label)
        return found

    def tokens(self, label: str) -> list[Token]:
        """The tokens of that label."""
        found: list[Token] = self.parts.get(label, [])
        return found

    def trees(self, label: str) -> list[Tree]:
        """The trees of that label."""
        found: list[Tree] = self.parts.get(label, [])
        return found

    def inner(self, label: str, index: int = 0) -> Tree | None:
        """One of the trees of that label."""
        found = self.trees(label)
        return found[index] if index < len(found) else None

    def add(self, label: str, part: Any, *, many: bool) -> None:
        """Put in a part."""
        if many:
            self.parts.setdefault(label, []).append(part)
        else:
            self.parts[label] = part
