from __future__ import annotations

import pytest

from extapi.schema.pattern import matcher


def test_a_pattern_is_found_anywhere_unless_anchored() -> None:
    assert matcher("b")("abc")
    assert not matcher("^b")("abc")
    assert not matcher("b$")("abc")


def test_the_syntax_is_gos() -> None:
    assert matcher(r"^\p{Greek}+$")("αβ")
    assert matcher(r"\Aa\z")("a")
    assert not matcher(r"^a$")("a\n")


def test_look_around_is_refused_with_a_reason(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="invalid perl operator"):
        matcher("(?=a)")
    assert capfd.readouterr().err == ""


def test_a_lone_surrogate_is_a_replacement_character() -> None:
    assert matcher("^a\ufffdb$")("a\ud800b")
    assert not matcher("^ab$")("a\ud800b")
