"""Which alternative a decision takes, by looking ahead as far as it takes.

Source: ``antlr4-go/antlr`` ParserATNSimulator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from extapi.schema.cel.syntax.mistakes.contexts import EMPTY, Contexts, ParserContext
from extapi.schema.cel.syntax.mistakes.scanner import Token
from extapi.schema.cel.syntax.mistakes.states import STOP, Grammar, State, Transition
from extapi.schema.cel.syntax.mistakes.stream import TokenStream
from extapi.schema.cel.syntax.mistakes.vocabulary import EOF


class NoViableAlternativeError(Exception):
    """No alternative of a decision fits.

    Attributes:
        first: The token at which the decision was to be taken.
        offending: The one at which all alternatives had failed.
    """

    def __init__(self, first: Token, offending: Token) -> None:
        super().__init__()
        self.first = first
        self.offending = offending


class Config(NamedTuple):
    """A state in which an alternative may be."""

    state: State
    alternative: int
    context: ParserContext
    outside: bool
    """Whether the rule of the decision has been left."""
    suppressed: bool
    """Whether the filter of precedences does not apply to it."""
    guard: int = 0
    """How tightly the alternative of a loop binds that was entered, 0 for none."""


Configs = dict[tuple[int, int, int], Config]
"""Configurations by state, alternative and guard."""


class _Set:
    """A set of configurations, in which the stacks of equal ones are merged."""

    __slots__ = ("configs", "contexts", "full")

    def __init__(self, contexts: Contexts, *, full: bool) -> None:
        self.contexts = contexts
        self.full = full
        self.configs: Configs = {}

    def add(self, config: Config) -> None:
        key = (config.state.number, config.alternative, config.guard)
        known = self.configs.get(key)
        if known is not None:
            config = known._replace(
                context=self.contexts.merge(known.context, config.context, full=self.full),
                outside=known.outside or config.outside,
                suppressed=known.suppressed or config.suppressed,
            )
        self.configs[key] = config


class _Known:
    """A set of configurations that was reached before, and what is known of it.

    Attributes:
        configs: The configurations.
        alternative: The one that is left, 0 if there are several.
        ambiguous: Whether more tokens cannot tell the alternatives apart without the rules around.
        after: The next set by token; None if there is none.
    """

    __slots__ = ("after", "alternative", "ambiguous", "configs")

    def __init__(self, configs: list[Config]) -> None:
        self.configs = configs
        self.alternative = _unique(configs)
        self.ambiguous = not self.alternative and _conflicts(configs)
        self.after: dict[int, _Known | None] = {}


class Predictor:
    """Takes decisions, and remembers how."""

    __slots__ = ("_contexts", "_grammar", "_known", "_starts")

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._contexts = Contexts()
        self._starts: dict[tuple[int, int], _Known] = {}
        self._known: dict[frozenset[tuple[int, int, int, bool, bool]], _Known] = {}

    def predict(self, decision: State, stream: TokenStream, returns: Callable[[], list[State]], precedence: int) -> int:
        """The number of the alternative, from 1.

        Args:
            decision: The state.
            stream: The tokens.
            returns: Where the rules return to in which the decision is, the outermost one first.
            precedence: That of the innermost rule with precedences.

        Raises:
            NoViableAlternativeError: None fits.
        """
        loop = decision.loop is not None
        key = (decision.number, precedence if loop else 0)
        known = self._starts.get(key)
        if known is None:
            start = self._start(decision, EMPTY, None)
            if loop:
                start = _filtered(start, precedence)
            known = self._starts[key] = self._remembered(start)
        ahead = 1
        while True:
            token = stream.type(ahead)
            following = self._after(known, token)
            if following is None:
                return self._left(known.configs, stream, ahead)
            if following.ambiguous:
                return self._fully(decision, stream, returns, precedence)
            if following.alternative:
                return following.alternative
            known = following
            if token != EOF:
                ahead += 1

    def _after(self, known: _Known, token: int) -> _Known | None:
        if token in known.after:
            return known.after[token]
        reached = self._reach(known.configs, token, self._contexts, full=False)
        following = self._remembered(reached) if reached else None
        known.after[token] = following
        return following

    def _remembered(self, configs: list[Config]) -> _Known:
        key = frozenset(
            (each.state.number, each.alternative, id(each.context), each.outside, each.suppressed) for each in configs
        )
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _Known(configs)
        return found

    def _left(self, configs: list[Config], stream: TokenStream, ahead: int) -> int:
        """Nothing fits: the alternative that has left the rule of the decision before, if there is one."""
        done = [
            each.alternative for each in configs if each.outside or (each.state.kind == STOP and each.context is EMPTY)
        ]
        if done:
            return min(done)
        raise NoViableAlternativeError(stream.token(), stream.token(ahead))

    def _fully(self, decision: State, stream: TokenStream, returns: Callable[[], list[State]], precedence: int) -> int:
        """The alternative, with the rules around taken into account."""
        contexts = Contexts()
        outer = EMPTY
        for state in returns():
            outer = contexts.push(outer, state.number)
        configs = self._start(decision, outer, precedence, contexts)
        ahead = 1
        while True:
            token = stream.type(ahead)
            reached = self._reach(configs, token, contexts, full=True)
            if not reached:
                return self._left(configs, stream, ahead)
            alternative = _unique(reached) or _viable(reached)
            if alternative:
                return alternative
            configs = reached
            if token != EOF:
                ahead += 1

    def _start(
        self, decision: State, context: ParserContext, precedence: int | None, contexts: Contexts | None = None
    ) -> list[Config]:
        """The configurations before the first token; with a precedence, the rules around are known."""
        full = precedence is not None
        found = _Set(contexts or self._contexts, full=full)
        loop = decision.rule if decision.loop is not None else ""
        for number, each in enumerate(decision.transitions, 1):
            closure = _Closure(self._grammar, found, loop=loop, precedence=precedence, guards=True, end=False)
            closure.add(Config(each.target, number, context, outside=False, suppressed=False))
        return list(found.configs.values())

    def _reach(self, configs: list[Config], token: int, contexts: Contexts, *, full: bool) -> list[Config]:
        """The configurations after a token."""
        between = _Set(contexts, full=full)
        skipped: list[Config] = []
        for each in configs:
            if each.state.kind == STOP:
                if full or token == EOF:
                    skipped.append(each)
                continue
            for way in each.state.transitions:
                if token in way.tokens:
                    between.add(each._replace(state=way.target))
        reached = list(between.configs.values())
        if skipped or token == EOF or not _unique(reached):
            found = _Set(contexts, full=full)
            closure = _Closure(self._grammar, found, loop="", precedence=None, guards=False, end=token == EOF)
            for each in reached:
                closure.add(each)
            if token == EOF:
                found.configs = {key: each for key, each in found.configs.items() if each.state.kind == STOP}
            if skipped and not (full and any(each.state.kind == STOP for each in found.configs.values())):
                for each in skipped:
                    found.add(each)
            reached = list(found.configs.values())
        return reached


class _Closure:
    """Adds configurations, and all that can be reached from them without a token."""

    __slots__ = ("_busy", "_end", "_found", "_grammar", "_guards", "_loop", "_precedence")

    def __init__(
        self, grammar: Grammar, found: _Set, *, loop: str, precedence: int | None, guards: bool, end: bool
    ) -> None:
        self._grammar = grammar
        self._found = found
        self._loop = loop
        """The rule of the decision, if it is that of a loop with precedences."""
        self._precedence = precedence
        self._guards = guards
        """Whether guards count."""
        self._end = end
        """Whether the text has ended."""
        self._busy: set[tuple[int, int, int, bool, int]] = set()

    def add(self, first: Config) -> None:
        full = self._found.full
        todo = [(first, 0)]
        while todo:
            config, depth = todo.pop()
            if config.state.kind == STOP:
                if config.context is not EMPTY:
                    for number, below in config.context.entries:
                        state = self._grammar.states[number]
                        todo.append((config._replace(state=state, context=below, suppressed=False), depth))
                    continue
                if full:
                    self._found.add(config)
                    continue
            self._work(config, depth, todo)

    def _work(self, config: Config, depth: int, todo: list[tuple[Config, int]]) -> None:
        state = config.state
        if not state.takes_nothing:
            self._found.add(config)
        for index, way in enumerate(state.transitions):
            if index == 0 and self._droppable(config):
                continue
            target = self._target(config, way, depth)
            if target is None:
                continue
            if state.kind == STOP:
                suppressed = target.suppressed or (self._loop != "" and way.returned == self._loop)
                target = target._replace(outside=True, suppressed=suppressed)
                if self._seen(target):
                    continue
                todo.append((target, depth - 1))
            elif way.tokens:
                if not self._seen(target):
                    todo.append((target, depth))
            else:
                todo.append((target, depth + 1 if way.follow is not None and depth >= 0 else depth))

    def _seen(self, config: Config) -> bool:
        key = (config.state.number, config.alternative, id(config.context), config.suppressed, config.guard)
        if key in self._busy:
            return True
        self._busy.add(key)
        return False

    def _target(self, config: Config, way: Transition, depth: int) -> Config | None:
        if way.tokens:
            return config._replace(state=way.target) if self._end and EOF in way.tokens else None
        if way.follow is not None:
            below = self._found.contexts.push(config.context, way.follow.number)
            return config._replace(state=way.target, context=below)
        if way.guard and self._guards and depth == 0:
            if self._precedence is None:
                # Only a loop's own decision filters by it: where another one finds a guard, the loop has decided.
                return config._replace(state=way.target, guard=way.precedence if self._loop else 0)
            return config._replace(state=way.target) if way.precedence >= self._precedence else None
        return config._replace(state=way.target)

    def _droppable(self, config: Config) -> bool:
        """Whether a loop with precedences need not be entered, since the same rule goes on with it around.

        Source: ``antlr4-go/antlr`` canDropLoopEntryEdgeInLeftRecursiveRule.
        """
        state = config.state
        if state.loop is None or config.context is EMPTY:
            return False
        return all(number == state.loop.number for number, _ in config.context.entries)


def _filtered(configs: list[Config], precedence: int) -> list[Config]:
    """Without what binds less tightly than the loop has to.

    Source: ``antlr4-go/antlr`` applyPrecedenceFilter.
    """
    kept: list[Config] = []
    entered: dict[int, ParserContext] = {}
    for each in configs:
        if each.alternative == 1 and (not each.guard or each.guard >= precedence):
            entered[each.state.number] = each.context
            kept.append(each._replace(guard=0))
    return kept + [
        each
        for each in configs
        if each.alternative != 1 and (each.suppressed or entered.get(each.state.number) is not each.context)
    ]


def _unique(configs: list[Config]) -> int:
    """The only alternative, or 0."""
    found = {each.alternative for each in configs}
    return found.pop() if len(found) == 1 else 0


def _subsets(configs: list[Config]) -> list[set[int]]:
    """The alternatives of each state with its stacks."""
    found: dict[tuple[int, int], set[int]] = {}
    for each in configs:
        found.setdefault((each.state.number, id(each.context)), set()).add(each.alternative)
    return list(found.values())


def _conflicts(configs: list[Config]) -> bool:
    """Whether alternatives are in the same states, and none is alone in one.

    Source: ``antlr4-go/antlr`` PredictionModehasSLLConflictTerminatingPrediction.
    """
    if all(each.state.kind == STOP for each in configs):
        return True
    if all(len(each) == 1 for each in _subsets(configs)):
        return False
    states: dict[int, set[int]] = {}
    for each in configs:
        states.setdefault(each.state.number, set()).add(each.alternative)
    return all(len(each) > 1 for each in states.values())


def _viable(configs: list[Config]) -> int:
    """The first alternative, if it is the first one everywhere; otherwise 0."""
    found = {min(each) for each in _subsets(configs)}
    return found.pop() if len(found) == 1 else 0
