"""Names of properties as identifiers. Expected values are those of ``k8s.io/apiserver/pkg/cel`` 1.36.3, asked of it."""

from __future__ import annotations

import pytest

from extapi.schema.cel.escaping import RESERVED, escape, unescape

BOTH = [
    ("a", "a"),
    ("a1", "a1"),
    ("_a", "_a"),
    ("a_b", "a_b"),
    ("self", "self"),
    ("int", "int"),
    ("Namespace", "Namespace"),
    ("a.b", "a__dot__b"),
    ("a-b", "a__dash__b"),
    ("a/b", "a__slash__b"),
    ("a__b", "a__underscores__b"),
    ("a___b", "a__underscores___b"),
    ("a____b", "a__underscores____underscores__b"),
    ("-a", "__dash__a"),
    ("/a", "__slash__a"),
    (".", "__dot__"),
    ("__", "__underscores__"),
    ("__in__", "__underscores__in__underscores__"),
    ("a.b-c/d__e", "a__dot__b__dash__c__slash__d__underscores__e"),
    ("in.in", "in__dot__in"),
    ("x__", "x__underscores__"),
    *((word, f"__{word}__") for word in ("as", "break", "in", "namespace", "true", "void", "while")),
]


@pytest.mark.parametrize(("name", "identifier"), BOTH)
def test_a_name_and_its_identifier(name: str, identifier: str) -> None:
    assert escape(name) == identifier


@pytest.mark.parametrize(("name", "identifier"), BOTH)
def test_an_identifier_and_its_name(name: str, identifier: str) -> None:
    assert unescape(identifier) == name


@pytest.mark.parametrize("name", ["", "1a", "a b", "é", "aé", "a$", "a\n"])
def test_names_without_an_identifier(name: str) -> None:
    assert escape(name) is None


@pytest.mark.parametrize("identifier", ["__int__", "__in__x", "x__in__", "__nope__", "a__b__c"])
def test_identifiers_with_wrong_escapes(identifier: str) -> None:
    assert unescape(identifier) is None


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("a__b", "a__b"),
        ("__", "__"),
        ("____", "____"),
        ("__a_b__", "__a_b__"),
        ("__dot__in__", ".in__"),
        ("___dot__", "_."),
        ("a__dot___b", "a._b"),
    ],
)
def test_identifiers_that_no_name_has(identifier: str, name: str) -> None:
    assert unescape(identifier) == name


def test_each_reserved_word_has_an_identifier() -> None:
    assert len(RESERVED) == 21  # celReservedSymbols
    assert all(unescape(f"__{word}__") == word for word in RESERVED)
