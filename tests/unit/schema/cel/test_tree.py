"""Checked trees: which mistakes are told, and how. Texts are asked of Kubernetes 1.36.3's own compiler of rules."""

from __future__ import annotations

import pytest

from extapi.schema.cel.declared import declare
from extapi.schema.cel.environment import base_environment, rule_environment
from extapi.schema.cel.errors import CompileError, Issue
from extapi.schema.cel.syntax.nodes import Call, Literal
from extapi.schema.cel.tree import checked, folded, interpretable
from extapi.schema.structural import from_openapi
from tests.unit.schema.cel.compiling import environment, of

OBJECT = of({"a": {"type": "integer"}, "o": of({})})


def test_the_tree_and_the_variables_in_it() -> None:
    root, used = checked("self.a + oldSelf.a", environment(OBJECT))
    assert isinstance(root, Call)
    assert (root.function, root.type.kind, sorted(used)) == ("_+_", "int", ["oldSelf", "self"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "nope2 + self.nope1",
            (
                "ERROR: <input>:1:1: undeclared reference to 'nope2' (in container '')\n"
                " | nope2 + self.nope1\n"
                " | ^\n"
                "ERROR: <input>:1:13: undefined field 'nope1'\n"
                " | nope2 + self.nope1\n"
                " | ............^"
            ),
        ),
        (
            "1 +\nnope",
            "ERROR: <input>:2:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^",
        ),
        (
            "'é' + nope",
            "ERROR: <input>:1:7: undeclared reference to 'nope' (in container '')\n | 'é' + nope\n | .．....^",  # noqa: RUF001
        ),
        (
            "1 + 'a' == duration('x')",  # of the literal nothing is said
            (
                "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n"
                " | 1 + 'a' == duration('x')\n"
                " | ..^"
            ),
        ),
        (
            "[1, 'a'] == [duration('x')]",  # in the order of their places
            (
                "ERROR: <input>:1:5: expected type 'int' but found 'string'\n"
                " | [1, 'a'] == [duration('x')]\n"
                " | ....^\n"
                "ERROR: <input>:1:23: invalid duration argument\n"
                " | [1, 'a'] == [duration('x')]\n"
                " | ......................^"
            ),
        ),
    ],
)
def test_mistakes_are_shown_with_their_places(text: str, wanted: str) -> None:
    with pytest.raises(CompileError) as caught:
        checked(text, environment(OBJECT))
    assert str(caught.value) == wanted
    assert len(caught.value.issues) == wanted.count("ERROR")


def test_mistakes_can_be_read_without_their_text() -> None:
    with pytest.raises(CompileError) as caught:
        checked("self.a\n + nope", environment(OBJECT))
    assert caught.value.issues == (Issue(10, "undeclared reference to 'nope' (in container '')"),)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("self.o == self", "found no matching overload for '_==_' applied to '(selfType1.o, selfType1)'"),
        (
            "self.all(x, true)",
            "expression of type 'selfType1' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
    ],
)
def test_types_have_names_that_begin_where_the_rule_is(text: str, wanted: str) -> None:
    declared = declare(from_openapi(OBJECT), name="selfType1.spec.inner")
    assert declared is not None
    with pytest.raises(CompileError) as caught:
        checked(text, rule_environment(declared))
    assert [issue.message for issue in caught.value.issues] == [wanted]


def test_literals_are_not_checked_before_1_29() -> None:
    assert checked("duration('x')", base_environment((1, 28)))[1] == set()
    with pytest.raises(CompileError, match="invalid duration argument"):
        checked("duration('x')", base_environment((1, 29)))


def test_a_folded_tree_has_constants() -> None:
    root = folded("[int('1'), 2]", base_environment())
    assert isinstance(root, Literal)
    assert root.value == [1, 2]


def test_a_tree_for_the_interpreter_is_kept() -> None:
    made = environment(OBJECT)
    root = interpretable("self.a == int('1')", made)
    assert interpretable("self.a == int('1')", made) is root
    assert folded("self.a == int('1')", made) is not root
    assert interpretable("self.a == int('1')", environment(OBJECT)) is not root
