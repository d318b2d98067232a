"""Mistakes in literals: asked of Kubernetes 1.36.3's own environment, with cel-go 0.26's validators."""

from __future__ import annotations

import pytest

from extapi.schema.cel.checking.checker import check
from extapi.schema.cel.checking.literalchecks import literal_issues
from extapi.schema.cel.syntax.parser import parse
from tests.unit.schema.cel.compiling import environment


def found(text: str) -> list[tuple[int, str]]:
    """Columns and texts of the mistakes, in the order in which they are found."""
    made = environment()
    checked = check(parse(text, made.language.macros), made)
    assert checked.issues == []
    return [(offset + 1, message) for offset, message in literal_issues(checked.nodes)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("duration('1')", [(10, "invalid duration argument")]),
        ("duration('x') > duration('1h')", [(10, "invalid duration argument")]),
        ("duration('')", [(10, "invalid duration argument")]),
        ("duration(1)", [(10, "invalid duration argument")]),
        ("duration('100000000000000h')", [(10, "invalid duration argument")]),
        ("timestamp('x')", [(11, "invalid timestamp argument")]),
        ("timestamp(1) > timestamp('2020-13-01T00:00:00Z')", [(26, "invalid timestamp argument")]),
        ("timestamp(253402300800)", [(11, "invalid timestamp argument")]),
        ("timestamp('0000-01-01T00:00:00Z')", [(11, "invalid timestamp argument")]),
        ("timestamp('2020-01-01')", [(11, "invalid timestamp argument")]),
        ("'a'.matches('[')", [(13, "invalid matches argument")]),
        ("'a'.matches('a{2000}')", [(13, "invalid matches argument")]),
        ("'a'.matches('(?=a)')", [(13, "invalid matches argument")]),
        ("'a'.matches('\\\\')", [(13, "invalid matches argument")]),
        ("matches('[', 'a')", [(9, "invalid matches argument")]),
        ("[1, 'a']", [(5, "expected type 'int' but found 'string'")]),
        ("[1, 2.0, 'a']", [(5, "expected type 'int' but found 'double'")]),
        ("[1, 'a', 2.0]", [(5, "expected type 'int' but found 'string'")]),
        ("[dyn(1), 'a']", [(10, "expected type 'dyn' but found 'string'")]),
        ("[[1], ['a']]", [(7, "expected type 'list(int)' but found 'list(string)'")]),
        ("[[1, 'a']]", [(6, "expected type 'int' but found 'string'")]),
        ("[null, 1]", [(8, "expected type 'null' but found 'int'")]),
        ("[1, null]", [(5, "expected type 'int' but found 'null'")]),
        ("[null, duration('1s')]", [(16, "expected type 'null' but found 'duration'")]),
        ("[?optional.of(1), 'a']", [(19, "expected type 'int' but found 'string'")]),
        ("{'a': 1, 2: 3}", [(10, "expected type 'string' but found 'int'")]),
        ("{'a': 1, 'b': 'c'}", [(15, "expected type 'int' but found 'string'")]),
        (
            "{'a': 1, 2: 'c'}",
            [(10, "expected type 'string' but found 'int'"), (13, "expected type 'int' but found 'string'")],
        ),
        (
            "{'a': 1, 2: 'c', 3: 4}",
            [
                (10, "expected type 'string' but found 'int'"),
                (13, "expected type 'int' but found 'string'"),
                (18, "expected type 'string' but found 'int'"),
            ],
        ),
        ("{?'a': optional.of(1), 'b': 'c'}", [(29, "expected type 'int' but found 'string'")]),
        ("{'a': {'b': 1, 2: 1}}", [(16, "expected type 'string' but found 'int'")]),
        ("['%s'.format([1]), 1]", [(20, "expected type 'string' but found 'int'")]),
        (
            "'%d'.format(['a'])",
            [(14, "error during formatting: decimal clause can only be used on integers, was given string")],
        ),
        ("'%s'.format([])", [(12, "index 0 out of range")]),
        ("'%s'.format([1, 'a'])", [(12, "too many arguments supplied to string.format (expected 1, got 2)")]),
        ("'%z'.format([1])", [(12, 'could not parse formatting clause: unrecognized formatting clause "z"')]),
        ("'%'.format([1])", [(11, "unexpected end of string")]),
        (
            "'%d %s'.format(['a', 'b']) + '%x'.format([1.5])",
            [
                (17, "error during formatting: decimal clause can only be used on integers, was given string"),
                (
                    43,
                    "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given double",
                ),
            ],
        ),
        (
            "'%b'.format(['a'])",
            [(14, "error during formatting: only integers and bools can be formatted as binary, was given string")],
        ),
        (
            "'%X'.format([true])",
            [
                (
                    14,
                    "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given bool",
                )
            ],
        ),
        (
            "'%o'.format([1.5])",
            [(14, "error during formatting: octal clause can only be used on integers, was given double")],
        ),
        ("[int, string]", [(7, "expected type 'type(int)' but found 'type(string)'")]),
        ("[1u, 1]", [(6, "expected type 'uint' but found 'int'")]),
        (
            "[1, 'a'] == [duration('x')]",
            [(5, "expected type 'int' but found 'string'"), (23, "invalid duration argument")],
        ),
        (
            "duration('x') == duration('y') && timestamp('z') == timestamp('w')",
            [
                (10, "invalid duration argument"),
                (27, "invalid duration argument"),
                (45, "invalid timestamp argument"),
                (63, "invalid timestamp argument"),
            ],
        ),
        (
            "'a'.matches('[') || duration('x') == duration('1s') || timestamp('x') == timestamp(0) || [1, 'a'] == []",
            [
                (13, "invalid matches argument"),
                (30, "invalid duration argument"),
                (66, "invalid timestamp argument"),
                (94, "expected type 'int' but found 'string'"),
            ],
        ),
        (
            "[optional.of(1), optional.of('a')]",
            [(29, "expected type 'optional_type(int)' but found 'optional_type(string)'")],
        ),
        ("[[dyn(1)], [1]]", [(12, "expected type 'list(dyn)' but found 'list(int)'")]),
        ("optional.of(1).optMap(x, duration('x'))", [(35, "invalid duration argument")]),
        ("[1].all(x, duration('x') == duration('1s'))", [(21, "invalid duration argument")]),
    ],
)
def test_mistakes(text: str, wanted: list[tuple[int, str]]) -> None:
    assert sorted(found(text)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "duration('1h30m')",
        "timestamp(253402300799)",
        "'a'.matches('a' + '[')",
        "matches('a', '[')",
        "duration(string(1)) == duration('1s')",
        "[[1], []]",
        "[[], [1]]",
        "[?optional.of(1), 2]",
        "[?optional.none(), 1]",
        "{?'a': optional.of(1), 'b': 2}",
        "'%s %s'.format([1, 'a'])",
        "'%s'.format([[1, 'a']])",
        "'%s'.format([{'a': 1, 'b': 'c'}])",
        "'%s'.format([1 in [1, 'a']])",
        "'%s'.format([[1].map(x, [x, 'a'])])",
        "'%s'.format([[1, 'a'].size()])",
        "'%f %e'.format([1.0, 2.0])",
        "'%f'.format(['a'])",
        "'%.3s'.format([1])",
        "('%d' + '').format(['a'])",
        "'%d'.format([dyn('a')])",
        "[type(1), int]",
        "[optional.none(), optional.of('a')]",
        "'a'.replace('[', 'x').matches(']')",
    ],
)
def test_what_is_right_or_no_literal(text: str) -> None:
    assert found(text) == []


def test_mistakes_are_found_in_the_order_of_the_validators() -> None:
    """Which counts where there are more than can be shown. Source: base.go lists durations, timestamps, patterns, lists."""
    text = "{'a': 1, 2: 1} == {} || [1, 'a'] == [] || 'a'.matches('[') || timestamp('x') == timestamp(0) || duration('x') == duration('1s')"
    assert [message.rpartition("' but")[0] or message for _, message in found(text)] == [
        "invalid duration argument",
        "invalid timestamp argument",
        "invalid matches argument",
        "expected type 'int",
        "expected type 'string",
    ]
