"""What cel-go evaluates and charges in one piece. Source of what is expected: ``cel-go/interpreter`` planner.go."""

from __future__ import annotations

import pytest

from extapi.schema.cel.evaluation.attributes import is_attribute, is_choice, origin, path_to
from extapi.schema.cel.syntax.nodes import Call, Comprehension, Ident
from tests.unit.schema.cel.evaluating import tree_of
from tests.unit.schema.cel.sample import ENVIRONMENT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self", True),
        ("self.a", True),
        ("self.l[0]", True),
        ("self.?a", True),
        ("self.l[?0]", True),
        ("self.b ? 1 : 2", True),
        ("self.l.map(x, x)[0]", True),
        ("has(self.a)", False),
        ("self.a + 1", False),
        ("self.l.size()", False),
        ("3", False),
        ("[self.a]", False),
    ],
)
def test_variables_steps_and_choices_are_attributes(text: str, expected: bool) -> None:
    assert is_attribute(tree_of(text, ENVIRONMENT)) is expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("self.o.x", Ident),
        ("self.os[0].?k", Ident),
        ("(self.b ? self.o : self.o).x", Call),
        ("self.l.map(x, x)[0]", Comprehension),
    ],
)
def test_where_steps_begin(text: str, kind: type) -> None:
    assert type(origin(tree_of(text, ENVIRONMENT))) is kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(self.b ? self.o : self.o).x", True),
        ("(self.b ? self.l : self.l)[0]", True),
        ("self.b ? 1 : 2", True),
        ("self.l[self.b ? 0 : 1]", False),
        ("self.o.x", False),
        ("(self.b || self.b)", False),
    ],
)
def test_what_begins_with_a_choice(text: str, expected: bool) -> None:
    assert is_choice(tree_of(text, ENVIRONMENT)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self", ("self",)),
        ("self.o.x", ("self", "o", "x")),
        ("self.os[0].k", ()),
        ("self.?o", ()),
        ("(self.b ? self.o : self.o).x", ()),
    ],
)
def test_the_fields_that_lead_to_a_value(text: str, expected: tuple[str, ...]) -> None:
    assert path_to(tree_of(text, ENVIRONMENT)) == expected
