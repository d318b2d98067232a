"""States, and the ways between them.

Source: ``antlr4-go/antlr`` ATNState, Transition, ATN.
"""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.syntax.mistakes.vocabulary import EPSILON

BASIC: Final = "basic"
BLOCK_START: Final = "block"
BLOCK_END: Final = "block end"
STAR_BLOCK_START: Final = "star block"
STAR_ENTRY: Final = "star entry"
STAR_BACK: Final = "star back"
PLUS_BLOCK_START: Final = "plus block"
PLUS_BACK: Final = "plus back"
STOP: Final = "stop"


class Transition:
    """A way out of a state.

    Attributes:
        target: Where it leads; of a call, the first state of the rule.
        tokens: The tokens that it takes; empty if it takes none.
        label: What the token, the called rule's tree, or this alternative is called in the tree.
        many: Whether there may be several of that label.
        follow: Of a call, where the rule returns to.
        precedence: Of a call, what the rule's loop has to bind more tightly than; of a guard, how tightly that
            alternative of the loop binds.
        guard: Whether it may be taken only if that binds tightly enough.
        returned: At the end of a rule, the rule with precedences that was called with none, or "".
    """

    __slots__ = ("follow", "guard", "label", "many", "precedence", "returned", "target", "tokens")

    def __init__(
        self,
        target: State,
        *,
        tokens: frozenset[int] = frozenset(),
        label: str = "",
        follow: State | None = None,
        precedence: int = 0,
        guard: bool = False,
        returned: str = "",
    ) -> None:
        self.target = target
        self.tokens = tokens
        self.label = label.removesuffix("*")
        self.many = label.endswith("*")
        self.follow = follow
        self.precedence = precedence
        self.guard = guard
        self.returned = returned


class State:
    """A state.

    Attributes:
        number: Its number.
        kind: One of the constants of this module.
        rule: The rule in which it is.
        transitions: The ways out.
        adaptive: Of a decision, whether the parser looks ahead as far as it takes, instead of one token.
        loop: Of the entry of a loop with precedences, the end of its body.
    """

    __slots__ = ("adaptive", "kind", "loop", "number", "rule", "transitions")

    def __init__(self, number: int, kind: str, rule: str) -> None:
        self.number = number
        self.kind = kind
        self.rule = rule
        self.transitions: list[Transition] = []
        self.adaptive = False
        self.loop: State | None = None

    @property
    def takes_nothing(self) -> bool:
        """Whether all ways out are taken without a token."""
        return bool(self.transitions) and not any(each.tokens for each in self.transitions)


class Grammar:
    """The states of all rules."""

    __slots__ = ("_next", "starts", "states", "stops")

    def __init__(self) -> None:
        self.states: list[State] = []
        self.starts: dict[str, State] = {}
        self.stops: dict[str, State] = {}
        self._next: dict[int, frozenset[int]] = {}

    def next_tokens(self, state: State) -> frozenset[int]:
        """The tokens that may come next within the rule, with EPSILON if its end may.

        Source: ``antlr4-go/antlr`` ATN.NextTokens.
        """
        found = self._next.get(state.number)
        if found is None:
            found = self._next[state.number] = self._look(state)
        return found

    def _look(self, start: State) -> frozenset[int]:
        tokens: set[int] = set()
        seen: set[int] = set()
        todo = [start]
        while todo:
            state = todo.pop()
            if state.number in seen:
                continue
            seen.add(state.number)
            if state.kind == STOP:
                if state.rule == start.rule:
                    tokens.add(EPSILON)
                continue
            for each in state.transitions:
                if each.tokens:
                    tokens |= each.tokens
                else:
                    todo.append(each.target)
        return frozenset(tokens)
