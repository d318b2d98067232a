"""Patterns and what Go 1.26 answered: its error, or whether the pattern matches ``a``."""

from __future__ import annotations

import time

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.patterns import matches, searcher
from extapi.schema.pattern_syntax import SyntaxErrorInPattern, translate


def knows_nothing(_name: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("[", "missing closing ]: `[`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a*+", "invalid nested repetition operator: `*+`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("(*)", "missing argument to repetition operator: `*`"),
        ("(?i)*", "missing argument to repetition operator: `*`"),
        ("{2}", "missing argument to repetition operator: `{2}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("(a{100}){11}", "invalid repeat count: `{11}`"),
        ("((a{10}){10}){11}", "invalid repeat count: `{11}`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("\\C", "invalid escape sequence: `\\C`"),
        ("\\1", "invalid escape sequence: `\\1`"),
        ("\\8", "invalid escape sequence: `\\8`"),
        ("\\é", "invalid escape sequence: `\\é`"),
        ("\\x", "invalid escape sequence: `\\x`"),
        ("\\xa", "invalid escape sequence: `\\xa`"),
        ("\\xag", "invalid escape sequence: `\\xag`"),
        ("\\x{", "invalid escape sequence: `\\x{`"),
        ("\\x{}", "invalid escape sequence: `\\x{}`"),
        ("\\x{110000}", "invalid escape sequence: `\\x{110000`"),
        ("\\x{z}", "invalid escape sequence: `\\x{z`"),
        ("\\p", "invalid character class range: `\\p`"),
        ("\\p{", "invalid character class range: `\\p{`"),
        ("\\p{Foo}", "invalid character class range: `\\p{Foo}`"),
        ("\\pé", "invalid character class range: `\\pé`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[a-\\d]", "invalid escape sequence: `\\d`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        ("[\\]", "missing closing ]: `[\\]`"),
        ("[a\\x{]", "invalid escape sequence: `\\x{]`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
        ("(?P<>a)", "invalid named capture: `(?P<>`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(?<a-b>x)", "invalid named capture: `(?<a-b>`"),
        ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
        ("(?", "invalid or unsupported Perl syntax: `(?`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?-:a)", "invalid or unsupported Perl syntax: `(?-:`"),
        ("(?i-)", "invalid or unsupported Perl syntax: `(?i-)`"),
        ("(?--i)", "invalid or unsupported Perl syntax: `(?--`"),
        ("(?z)", "invalid or unsupported Perl syntax: `(?z`"),
        ("(?i:", "missing closing ): `(?i:`"),
        ("\\Z", "invalid escape sequence: `\\Z`"),
        ("\\h", "invalid escape sequence: `\\h`"),
        ("a???", "invalid nested repetition operator: `???`"),
        ("a{2}?+", "invalid nested repetition operator: `{2}?+`"),
    ],
)
def test_errors(pattern: str, error: str) -> None:
    with pytest.raises(SyntaxErrorInPattern) as raised:
        translate(pattern, knows_nothing)
    assert str(raised.value) == f"error parsing regexp: {error}"
    with pytest.raises(EvaluationError) as failed:
        matches("a", pattern)
    assert str(failed.value) == f"error parsing regexp: {error}"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(a{0}){1000}", True),
        ("a{,2}", False),
        ("a{2", False),
        ("a{01}", False),
        ("\\Q\\C\\E", False),
        ("\\Q*", False),
        ("a\\Q\\E*", True),
        ("\\12", False),
        ("\\0777", False),
        ("\\_", False),
        ("\\-", False),
        ("\\x{10FFFF}", False),
        ("\\pL", True),
        ("\\p{Greek}", False),
        ("\\p{greek}", False),
        ("\\p{^Lu}", True),
        ("\\P{Uppercase_Letter}", True),
        ("\\p{uppercase-letter}", False),
        ("\\p{Assigned}", True),
        ("\\p{Cn}", False),
        ("\\p{ASCII}", True),
        ("\\p{LC}", True),
        ("\\P{LC}", False),
        ("[\\p{ASCII}]", True),
        ("[\\p{Assigned}]", True),
        ("[\\d-z]", False),
        ("[[:alpha:]]", True),
        ("[[:^digit:]]", True),
        ("[]a]", True),
        ("[^]a]", False),
        ("[a-]", True),
        ("(?P<n>a)", True),
        ("(?<n>a)", True),
        ("(?P<n>a)(?P<n>b)", False),
        ("(?i)a", True),
        ("(?i-s:a)", True),
        ("(?is-mU:a)b", False),
        ("a(?i)*", True),
        ("^*", True),
        ("$+?", True),
        ("\\b+", True),
        ("\\A\\z", False),
        ("a??", True),
        ("a{2}?", False),
    ],
)
def test_matches(pattern: str, expected: bool) -> None:
    assert matches("a", pattern) is expected
    # What needs no translation is still read to the end.
    translate(pattern, lambda _name: True)


@pytest.mark.parametrize("pattern", ["abc", "(a|b)*c{2,3}?", "[^a-z\\d[:alpha:]]+$", "(?i:x)\\x{41}\\Q(\\E\\pL"])
def test_what_both_know_stays(pattern: str) -> None:
    assert translate(pattern, lambda _name: True) == pattern.replace("\\pL", "\\p{L}")


def test_names_of_groups_are_left_out() -> None:
    assert translate("(?P<n>a)(?<n>b)", knows_nothing) == "(a)(b)"


def test_a_long_pattern_is_read_once() -> None:
    pattern = "(a{2}[b-c]\\n|" * 20_000
    before = time.process_time()
    with pytest.raises(SyntaxErrorInPattern, match=r"missing closing \)"):
        translate(pattern, knows_nothing)
    assert time.process_time() - before < 5


def test_a_large_pattern_is_refused_soon() -> None:
    before = time.process_time()
    with pytest.raises(EvaluationError, match="expression too large"):
        searcher("\\pL{900}")
    assert time.process_time() - before < 1


def test_groups_nest_as_deep_as_in_go() -> None:
    """Source: ``regexp/syntax/parse.go`` maxHeight; an empty group is two levels."""
    assert translate("(" * 999 + ")" * 999, knows_nothing) == "(" * 999 + ")" * 999
    for depth in (1000, 500_000):
        with pytest.raises(SyntaxErrorInPattern, match="expression nests too deeply"):
            translate("(" * depth + ")" * depth, knows_nothing)
    with pytest.raises(SyntaxErrorInPattern, match=r"missing closing \)"):
        translate("(" * 500_000 + ")" * 900, knows_nothing)


def test_many_classes_are_refused_before_they_are_compiled() -> None:
    assert translate("\\pL" * 2_000, lambda _name: True) == "\\p{L}" * 2_000
    with pytest.raises(SyntaxErrorInPattern, match="expression too large"):
        translate("\\pL" * 2_001, lambda _name: True)
