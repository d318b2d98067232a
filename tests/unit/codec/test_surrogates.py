"""Expected values: what Go's JSON decoder makes of lone surrogates."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from extapi.codec.surrogates import has_surrogates, without_surrogates

TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from("\ud800\udbff\udc00\udfff\U0001f355"))


@given(TEXTS)
def test_each_becomes_one_replacement_character(text: str) -> None:
    assert without_surrogates(text) == re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert has_surrogates(text) == (re.search("[\ud800-\udfff]", text) is not None)


def test_a_pair_stays_two() -> None:
    """Python's JSON decoder joins those that are escaped one after the other: what is left are two accidents."""
    assert without_surrogates("\ud83c\udf55") == "\ufffd\ufffd"
