"""Tokens of texts in which something is none. Whole messages are in mistakes.json."""

from __future__ import annotations

import pytest

from extapi.schema.cel.syntax.mistakes.scanner import _Strings, scan
from extapi.schema.cel.syntax.mistakes.vocabulary import EOF, TYPES
from extapi.schema.cel.syntax.tokens import END, tokenize


def read(text: str) -> tuple[list[str], list[tuple[int, str]]]:
    """The texts of the tokens, and what was dropped."""
    dropped: list[tuple[int, str]] = []
    tokens = list(scan(text, lambda offset, what: dropped.append((offset, what))))
    assert tokens[-1] == (EOF, "<EOF>", len(text), len(text))
    assert all(text[token.offset : token.end] == token.text for token in tokens[:-1])
    return [token.text for token in tokens[:-1]], dropped


@pytest.mark.parametrize(
    ("text", "tokens", "dropped"),
    [
        ("a & b", ["a", "b"], [(2, "& ")]),
        ("a =b", ["a"], [(2, "=b")]),
        ("a |", ["a"], [(2, "|")]),
        ("a # b", ["a", "b"], [(2, "#")]),
        ("é😀a", ["a"], [(0, "é"), (1, "😀")]),
        ("'abc", [], [(0, "'abc")]),
        ("'abc\nd", ["d"], [(0, "'abc\n")]),
        (r"'a\qb' c", ["b"], [(0, r"'a\q"), (5, "' c")]),
        (r"'\x4g'", [], [(0, r"'\x4g"), (5, "'")]),
        (r"'\u12'", [], [(0, r"'\u12'")]),
        (r"'\400'", ["00"], [(0, r"'\4"), (5, "'")]),
        ("b'abc", ["b"], [(1, "'abc")]),
        ("r'abc\nd", ["r", "d"], [(1, "'abc\n")]),
        ('"""abc', ['""'], [(2, '"abc')]),
        ('b"""abc"', ['b""', '"abc"'], []),
        (r'"""\q"""', ['""', '""'], [(2, r'"\q'), (7, '"')]),
        ("r'''a'b", ["r''", "'a'", "b"], []),
        ("`a b` ``", ["`a b`"], [(6, "``")]),
        ("`a#", [], [(0, "`a#")]),
    ],
)
def test_what_is_no_token_is_dropped_with_the_character_that_did_not_fit(
    text: str, tokens: list[str], dropped: list[tuple[int, str]]
) -> None:
    assert read(text) == (tokens, dropped)


@pytest.mark.parametrize(
    "text",
    [
        'a.b[0x1F] + 1.5e3 == .5 // c\n&& r\'\\\' in [\'x\', """y"z"""] || b\'\\xff\' != 1u',
        "{?a: true} ? !false : null >= -1 * (2 / 3 % 4), <>",
    ],
)
def test_the_parser_reads_the_same_tokens(text: str) -> None:
    kinds, texts, offsets = tokenize(text)
    assert kinds[-1] == END
    tokens = list(scan(text, lambda *_: pytest.fail("nothing is wrong")))
    assert [(token.text, token.offset) for token in tokens] == list(zip(texts, offsets, strict=True))


def test_types() -> None:
    tokens = list(scan("in inner 1 1u 1. 'a' b'a' `a` &&", lambda *_: None))
    names = ["in", "IDENTIFIER", "NUM_INT", "NUM_UINT", "NUM_INT", ".", "STRING", "BYTES", "ESC_IDENTIFIER", "&&"]
    assert [token.type for token in tokens] == [*(TYPES[name] for name in names), EOF]


def test_a_string_that_does_not_end_is_looked_at_once() -> None:
    """Each of these begins one with three quotes, whose end would be looked for up to the end of the text."""
    tokens, dropped = read('"""\n\\' * 20_000)
    assert tokens == ['""'] * 20_000
    assert dropped[:2] == [(2, '"\n'), (4, "\\")]


def test_where_no_end_was_found_none_is_looked_for_again() -> None:
    strings = _Strings('"""a')
    assert strings.match(0) == (TYPES["STRING"], 2)
    assert strings.dead == {'"""': 4}
    strings = _Strings('"""a"""')
    strings.dead['"""'] = 7
    assert strings.match(0) == (TYPES["STRING"], 2)
    assert _Strings('"""a"""').match(0) == (TYPES["STRING"], 7)
