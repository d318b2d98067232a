"""The automaton: goes through the states of the grammar, and recovers from what does not fit as ANTLR does.

Source: ``antlr4-go/antlr`` BaseParser, DefaultErrorStrategy; ``cel-go/parser`` recoveryLimitErrorStrategy,
recursionListener, parser.SyntaxError.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from extapi.schema.cel.syntax.depth import RECURSION_LIMIT
from extapi.schema.cel.syntax.mistakes import vocabulary
from extapi.schema.cel.syntax.mistakes.grammar import RECURSIVE
from extapi.schema.cel.syntax.mistakes.prediction import NoViableAlternativeError, Predictor
from extapi.schema.cel.syntax.mistakes.scanner import Token
from extapi.schema.cel.syntax.mistakes.states import (
    BLOCK_START,
    PLUS_BACK,
    PLUS_BLOCK_START,
    STAR_BACK,
    STAR_BLOCK_START,
    STAR_ENTRY,
    STOP,
    Grammar,
    State,
    Transition,
)
from extapi.schema.cel.syntax.mistakes.stream import TokenStream
from extapi.schema.cel.syntax.mistakes.tree import Tree
from extapi.schema.cel.syntax.mistakes.vocabulary import EOF, EPSILON

RECOVERY_LIMIT: Final = 30
"""How often it recovers."""
LOOKAHEAD_LIMIT: Final = 256
"""How many tokens it may drop to recover once."""
STEPS_LIMIT: Final = 60_000
"""How many states it goes through, which takes a tenth of a second. About four thousand tokens take as many."""
REPORTED_LIMIT: Final = 100
"""How many mistakes of syntax there may be."""

_KEYWORD_AS_NAME: Final = re.compile(r"no viable alternative at input '.(true|false|null)'")


class GivenUpError(Exception):
    """A limit was reached. ``str`` is a message that is not at any place, or empty if there is none."""


class TooLongError(Exception):
    """The text is too long to say exactly what is wrong with it."""


class _MismatchError(Exception):
    """A token does not fit."""


class _Frame(NamedTuple):
    """A rule that has not ended."""

    tree: Tree
    call: Transition | None
    """Where it was called; None for the outermost one."""


class Recognizer:
    """Reads one text.

    Attributes:
        mistakes: What was wrong so far: offsets and messages.
    """

    __slots__ = (
        "_attempts",
        "_depths",
        "_dropped",
        "_frames",
        "_grammar",
        "_looped",
        "_precedences",
        "_predictor",
        "_recovering",
        "_state",
        "_stuck_at",
        "_stuck_in",
        "_tokens",
        "mistakes",
    )

    def __init__(self, text: str, grammar: Grammar, predictor: Predictor, mistakes: list[tuple[int, str]]) -> None:
        self.mistakes = mistakes
        self._grammar = grammar
        self._predictor = predictor
        self._frames: list[_Frame] = []
        self._precedences = [0]
        self._depths: dict[str, int] = dict.fromkeys(grammar.starts, 0)
        self._state = grammar.starts["start"]
        """The state that messages are about."""
        self._looped = False
        """Whether a loop has just gone round."""
        self._recovering = False
        self._stuck_at = -1
        """Where it recovered last, in tokens."""
        self._stuck_in: set[int] = set()
        """In which states it recovered there."""
        self._attempts = 0
        self._dropped = -1
        """How many tokens were dropped to recover; -1 if that is not limited."""
        self._tokens = TokenStream(text, self._syntax_error)

    def read(self) -> Tree:
        """The tree of the whole text.

        Raises:
            GivenUpError: There is too much of something.
            TooLongError: The end is too far away.
        """
        root = self._enter("start", None)
        at = self._grammar.starts["start"]
        for _ in range(STEPS_LIMIT):
            if at.kind == STOP:
                call = self._exit()
                if call is None or call.follow is None:
                    return root
                at = call.follow
                continue
            try:
                at = self._step(at)
            except (NoViableAlternativeError, _MismatchError) as error:
                self._report(error)
                self._recover()
                self._looped = False
                at = self._grammar.stops[at.rule]
        raise TooLongError

    def _step(self, at: State) -> State:
        """Go on by one state."""
        if at.kind in _DECISIONS:
            return self._decide(at)
        if at.kind == STAR_BACK:
            self._state = at
            self._sync()
            self._looped = True
            return at.transitions[0].target
        way = at.transitions[0]
        if way.tokens:
            self._state = at
            token = self._match(way)
            if way.label:
                self._frames[-1].tree.add(way.label, token, many=way.many)
        elif way.follow is not None:
            self._state = at
            self._enter(way.target.rule, way)
        elif way.guard:
            self._go_round(way)
        return way.target

    def _decide(self, at: State) -> State:
        """Take an alternative."""
        looped, self._looped = self._looped, False
        kind = at.kind
        if kind == PLUS_BLOCK_START:
            if not looped:
                self._state = at
                self._sync()
            return at.transitions[0].target
        if kind == STAR_BLOCK_START and len(at.transitions) == 1:
            return at.transitions[0].target
        if not (kind == STAR_ENTRY and looped):
            self._state = at
            self._sync()
        number = self._predicted(at) if at.adaptive else self._seen(at)
        way = at.transitions[number - 1]
        if way.label:
            self._frames[-1].tree.label = way.label
        self._looped = kind == PLUS_BACK and number == 1
        return way.target

    def _predicted(self, at: State) -> int:
        return self._predictor.predict(at, self._tokens, self._returns, self._precedences[-1])

    def _returns(self) -> list[State]:
        return [frame.call.follow for frame in self._frames if frame.call and frame.call.follow]

    def _seen(self, at: State) -> int:
        """The alternative that one token decides."""
        token = self._tokens.type()
        for number, way in enumerate(at.transitions, 1):
            if token in self._grammar.next_tokens(way.target):
                return number
        if at.kind == BLOCK_START and at.transitions[-1].label:
            raise NoViableAlternativeError(self._tokens.token(), self._tokens.token())
        return len(at.transitions)

    # Rules.

    def _enter(self, rule: str, call: Transition | None) -> Tree:
        tree = Tree(rule, self._tokens.token())
        self._frames.append(_Frame(tree, call))
        self._depths[rule] += 1
        if rule in RECURSIVE and call is not None:
            self._precedences.append(call.precedence)
        if self._depths[rule] > RECURSION_LIMIT:
            raise GivenUpError(f"expression recursion limit exceeded: {RECURSION_LIMIT}")
        return tree

    def _exit(self) -> Transition | None:
        tree, call = self._frames.pop()
        self._depths[tree.rule] -= 1
        if tree.rule in RECURSIVE:
            self._precedences.pop()
        if call is not None:
            self._frames[-1].tree.add(call.label, tree, many=call.many)
        return call

    def _go_round(self, way: Transition) -> None:
        """Begin a new tree around what was read so far, since an operator follows that binds tightly enough."""
        inner, call = self._frames.pop()
        outer = Tree(inner.rule, inner.first)
        outer.label = way.label
        outer.add(inner.rule, inner, many=True)
        self._frames.append(_Frame(outer, call))

    # Tokens.

    def _match(self, way: Transition) -> Token:
        token = self._tokens.token()
        if token.type in way.tokens:
            self._fits()
            self._tokens.consume()
            return token
        return self._recover_inline()

    def _fits(self) -> None:
        self._recovering = False
        self._stuck_at = -1
        self._stuck_in = set()

    def _consume(self) -> None:
        if self._dropped >= 0:
            if self._dropped >= LOOKAHEAD_LIMIT:
                raise GivenUpError(f"error recovery token lookahead limit exceeded: {LOOKAHEAD_LIMIT}")
            self._dropped += 1
        self._tokens.consume()

    # Recovery.

    def _sync(self) -> None:
        """See whether the token can come here, and drop it or more, if not."""
        if self._recovering:
            return
        state = self._state
        expected = self._grammar.next_tokens(state)
        if EPSILON in expected or self._tokens.type() in expected:
            return
        if state.kind in {BLOCK_START, STAR_BLOCK_START, PLUS_BLOCK_START, STAR_ENTRY}:
            if self._delete_token() is None:
                raise _MismatchError
        else:
            self._report_unwanted()
            self._consume_until(self._expected() | self._recovery_set())

    def _recover(self) -> None:
        """Drop tokens up to one with which a rule around can go on."""
        self._attempt()
        self._dropped = 0
        if self._stuck_at == self._tokens.index and self._state.number in self._stuck_in:
            self._consume()
        self._stuck_at = self._tokens.index
        self._stuck_in.add(self._state.number)
        self._consume_until(self._recovery_set())
        self._dropped = -1

    def _recover_inline(self) -> Token:
        """The token that was expected: the next one, if this one is too much, or a made-up one, if it is missing."""
        self._attempt()
        self._dropped = 0
        token = self._delete_token()
        if token is not None:
            self._consume()
        else:
            token = self._insert_token()
        self._dropped = -1
        if token is None:
            raise _MismatchError
        return token

    def _attempt(self) -> None:
        if self._attempts == RECOVERY_LIMIT:
            self._attempts += 1
            self._syntax_error(self._tokens.token().offset, f"error recovery attempt limit exceeded: {RECOVERY_LIMIT}")
            raise GivenUpError
        self._attempts += 1

    def _delete_token(self) -> Token | None:
        if self._tokens.type(2) not in self._expected():
            return None
        self._report_unwanted()
        self._consume()
        token = self._tokens.token()
        self._fits()
        return token

    def _insert_token(self) -> Token | None:
        current = self._tokens.token()
        after = self._state.transitions[0].target
        if current.type not in self._expected(after):
            return None
        expected = self._expected()
        if not self._recovering:
            self._recovering = True
            self._syntax_error(current.offset, f"missing {vocabulary.names(expected)} at {_shown(current)}")
        type_ = min(expected)
        text = f"<missing {vocabulary.name(type_) if vocabulary.is_literal(type_) else 'undefined'}>"
        before = self._tokens.before()
        place = before if current.type == EOF and before is not None else current
        return Token(type_, text, place.offset, -1)

    def _consume_until(self, tokens: frozenset[int]) -> None:
        while (token := self._tokens.type()) != EOF and token not in tokens:
            self._consume()

    def _expected(self, state: State | None = None) -> frozenset[int]:
        """The tokens that may come next, in the rules around as well."""
        following = self._grammar.next_tokens(state or self._state)
        expected = set(following)
        for frame in reversed(self._frames):
            if EPSILON not in following or frame.call is None or frame.call.follow is None:
                break
            following = self._grammar.next_tokens(frame.call.follow)
            expected |= following
        expected.discard(EPSILON)
        if EPSILON in following:
            expected.add(EOF)
        return frozenset(expected)

    def _recovery_set(self) -> frozenset[int]:
        """The tokens with which a rule around can go on."""
        tokens: set[int] = set()
        for frame in self._frames:
            if frame.call is not None and frame.call.follow is not None:
                tokens |= self._grammar.next_tokens(frame.call.follow)
        tokens.discard(EPSILON)
        return frozenset(tokens)

    # Messages.

    def _report(self, error: NoViableAlternativeError | _MismatchError) -> None:
        if self._recovering:
            return
        self._recovering = True
        if isinstance(error, NoViableAlternativeError):
            first, offending = error.first, error.offending
            text = "<EOF>" if first.type == EOF else self._tokens.text(first, offending)
            self._syntax_error(offending.offset, f"no viable alternative at input {_quoted(text)}")
            return
        token = self._tokens.token()
        expected = vocabulary.names(self._expected())
        self._syntax_error(token.offset, f"mismatched input {_shown(token)} expecting {expected}")

    def _report_unwanted(self) -> None:
        if self._recovering:
            return
        self._recovering = True
        token = self._tokens.token()
        expected = vocabulary.names(self._expected())
        self._syntax_error(token.offset, f"extraneous input {_shown(token)} expecting {expected}")

    def _syntax_error(self, offset: int, message: str) -> None:
        message = _KEYWORD_AS_NAME.sub(r"mismatched input '\1' expecting IDENTIFIER", message)
        if len(self.mistakes) < REPORTED_LIMIT:
            self.mistakes.append((offset, f"Syntax error: {message}"))
            return
        self.mistakes.append((offset, f"Syntax error: More than {REPORTED_LIMIT} syntax errors"))
        raise GivenUpError


_DECISIONS: Final = frozenset({BLOCK_START, STAR_BLOCK_START, STAR_ENTRY, PLUS_BLOCK_START, PLUS_BACK})


def _shown(token: Token) -> str:
    return _quoted(token.text)


def _quoted(text: str) -> str:
    return "'" + text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") + "'"
