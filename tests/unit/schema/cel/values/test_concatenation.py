from __future__ import annotations

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values.concatenation import ConcatList, concatenate
from extapi.schema.cel.values.equality import equal

LEFT = list(range(70))
RIGHT = list(range(70, 150))
ALL = list(range(150))


def long() -> list[int]:
    made = concatenate(concatenate(LEFT, RIGHT[:40]), RIGHT[40:])
    assert type(made) is ConcatList
    return made


def test_short_lists_are_copied() -> None:
    left = [1]
    made = concatenate(left, [2])
    assert type(made) is list
    assert made == [1, 2]
    assert left == [1]


def test_a_view_reads_as_a_list() -> None:
    made = long()
    assert isinstance(made, list)
    assert len(made) == 150
    assert bool(made)
    assert list(made) == ALL
    assert [*made] == ALL
    assert list(reversed(made)) == ALL[::-1]
    assert sorted(made, reverse=True) == ALL[::-1]
    assert 149 in made
    assert 150 not in made
    assert sum(made) == sum(ALL)


@pytest.mark.parametrize("index", [0, 69, 70, 109, 110, 149, -1, -150])
def test_elements(index: int) -> None:
    assert long()[index] == ALL[index]


@pytest.mark.parametrize("index", [150, -151])
def test_elements_beyond_the_end(index: int) -> None:
    with pytest.raises(IndexError):
        long()[index]


@pytest.mark.parametrize("part", [slice(None), slice(60, 120), slice(None, None, -1), slice(-5, None), slice(10, 5)])
def test_slices(part: slice) -> None:
    assert long()[part] == ALL[part]


def test_equality_asks_the_elements() -> None:
    assert long() == ALL
    assert long() == long()
    assert not long() != ALL  # noqa: SIM202 - both operators are a list's own
    assert long() != ALL[:-1]
    assert long() != [*ALL[:-1], 0]
    assert not equal(long(), 1)


def test_views_can_be_added_by_python_too() -> None:
    assert list(long() + [1]) == [*ALL, 1]  # noqa: RUF005 - the operator is what is tested
    assert list([1] + long()) == [1, *ALL]  # noqa: RUF005


def test_doubling_costs_no_memory() -> None:
    made: list[int] = LEFT
    for _ in range(50):
        made = concatenate(made, made)
    assert len(made) == 70 * 2**50
    assert made[70 * 2**49 + 5] == 5
    assert next(iter(made)) == 0
    for _ in range(5):
        made = concatenate(made, made)
    with pytest.raises(EvaluationError, match="integer overflow"):
        concatenate(made, made)


def test_a_long_chain_is_no_deep_recursion() -> None:
    made: list[int] = LEFT
    for number in range(5000):
        made = concatenate(made, [number])
    assert made[0] == 0
    assert made[-1] == 4999
    assert sum(1 for _ in made) == 5070
