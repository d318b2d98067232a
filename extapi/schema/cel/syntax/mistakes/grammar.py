"""CEL's grammar as ANTLR's network of states.

Source: ``cel-go/parser/gen`` CEL.g4; how it becomes states, ANTLR's ParserATNFactory; how left recursion becomes a loop
with precedences, its LeftRecursiveRuleTransformer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from extapi.schema.cel.syntax.mistakes.states import (
    BASIC,
    BLOCK_END,
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
from extapi.schema.cel.syntax.mistakes.vocabulary import EOF, TYPES

Element = Callable[["_Builder", State], State]
"""Adds a part of a rule after a state, and returns the state after it."""


class _Builder:
    """Adds the states of rules."""

    __slots__ = ("grammar", "rule")

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.rule = ""

    def state(self, kind: str = BASIC) -> State:
        made = State(len(self.grammar.states), kind, self.rule)
        self.grammar.states.append(made)
        return made

    def join(self, before: State, after: State, label: str = "") -> State:
        before.transitions.append(Transition(after, label=label))
        return after

    def sequence(self, elements: tuple[Element, ...], state: State) -> State:
        for each in elements:
            state = each(self, state)
        return state

    def open(self, rule: str) -> None:
        self.rule = rule
        self.grammar.starts[rule] = self.state()
        self.grammar.stops[rule] = self.state(STOP)

    def define(self, rule: str, elements: tuple[Element, ...]) -> None:
        self.rule = rule
        first = self.join(self.grammar.starts[rule], self.state())
        self.join(self.sequence(elements, first), self.grammar.stops[rule])

    def finish(self, recursive: frozenset[str]) -> None:
        """Let the last part of a block lead to its end, and the end of each rule to wherever it is called.

        Which stacks are equal depends on the former. Source: ANTLR's TailEpsilonRemover.
        """
        for state in self.grammar.states:
            for way in state.transitions:
                after = way.follow or way.target
                if (way.follow or way.tokens or way.guard) and after.kind == BASIC and after.takes_nothing:
                    last = after.transitions[0]
                    if last.target.kind == BLOCK_END and last.follow is None and not last.guard:
                        if way.follow is None:
                            way.target = last.target
                        else:
                            way.follow = last.target
        for state in self.grammar.states:
            for call in state.transitions:
                if call.follow is not None:
                    rule = call.target.rule
                    returned = rule if rule in recursive and not call.precedence else ""
                    self.grammar.stops[rule].transitions.append(Transition(call.follow, returned=returned))


def _token(text: str, label: str = "") -> Element:
    tokens = frozenset({EOF} if text == "EOF" else {TYPES[each] for each in text.split()})

    def add(builder: _Builder, state: State) -> State:
        after = builder.state()
        state.transitions.append(Transition(after, tokens=tokens, label=label))
        return after

    return add


def _rule(name: str, label: str = "", precedence: int = 0) -> Element:
    def add(builder: _Builder, state: State) -> State:
        after = builder.state()
        target = builder.grammar.starts[name]
        call = Transition(target, label=label or name + "*", follow=after, precedence=precedence)
        state.transitions.append(call)
        return after

    return add


def _optional(*elements: Element) -> Element:
    def add(builder: _Builder, state: State) -> State:
        block = builder.join(state, builder.state(BLOCK_START))
        end = builder.state(BLOCK_END)
        builder.join(builder.sequence(elements, builder.join(block, builder.state())), end)
        builder.join(block, end)
        return builder.join(end, builder.state())

    return add


def _choice(alternatives: dict[str, tuple[Element, ...]], *, adaptive: bool = True) -> Element:
    def add(builder: _Builder, state: State) -> State:
        block = builder.join(state, builder.state(BLOCK_START))
        block.adaptive = adaptive
        end = builder.state(BLOCK_END)
        for label, elements in alternatives.items():
            builder.join(builder.sequence(elements, builder.join(block, builder.state(), label)), end)
        return builder.join(end, builder.state())

    return add


def _star(*elements: Element, adaptive: bool = False) -> Element:
    def add(builder: _Builder, state: State) -> State:
        entry = builder.join(state, builder.state(STAR_ENTRY))
        entry.adaptive = adaptive
        block = builder.join(entry, builder.state(STAR_BLOCK_START))
        end = builder.join(builder.sequence(elements, builder.join(block, builder.state())), builder.state(BLOCK_END))
        builder.join(builder.join(end, builder.state(STAR_BACK)), entry)
        return builder.join(entry, builder.state())

    return add


def _plus(*elements: Element, adaptive: bool = False) -> Element:
    def add(builder: _Builder, state: State) -> State:
        block = builder.join(state, builder.state(PLUS_BLOCK_START))
        end = builder.join(builder.sequence(elements, builder.join(block, builder.state())), builder.state(BLOCK_END))
        back = builder.join(end, builder.state(PLUS_BACK))
        back.adaptive = adaptive
        builder.join(back, block)
        return builder.join(back, builder.state())

    return add


def _recursion(*alternatives: tuple[int, str, tuple[Element, ...]]) -> Element:
    """What may follow the first operand of a rule with left recursion, any number of times.

    Args:
        alternatives: How tightly each binds, its label, and what follows.
    """

    def add(builder: _Builder, state: State) -> State:
        entry = builder.join(state, builder.state(STAR_ENTRY))
        block = builder.join(entry, builder.state(STAR_BLOCK_START))
        end = entry.loop = builder.state(BLOCK_END)
        entry.adaptive = block.adaptive = True
        for precedence, label, elements in alternatives:
            guard = builder.join(block, builder.state())
            inside = builder.state()
            guard.transitions.append(Transition(inside, label=label, precedence=precedence, guard=True))
            builder.join(builder.sequence(elements, inside), end)
        builder.join(builder.join(end, builder.state(STAR_BACK)), entry)
        return builder.join(entry, builder.state())

    return add


_RELATIONS: Final = "== != in < <= >= >"
_NAME: Final = (_optional(_token(".", "leadingDot")), _token("IDENTIFIER", "id"))
_ARGUMENTS: Final = (_optional(_rule("exprList", "args")), _token(")"))
_MESSAGE: Final = (
    _optional(_token(".", "leadingDot")),
    _token("IDENTIFIER", "ids*"),
    _star(_token(".", "ops*"), _token("IDENTIFIER", "ids*")),
    _token("{", "op"),
    _optional(_rule("fieldInitializerList", "entries")),
    _optional(_token(",")),
    _token("}"),
)
_ENTRY: Final = (_token(":", "cols*"), _rule("expr", "values*"))
RULES: Final[dict[str, tuple[Element, ...]]] = {
    "start": (_rule("expr", "e"), _token("EOF")),
    "expr": (
        _rule("conditionalOr", "e"),
        _optional(_token("?", "op"), _rule("conditionalOr", "e1"), _token(":"), _rule("expr", "e2")),
    ),
    "conditionalOr": (_rule("conditionalAnd", "e"), _star(_token("||", "ops*"), _rule("conditionalAnd", "e1*"))),
    "conditionalAnd": (_rule("relation", "e"), _star(_token("&&", "ops*"), _rule("relation", "e1*"))),
    "relation": (_rule("calc"), _recursion((1, "relation", (_token(_RELATIONS, "op"), _rule("relation", "", 2))))),
    "calc": (
        _rule("unary"),
        _recursion(
            (2, "calc", (_token("* / %", "op"), _rule("calc", "", 3))),
            (1, "calc", (_token("+ -", "op"), _rule("calc", "", 2))),
        ),
    ),
    "unary": (
        _choice(
            {
                "MemberExpr": (_rule("member"),),
                "LogicalNot": (_plus(_token("!", "ops*")), _rule("member")),
                "Negate": (_plus(_token("-", "ops*"), adaptive=True), _rule("member")),
            }
        ),
    ),
    "member": (
        _rule("primary"),
        _recursion(
            (3, "Select", (_token(".", "op"), _optional(_token("?", "opt")), _rule("escapeIdent", "id"))),
            (2, "MemberCall", (_token(".", "op"), _token("IDENTIFIER", "id"), _token("(", "open"), *_ARGUMENTS)),
            (1, "Index", (_token("[", "op"), _optional(_token("?", "opt")), _rule("expr", "index"), _token("]"))),
        ),
    ),
    "primary": (
        _choice(
            {
                "Ident": _NAME,
                "GlobalCall": (*_NAME, _token("(", "op"), *_ARGUMENTS),
                "Nested": (_token("("), _rule("expr", "e"), _token(")")),
                "CreateList": (
                    _token("[", "op"),
                    _optional(_rule("listInit", "elems")),
                    _optional(_token(",")),
                    _token("]"),
                ),
                "CreateStruct": (
                    _token("{", "op"),
                    _optional(_rule("mapInitializerList", "entries")),
                    _optional(_token(",")),
                    _token("}"),
                ),
                "CreateMessage": _MESSAGE,
                "ConstantLiteral": (_rule("literal"),),
            }
        ),
    ),
    "exprList": (_rule("expr", "e*"), _star(_token(","), _rule("expr", "e*"))),
    "listInit": (_rule("optExpr", "elems*"), _star(_token(","), _rule("optExpr", "elems*"), adaptive=True)),
    "fieldInitializerList": (
        _rule("optField", "fields*"),
        *_ENTRY,
        _star(_token(","), _rule("optField", "fields*"), *_ENTRY, adaptive=True),
    ),
    "optField": (_optional(_token("?", "opt")), _rule("escapeIdent", "id")),
    "mapInitializerList": (
        _rule("optExpr", "keys*"),
        *_ENTRY,
        _star(_token(","), _rule("optExpr", "keys*"), *_ENTRY, adaptive=True),
    ),
    "escapeIdent": (
        _choice(
            {
                "SimpleIdentifier": (_token("IDENTIFIER", "id"),),
                "EscapedIdentifier": (_token("ESC_IDENTIFIER", "id"),),
            },
            adaptive=False,
        ),
    ),
    "optExpr": (_optional(_token("?", "opt")), _rule("expr", "e")),
    "literal": (
        _choice(
            {
                "Int": (_optional(_token("-", "sign")), _token("NUM_INT", "tok")),
                "Uint": (_token("NUM_UINT", "tok"),),
                "Double": (_optional(_token("-", "sign")), _token("NUM_FLOAT", "tok")),
                "String": (_token("STRING", "tok"),),
                "Bytes": (_token("BYTES", "tok"),),
                "BoolTrue": (_token("true", "tok"),),
                "BoolFalse": (_token("false", "tok"),),
                "Null": (_token("null", "tok"),),
            }
        ),
    ),
}
RECURSIVE: Final = frozenset({"relation", "calc", "member"})
"""The rules with precedences."""


@lru_cache(maxsize=1)
def grammar() -> Grammar:
    """The grammar, made when it is first needed."""
    made = Grammar()
    builder = _Builder(made)
    for rule in RULES:
        builder.open(rule)
    for rule, elements in RULES.items():
        builder.define(rule, elements)
    builder.finish(RECURSIVE)
    return made
