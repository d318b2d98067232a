"""Texts are those of k8s.io/apimachinery v0.36."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, strategies as st

from extapi.api.names import (
    SUFFIX_ALPHABET,
    dns1035_label,
    dns1123_label,
    dns1123_subdomain,
    generate_name,
    is_dns1035_label,
    is_dns_label,
    is_dns_subdomain,
    label_value,
    name_rule,
    namespace_name,
    object_name,
    path_segment,
    qualified_name,
)

DNS1035 = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
SUBDOMAIN = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
KEY = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
VALUE = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("a", []),
        ("a-1", []),
        ("a" * 63, []),
        ("a" * 64, ["must be no more than 63 characters"]),
        ("a.b", ["must not contain dots"]),
        ("A", [LABEL]),
        ("", [LABEL]),
        ("a\n", [LABEL]),
    ],
)
def test_labels_and_namespaces(name: str, problems: list[str]) -> None:
    assert dns1123_label(name) == problems
    assert namespace_name(name) == problems


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("v1", []),
        ("a" * 64, ["must be no more than 63 characters"]),
        ("1a", [DNS1035]),
        ("a.b", [DNS1035]),
        ("", [DNS1035]),
    ],
)
def test_labels_that_start_with_a_letter(name: str, problems: list[str]) -> None:
    assert dns1035_label(name) == problems


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("a.b-c.d", []),
        ("a" * 253, []),
        ("a" * 254, ["must be no more than 253 characters"]),
        ("a..b", [SUBDOMAIN]),
        ("é", [SUBDOMAIN]),
        ("a-", [SUBDOMAIN]),
        ("é" * 127, ["must be no more than 253 characters", SUBDOMAIN]),
    ],
)
def test_subdomains_and_object_names(name: str, problems: list[str]) -> None:
    assert dns1123_subdomain(name) == problems
    assert object_name(name) == problems


@pytest.mark.parametrize(
    ("prefix", "good"), [("a-", True), ("a.", False), ("-", False), ("a-b-", True), ("A-", True), ("Ab-", False)]
)
def test_a_generate_name_may_end_in_a_dash(prefix: str, good: bool) -> None:
    # Go replaces the last two characters by "a", so the one before the dash is not looked at.
    assert (object_name(prefix, prefix=True) == []) is good


@pytest.mark.parametrize(
    ("key", "problems"),
    [
        ("a", []),
        ("example.com/A_b.c-d", []),
        ("/a", ["prefix part must be non-empty"]),
        ("Ex.com/a", [f"prefix part {SUBDOMAIN}"]),
        ("a" * 254 + "/a", ["prefix part must be no more than 253 bytes"]),
        ("a/", ["name part must be non-empty", f"name part {KEY}"]),
        ("", ["name part must be non-empty", f"name part {KEY}"]),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        ("-a", [f"name part {KEY}"]),
        (
            "a/b/c",
            [f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"],
        ),
    ],
)
def test_qualified_names(key: str, problems: list[str]) -> None:
    assert qualified_name(key) == problems


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ("", []),
        ("My_value.1", []),
        ("a" * 64, ["must be no more than 63 bytes"]),
        ("a b", [VALUE]),
        ("_", [VALUE]),
    ],
)
def test_label_values(value: str, problems: list[str]) -> None:
    assert label_value(value) == problems


@pytest.mark.parametrize(
    ("name", "prefix", "problems"),
    [
        ("A_b c", False, []),
        (".", False, ["may not be '.'"]),
        ("..", False, ["may not be '..'"]),
        ("..", True, []),
        ("a/b%", False, ["may not contain '/'", "may not contain '%'"]),
        ("a/", True, ["may not contain '/'"]),
    ],
)
def test_path_segments(name: str, prefix: bool, problems: list[str]) -> None:
    assert path_segment(name, prefix=prefix) == problems


def test_generated_names_have_five_safe_characters_and_fit_a_label() -> None:
    random = Random(1)  # noqa: S311 -- not for secrets, and the same each time
    names = {generate_name("web-", random) for _ in range(200)}
    assert len(names) > 190
    for name in names:
        assert name.startswith("web-")
        assert len(name) == 9
        assert set(name[4:]) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert SUFFIX_ALPHABET == "bcdfghjklmnpqrstvwxz2456789"
    assert generate_name("a" * 80, random)[:58] == "a" * 58
    assert len(generate_name("a" * 80, random)) == 63
    assert len(generate_name("a" * 58, random)) == 63
    cut = generate_name("é" * 29 + "é", random)
    assert cut[:-5] == "é" * 29


def test_a_check_of_names_becomes_a_rule_of_their_beginnings_too() -> None:
    rule = name_rule(dns1123_label)
    assert rule("a-b") == []
    assert rule("a-", prefix=True) == []
    assert rule("a-") == dns1123_label("a-")
    assert rule("a.", prefix=True) == dns1123_label("a.")
    assert name_rule(path_segment)("a%", prefix=True) == ["may not contain '%'"]


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


@pytest.mark.parametrize(
    ("check", "published"),
    [
        (is_dns_label, _LABEL),
        (is_dns1035_label, "[a-z]([-a-z0-9]*[a-z0-9])?"),
        (is_dns_subdomain, rf"{_LABEL}(\.{_LABEL})*"),
        (lambda text: not label_value(text), rf"({_NAME})?"),
        (lambda text: not qualified_name(text), _NAME),
    ],
)
@given(text=st.text("aA0-._\u00df\ud800\n ", max_size=9))
def test_names_are_what_the_published_expressions_say(check: Callable[[str], bool], published: str, text: str) -> None:
    """The expressions are those in the texts, from ``apimachinery/pkg/api/validate/content``."""
    assert check(text) == (re.fullmatch(published, text) is not None)


@pytest.mark.parametrize("rule", [label_value, dns1123_label, dns1035_label, qualified_name])
def test_labels_have_up_to_63_bytes(rule: Callable[[str], list[str]]) -> None:
    assert rule("a" * 63) == []
    assert any("must be no more than 63" in problem for problem in rule("a" * 64))
