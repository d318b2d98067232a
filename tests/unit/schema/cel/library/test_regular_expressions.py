"""Searches with Go's patterns. Expected values are Kubernetes 1.36.3's, asked of ``find``, ``findAll`` and ``matches``."""

from __future__ import annotations

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.regular_expressions import compiled


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a*", "baac", ["", "aa", ""]),
        ("", "aé", ["", "", ""]),
        ("x*", "", [""]),
        ("^", "ab", [""]),
        ("$", "ab", [""]),
        ("(?m)^", "a\nb", ["", ""]),
        ("a|ab", "abab", ["a", "a"]),
        ("(a)(b)?", "aab", ["a", "ab"]),
        ("(?i)É", "é", ["é"]),
        (r"\B", "aéb", []),
        (r"\B", "a\U0001f600", [""]),
        (r"\b", "ab", ["", ""]),
        ("z", "ab", []),
    ],
)
def test_all_matches_are_those_of_go(pattern: str, text: str, found: list[str]) -> None:
    assert compiled(pattern).find_all(text) == found
    assert compiled(pattern).find_all(text, 1) == found[:1]
    assert compiled(pattern).find(text) == (found[0] if found else "")
    assert compiled(pattern).matches(text) is bool(found)


def test_lone_surrogates_count_as_the_replacement_character() -> None:
    assert compiled("\ufffd").find_all("a\ud800\ufffd") == ["\ufffd", "\ufffd"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "error parsing regexp: missing closing ): `(`"),
        ("a**", "error parsing regexp: invalid nested repetition operator: `**`"),
        (r"\C", r"error parsing regexp: invalid escape sequence: `\C`"),
        ("(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
    ],
)
def test_what_is_wrong_is_said_in_words_of_go(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^error parsing regexp: ") as caught:
        compiled(pattern)
    assert str(caught.value) == message


def test_a_pattern_is_compiled_once() -> None:
    assert compiled("a+b") is compiled("a+b")


def test_matches_that_each_scan_the_rest_of_a_long_text_are_bounded() -> None:
    with pytest.raises(EvaluationError, match="too many matches"):
        compiled("a").find_all("a" * 3_000_000)
