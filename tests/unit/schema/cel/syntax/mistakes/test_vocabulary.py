from __future__ import annotations

from extapi.schema.cel.syntax.mistakes.vocabulary import EOF, TYPES, is_literal, names


def test_types_have_the_numbers_of_cel_go() -> None:
    """``cel-go/parser/gen`` CEL.tokens."""
    assert {name: TYPES[name] for name in ("==", "in", "[", ".", "?", "null", "NUM_FLOAT", "ESC_IDENTIFIER")} == {
        "==": 1,
        "in": 3,
        "[": 10,
        ".": 16,
        "?": 20,
        "null": 28,
        "NUM_FLOAT": 31,
        "ESC_IDENTIFIER": 37,
    }


def test_sets_are_named_in_the_order_of_numbers() -> None:
    assert names({TYPES["IDENTIFIER"], TYPES["["], EOF}) == "{<EOF>, '[', IDENTIFIER}"
    assert names({TYPES[")"]}) == "')'"


def test_only_literals_have_one_text() -> None:
    assert is_literal(TYPES["null"])
    assert not is_literal(TYPES["NUM_FLOAT"])
    assert not is_literal(EOF)
