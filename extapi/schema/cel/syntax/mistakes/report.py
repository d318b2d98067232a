"""All that is wrong with an expression."""

from __future__ import annotations

from extapi.schema.cel.errors import Issue
from extapi.schema.cel.syntax.macros import Macros
from extapi.schema.cel.syntax.mistakes.grammar import grammar
from extapi.schema.cel.syntax.mistakes.prediction import Predictor
from extapi.schema.cel.syntax.mistakes.recognizer import GivenUpError, Recognizer, TooLongError
from extapi.schema.cel.syntax.mistakes.visitor import Visitor
from extapi.schema.cel.syntax.source import BEFORE, NOWHERE


def mistakes_in(text: str, macros: Macros) -> list[Issue]:
    """The mistakes, in the order in which cel-go finds them; none, if the expression is too long for that.

    Source: ``cel-go/parser`` parser.parse.
    """
    found: list[tuple[int, str]] = []
    states = grammar()
    try:
        tree = Recognizer(text, states, Predictor(states), found).read()
        Visitor(macros, found).visit(tree)
    except GivenUpError as error:
        if str(error):
            found.append((NOWHERE, str(error)))
    except TooLongError:
        return []
    if not text:
        return [Issue(BEFORE, message) for _, message in found]
    return [Issue(offset, message) for offset, message in found]
