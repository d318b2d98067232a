"""YAML in block style: what kube-apiserver's documents hold, and that nothing is misread."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from extapi.schema.openapi.blockyaml import block_yaml


@pytest.mark.parametrize(
    ("value", "text"),
    [
        # As TestFieldSelectorOpenAPI of apiextensions-apiserver compares it.
        (
            [{"fieldPath": "spec.color"}, {"fieldPath": "spec.size"}],
            "- fieldPath: spec.color\n- fieldPath: spec.size\n",
        ),
        (
            [{"group": "", "kind": "Pod", "version": "v1"}],
            '- group: ""\n  kind: Pod\n  version: v1\n',
        ),
        ({"a": {"b": [1, 2.5]}}, "a:\n    b:\n        - 1\n        - 2.5\n"),
        ({}, "{}\n"),
        ([], "[]\n"),
        ("list", "list\n"),
    ],
)
def test_block_style(value: Any, text: str) -> None:
    assert block_yaml(value) == text


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.sampled_from(["yes", "Null", "1e3", "0x1", "2024-01-01", "a: b", "- a", "#", "~", "a #b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab: -", max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_a_reader_sees_the_value(value: Any) -> None:
    assert yaml.safe_load(block_yaml(value)) == value
