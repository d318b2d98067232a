from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.optionals import OPTIONALS, is_zero
from extapi.schema.cel.types import QUANTITY
from extapi.schema.cel.values.time import parse_timestamp
from extapi.schema.cel.values.values import NONE, Duration, Timestamp, TypeValue, UInt, some

CALLS = {each.id: each.call for each in OPTIONALS}


@pytest.mark.parametrize(
    ("value", "zero"),
    [
        (0, True),
        (0.0, True),
        (UInt(0), True),
        (False, True),
        ("", True),
        (b"", True),
        (None, True),
        ([], True),
        ({}, True),
        (Duration(0), True),
        (parse_timestamp("0001-01-01T00:00:00Z"), True),
        (Timestamp(0), False),
        (1, False),
        (float("nan"), False),
        ([0], False),
        (NONE, False),
        (TypeValue("int"), False),
    ],
)
def test_zero_values(value: Any, zero: bool) -> None:
    assert is_zero(value) is zero
    assert CALLS["optional_ofNonZeroValue"](value).present is not zero


def test_kubernetes_values_have_no_zero() -> None:
    class Zero:
        cel_type = QUANTITY

        def __len__(self) -> int:
            return 0

    assert not is_zero(Zero())


def test_the_first_value_counts() -> None:
    assert CALLS["optional_or_optional"](some(1), some(2)).value == 1
    assert CALLS["optional_or_optional"](NONE, some(2)).value == 2
    assert CALLS["optional_orValue_value"](NONE, 3) == 3


def test_only_optionals_are_unwrapped() -> None:
    assert CALLS["optional_unwrap"]([some(1), NONE, some(None)]) == [1, None]
    with pytest.raises(EvaluationError, match=r"^value 7 is not optional$"):
        CALLS["optional_unwrap"]([some(1), 7])
