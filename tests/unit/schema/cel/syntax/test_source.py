"""How mistakes are shown. The texts are cel-go's ``common/error.go`` and ``common/errors.go`` on these texts."""

from __future__ import annotations

from extapi.schema.cel.errors import Issue
from extapi.schema.cel.syntax.source import BEFORE, NOWHERE, failure


def test_a_mistake_has_its_line_and_a_caret() -> None:
    assert str(failure("a ==\n  b c\nd", [Issue(9, "oops")])) == "ERROR: <input>:2:5: oops\n |   b c\n | ....^"


def test_mistakes_are_in_the_order_of_their_places_and_those_of_one_place_in_theirs() -> None:
    error = failure("abc", [Issue(2, "x"), Issue(0, "y"), Issue(2, "z"), Issue(NOWHERE, "w"), Issue(BEFORE, "v")])
    assert [issue.message for issue in error.issues] == ["w", "v", "y", "x", "z"]


def test_tabs_are_shown_as_spaces_and_wide_characters_point_wide() -> None:
    assert str(failure("\té b", [Issue(3, "oops")])) == "ERROR: <input>:1:4: oops\n |  é b\n | .\uff0e.^"
    assert str(failure("a é", [Issue(2, "oops")])) == "ERROR: <input>:1:3: oops\n | a é\n | ..\uff3e"


def test_the_end_of_the_text_is_a_place() -> None:
    assert str(failure("a\n", [Issue(2, "oops")])) == "ERROR: <input>:2:1: oops\n | \n | ^"


def test_what_is_nowhere_shows_no_line() -> None:
    assert str(failure("a", [Issue(NOWHERE, "oops")])) == "ERROR: <input>:-1:0: oops"
    assert str(failure("a", [Issue(BEFORE, "oops")])) == "ERROR: <input>:1:0: oops\n | a\n | ^"
    assert str(failure("", [Issue(BEFORE, "oops")])) == "ERROR: <input>:1:0: oops"


def test_a_line_of_more_than_16_kibibytes_is_not_shown() -> None:
    assert str(failure("é" * 8_192, [Issue(0, "oops")])).startswith("ERROR: <input>:1:1: oops\n | é")
    assert str(failure("é" * 8_192 + "x", [Issue(0, "oops")])) == "ERROR: <input>:1:1: oops"


def test_a_hundred_mistakes_are_shown() -> None:
    error = failure("a", [Issue(0, str(number)) for number in range(100, 0, -1)])
    assert len(error.issues) == 100
    assert "truncated" not in str(error)
    error = failure("a", [Issue(0, str(number)) for number in range(103)])
    assert error.issues[-1].message == "99"
    assert str(error).endswith("ERROR: <input>:1:1: 99\n | a\n | ^\n3 more errors were truncated")
