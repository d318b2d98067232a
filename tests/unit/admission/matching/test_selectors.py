"""Selectors on labels."""

from __future__ import annotations

import pytest

from extapi.admission.matching.selectors import Selector
from extapi.errors import InternalError

NONE = {"metadata": {"name": "a"}}
RED = {"metadata": {"name": "a", "labels": {"color": "red"}}}


def test_either_object_may_have_the_labels() -> None:
    red = Selector({"matchLabels": {"color": "red"}})
    assert red.matches_either(RED, None)
    assert red.matches_either(NONE, RED)
    assert not red.matches_either(NONE, None)
    assert not red.matches_either(None, None)


@pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {}}])
def test_an_empty_selector_selects_everything(selector: dict[str, object] | None) -> None:
    assert Selector(selector).empty
    assert Selector(selector).matches_either(None, None)


def test_a_selector_that_is_not_valid_fails_when_it_is_needed() -> None:
    wrong = Selector({"matchExpressions": [{"key": "a", "operator": "Near"}]})
    with pytest.raises(InternalError, match="not a valid selector operator"):
        wrong.matches_either(RED, None)
