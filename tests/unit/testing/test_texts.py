"""Random texts of formats are valid by the formats' own checks."""

from __future__ import annotations

import hypothesis
import pytest

from extapi.schema.formats import FORMATS, string_format
from extapi.testing.texts import text_of


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_that_is_enforced_has_values(name: str) -> None:
    check, texts = string_format(name), text_of(name)
    assert check is not None
    assert texts is not None

    @hypothesis.settings(max_examples=300, database=None, deadline=None)
    @hypothesis.given(texts)
    def all_valid(text: str) -> None:
        assert check(text)

    all_valid()
