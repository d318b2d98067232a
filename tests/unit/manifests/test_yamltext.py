"""What is written is read back by a YAML parser that is not ours; it looks as a person would write it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from extapi.manifests.yamltext import Noted, comment, to_yaml

TEXTS = st.text(max_size=12)
SCALARS = st.one_of(st.booleans(), st.integers(), TEXTS)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS | st.lists(SCALARS, max_size=3).map(tuple),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def lists(value: Any) -> Any:
    """With lists for tuples, which YAML does not have."""
    if isinstance(value, dict):
        return {key: lists(each) for key, each in value.items()}
    return [lists(each) for each in value] if isinstance(value, list | tuple) else value


@settings(deadline=None)  # on a busy machine any of them may take its time
@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_a_parser_reads_what_was_meant(value: dict[str, Any]) -> None:
    assert yaml.safe_load(to_yaml(value)) == lists(value)


@pytest.mark.parametrize(
    "text",
    # YAML 1.1 and 1.2 disagree about some of these, and kubectl's parser has its own mind about others.
    ["true", "No", "on", "y", "null", "~", "1", "0o14", "1e3", "1_000", "0x1f", ".5", "12:30:45", "2024-01-01", "", "-", "a: b", "a #b"],
)  # fmt: skip
def test_what_could_be_taken_for_something_else_is_quoted(text: str) -> None:
    assert to_yaml({"a": text}) == f'a: "{text}"\n'


@pytest.mark.parametrize(
    "text",
    ["a", "registry.example.com:5000/pizza:1", "--secure-port=8443", "sqlite:////var/lib/data.sqlite", "128Mi", "100m"],
)
def test_what_cannot_is_not(text: str) -> None:
    assert to_yaml({"a": text}) == f"a: {text}\n"


def test_it_looks_as_a_person_would_write_it() -> None:
    value = {
        "kind": "Thing",
        Noted("spec", "Why it is so:", "for two reasons."): {
            "list": [{"name": "a", "more": {"deep": 1}}, "plain", []],
            "short": ("get", "list"),
            "empty": {},
        },
    }
    assert to_yaml(value) == (
        "kind: Thing\n"
        "# Why it is so:\n"
        "# for two reasons.\n"
        "spec:\n"
        "  list:\n"
        "    - name: a\n"
        "      more:\n"
        "        deep: 1\n"
        "    - plain\n"
        "    - []\n"
        "  short: [get, list]\n"
        "  empty: {}\n"
    )


def test_a_comment_has_its_mark_on_every_line() -> None:
    assert comment("a\n\nb") == "# a\n#\n# b\n"
    assert comment("") == ""


def test_what_yaml_has_no_word_for_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes cannot be written"):
        to_yaml({"a": b"b"})
