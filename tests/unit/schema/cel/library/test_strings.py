"""Functions of strings. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.intervals import Interval
from extapi.schema.cel.library.strings import STRINGS, STRINGS_V0
from extapi.schema.cel.types import STRING
from tests.unit.schema.cel.library.calling import Refused, Written, call, cost, found, judge, untested

CASES: list[tuple[Any, ...]] = [
    ("string_char_at_int", ("tacocat", 3), "o", 1, (1, 1)),
    ("string_char_at_int", ("taco", 4), "", 1, (1, 1)),
    ("string_char_at_int", ("a😀é", 1), "😀", 1, (1, 1)),
    ("string_char_at_int", ("abc", 4), Refused("index out of range: 4"), 1, (1, 1)),
    ("string_char_at_int", ("abc", -1), Refused("index out of range: -1"), 1, (1, 1)),
    ("string_index_of_string", ("tacocat", "ac"), 1, 0, (1, 1)),
    ("string_index_of_string", ("éaéaéaéaéaéaéaéaéaéaéaéaéaéaéaéaéaéaéaéa", "aé"), 1, 6, (4, 4)),
    ("string_index_of_string", ("abc", ""), 0, 0, (1, 1)),
    ("string_index_of_string", ("abc", "z"), -1, 0, (1, 1)),
    ("string_index_of_string_int", ("tacocat", "a", 3), 5, 0, (1, 1)),
    ("string_index_of_string_int", ("abc", "", -7), -7, 0, (1, 1)),
    ("string_index_of_string_int", ("abc", "a", 30), -1, 0, (1, 1)),
    ("string_index_of_string_int", ("abc", "a", -1), Refused("index out of range: -1"), 0, (1, 1)),
    ("string_last_index_of_string", ("tacocat", "at"), 5, 0, (1, 1)),
    ("string_last_index_of_string", ("abc", ""), 3, 0, (1, 1)),
    ("string_last_index_of_string", ("", "a"), -1, 0, (0, 0)),
    ("string_last_index_of_string", ("a", "ab"), -1, 0, (1, 1)),
    ("string_last_index_of_string_int", ("tacocat", "a", 4), 1, 0, (1, 1)),
    ("string_last_index_of_string_int", ("abab", "ab", 3), 2, 0, (1, 1)),
    ("string_last_index_of_string_int", ("abc", "", 50), 50, 0, (1, 1)),
    ("string_last_index_of_string_int", ("abc", "a", 50), -1, 0, (1, 1)),
    ("string_last_index_of_string_int", ("abc", "a", -1), Refused("index out of range: -1"), 0, (1, 1)),
    ("string_lower_ascii", ("TaCoÉT",), "tacoÉt", 1, (1, 1)),
    ("string_lower_ascii", ("ABCABCABCABCABCABCABC",), "abcabcabcabcabcabcabc", 3, (3, 3)),
    ("string_replace_string_string", ("12 days 12 hours", "12", "7"), "7 days 7 hours", 4, (4, 4)),
    ("string_replace_string_string", ("abc", "", "-"), "-a-b-c-", 1, (1, 1)),
    ("string_replace_string_string", ("aaaaa", "a", "bcd"), "bcdbcdbcdbcdbcd", 1, (1, 1)),
    ("string_replace_string_string", ("ééé", "é", ""), "", 1, (1, 1)),
    ("string_replace_string_string_int", ("hello hello", "he", "we", 1), "wello hello", 3, (3, 3)),
    ("string_replace_string_string_int", ("abc", "", "_", 2), "_a_bc", 1, (1, 1)),
    ("string_replace_string_string_int", ("aaa", "a", "b", 0), "aaa", 1, (1, 1)),
    ("string_replace_string_string_int", ("aaa", "a", "b", -3), "bbb", 1, (1, 1)),
    ("string_split_string", ("a, b, c", ", "), ["a", "b", "c"], 2, (2, 2)),
    ("string_split_string", ("aé😀", ""), ["a", "é", "😀"], 1, (1, 1)),
    ("string_split_string", ("", ""), [], 0, (0, 0)),
    ("string_split_string", ("", "a"), [""], 0, (0, 0)),
    ("string_split_string_int", ("a,b,c,d", ",", 2), ["a", "b,c,d"], 2, (2, 2)),
    ("string_split_string_int", ("abc", "", 2), ["a", "bc"], 1, (1, 1)),
    ("string_split_string_int", ("a,b", ",", 0), [], 1, (1, 1)),
    ("string_split_string_int", ("a,b,c", ",", -1), ["a", "b", "c"], 1, (1, 1)),
    ("string_substring_int", ("tacocat", 4), "cat", 1, (1, 1)),
    ("string_substring_int", ("abc", 3), "", 1, (1, 1)),
    ("string_substring_int", ("abc", 4), Refused("index out of range: 4"), 1, (1, 1)),
    ("string_substring_int", ("abc", -1), Refused("index out of range: -1"), 1, (1, 1)),
    ("string_substring_int_int", ("tacocat", 0, 4), "taco", 1, (1, 1)),
    ("string_substring_int_int", ("ééab", 1, 3), "éa", 1, (1, 1)),
    ("string_substring_int_int", ("abc", 2, 1), Refused("invalid substring range. start: 2, end: 1"), 1, (1, 1)),
    ("string_substring_int_int", ("abc", -1, 1), Refused("index out of range: -1"), 1, (1, 1)),
    ("string_substring_int_int", ("abc", 1, 4), Refused("index out of range: 4"), 1, (1, 1)),
    ("string_trim", ("  \t\xa0\u3000x y\u2003\n",), "x y", 1, (1, 1)),
    ("string_trim", ("\x1f x\x1c",), "\x1f x\x1c", 1, (1, 1)),
    ("string_upper_ascii", ("tacoé",), "TACOé", 1, (1, 1)),
    ("string_format", ("%d is %s", [1, 2]), "1 is 2", 1, (1, 1)),
    ("string_format", ("100%%", []), "100%", 1, (1, 1)),
    (
        "strings_quote",
        ('first\nsecond "x" \\ \x07\x08\x0c\r\t\x0bé\xa0',),
        '"first\\nsecond \\"x\\" \\\\ \\a\\b\\f\\r\\t\\vé\xa0"',
        3,
        (3, 3),
    ),
    ("strings_quote", ("",), '""', 0, (0, 0)),
    ("list_join", (["x", "y", "z"],), "xyz", 1, (0, 1844674407370955264)),
    ("list_join", ([],), "", 0, (0, 0)),
    (
        "list_join_string",
        (["aaaaaaaaa", "bbbbbbbbb", "é"], ", "),
        "aaaaaaaaa, bbbbbbbbb, é",
        5,
        (1, 1844674407370955264),
    ),
    ("list_join_string", ([], "-"), "", 0, (0, 0)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(STRINGS, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(STRINGS, CASES) == set()


def test_before_1_29_there_is_neither_format_nor_quote() -> None:
    later = {"string_format", "strings_quote"}
    assert [each for each in STRINGS if each.id not in later] == list(STRINGS_V0)


def test_a_list_that_has_more_than_strings_cannot_be_joined() -> None:
    assert call(STRINGS, "list_join_string", ["a", 1], ",") == Refused("join: invalid input: 1")
    assert cost(STRINGS, "list_join_string", ["a", 1], ",") == 1


def test_the_longest_part_is_found_in_linear_time() -> None:
    text = "a" * 2_000_000
    assert call(STRINGS, "string_last_index_of_string", text, "b" + "a" * 50_000) == -1
    assert call(STRINGS, "string_last_index_of_string", f"b{text}", "b" + "a" * 50_000) == 0
    assert call(STRINGS, "string_last_index_of_string_int", f"ab{text}", "ab", 2_000_001) == 0


@pytest.mark.parametrize(
    ("identifier", "arguments", "text"),
    [
        ("string_replace_string_string", ("a" * 10_000, "a", "b" * 10_000), "replace: the result is too long"),
        ("list_join_string", (["a"] * 10_000, "b" * 10_000), "join: the result is too long"),
    ],
)
def test_no_call_makes_a_text_that_is_too_long(identifier: str, arguments: tuple[Any, ...], text: str) -> None:
    assert call(STRINGS, identifier, *arguments) == Refused(text)


@pytest.mark.parametrize(
    ("identifier", "sizes", "estimated"),
    [
        ("string_replace_string_string", ((3, 10), (0, 2), (1, 4)), ((2, 54), (1, 2))),
        ("string_replace_string_string", ((3, 10), (2, 5), (0, 1)), ((0, 10), (1, 2))),
        ("string_replace_string_string", ((3, 10), (1, 2), (3, 4)), ((3, 40), (1, 2))),
        ("string_replace_string_string", ((3, 10), (0, 0), (2, 2)), ((11, 32), (1, 2))),
    ],
)
def test_how_large_a_replaced_text_may_be(
    identifier: str, sizes: tuple[tuple[int, int], ...], estimated: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    receiver, *others = (Written(STRING, Interval(*size)) for size in sizes)
    made = found(STRINGS, identifier).estimate
    assert made is not None
    assert made(receiver, others) == (estimated[1], estimated[0])
