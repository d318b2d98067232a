from __future__ import annotations

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.patterns import matches, searcher


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("hello", "^h.*o$", True),
        ("hello", "l+", True),
        ("hello", "^l", False),
        ("a\nb", "^b", False),
        ("a\nb", "(?m)^b$", True),
        ("\u65e5\u672c", "^..$", True),
        ("\u65e5", "^\\p{Han}$", True),
        ("", "", True),
        ("\ud800", "^\ufffd$", True),
    ],
)
def test_a_match_may_be_anywhere(text: str, pattern: str, expected: bool) -> None:
    assert matches(text, pattern) is expected
    assert searcher(pattern)(text) is expected


def test_matching_takes_linear_time() -> None:
    assert matches("a" * 100_000, "(a+)+$")
    assert not matches("a" * 100_000 + "b", "^(a+)+$")


def test_a_wrong_pattern_has_the_words_of_go() -> None:
    with pytest.raises(EvaluationError, match=r"^error parsing regexp: missing closing \): `\(`$"):
        searcher("(")
