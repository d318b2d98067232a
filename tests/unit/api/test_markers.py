from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from extapi.api import markers as m
from extapi.api.declaration import DeclarationError


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: m.Minimum("a"), "Minimum: value must be a number, not 'a'"),  # type: ignore[arg-type]  # the mistake
        (lambda: m.Maximum(True), "Maximum: value must be a number, not True"),
        (lambda: m.Minimum(1, exclusive=2), "Minimum: exclusive must be True or False, not 2"),  # type: ignore[arg-type]  # the mistake
        (lambda: m.MinLength(-1), "MinLength: value must be a whole number that is not negative, not -1"),
        (lambda: m.MaxItems(2.5), "MaxItems: value must be a whole number that is not negative, not 2.5"),  # type: ignore[arg-type]  # the mistake
        (lambda: m.Pattern(5), "Pattern: value must be a string, not 5"),  # type: ignore[arg-type]  # the mistake
        (lambda: m.OneOf("abc"), "OneOf: values must be a tuple of the values, such as (1, 2), not 'abc'"),  # type: ignore[arg-type]  # the mistake
        (m.ListMap, "ListMap: keys must be names, at least one, not ()"),
        (lambda: m.ListMap(("a", "b")), "ListMap: keys must be names, at least one, not (('a', 'b'),)"),  # type: ignore[arg-type]  # the mistake
    ],
)  # fmt: skip
def test_a_marker_with_a_value_of_a_wrong_type_is_refused_where_it_is_written(make: Callable[[], Any], problem: str) -> None:  # fmt: skip
    with pytest.raises(DeclarationError) as caught:
        make()
    assert str(caught.value) == problem


def test_a_list_does_as_a_tuple() -> None:
    assert m.OneOf(["a", "b"]) == m.OneOf(("a", "b"))  # type: ignore[arg-type]  # what an author may write
    assert m.Default([1]).value == [1]
