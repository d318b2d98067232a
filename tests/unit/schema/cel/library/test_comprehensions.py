from __future__ import annotations

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.comprehensions import insert, insert_all


def test_an_entry_is_added() -> None:
    assert insert({"a": 1}, "b", 2) == {"a": 1, "b": 2}
    assert insert_all({"a": 1}, {"b": 2, "c": 3}) == {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize(("key", "shown"), [("a", "a"), (1, "1"), (True, "true")])
def test_a_key_is_added_once(key: object, shown: str) -> None:
    with pytest.raises(EvaluationError, match=f"^insert failed: key {shown} already exists$"):
        insert({key: 1}, key, 2)
    with pytest.raises(EvaluationError, match=f"^insert failed: key {shown} already exists$"):
        insert_all({key: 1}, {key: 2})
