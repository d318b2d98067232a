"""Many requirements are compiled in another way than few: both have to mean the same (``labels.Requirement.Matches``)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from extapi.api.requirements import (
    FEW,
    FieldRequirement,
    LabelOperator,
    Requirement,
    field_matcher,
    label_matcher,
)

KEYS = st.sampled_from("abc")
VALUES = st.sampled_from(["", "x", "y", "1", "-1", "20", "9223372036854775808"])
BOUNDS = st.sampled_from(["0", "1", "-5", "19"])
LABELS = st.one_of(
    st.builds(
        Requirement, KEYS, st.sampled_from(["In", "NotIn"]), st.lists(VALUES, min_size=1, unique=True).map(tuple)
    ),
    st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(Requirement, KEYS, st.sampled_from(["Gt", "Lt"]), BOUNDS.map(lambda bound: (bound,))),
)
FIELDS = st.builds(FieldRequirement, KEYS, st.sampled_from(["=", "!="]), VALUES)
OBJECTS = st.dictionaries(KEYS, VALUES)
MANY = FEW + 1


@given(st.lists(LABELS, min_size=1, max_size=5), OBJECTS)
def test_many_requirements_on_labels_mean_what_each_means(
    requirements: list[Requirement], labels: dict[str, str]
) -> None:
    each = all(label_matcher([requirement])(labels) for requirement in requirements)
    assert label_matcher(requirements)(labels) == each
    assert label_matcher(requirements * MANY)(labels) == each


@given(st.lists(FIELDS, min_size=1, max_size=5), OBJECTS)
def test_many_requirements_on_fields_mean_what_each_means(
    requirements: list[FieldRequirement], fields: dict[str, str]
) -> None:
    each = all(field_matcher([requirement])(fields) for requirement in requirements)
    assert field_matcher(requirements)(fields) == each
    assert field_matcher(requirements * MANY)(fields) == each


@pytest.mark.parametrize(
    ("terms", "matching", "others"),
    [
        ([("In", "xy"), ("In", "yz")], ["y"], ["x", "z", ""]),
        ([("NotIn", "xy"), ("NotIn", "yz")], ["w", ""], ["x", "y", "z"]),
        ([("Gt", ("1",)), ("Gt", ("5",))], ["6"], ["5", "2", "x"]),
        ([("Lt", ("9",)), ("Lt", ("5",))], ["4", "-1"], ["5", "8", "x"]),
        ([("Gt", ("1",)), ("Lt", ("3",))], ["2"], ["1", "3"]),
    ],
)
def test_many_requirements_on_one_label_all_hold(
    terms: list[tuple[LabelOperator, str | tuple[str, ...]]], matching: list[str], others: list[str]
) -> None:
    requirements = [Requirement("a", operator, tuple(values)) for operator, values in terms] * MANY
    matches = label_matcher(requirements)
    assert [value for value in [*matching, *others] if matches({"a": value})] == matching


class _Counted(dict[str, str]):
    """Counts how often something is asked of it."""

    asked = 0

    def __getitem__(self, key: str) -> str:
        self.asked += 1
        return super().__getitem__(key)

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        self.asked += 1
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked += 1
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self.asked += 1
        return super().__iter__()


def test_what_many_requirements_cost_depends_on_the_object() -> None:
    many = [Requirement(f"a{number}", "DoesNotExist") for number in range(10_000)]
    many += [Requirement("b", "NotIn", (str(number),)) for number in range(10_000)]
    labels = _Counted(b="x", c="y")
    assert label_matcher(many)(labels)
    assert labels.asked < 10
    wanted = [Requirement(f"a{number}", "Exists") for number in range(10_000)]
    assert not label_matcher(wanted)(labels)
    assert labels.asked < 10
    fields = _Counted({"metadata.name": "x"})
    named = [FieldRequirement("metadata.name", "!=", str(number)) for number in range(10_000)]
    assert field_matcher(named)(fields)
    assert fields.asked < 10
